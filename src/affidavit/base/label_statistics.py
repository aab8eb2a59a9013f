"""Statistics of labels: agreement, kappa, classification quality and calibration."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from math import fsum, isfinite, sqrt
from typing import Final

from affidavit.base.statistics import PRECISE, Interval, Rate, bootstrap, mean, wilson, z_value

# Agreement of two raters beyond chance: Cohen's kappa and its interval.


@dataclass(frozen=True, slots=True)
class LabelUse:
    """How often each of the two raters gave one label."""

    label: str
    first: Rate
    second: Rate


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two raters over the same items.

    `observed` is the share of items with equal labels (po). `expected` is the share that two
    independent raters with the same label frequencies would reach (pe). `kappa` is
    (po - pe) / (1 - pe). `labels` is sorted.
    """

    observed: Rate
    expected: float | None
    kappa: float | None
    labels: tuple[LabelUse, ...]

    @property
    def base_rate(self) -> Rate:
        """The share of the first rater's most frequent label.

        A second rater who always gives that label agrees this often, with a kappa of 0.
        """
        shares = (use.first for use in self.labels)
        return max(shares, key=lambda share: share.numerator, default=Rate(0, 0))


def agreement(pairs: Iterable[tuple[str, str]]) -> Agreement:
    """Return Cohen's kappa and its parts, from each item's two labels.

    Origin: Cohen (1960). Kappa is None if there are no items or if both raters used only one label,
    because then agreement cannot be distinguished from chance.
    """
    return agreement_from_counts(Counter(pairs))


def agreement_from_counts(counts: Mapping[tuple[str, str], int]) -> Agreement:
    """Return the same from the number of items per pair of labels; such counts can be merged."""
    items = sum(counts.values())
    agreeing = sum(count for (first, second), count in counts.items() if first == second)
    firsts: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    for (first, second), count in counts.items():
        firsts[first] += count
        seconds[second] += count
    labels = tuple(
        LabelUse(label, Rate(firsts[label], items), Rate(seconds[label], items))
        for label in sorted(firsts | seconds)
    )
    # Multiplied by items squared, po and pe are integers; each figure is rounded once, at the end.
    by_chance = sum(use.first.numerator * use.second.numerator for use in labels)
    square = items * items
    beyond_chance = items * agreeing - by_chance
    return Agreement(
        observed=Rate(agreeing, items),
        expected=by_chance / square if items else None,
        kappa=beyond_chance / (square - by_chance) if square > by_chance else None,
        labels=labels,
    )


def kappa_interval(
    counts: Mapping[tuple[str, str], int], confidence: float = 0.95
) -> Interval | None:
    """Return the large-sample interval of Cohen's kappa; None if kappa is not measured.

    Origin: Fleiss, Cohen and Everitt (1969), the variance of kappa when it is not zero. The sums
    are exact fractions and are rounded once. For few items this interval is too narrow, and for
    perfect agreement it has no width. So it reaches at least as far as the kappas of the ends of
    Wilson's interval for the observed agreement, with the agreement by chance as it is.
    """
    found = agreement_from_counts(counts)
    if found.kappa is None:
        return None
    items = found.observed.denominator
    first = {use.label: Fraction(use.first.numerator, items) for use in found.labels}
    second = {use.label: Fraction(use.second.numerator, items) for use in found.labels}
    observed = Fraction(found.observed.numerator, items)
    expected = sum((first[label] * second[label] for label in first), Fraction(0))
    kappa = (observed - expected) / (1 - expected)
    off = 1 - kappa
    total = -((kappa - expected * off) ** 2)
    for (one, other), count in counts.items():
        share = Fraction(count, items)
        if one == other:
            total += share * (1 - (first[one] + second[one]) * off) ** 2
        else:
            total += share * ((second[one] + first[other]) * off) ** 2
    spread = z_value(confidence) * sqrt(total / items) / float(1 - expected)
    agreed = wilson(found.observed, confidence) or Interval(0, 1)
    by_chance = float(expected)
    low, high = ((end - by_chance) / (1 - by_chance) for end in (agreed.low, agreed.high))
    return Interval(
        max(-1.0, min(low, float(kappa) - spread)), min(1.0, max(high, float(kappa) + spread))
    )


