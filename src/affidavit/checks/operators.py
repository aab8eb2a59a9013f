"""The closed table of the twenty operators, and the pure functions behind them."""

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from affidavit.base.json_values import JsonValue
from affidavit.checks.expectations import (
    Expectation,
    OperatorResult,
    not_evaluable,
    operator_result,
)
from affidavit.checks.timestamps import (
    MAX_CLOCK_SKEW_S,
    NANOSECONDS,
    find_timestamp,
    is_older,
    seconds_text,
)
from affidavit.checks.values import (
    MAX_NUMERAL,
    ExactNumber,
    PathLookup,
    display_value,
    find_number,
    is_number,
    is_scalar,
    kind_of,
    scalar_text,
)

# Equality and membership: `eq`, `ne`, `in`, `contains`, `starts_with`, `ends_with`.
#
# String-first and never coercing (answer-eval.md, section 2): two JSON numbers are compared by
# value, anything else by its text, trimmed. The O rules of docs/checks.md.

_VERSION_LIKE: Final = re.compile(r"v?[0-9]+(?:\.[0-9]+)+")
_VERSION_NOTE: Final = (
    "texts are compared letter by letter; semver_eq compares versions part by part"
)
_MIXED_TYPES_NOTE: Final = "a number and a text are compared as texts"
_NULL_NOTE: Final = "the evidence has null here, which is no value"


def find_equal(seen: JsonValue, wanted: JsonValue) -> bool | None:
    """Say whether two values are equal, or None if the evidence cannot tell.

    A null of the evidence equals null, and says nothing about any other value.
    """
    if not is_scalar(seen) or not is_scalar(wanted):
        return None
    if seen is None:
        return True if wanted is None else None
    if wanted is None:
        return False
    if is_number(seen) and is_number(wanted):
        return find_number(seen) == find_number(wanted)
    return scalar_text(seen).strip() == scalar_text(wanted).strip()


def equals(seen: JsonValue, wanted: JsonValue) -> OperatorResult:
    """`eq`: the values are equal."""
    same = find_equal(seen, wanted)
    return (
        _incomparable(seen, wanted)
        if same is None
        else operator_result(same, _equality_note(seen, wanted))
    )


def differs(seen: JsonValue, wanted: JsonValue) -> OperatorResult:
    """`ne`: the values are not equal."""
    same = find_equal(seen, wanted)
    if same is None:
        return _incomparable(seen, wanted)
    return operator_result(not same, _equality_note(seen, wanted))


def is_in(seen: JsonValue, wanted: list[JsonValue]) -> OperatorResult:
    """`in`: the value equals one of a list, which holds single values (checked when it is read)."""
    answers = [find_equal(seen, member) for member in wanted]
    if True in answers:
        return operator_result(True)
    return _incomparable(seen, None) if None in answers else operator_result(False)


def contains(seen: JsonValue, wanted: JsonValue) -> OperatorResult:
    """`contains`: a list has an equal element, or a text has this part, letter for letter."""
    if isinstance(seen, list):
        if not is_scalar(wanted):
            return not_evaluable(f"what is looked for is {kind_of(wanted)}, not a single value")
        return operator_result(any(find_equal(member, wanted) for member in seen))
    return _compare_part(seen, wanted, str.__contains__)


def starts_with(seen: JsonValue, wanted: JsonValue) -> OperatorResult:
    """`starts_with`: a text starts with this part, letter for letter."""
    return _compare_part(seen, wanted, str.startswith)


def ends_with(seen: JsonValue, wanted: JsonValue) -> OperatorResult:
    """`ends_with`: a text ends with this part, letter for letter."""
    return _compare_part(seen, wanted, str.endswith)


