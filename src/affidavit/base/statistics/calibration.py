"""Whether probabilities mean what they say."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Final

from affidavit.base.statistics.rates import mean

BINS: Final = 10


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """The items whose score is from `low` to below `high` (the last bin: up to 1).

    `mean_score` is what was promised, `share` how many were positive; None where there is no item.
    """

    low: float
    high: float
    count: int
    mean_score: float | None
    share: float | None


def with_prior(probability: float, prior: float, before: float = 0.5) -> float:
    """Return a probability that holds for the prior `before` as one that holds for `prior`.

    The odds are multiplied by the ratio of the two priors' odds, which is a shift of the logit.
    """
    if not 0 <= probability <= 1:
        raise ValueError(f"a probability lies between 0 and 1, not {probability!r}")
    if not (0 < prior < 1 and 0 < before < 1):
        raise ValueError("a prior lies between 0 and 1, neither included")
    if prior == before:
        return probability
    gain = probability * prior * (1 - before)
    loss = (1 - probability) * before * (1 - prior)
    return gain / (gain + loss)


def reliability_bins(
    pairs: Iterable[tuple[float, bool]], bins: int = BINS
) -> tuple[ReliabilityBin, ...]:
    """Return (score, truth) counted in so many bins of equal width.

    The rule: a score p stands in bin floor(p * bins), counted from 0; p = 1 in the last one.
    """
    scores: list[list[float]] = [[] for _ in range(bins)]
    hits = [0] * bins
    for score, actual in pairs:
        if not 0 <= score <= 1:
            raise ValueError(f"a probability lies between 0 and 1, not {score!r}")
        at = min(int(score * bins), bins - 1)
        scores[at].append(score)
        hits[at] += actual
    return tuple(
        ReliabilityBin(
            at / bins,
            (at + 1) / bins,
            len(found),
            mean(found),
            hits[at] / len(found) if found else None,
        )
        for at, found in enumerate(scores)
    )


def calibration_error(bins: Sequence[ReliabilityBin]) -> float | None:
    """Return the expected calibration error: the mean gap between promise and share, by items.

    Origin: Naeini, Cooper and Hauskrecht (2015).
    """
    total = sum(each.count for each in bins)
    gaps = [
        each.count * abs(each.mean_score - each.share)
        for each in bins
        if each.mean_score is not None and each.share is not None
    ]
    return fsum(gaps) / total if total else None


def brier_score(pairs: Iterable[tuple[float, bool]]) -> float | None:
    """Return the mean squared distance of a probability from the truth: Brier (1950)."""
    return mean((score - actual) ** 2 for score, actual in pairs)