# Quality of binary verdicts and scores: counts, F1, AUROC and calibration.


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure and its 95% interval; None if it was not measured."""

    value: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class BinaryCounts:
    """A confusion matrix: predictions against the truth. The counts can be merged."""

    true_positive: int
    false_positive: int
    false_negative: int
    true_negative: int

    @property
    def count(self) -> int:
        """The number of items."""
        return self.positives + self.negatives

    @property
    def positives(self) -> int:
        """The number of truly positive items."""
        return self.true_positive + self.false_negative

    @property
    def negatives(self) -> int:
        """The number of truly negative items."""
        return self.true_negative + self.false_positive

    @property
    def base_rate(self) -> Rate:
        """The share of items that are truly positive."""
        return Rate(self.positives, self.count)

    @property
    def recall(self) -> Estimate:
        """The share of positives that were predicted positive, with Wilson's interval."""
        return estimated(Rate(self.true_positive, self.positives))

    @property
    def specificity(self) -> Estimate:
        """The share of negatives that were predicted negative, with Wilson's interval."""
        return estimated(Rate(self.true_negative, self.negatives))

    @property
    def precision(self) -> Estimate:
        """The share of positive predictions that are right, with Wilson's interval."""
        return estimated(Rate(self.true_positive, self.true_positive + self.false_positive))

    @property
    def accuracy(self) -> Estimate:
        """The share of right predictions, with Wilson's interval."""
        return estimated(Rate(self.true_positive + self.true_negative, self.count))

    @property
    def balanced_accuracy(self) -> Estimate:
        """The mean of recall and specificity; not measured if either of them is not.

        The interval combines the two Wilson intervals by variance estimates recovery (Zou and
        Donner 2008). Recall and specificity are of different items, so they are independent.
        """
        recall, specificity = _reach_of(self.recall), _reach_of(self.specificity)
        if recall is None or specificity is None:
            return Estimate(None, None)
        middle = (recall.value + specificity.value) / 2
        low = sqrt(recall.below**2 + specificity.below**2) / 2
        high = sqrt(recall.above**2 + specificity.above**2) / 2
        return Estimate(middle, Interval(middle - low, middle + high))

    @property
    def f1(self) -> Estimate:
        """The harmonic mean of precision and recall, 2tp / (2tp + fp + fn).

        It equals 2J / (1 + J) with J = tp / (tp + fp + fn). Given the number of items that are not
        true negatives, J is a share of independent items, so its Wilson interval is transformed.
        Without positives F1 is not measured.
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
    """Return the confusion matrix of (actual, predicted) pairs."""
    counts = {(True, True): 0, (False, True): 0, (True, False): 0, (False, False): 0}
    for actual, predicted in pairs:
        counts[actual, predicted] += 1
    return BinaryCounts(*counts.values())


def estimated(rate: Rate) -> Estimate:
    """Return a share with Wilson's interval."""
    return Estimate(rate.value, wilson(rate))


def prediction_powered_rate(labelled: BinaryCounts, judged: Rate) -> Estimate:
    """Return the share of true positives among all items, from few labels and many predictions.

    With predictions f and labels y it is mean(f) over the judged items plus mean(y - f) over the
    labelled ones. Its variance is var(f) / judged + var(y - f) / labelled. Both sets are samples of
    the same items. Origin: Angelopoulos et al. (2023), "Prediction-powered inference", for a mean,
    with the normal interval. Where no label disagrees, one disagreement is assumed for the
    variance: a few labels cannot show that there is none.
    """
    count, share = labelled.count, judged.value
    if share is None or count < 2 or judged.denominator < 2:
        return Estimate(None, None)
    shift = (labelled.false_negative - labelled.false_positive) / count
    disagreeing = max(labelled.false_negative + labelled.false_positive, 1) / count
    of_labels = (disagreeing - shift * shift) / (count - 1)
    of_judged = share * (1 - share) / (judged.denominator - 1)
    half = z_value(0.95) * sqrt(max(0.0, of_labels) + of_judged)
    value = share + shift
    return Estimate(
        min(max(value, 0.0), 1.0), Interval(max(0.0, value - half), min(1.0, value + half))
    )


def _f1_of(share: float) -> float:
    return 2 * share / (1 + share)


@dataclass(frozen=True, slots=True)
class _Reach:
    """A figure and the distances to the ends of its interval."""

    value: float
    below: float
    above: float


def _reach_of(estimate: Estimate) -> _Reach | None:
    value, interval = estimate.value, estimate.interval
    if value is None or interval is None:
        return None
    return _Reach(value, value - interval.low, interval.high - value)