def _compare_part(
    seen: JsonValue, wanted: JsonValue, has: Callable[[str, str], bool]
) -> OperatorResult:
    if seen is None:
        return not_evaluable(_NULL_NOTE)
    if not is_scalar(seen):
        return not_evaluable(f"the evidence has {kind_of(seen)} here, not a text")
    if wanted is None or not is_scalar(wanted):
        return not_evaluable(f"what is looked for is {kind_of(wanted)}, not a text")
    if wanted == "":
        return not_evaluable("every text has the empty text in it, so this asserts nothing")
    return operator_result(has(scalar_text(seen), scalar_text(wanted)))


def _incomparable(seen: JsonValue, wanted: JsonValue) -> OperatorResult:
    if seen is None and is_scalar(wanted):
        return not_evaluable(_NULL_NOTE)
    if not is_scalar(seen):
        return not_evaluable(f"the evidence has {kind_of(seen)} here, not a single value")
    return not_evaluable(f"what is expected is {kind_of(wanted)}, not a single value")


def _equality_note(seen: JsonValue, wanted: JsonValue) -> str:
    if is_number(seen) is not is_number(wanted) and _is_text_or_number(seen, wanted):
        return _MIXED_TYPES_NOTE
    for value in (seen, wanted):
        if isinstance(value, str) and _VERSION_LIKE.fullmatch(value.strip()):
            return _VERSION_NOTE
    return ""


def _is_text_or_number(*values: JsonValue) -> bool:
    return all(isinstance(value, str) or is_number(value) for value in values)


# Amounts: `lt`, `lte`, `gt`, `gte`, `between`, `abs_within`, `pct_within`, all exact.
#
# Origin: answer-eval.md, section 2. Differences and shares are fractions, so nothing is rounded.
# The O rules of docs/checks.md.

Comparison: TypeAlias = Callable[[JsonValue, JsonValue], OperatorResult]
_NUMBER_FORMAT: Final = "a number, or a text of digits such as 12 or -0.5"


def _number_comparison(holds: Callable[[Any, Any], bool]) -> Comparison:
    def compare(seen: JsonValue, wanted: JsonValue) -> OperatorResult:
        pair = _number_pair(seen, wanted)
        return pair if isinstance(pair, OperatorResult) else operator_result(holds(*pair))

    return compare


def _number_pair(
    seen: JsonValue, wanted: JsonValue
) -> tuple[ExactNumber, ExactNumber] | OperatorResult:
    left, right = find_number(seen), find_number(wanted)
    if left is None:
        return _not_a_number("the evidence", seen)
    if right is None:
        return _not_a_number("what is expected", wanted)
    return left, right


less: Final = _number_comparison(operator.lt)
less_or_equal: Final = _number_comparison(operator.le)
greater: Final = _number_comparison(operator.gt)
greater_or_equal: Final = _number_comparison(operator.ge)


def between(seen: JsonValue, wanted: list[JsonValue]) -> OperatorResult:
    """`between`: from the first to the second of two numbers, both included."""
    amount, low, high = find_number(seen), find_number(wanted[0]), find_number(wanted[1])
    if amount is None:
        return _not_a_number("the evidence", seen)
    if low is None or high is None:
        return _not_a_number("a bound", wanted[0] if low is None else wanted[1])
    if low > high:
        return not_evaluable("the lower bound is above the upper one, so no number fits")
    return operator_result(low <= amount <= high)


def abs_within(seen: JsonValue, wanted: JsonValue, tol: JsonValue) -> OperatorResult:
    """`abs_within`: no further from the expected number than the tolerance."""
    gap = _difference_and_size(seen, wanted)
    return (
        gap
        if isinstance(gap, OperatorResult)
        else operator_result(gap[0] <= _tolerance_fraction(tol))
    )


def pct_within(seen: JsonValue, wanted: JsonValue, tol: JsonValue) -> OperatorResult:
    """`pct_within`: the same in per cent of the expected number, which must not be 0."""
    gap = _difference_and_size(seen, wanted)
    if isinstance(gap, OperatorResult):
        return gap
    distance, expected = gap
    if expected == 0:
        return not_evaluable("there is no percentage of 0; use abs_within")
    return operator_result(distance * 100 <= _tolerance_fraction(tol) * expected)


