"""How well a yes or no agrees with the truth, from four counts that can be merged."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt

from affidavit.base.statistics.intervals import Interval, wilson
from affidavit.base.statistics.rates import Rate


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
