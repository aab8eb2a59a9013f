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


def percentile(values: Iterable[float], percent: float | Fraction) -> float | None:
    """Return the value below which `percent` of 100 lie; None for no values.

    Interpolates linearly between the order statistics on either side of the position
    percent / 100 * (n - 1): type 7 of Hyndman and Fan (1996), the default of numpy and R. The
    interpolation is exact and rounded once, so a higher percent never gives a lower value.
    """
    ordered = sorted(values)
    if not all(map(isfinite, ordered)):
        raise ValueError("a percentile is taken of finite numbers only")
    return percentile_of_sorted(ordered, percent)


def percentile_of_sorted(ordered: Sequence[float], percent: float | Fraction) -> float | None:
    """Return the same for finite values in ascending order."""
    if not 0 <= percent <= 100:
        raise ValueError(f"a percentile must be between 0 and 100, not {percent}")
    if not ordered:
        return None
    share = percent if isinstance(percent, Fraction) else Fraction(decimal_of(percent))
    position = share * (len(ordered) - 1) / 100
    below = position.numerator // position.denominator
    low = Fraction(ordered[below])
    high = Fraction(ordered[min(below + 1, len(ordered) - 1)])
    return float(low + (high - low) * (position - below))


# The distribution-free interval for a quantile: David and Nagaraja, Order Statistics, 7.1. Its ends
# are two of the values. The number of values below the quantile is binomial whatever their
# distribution. Each tail gets at most half of 1 - confidence, so the coverage is at least the
# nominal one. With too few values there is no interval (P95 needs 72 values, P99 368).

_NEGLIGIBLE = 1e-18


def percentile_interval(
    ordered: Sequence[float], percent: float, confidence: float = 0.95
) -> Interval | None:
    """Return the interval of a percentile of values in ascending order; None if they are too few.

    Percentiles 0 and 100 are refused: the ends of a distribution have no such interval.
    """
    if not 0 < percent < 100 or not 0 < confidence < 1:
        raise ValueError(
            "a percentile and its confidence must be within their ranges, not at the ends"
        )
    count = len(ordered)
    if not count:
        return None
    tail = (1 - confidence) / 2
    first, weights = _binomial(count, percent / 100)
    total = sum(weights)
    # The weights below `low`, and those from `high` on, each sum to at most the tail.
    low = first + _taken(weights, tail * total)
    high = first + len(weights) - _taken(weights[::-1], tail * total)
    if low < 1 or high > count:
        return None
    return Interval(ordered[low - 1], ordered[high - 1])


def _binomial(count: int, share: float) -> tuple[int, list[float]]:
    """Return the first number of successes with a weight, and the weights from there on.

    Weights are relative to the likeliest number. Each follows from its neighbour by products and
    quotients only, so they are the same on every machine.
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
    """Return how many of the first weights sum to at most the limit."""
    return sum(1 for so_far in accumulate(weights) if so_far <= limit)


Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """A statistic, its interval, and the number of resamples.

    In `unmeasured` of them the statistic was None; the interval is over the others.
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

    Origin: Efron and Tibshirani (1993), chapter 13. The statistic returns None if it has
    nothing to measure; without items, or if it is None for them, the result is not measured.
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

    The generator can be reimplemented in any language: SHAKE-256 over the ASCII text
    "affidavit-bootstrap-1/<seed>/<resample>", read as little-endian 64-bit words; each word w gives
    the position floor(w * count / 2^64). Resamples are independent and can be drawn in any order.
    """
    name = f"affidavit-bootstrap-1/{seed}/{resample}"
    words = unpack(f"<{count}Q", shake_256(name.encode()).digest(8 * count))
    return [word * count >> 64 for word in words]
