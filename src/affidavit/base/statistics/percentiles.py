"""Percentiles by linear interpolation."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import isfinite

from affidavit.base.statistics.arithmetic import decimal_of


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
