"""The quantile of the normal distribution that an interval needs."""

from decimal import Decimal, localcontext
from functools import lru_cache
from typing import Final

from affidavit.base.statistics.arithmetic import PRECISE, tail_of

_ROOT_OF_TWO_PI: Final = Decimal("2.506628274631000502415765284811045253006986740609938")
_CLOSE_ENOUGH: Final = Decimal("1e-20")  # A double holds 17 digits.
_NO_MORE_DIGITS: Final = Decimal("1e-40")


@lru_cache(maxsize=64)
def z_value(confidence: float) -> float:
    """Return z with P(-z < Z < z) = confidence, the double nearest to it: 1.96 for 0.95.

    Newton's method from 0: right of 0 the distribution function is concave, so the steps approach
    from the left and cannot overshoot.
    """
    with localcontext(PRECISE):
        above_middle = Decimal("0.5") - tail_of(confidence)
        z = Decimal(0)
        while True:
            density = (-z * z / 2).exp() / _ROOT_OF_TWO_PI
            step = (above_middle - density * _area_over_density(z)) / density
            z += step
            if step < _CLOSE_ENOUGH:
                return float(z)


def _area_over_density(z: Decimal) -> Decimal:
    """Return the area from 0 to z over the density at z: z + z^3/3 + z^5/(3*5) + ...

    Origin: Abramowitz and Stegun, 26.2.11. All terms are positive: nothing cancels.
    """
    total = term = z
    odd = 1
    while term > total * _NO_MORE_DIGITS:
        odd += 2
        term *= z * z / odd
        total += term
    return total
