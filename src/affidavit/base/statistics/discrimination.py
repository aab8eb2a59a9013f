"""Whether scores tell two kinds of items apart, whatever the threshold."""

from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from math import isfinite, sqrt

from affidavit.base.statistics.arithmetic import PRECISE
from affidavit.base.statistics.classification import Estimate
from affidavit.base.statistics.intervals import Interval
from affidavit.base.statistics.normal import z_value


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