def _difference_and_size(
    seen: JsonValue, wanted: JsonValue
) -> tuple[Fraction, Fraction] | OperatorResult:
    """Return how far apart two numbers are, and the size of the expected one."""
    pair = _number_pair(seen, wanted)
    if isinstance(pair, OperatorResult):
        return pair
    left, expected = map(Fraction, pair)
    return abs(left - expected), abs(expected)


def _tolerance_fraction(tol: JsonValue) -> Fraction:
    # The tolerance was read as a number that is not negative; see unit.py.
    return Fraction(find_number(tol) or 0)


def _not_a_number(whose: str, value: JsonValue) -> OperatorResult:
    return not_evaluable(
        f"{whose} is {kind_of(value)} ({display_value(value)}), not {_NUMBER_FORMAT}"
    )


# Versions as tuples of numbers: `semver_eq`, `semver_gte`, `semver_lt`, `semver_prefix`.
#
# Origin: answer-eval.md, section 2: dotted numeric tuple compare. Not covered: pre-release marks
# and a leading v; a part that is not all digits is `not_evaluable`. The O rules of docs/checks.md.

Version: TypeAlias = tuple[int, ...]
_VERSION: Final = re.compile(r"[0-9]+(?:\.[0-9]+)*")
_TRAILING_ZEROS_NOTE: Final = "they differ in zeros at the end only, and every part counts"


def find_version(value: JsonValue) -> Version | None:
    """Return the parts of a version, or None. A whole number is a version of one part."""
    if type(value) is int and value >= 0:
        return (value,)
    if isinstance(value, str) and len(value) <= MAX_NUMERAL and _VERSION.fullmatch(value):
        return tuple(map(int, value.split(".")))
    return None


def _version_comparison(
    holds: Callable[[Version, Version], bool],
) -> Callable[[JsonValue, JsonValue], OperatorResult]:
    def compare(seen: JsonValue, wanted: JsonValue) -> OperatorResult:
        left, right = find_version(seen), find_version(wanted)
        if left is None:
            return _not_a_version("the evidence", seen)
        if right is None:
            return _not_a_version("what is expected", wanted)
        return operator_result(
            holds(left, right),
            _TRAILING_ZEROS_NOTE if _differ_in_trailing_zeros(left, right) else "",
        )

    return compare


def _is_version_prefix(seen: Version, wanted: Version) -> bool:
    return seen[: len(wanted)] == wanted


same_version: Final = _version_comparison(operator.eq)
version_or_later: Final = _version_comparison(operator.ge)
earlier_version: Final = _version_comparison(operator.lt)
version_has_prefix: Final = _version_comparison(_is_version_prefix)


def _differ_in_trailing_zeros(one: Version, other: Version) -> bool:
    """Say whether two versions differ in zeros at the end only."""
    shared = min(len(one), len(other))
    return (
        len(one) != len(other)
        and one[:shared] == other[:shared]
        and not any(one[shared:] + other[shared:])
    )


def _not_a_version(whose: str, value: JsonValue) -> OperatorResult:
    if isinstance(value, float):
        return not_evaluable(
            f"{whose} is the number {display_value(value)}, and as a number 3.10 is 3.1; "
            "a version is written as a text"
        )
    return not_evaluable(
        f"{whose} is {kind_of(value)} ({display_value(value)}), not digits with dots between them"
    )


# The closed table of the twenty operators. Origin: answer-eval.md, section 2.
#
# There is no regular expression among them, and nothing can be added at run time: the meaning of a
# receipt must not depend on who reads it.


class Operand(Enum):
    """What an operator is given besides the evidence."""

    NOTHING = "neither `value` nor `tol`"
    VALUE = "`value`, and no `tol`"
    PAIR = "`value`: a list of two, the lower and the upper bound, and no `tol`"
    MEMBERS = "`value`: a list of one or more single values, and no `tol`"
    WITHIN = "`value` and `tol` side by side; `tol` is a number that is not negative"
    SECONDS = "`value`: a number of seconds that is not negative, and no `tol`"


