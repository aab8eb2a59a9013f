"""Percentiles, distribution-free intervals for them, and the seeded bootstrap."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import shake_256
from itertools import accumulate
from math import floor, isfinite
from struct import unpack
from typing import TypeVar

from affidavit.base.statistics.arithmetic import decimal_of, tail_of
from affidavit.base.statistics.rates import Interval

# Percentiles by linear interpolation.


def percentile(values: Iterable[float], percent: float | Fraction) -> float | None:
    """Return the value below which `percent` of 100 lie; None for no values.

    Interpolates linearly between the order statistics on either side of the position
    percent / 100 * (n - 1): type 7 of Hyndman and Fan (1996), the default of numpy and R. The
    position and the value between are exact and rounded once, so a higher percent never gives
    a lower value.
    """
    ordered = sorted(values)
    if not all(map(isfinite, ordered)):
        raise ValueError("a percentile is taken of finite numbers only")
    return percentile_of_sorted(ordered, percent)


def percentile_of_sorted(ordered: Sequence[float], percent: float | Fraction) -> float | None:
    """Return the same for finite values that stand in ascending order already."""
    if not 0 <= percent <= 100:
        raise ValueError(f"a percentile lies between 0 and 100, not {percent}")
    if not ordered:
        return None
    share = percent if isinstance(percent, Fraction) else Fraction(decimal_of(percent))
    position = share * (len(ordered) - 1) / 100
    below = position.numerator // position.denominator
    low = Fraction(ordered[below])
    high = Fraction(ordered[min(below + 1, len(ordered) - 1)])
    return float(low + (high - low) * (position - below))


# How sure a percentile is: an interval whose ends are two of the values themselves.
#
# Origin: the distribution-free interval for a quantile (David and Nagaraja, Order Statistics, 7.1).
# How many of n values lie below the quantile is binomial, whatever the values are distributed like.
# Each tail is held to half of what the confidence leaves, so the interval covers at least as often
# as it says. Few values may not reach far enough: then there is none (P95 needs 72, P99 368).

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


# The bootstrap, replayable from its seed in any language.

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """A statistic, its interval, and how many resamples there were.

    In `unmeasured` of them the statistic had nothing to measure; the interval is over the others.
    """

    estimate: float | None
    interval: Interval | None
    resamples: int
    unmeasured: int


def bootstrap(
    items: Sequence[Item],
    statistic: Callable[[Sequence[Item]], float | None],
    *,
    seed: int,
    resamples: int = 2000,
    confidence: float = 0.95,
) -> Bootstrap:
    """Return the statistic with its percentile interval over resamples of whole items.

    Origin: Efron and Tibshirani (1993), chapter 13. The statistic says None where it has nothing
    to measure. No items, or nothing to measure in them, is not measured.
    """
    tail = Fraction(tail_of(confidence))
    estimate = statistic(items) if items else None
    if estimate is None:
        return Bootstrap(None, None, resamples, resamples)
    outcomes = (
        statistic([items[position] for position in drawn_positions(seed, resample, len(items))])
        for resample in range(resamples)
    )
    measured = sorted(outcome for outcome in outcomes if outcome is not None)
    low = percentile_of_sorted(measured, 100 * tail)
    high = percentile_of_sorted(measured, 100 - 100 * tail)
    return Bootstrap(
        estimate=estimate,
        interval=None if low is None or high is None else Interval(low, high),
        resamples=resamples,
        unmeasured=resamples - len(measured),
    )


def drawn_positions(seed: int, resample: int, count: int) -> list[int]:
    """Return `count` positions drawn with replacement from 0 to count - 1.

    The generator: SHAKE-256 over the ASCII text "affidavit-bootstrap-1/<seed>/<resample>", read
    as little-endian words of 64 bits; each word w gives the position floor(w * count / 2^64).
    Resamples are independent of one another, so they can be drawn in any order and anywhere.
    """
    name = f"affidavit-bootstrap-1/{seed}/{resample}"
    words = unpack(f"<{count}Q", shake_256(name.encode()).digest(8 * count))
    return [word * count >> 64 for word in words]
