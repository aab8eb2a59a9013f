"""Combines the scores of the layers into two probabilities: weighted sums, limited by rules.

The weights are in `data/combiner.toml`, which `make fit-judge` writes with `tools/judge_bench`. A
score without a weight does not count.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import exp, log
from typing import Final

import msgspec

from affidavit.base.digest import sha256_hex
from affidavit.base.statistics import rounded
from affidavit.judge.encoder.entailment import Entailment

DECIMALS: Final = 4
SCHEMA: Final = "affidavit/judge-combiner/1"
_FILE: Final = files(__package__) / "data" / "combiner.toml"
# A probability nearer to 0 or 1 than this says no more than this.
_CERTAIN: Final = 0.005
SAID: Final = "said"
NOT_SAID: Final = "not_said"
_ALL_THERE: Final = ("recall_sentence", "bigrams", "exact")
VERBATIM_SUPPORT: Final = 0.999
"""Of a claim that repeats its source. The sums are fitted to retellings, and know no such thing."""


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of the combiner's file."""


class SumV1(_Part, frozen=True):
    """A weighted sum of scores, in logits."""

    intercept: float
    weights: dict[str, float]


class LayersV1(_Part, frozen=True):
    """The sums of one probability: from the words alone, and with the encoder's reading."""

    words: SumV1
    read: SumV1


class LimitV1(_Part, frozen=True):
    """A rule that speaks bounds the support: of `score` at least `least`, so at most `support`.

    `near` asks for a claim of which the deciding sentence has at least this share: there one
    changed word is a changed statement, while in a free retelling it may be a synonym. `unless`
    lets the encoder overrule the rule: from this probability on that the passage says so.
    """

    score: str
    least: float
    support: float
    near: float = 0.0
    unless: float | None = None


class CascadeV1(_Part, frozen=True):
    """Where the encoder is asked: between these supports by words, for so many passages a claim.

    And of every sentence that has at least the share `near` of the claim without repeating it:
    there words see no difference between "A sold B" and "B sold A".
    """

    unsure_from: float
    unsure_to: float
    near: float
    most_passages: int


class CombinerV1(_Part, frozen=True):
    """The combiner's file."""

    schema: str
    fitted_on: dict[str, int]
    cascade: CascadeV1
    limits: tuple[LimitV1, ...]
    support: LayersV1
    contradiction: LayersV1


@dataclass(frozen=True, slots=True)
class Weighed:
    """The probability, where half of all claims are supported, that this one is; and the other."""

    support: float
    contradiction: float


@dataclass(frozen=True, slots=True)
class Combiner:
    """The weights of a file, and the digest that names them in a ledger."""

    table: CombinerV1
    digest: str

    def weigh(self, scores: Mapping[str, float], read: Entailment | None = None) -> Weighed:
        """Return the two probabilities, rounded to 4 decimals."""
        seen = dict(scores)
        if read is not None:
            seen |= reading_scores(read)
            # Of the same words in another order it is the better reader, of other words it is not.
            seen[NOT_SAID] = (1 - read.entails) * scores["exact"]
        support, contradiction = (
            probability(layers.words if read is None else layers.read, seen)
            for layers in (self.table.support, self.table.contradiction)
        )
        limits = self.limits(seen)
        if limits:
            support = min(support, *(limit.support for limit in limits))
        elif is_verbatim(scores):
            support = VERBATIM_SUPPORT
        return Weighed(rounded(support, DECIMALS), rounded(contradiction, DECIMALS))

    def limits(self, scores: Mapping[str, float]) -> tuple[LimitV1, ...]:
        """Return the limits that hold for this claim; an encoder that was not asked sets none."""
        return tuple(
            limit
            for limit in self.table.limits
            if scores.get(limit.score, 0.0) >= limit.least
            and scores["recall_sentence"] >= limit.near
            and (limit.unless is None or scores.get(SAID, 0.0) < limit.unless)
        )

    def is_unsure(self, scores: Mapping[str, float]) -> bool:
        """Say whether the encoder is worth asking.

        It is not where the claim repeats its source, where a rule that the encoder cannot overrule
        has spoken, and where the sum of the words is so far from even that it could not turn it.
        """
        if is_verbatim(scores) or any(limit.unless is None for limit in self.limits(scores)):
            return False
        cascade = self.table.cascade
        if scores["recall_sentence"] >= cascade.near:
            return True
        by_words = rounded(probability(self.table.support.words, scores), DECIMALS)
        return cascade.unsure_from <= by_words <= cascade.unsure_to


def is_verbatim(scores: Mapping[str, float]) -> bool:
    """Say whether every word of the claim stands in one sentence, in its order, none exchanged."""
    return all(scores[name] >= 1.0 for name in _ALL_THERE) and not scores["exchanged"]


def probability(table: SumV1, scores: Mapping[str, float]) -> float:
    """Return the logistic of a weighted sum, added up in the order of the names."""
    total = table.intercept
    for name in sorted(table.weights):
        total += table.weights[name] * scores[name]
    return 1 / (1 + exp(-total)) if total > -700 else 0.0


def reading_scores(read: Entailment) -> dict[str, float]:
    """Return the encoder's answer as scores: logits for the sums, cut where they are sure.

    `said` is the plain probability that the passage says so, which may lift a limit.
    """
    return {
        "entails": _logit(read.entails),
        "contradicts": _logit(read.contradicts),
        SAID: read.entails,
    }


def _logit(share: float) -> float:
    kept = min(max(share, _CERTAIN), 1 - _CERTAIN)
    return log(kept / (1 - kept))


@cache
def shipped_combiner() -> Combiner:
    """Return the combiner that ships with Affidavit."""
    return combiner_from(_FILE.read_bytes())


def combiner_from(data: bytes) -> Combiner:
    """Return the combiner of a file's bytes."""
    table = msgspec.convert(tomllib.loads(data.decode("utf-8")), CombinerV1)
    return Combiner(table, sha256_hex(data))
