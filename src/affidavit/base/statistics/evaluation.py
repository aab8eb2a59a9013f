"""Everything that is measured of scores and verdicts with known truth, in one place."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from affidavit.base.statistics.calibration import (
    ReliabilityBin,
    brier_score,
    calibration_error,
    reliability_bins,
    with_prior,
)
from affidavit.base.statistics.classification import BinaryCounts, Estimate, binary_counts
from affidavit.base.statistics.discrimination import auroc
from affidavit.base.statistics.rates import Rate
from affidavit.base.statistics.resampling import bootstrap

SEED: Final = 1
RESAMPLES: Final = 500

Pairs = Sequence[tuple[float, bool]]


@dataclass(frozen=True, slots=True)
class ScoredLabel:
    """What is true of an item, what was said of it, and the probability that was given."""

    actual: bool
    predicted: bool
    score: float


@dataclass(frozen=True, slots=True)
class BinaryEvaluation:
    """The figures of one set. `ece_at_base_rate` is of the scores with the set's own prior."""

    counts: BinaryCounts
    auroc: Estimate
    brier: Estimate
    ece: Estimate
    ece_at_base_rate: Estimate
    bins: tuple[ReliabilityBin, ...]
    bins_at_base_rate: tuple[ReliabilityBin, ...]

    @property
    def count(self) -> int:
        """How many items were measured."""
        return self.counts.count

    @property
    def base_rate(self) -> Rate:
        """The share of the items that are truly positive."""
        return self.counts.base_rate


def evaluate_labels(
    rows: Sequence[ScoredLabel], *, seed: int = SEED, resamples: int = RESAMPLES
) -> BinaryEvaluation:
    """Return the figures of some items; nothing to measure is None.

    A score is the probability that the item is positive where half of all items are. The intervals
    of the calibration error and of Brier's score are bootstrapped, whole items at a time; the rest
    have closed forms. A set of one kind only has no base rate to shift to, so the error at the base
    rate is not measured.
    """
    counts = binary_counts((row.actual, row.predicted) for row in rows)
    pairs = tuple((row.score, row.actual) for row in rows)
    base_rate = counts.base_rate.value
    shifted: Pairs = ()
    if base_rate is not None and 0 < base_rate < 1:
        shifted = tuple((with_prior(score, base_rate), actual) for score, actual in pairs)

    def resampled(of: Pairs, statistic: Callable[[Pairs], float | None]) -> Estimate:
        found = bootstrap(of, statistic, seed=seed, resamples=resamples)
        return Estimate(found.estimate, found.interval)

    return BinaryEvaluation(
        counts=counts,
        auroc=auroc(
            [score for score, actual in pairs if actual],
            [score for score, actual in pairs if not actual],
        ),
        brier=resampled(pairs, brier_score),
        ece=resampled(pairs, _error_of),
        ece_at_base_rate=resampled(shifted, _error_of),
        bins=reliability_bins(pairs),
        bins_at_base_rate=reliability_bins(shifted),
    )


def _error_of(pairs: Pairs) -> float | None:
    return calibration_error(reliability_bins(pairs))
