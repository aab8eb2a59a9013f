"""Arithmetic with the same digits on every machine, and the one rounding rule of reports.

Equal inputs must give equal reports, so this package uses only operations whose last digit is
defined: integers and fractions; `+ - * /` and the square root of IEEE 754; `math.fsum`; and the
`decimal` module under the context below, whose `exp` and `ln` are correctly rounded. It does not
use `math.exp`, `log`, `pow` and `lgamma`, which depend on the C library, nor `sum` over floats,
which Python 3.12 changed.
"""

from decimal import (
    ROUND_HALF_EVEN,
    Context,
    Decimal,
    DecimalException,
    DivisionByZero,
    InvalidOperation,
    Overflow,
)
from math import isfinite
from typing import Final, overload


def context_of(digits: int, *traps: type[DecimalException]) -> Context:
    """Return a context with every field set, because any other code can change the defaults."""
    return Context(
        prec=digits,
        rounding=ROUND_HALF_EVEN,
        Emin=-999_999,
        Emax=999_999,
        capitals=1,
        clamp=0,
        flags=[],
        traps=list(traps),
    )


# Far more digits than the 17 of a double, so that nothing is lost by cancellation.
PRECISE: Final = context_of(40, DivisionByZero, InvalidOperation, Overflow)


def decimal_of(value: float) -> Decimal:
    """Return the number as it is written: 0.95 is 95/100, not its nearest double."""
    return Decimal(repr(value))


def tail_of(confidence: float) -> Decimal:
    """Return the probability beyond each end of a two-sided interval: 0.025 for 0.95."""
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence must be between 0 and 1, not {confidence!r}")
    return PRECISE.divide(PRECISE.subtract(Decimal(1), decimal_of(confidence)), Decimal(2))


REPORT_DECIMALS: Final = 6

# The largest double has 309 digits before the point.
_WIDE: Final = context_of(400, InvalidOperation)


@overload
def rounded(value: float, decimals: int = ...) -> float: ...
@overload
def rounded(value: None, decimals: int = ...) -> None: ...
@overload
def rounded(value: float | None, decimals: int = ...) -> float | None: ...
def rounded(value: float | None, decimals: int = REPORT_DECIMALS) -> float | None:
    """Return the number with at most `decimals` decimals; None stays None.

    The shortest decimal text that reads back as the same double (as in JSON and RFC 8785) is
    rounded half to even. So 2.675 with two decimals is 2.68, as a reader of "2.675" expects;
    `round` uses the binary value and gives 2.67. There is no negative zero.
    """
    if value is None:
        return None
    if not isfinite(value):
        raise ValueError(f"only a finite number can be rounded, not {value!r}")
    step = Decimal((0, (1,), -decimals))
    return float(decimal_of(float(value)).quantize(step, context=_WIDE)) + 0.0
