"""From what was seen in a passage to two probabilities: a weighted sum each, and limits by rule.

The weights stand in a file that people can read, `data/standard.toml`. A score without a weight
there does not count.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from math import exp, log
from typing import Final

import msgspec
from msgspec import Struct

from affidavit.base.digest import sha256_hex
from affidavit.base.statistics import rounded
from affidavit.judge.layered.combiner import Weighed

DECIMALS: Final = 4
SCHEMA: Final = "affidavit/judge-combiner/2"
# A probability nearer to 0 or 1 than this says no more than this.
_CERTAIN: Final = 0.005
_UNREAD_MOST: Final = 0.45
"""Words alone are weak support at most: on claims about real documents a false one shares more
words with its source than a true one in other words does."""

Scores = Mapping[str, float]


class WeightedSum(Struct, frozen=True, forbid_unknown_fields=True):
    """A weighted sum of scores, in logits."""

    intercept: float
    weights: dict[str, float]

    def probability(self, scores: Scores) -> float:
        """Return the logistic of the sum, added up in the order of the names."""
        total = self.intercept
        for name in sorted(self.weights):
            total += self.weights[name] * scores[name]
        return 1 / (1 + exp(-total)) if total > -700 else 0.0


class Limit(Struct, frozen=True, forbid_unknown_fields=True):
    """A rule that speaks bounds the support: of `score` at least `least`, so at most `support`.

    A `near` limit holds only for a claim that nearly repeats its sentence. There one changed word
    is a changed statement, while in a free retelling it may be a synonym.
    """

    score: str
    least: float
    support: float
    near: bool = False


class CombinerTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The combiner's file."""

    schema: str
    fitted_on: dict[str, int]
    most_passages: int
    """How many passages of a claim the encoder reads, the most relevant first."""
    near_recall: float
    near_bigrams: float
    """From these shares of words and of neighbouring words on, a claim repeats its sentence."""
    limits: tuple[Limit, ...]
    words: WeightedSum
    """Support of a passage that the encoder did not read."""
    support: WeightedSum
    contradiction: WeightedSum


class StandardCombiner(Struct, frozen=True):
    """The weights of a file, and the digest that names them in a ledger."""

    table: CombinerTable
    digest: str

    def weigh(self, scores: Scores) -> Weighed:
        """Return the two probabilities, rounded to 4 decimals."""
        table = self.table
        is_read = "entails" in scores
        support = (table.support if is_read else table.words).probability(scores)
        contradiction = table.contradiction.probability(scores) if is_read else 0.0
        bounds = [limit.support for limit in self.limits(scores)]
        if not is_read:
            bounds.append(_UNREAD_MOST)
        return Weighed(rounded(min((support, *bounds)), DECIMALS), rounded(contradiction, DECIMALS))

    def limits(self, scores: Scores) -> tuple[Limit, ...]:
        """Return the limits that hold for these scores."""
        table = self.table
        is_near = (
            scores["recall_sentence"] >= table.near_recall
            and scores["bigrams"] >= table.near_bigrams
        )
        return tuple(
            limit
            for limit in table.limits
            if scores.get(limit.score, 0.0) >= limit.least and (is_near or not limit.near)
        )


def logit(probability: float) -> float:
    """Return the logit of a probability, cut where it is sure."""
    kept = min(max(probability, _CERTAIN), 1 - _CERTAIN)
    return log(kept / (1 - kept))


@cache
def standard_combiner() -> StandardCombiner:
    """Return the combiner that ships with Affidavit."""
    return standard_combiner_from((files(__package__) / "data" / "standard.toml").read_bytes())


def standard_combiner_from(data: bytes) -> StandardCombiner:
    """Return the combiner of a file's bytes."""
    table = msgspec.convert(tomllib.loads(data.decode("utf-8")), CombinerTable)
    return StandardCombiner(table, sha256_hex(data))
