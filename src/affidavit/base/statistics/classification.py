"""Quality of binary verdicts and scores: counts, F1, AUROC and calibration."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from math import fsum, isfinite, sqrt
from typing import Final

from affidavit.base.statistics.arithmetic import PRECISE
from affidavit.base.statistics.percentiles import bootstrap
from affidavit.base.statistics.rates import Interval, Rate, mean, wilson, z_value

# How well a yes or no agrees with the truth, from four counts that can be merged.


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure and its interval at 95%; what was not measured is None."""

    value: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class BinaryCounts:
    """What was said against what is: four counts. Recall is of the positives, specificity not."""

    true_positive: int
    false_positive: int
    false_negative: int
    true_negative: int

    @property
    def count(self) -> int:
        """How many items there are."""
        return self.positives + self.negatives

    @property
    def positives(self) -> int:
        """How many items are truly positive."""
        return self.true_positive + self.false_negative

    @property
    def negatives(self) -> int:
        """How many items are truly negative."""
        return self.true_negative + self.false_positive

    @property
    def base_rate(self) -> Rate:
        """The share of items that are truly positive."""
        return Rate(self.positives, self.count)

    @property
    def recall(self) -> Estimate:
        """The share of the positives that were found, with Wilson's interval."""
        return estimated(Rate(self.true_positive, self.positives))

    @property
    def specificity(self) -> Estimate:
        """The share of the negatives that were left alone, with Wilson's interval."""
        return estimated(Rate(self.true_negative, self.negatives))

    @property
    def precision(self) -> Estimate:
        """The share of what was called positive that is, with Wilson's interval."""
        return estimated(Rate(self.true_positive, self.true_positive + self.false_positive))

    @property
    def accuracy(self) -> Estimate:
        """The share of items that were told right, with Wilson's interval."""
        return estimated(Rate(self.true_positive + self.true_negative, self.count))

    @property
    def balanced_accuracy(self) -> Estimate:
        """The mean of recall and specificity; not measured where one of them is not.

        The interval joins Wilson's two by the method of variance estimates recovery: Zou and
        Donner (2008). The two recalls are of different items, so they are independent.
        """
        found, spared = _known(self.recall), _known(self.specificity)
        if found is None or spared is None:
            return Estimate(None, None)
        middle = (found.value + spared.value) / 2
        low = sqrt(found.below**2 + spared.below**2) / 2
        high = sqrt(found.above**2 + spared.above**2) / 2
        return Estimate(middle, Interval(middle - low, middle + high))

    @property
    def f1(self) -> Estimate:
        """The harmonic mean of precision and recall, 2tp / (2tp + fp + fn).

        It is 2J / (1 + J) of the share J = tp / (tp + fp + fn). Given how many items are no true
        negatives, J is a share of independent items: its Wilson interval is carried over. Without
        a positive there is nothing to find, so it is not measured.
        """
        if not self.positives:
            return Estimate(None, None)
        share = estimated(
            Rate(
                self.true_positive,
                self.true_positive + self.false_positive + self.false_negative,
            )
        )
        return Estimate(
            None if share.value is None else _f1_of(share.value),
            share.interval and Interval(_f1_of(share.interval.low), _f1_of(share.interval.high)),
        )


def binary_counts(pairs: Iterable[tuple[bool, bool]]) -> BinaryCounts:
    """Return the counts of (what is, what was said)."""
    counts = {(True, True): 0, (False, True): 0, (True, False): 0, (False, False): 0}
    for actual, said in pairs:
        counts[actual, said] += 1
    return BinaryCounts(*counts.values())


def estimated(rate: Rate) -> Estimate:
    """Return a share with Wilson's interval."""
    return Estimate(rate.value, wilson(rate))


def _f1_of(share: float) -> float:
    return 2 * share / (1 + share)


@dataclass(frozen=True, slots=True)
class _Reach:
    """A figure and how far its interval reaches down and up."""

    value: float
    below: float
    above: float


def _known(estimate: Estimate) -> _Reach | None:
    value, interval = estimate.value, estimate.interval
    if value is None or interval is None:
        return None
    return _Reach(value, value - interval.low, interval.high - value)


# Whether scores tell two kinds of items apart, whatever the threshold.


def auroc(
    positives: Sequence[float], negatives: Sequence[float], confidence: float = 0.95
) -> Estimate:
    """Return how often a positive has the higher score than a negative; ties count half.

    None if either kind is missing. The variance is DeLong's (DeLong, DeLong and Clarke-Pearson
    1988), from midranks (Sun and Xu 2014); the interval is taken on the logit scale, so that it
    stays between 0 and 1. Without variance (a perfect separation, or one item of a kind) there is
    no interval: such scores do not tell how far to trust them.
    """
    if not all(map(isfinite, (*positives, *negatives))):
        raise ValueError("scores are finite numbers")
    if not positives or not negatives:
        return Estimate(None, None)
    wins_of_positives, wins_of_negatives = _wins(positives, negatives)
    area = Fraction(sum(wins_of_positives), 2 * len(positives) * len(negatives))
    variance = _variance_of_mean(wins_of_positives, len(negatives)) + _variance_of_mean(
        wins_of_negatives, len(positives)
    )
    return Estimate(float(area), _logit_interval(area, variance, confidence))


def _wins(positives: Sequence[float], negatives: Sequence[float]) -> tuple[list[int], list[int]]:
    """Return, for each item, twice the number of items of the other kind that it beats.

    A positive beats what is below it, a negative what is above it. Twice, so that a tie is 1.
    """
    above: dict[float, int] = {}
    below: dict[float, int] = {}
    seen_positive = seen_negative = 0
    counts: dict[float, tuple[int, int]] = {}
    for score in positives:
        up, down = counts.get(score, (0, 0))
        counts[score] = (up + 1, down)
    for score in negatives:
        up, down = counts.get(score, (0, 0))
        counts[score] = (up, down + 1)
    for score in sorted(counts):
        up, down = counts[score]
        below[score] = 2 * seen_negative + down
        above[score] = 2 * (len(positives) - seen_positive) - up
        seen_positive += up
        seen_negative += down
    return [below[score] for score in positives], [above[score] for score in negatives]


def _variance_of_mean(wins: Sequence[int], others: int) -> Fraction:
    """Return the variance of the mean of an item's share of wins; 0 for a single item."""
    count = len(wins)
    if count == 1:
        return Fraction(0)
    total = sum(wins)
    squares = count * sum(win * win for win in wins) - total * total
    return Fraction(squares, count * count * (count - 1) * 4 * others * others)


def _logit_interval(area: Fraction, variance: Fraction, confidence: float) -> Interval | None:
    if not variance or area in (0, 1):
        return None
    spread = z_value(confidence) * sqrt(variance) / float(area * (1 - area))
    with localcontext(PRECISE):
        odds = Decimal((area / (1 - area)).numerator) / Decimal((area / (1 - area)).denominator)
        factor = Decimal(spread).exp()
        low, high = odds / factor, odds * factor
        return Interval(float(low / (1 + low)), float(high / (1 + high)))


# Whether probabilities mean what they say.

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


# Everything that is measured of scores and verdicts with known truth, in one place.

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