Apply: TypeAlias = Callable[[PathLookup, Expectation, int], OperatorResult]


@dataclass(frozen=True, slots=True)
class Operator:
    """What an operator takes, and the pure function that it is."""

    operand: Operand
    apply: Apply
    reads_time: bool = False
    """Without a path it reads when the evidence was observed, not the primary value."""


def _value_operator(compare: Callable[[Any, Any], OperatorResult]) -> Apply:
    """Return an operator over the value that was found; without one it cannot be evaluated."""

    def apply(look: PathLookup, wanted: Expectation, at: int) -> OperatorResult:
        return compare(look.value, wanted.value) if look.found else not_evaluable(look.why)

    return apply


def _tolerance_operator(compare: Callable[[Any, Any, Any], OperatorResult]) -> Apply:
    def apply(look: PathLookup, wanted: Expectation, at: int) -> OperatorResult:
        if not look.found:
            return not_evaluable(look.why)
        return compare(look.value, wanted.value, wanted.tol)

    return apply


def _exists(look: PathLookup, wanted: Expectation, at: int) -> OperatorResult:
    return not_evaluable(look.why) if look.dotted else operator_result(look.found, look.why)


def _not_exists(look: PathLookup, wanted: Expectation, at: int) -> OperatorResult:
    return not_evaluable(look.why) if look.dotted else operator_result(not look.found, look.why)


def _fresh_within_s(look: PathLookup, wanted: Expectation, at: int) -> OperatorResult:
    if not look.found:
        return not_evaluable(look.why)
    moment = find_timestamp(look.value)
    if moment is None:
        return not_evaluable(
            f"the evidence has {kind_of(look.value)} ({display_value(look.value)}) here, "
            "not a time such as 2026-01-31T14:30:00Z"
        )
    age = at - moment
    if age < -MAX_CLOCK_SKEW_S * NANOSECONDS:
        return operator_result(
            False, f"FUTURE: the time lies {seconds_text(age)} s ahead of the check"
        )
    if is_older(age, wanted.value):
        return operator_result(False, f"STALE: the evidence is {seconds_text(age)} s old")
    return operator_result(True)


OPERATORS: Final[Mapping[str, Operator]] = MappingProxyType(
    {
        "eq": Operator(Operand.VALUE, _value_operator(equals)),
        "ne": Operator(Operand.VALUE, _value_operator(differs)),
        "lt": Operator(Operand.VALUE, _value_operator(less)),
        "lte": Operator(Operand.VALUE, _value_operator(less_or_equal)),
        "gt": Operator(Operand.VALUE, _value_operator(greater)),
        "gte": Operator(Operand.VALUE, _value_operator(greater_or_equal)),
        "between": Operator(Operand.PAIR, _value_operator(between)),
        "abs_within": Operator(Operand.WITHIN, _tolerance_operator(abs_within)),
        "pct_within": Operator(Operand.WITHIN, _tolerance_operator(pct_within)),
        "in": Operator(Operand.MEMBERS, _value_operator(is_in)),
        "contains": Operator(Operand.VALUE, _value_operator(contains)),
        "starts_with": Operator(Operand.VALUE, _value_operator(starts_with)),
        "ends_with": Operator(Operand.VALUE, _value_operator(ends_with)),
        "semver_eq": Operator(Operand.VALUE, _value_operator(same_version)),
        "semver_gte": Operator(Operand.VALUE, _value_operator(version_or_later)),
        "semver_lt": Operator(Operand.VALUE, _value_operator(earlier_version)),
        "semver_prefix": Operator(Operand.VALUE, _value_operator(version_has_prefix)),
        "exists": Operator(Operand.NOTHING, _exists),
        "not_exists": Operator(Operand.NOTHING, _not_exists),
        "fresh_within_s": Operator(Operand.SECONDS, _fresh_within_s, reads_time=True),
    }
)
