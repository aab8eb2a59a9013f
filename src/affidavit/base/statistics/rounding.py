"""The one rule by which a number of a report is rounded."""

from decimal import Decimal, InvalidOperation
from math import isfinite
from typing import Final, overload

from affidavit.base.statistics.arithmetic import context_of, decimal_of

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
