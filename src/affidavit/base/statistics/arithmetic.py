"""Arithmetic that gives the same digits on every machine.

Equal inputs must give equal reports, so this package uses only operations whose last digit is
settled: integers and fractions; `+ - * /` and the square root of IEEE 754; `math.fsum`; the
`decimal` module under the context below (its `exp` and `ln` are rounded correctly, by its own
specification). It does not use `math.exp`, `log`, `pow` and `lgamma`, which are as good as the C
library that is at hand, nor `sum` over floats, which Python 3.12 changed.
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
from typing import Final


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
