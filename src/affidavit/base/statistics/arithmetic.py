"""Decimal arithmetic that gives the same digits on every machine, and the one rounding rule of
reports.
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

# Arithmetic that gives the same digits on every machine.
#
# Equal inputs must give equal reports, so this package uses only operations whose last digit is
# settled: integers and fractions; `+ - * /` and the square root of IEEE 754; `math.fsum`; the
# `decimal` module under the context below (its `exp` and `ln` are rounded correctly, by its own
# specification). It does not use `math.exp`, `log`, `pow` and `lgamma`, which are as good as the C
# library that is at hand, nor `sum` over floats, which Python 3.12 changed.


def context_of(digits: int, *traps: type[DecimalException]) -> Context:
    """Return a context in which every field is given: any importer can change the defaults."""
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


# Forty digits leave more than twenty after the largest cancellation here (ln of a million's
# factorial against its parts).
PRECISE: Final = context_of(40, DivisionByZero, InvalidOperation, Overflow)


def decimal_of(value: float) -> Decimal:
    """Return the number as it is written, so that 0.95 is 95/100 and not its nearest double."""
    return Decimal(repr(value))


def tail_of(confidence: float) -> Decimal:
    """Return what a two-sided interval leaves out on each side: 0.025 for 0.95."""
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1, not {confidence!r}")
    return PRECISE.divide(PRECISE.subtract(Decimal(1), decimal_of(confidence)), Decimal(2))


# The one rule by which a number of a report is rounded.

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
    """Return the number with at most so many decimals; what was not measured stays so.

    The rule: take the shortest decimal text that reads back as the same double (what JSON shows
    and RFC 8785 prescribes), round that text half to even, read it as a double. So 2.675 with two
    decimals is 2.68, as a reader of "2.675" expects; `round` looks at the double's binary value
    and gives 2.67. There is no negative zero.
    """
    if value is None:
        return None
    if not isfinite(value):
        raise ValueError(f"only a finite number can be rounded, not {value!r}")
    step = Decimal((0, (1,), -decimals))
    return float(decimal_of(float(value)).quantize(step, context=_WIDE)) + 0.0
