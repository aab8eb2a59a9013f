"""How sure a percentile is: an interval whose ends are two of the values themselves.

Origin: the distribution-free interval for a quantile (David and Nagaraja, Order Statistics, 7.1).
How many of n values lie below the quantile is binomial, whatever the values are distributed like.
Each tail is held to half of what the confidence leaves, so the interval covers at least as often
as it says. Few values may not reach far enough: then there is none (P95 needs 72, P99 368).
"""

from collections.abc import Sequence
from itertools import accumulate
from math import floor

from affidavit.base.statistics.intervals import Interval

_NEGLIGIBLE = 1e-18


def percentile_interval(
    ordered: Sequence[float], percent: float, confidence: float = 0.95
) -> Interval | None:
    """Return the interval of a percentile of values in ascending order; None if they are too few.

    It is for percentiles between 0 and 100, both left out: the ends of a distribution have none.
    """
    if not 0 < percent < 100 or not 0 < confidence < 1:
        raise ValueError("a percentile and its confidence lie within their ranges, not at the ends")
    count = len(ordered)
    if not count:
        return None
    tail = (1 - confidence) / 2
    first, weights = _binomial(count, percent / 100)
    total = sum(weights)
    # Below `low` values: at most the tail. From `high` on, counted from above, likewise.
    low = first + _taken(weights, tail * total)
    high = first + len(weights) - _taken(weights[::-1], tail * total)
    if low < 1 or high > count:
        return None
    return Interval(ordered[low - 1], ordered[high - 1])


def _binomial(count: int, share: float) -> tuple[int, list[float]]:
    """Return the first number of successes that is worth counting, and the weights from it on.

    Weights are relative to the likeliest number and follow from one another by products and
    quotients alone, so they are the same on every machine.
    """
    likeliest = min(count, floor((count + 1) * share))
    odds = share / (1 - share)
    above, below = [1.0], []
    for successes in range(likeliest + 1, count + 1):
        above.append(above[-1] * (count - successes + 1) / successes * odds)
        if above[-1] < _NEGLIGIBLE:
            break
    weight = 1.0
    for successes in range(likeliest, 0, -1):
        weight = weight * successes / (count - successes + 1) / odds
        below.append(weight)
        if weight < _NEGLIGIBLE:
            break
    return likeliest - len(below), [*below[::-1], *above]


def _taken(weights: Sequence[float], limit: float) -> int:
    """Return how many of the weights, from the first on, are together within a limit."""
    return sum(1 for so_far in accumulate(weights) if so_far <= limit)
