"""From what was seen in a passage to two probabilities: a weighted sum each, and limits by rule.

The weights stand in files that people can read, one per encoder: `data/standard.toml` and
`data/fast.toml`. A score without a weight there does not count.
"""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from math import exp, log
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from affidavit.base.digest import sha256_hex
from affidavit.base.statistics import rounded
from affidavit.ledger.rules import JudgeThresholds

DECIMALS: Final = 4
SCHEMA: Final = "affidavit/judge-combiner/2"
# A probability nearer to 0 or 1 than this says no more than this.
_CERTAIN: Final = 0.005
_SPEAKS: Final = 0.6
_UNREAD_MOST: Final = 0.45
"""Words alone are weak support at most: on claims about real documents a false one shares more
words with its source than a true one in other words does."""

Scores = Mapping[str, float]


class Weighed(NamedTuple):
    """The probability, where half of all claims are supported, that this one is; and the other."""

    support: float
    contradiction: float


class WeightedSum(Struct, frozen=True, forbid_unknown_fields=True):
    """A weighted sum of scores, in logits."""

    intercept: float
    weights: dict[str, float]

    def total(self, scores: Scores) -> float:
        """Return the sum, added up in the order of the names."""
        total = self.intercept
        for name in sorted(self.weights):
            total += self.weights[name] * scores[name]
        return total

    def probability(self, scores: Scores) -> float:
        """Return the logistic of the sum."""
        total = self.total(scores)
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
    unless_read: float = 1.0
    """It does not hold where the encoder reads all windows as saying so with this probability."""


class RiskBound(Struct, frozen=True, forbid_unknown_fields=True):
    """From this support on, at most this share of the supported rows was not true."""

    at_most: float
    supported_from: float


class CombinerTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The combiner's file."""

    schema: str
    fitted_on: dict[str, int]
    most_passages: int
    """How many passages of a claim the encoder reads, the most relevant first."""
    near_recall: float
    near_bigrams: float
    """From these shares of words and of neighbouring words on, a claim repeats its sentence."""
    thresholds: JudgeThresholds
    risks: tuple[RiskBound, ...]
    """The strictest first."""
    limits: tuple[Limit, ...]
    words: WeightedSum
    """Support of a passage that the encoder did not read."""
    support: WeightedSum
    contradiction: WeightedSum


class Combiner(Struct, frozen=True):
    """The weights of a file, and the digest that names them in a ledger."""

    table: CombinerTable
    digest: str

    def weigh(self, scores: Scores) -> Weighed:
        """Return the two probabilities, rounded to 4 decimals."""
        table = self.table
        if not scores["recall_wide"]:
            return Weighed(0.0, 0.0)  # Not one word of the claim is here.
        is_read = "entails" in scores
        support = (table.support if is_read else table.words).probability(scores)
        contradiction = table.contradiction.probability(scores) if is_read else 0.0
        if is_read and self._is_decided_by_rule(scores):
            contradiction = max(contradiction, table.thresholds.contradicted_from)
        limits = self.limits(scores)
        if self._is_same_amount(scores, limits):
            return Weighed(rounded(max(support, scores["words"]), DECIMALS), 0.0)
        bounds = [limit.support for limit in limits]
        if not is_read:
            bounds.append(_UNREAD_MOST)
        return Weighed(rounded(min((support, *bounds)), DECIMALS), rounded(contradiction, DECIMALS))

    def _is_near(self, scores: Scores) -> bool:
        """Say whether a claim nearly repeats its sentence. Exchanged roles break up neighbours."""
        return scores["recall_sentence"] >= self.table.near_recall and (
            scores["bigrams"] >= self.table.near_bigrams or scores["swapped"] >= _SPEAKS
        )

    def _is_decided_by_rule(self, scores: Scores) -> bool:
        """Say whether what a rule found against a claim stands.

        It does for a claim that nearly repeats its sentence: other facts and exchanged roles
        always, anything else if the encoder too reads a window as saying otherwise. A freer claim
        may be misread by a rule: there its finding is one of the scores.
        """
        is_against = scores["rule_contradiction"] > 0 and self._is_near(scores)
        return self.is_another_fact(scores) or (is_against and scores["contradicts"] >= 0)

    def _is_same_amount(self, scores: Scores, limits: Sequence[Limit]) -> bool:
        """Say whether a sentence nearly repeats the claim, with its amounts in other units.

        The rules have converted the amounts; the encoder reads "14 calendar days" as another time
        than "2 weeks", and its second head as an edit.
        """
        is_against = scores["rule_contradiction"] > 0 or any(
            each.score != "edited" for each in limits
        )
        return scores.get("amounts_restated", 0.0) > 0 and self._is_near(scores) and not is_against

    def is_another_fact(self, scores: Scores) -> bool:
        """Say whether a sentence repeats the claim with other facts or exchanged roles."""
        is_sure = max(scores["facts_conflict"], scores["swapped"]) >= _SPEAKS
        return scores["rule_contradiction"] > 0 and is_sure and self._is_near(scores)

    def limits(self, scores: Scores) -> tuple[Limit, ...]:
        """Return the limits that hold for these scores."""
        is_near = self._is_near(scores)
        said = min(scores["entails"], scores["entails_tight"]) if "entails" in scores else None
        return tuple(
            limit
            for limit in self.table.limits
            if scores.get(limit.score, 0.0) >= limit.least
            and (is_near or not limit.near)
            and (said is None or limit.unless_read == 1.0 or said < logit(limit.unless_read))
        )


def logit(probability: float) -> float:
    """Return the logit of a probability, cut where it is sure."""
    kept = min(max(probability, _CERTAIN), 1 - _CERTAIN)
    return log(kept / (1 - kept))


@cache
def shipped_combiner(encoder: str) -> Combiner:
    """Return the combiner that was fitted to what an encoder answers."""
    return combiner_from((files(__package__) / "data" / f"{encoder}.toml").read_bytes())


def combiner_from(data: bytes) -> Combiner:
    """Return the combiner of a file's bytes."""
    table = msgspec.convert(tomllib.loads(data.decode("utf-8")), CombinerTable)
    return Combiner(table, sha256_hex(data))