def auroc(
    positives: Sequence[float], negatives: Sequence[float], confidence: float = 0.95
) -> Estimate:
    """Return the probability that a positive scores higher than a negative; ties count half.

    None if either kind is missing. The variance is DeLong's (DeLong, DeLong and Clarke-Pearson
    1988), from midranks (Sun and Xu 2014); the interval is taken on the logit scale, so that it
    stays between 0 and 1. Without variance (perfect separation, or one item of a kind) there is
    no interval.
    """
    if not all(map(isfinite, (*positives, *negatives))):
        raise ValueError("scores must be finite numbers")
    if not positives or not negatives:
        return Estimate(None, None)
    wins_of_positives, wins_of_negatives = _wins(positives, negatives)
    area = Fraction(sum(wins_of_positives), 2 * len(positives) * len(negatives))
    variance = _variance_of_mean(wins_of_positives, len(negatives)) + _variance_of_mean(
        wins_of_negatives, len(positives)
    )
    return Estimate(float(area), _logit_interval(area, variance, confidence))


def _wins(positives: Sequence[float], negatives: Sequence[float]) -> tuple[list[int], list[int]]:
    """Return for each item twice the number of items of the other kind that it beats.

    A positive beats lower scores and a negative higher ones; doubled, so that a tie counts 1.
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


BINS: Final = 10


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """The items with a score from `low` to below `high`; the last bin includes 1.

    `share` is the share of positives. `mean_score` and `share` are None if the bin is empty.
    """

    low: float
    high: float
    count: int
    mean_score: float | None
    share: float | None


def with_prior(probability: float, prior: float, before: float = 0.5) -> float:
    """Return a probability under the prior `before` as one under `prior`.

    The odds are multiplied by the ratio of the prior odds, which shifts the logit.
    """
    if not 0 <= probability <= 1:
        raise ValueError(f"a probability must be between 0 and 1, not {probability!r}")
    if not (0 < prior < 1 and 0 < before < 1):
        raise ValueError("a prior must be between 0 and 1, exclusive")
    if prior == before:
        return probability
    gain = probability * prior * (1 - before)
    loss = (1 - probability) * before * (1 - prior)
    return gain / (gain + loss)


def reliability_bins(
    pairs: Iterable[tuple[float, bool]], bins: int = BINS
) -> tuple[ReliabilityBin, ...]:
    """Return (score, truth) pairs counted in bins of equal width.

    A score p is in bin floor(p * bins), counted from 0; p = 1 is in the last bin.
    """
    scores: list[list[float]] = [[] for _ in range(bins)]
    hits = [0] * bins
    for score, actual in pairs:
        if not 0 <= score <= 1:
            raise ValueError(f"a probability must be between 0 and 1, not {score!r}")
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
    """Return the expected calibration error: the mean gap between score and share, by items.

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
    """Return the mean squared difference between probability and truth: Brier (1950)."""
    return mean((score - actual) ** 2 for score, actual in pairs)


SEED: Final = 1
RESAMPLES: Final = 500

Pairs = Sequence[tuple[float, bool]]


@dataclass(frozen=True, slots=True)
class ScoredLabel:
    """An item's true label, its predicted label, and its predicted probability."""

    actual: bool
    predicted: bool
    score: float


@dataclass(frozen=True, slots=True)
class BinaryEvaluation:
    """The figures of one set. `ece_at_base_rate` uses scores shifted to the set's base rate."""

    counts: BinaryCounts
    auroc: Estimate
    brier: Estimate
    ece: Estimate
    ece_at_base_rate: Estimate
    bins: tuple[ReliabilityBin, ...]
    bins_at_base_rate: tuple[ReliabilityBin, ...]

    @property
    def count(self) -> int:
        """The number of items."""
        return self.counts.count

    @property
    def base_rate(self) -> Rate:
        """The share of the items that are truly positive."""
        return self.counts.base_rate


def evaluate_labels(
    rows: Sequence[ScoredLabel], *, seed: int = SEED, resamples: int = RESAMPLES
) -> BinaryEvaluation:
    """Return all figures of a set of items.

    A score is the probability that an item is positive if half of all items are. The intervals of
    the calibration error and the Brier score are bootstrapped over items; the others have closed
    forms. If all items have one label, the error at the base rate is not measured.
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
