"""Amounts: `lt`, `lte`, `gt`, `gte`, `between`, `abs_within`, `pct_within`, all exact.

Origin: answer-eval.md, section 2. Differences and shares are fractions, so nothing is rounded.
The O rules of docs/checks.md.
"""

import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final, TypeAlias

from affidavit.base.json_limits import JsonValue
from affidavit.checks.outcomes import Outcome, not_evaluable, outcome_of
from affidavit.checks.values import Exact, find_exact, kind_of, shown

Comparison: TypeAlias = Callable[[JsonValue, JsonValue], Outcome]
_FORM: Final = "a number, or a text of digits such as 12 or -0.5"


def _compared(holds: Callable[[Any, Any], bool]) -> Comparison:
    def compare(seen: JsonValue, wanted: JsonValue) -> Outcome:
        pair = _pair(seen, wanted)
        return pair if isinstance(pair, Outcome) else outcome_of(holds(*pair))

    return compare


def _pair(seen: JsonValue, wanted: JsonValue) -> tuple[Exact, Exact] | Outcome:
    left, right = find_exact(seen), find_exact(wanted)
    if left is None:
        return _no_number("the evidence", seen)
    if right is None:
        return _no_number("what is expected", wanted)
    return left, right


less: Final = _compared(operator.lt)
less_or_equal: Final = _compared(operator.le)
greater: Final = _compared(operator.gt)
greater_or_equal: Final = _compared(operator.ge)


def between(seen: JsonValue, wanted: list[JsonValue]) -> Outcome:
    """`between`: from the first to the second of two numbers, both included."""
    amount, low, high = find_exact(seen), find_exact(wanted[0]), find_exact(wanted[1])
    if amount is None:
        return _no_number("the evidence", seen)
    if low is None or high is None:
        return _no_number("a bound", wanted[0] if low is None else wanted[1])
    if low > high:
        return not_evaluable("the lower bound is above the upper one, so no number fits")
    return outcome_of(low <= amount <= high)


def abs_within(seen: JsonValue, wanted: JsonValue, tol: JsonValue) -> Outcome:
    """`abs_within`: no further from the expected number than the tolerance."""
    gap = _gap(seen, wanted)
    return gap if isinstance(gap, Outcome) else outcome_of(gap[0] <= _fraction(tol))


def pct_within(seen: JsonValue, wanted: JsonValue, tol: JsonValue) -> Outcome:
    """`pct_within`: the same in per cent of the expected number, which must not be 0."""
    gap = _gap(seen, wanted)
    if isinstance(gap, Outcome):
        return gap
    distance, expected = gap
    if expected == 0:
        return not_evaluable("there is no percentage of 0; use abs_within")
    return outcome_of(distance * 100 <= _fraction(tol) * expected)


def _gap(seen: JsonValue, wanted: JsonValue) -> tuple[Fraction, Fraction] | Outcome:
    """Return how far apart two numbers are, and the size of the expected one."""
    pair = _pair(seen, wanted)
    if isinstance(pair, Outcome):
        return pair
    left, expected = map(Fraction, pair)
    return abs(left - expected), abs(expected)


def _fraction(tol: JsonValue) -> Fraction:
    # The tolerance was read as a number that is not negative; see unit.py.
    return Fraction(find_exact(tol) or 0)


def _no_number(whose: str, value: JsonValue) -> Outcome:
    return not_evaluable(f"{whose} is {kind_of(value)} ({shown(value)}), not {_FORM}")
