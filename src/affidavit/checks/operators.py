"""The closed table of operators, and the expectations that use them."""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, StrEnum
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import msgspec

from affidavit.base.json_values import JsonValue
from affidavit.base.timestamps import (
    MAX_CLOCK_SKEW_S,
    NANOSECONDS,
    find_nanoseconds,
    find_offset_nanoseconds,
    is_older,
    seconds_text,
)
from affidavit.checks.schemas import find_mismatch
from affidavit.checks.values import (
    MAX_NUMERAL,
    TYPES,
    ExactNumber,
    PathLookup,
    display_value,
    find_number,
    is_number,
    is_scalar,
    kind_of,
    look_up_path,
    scalar_text,
)

# One expectation of a check, and its result: held, failed or not evaluable.


class Expectation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One expectation of a check, as it is written: answer-eval.md, section 1.

    `value` may be any JSON value, including null, so a missing value is UNSET.
    """

    op: str
    path: str | None = None
    value: Any = msgspec.UNSET
    tol: Any = None


class ExpectationOutcome(StrEnum):
    """The outcome of one expectation."""

    HELD = "held"
    FAILED = "failed"
    NOT_EVALUABLE = "not_evaluable"

    # An Enum's own hash runs in Python, several times for each check.
    __hash__ = str.__hash__


class ExpectationResult(msgspec.Struct, frozen=True):
    """The outcome of one expectation. `observed` is left out unless it is a single value."""

    outcome: ExpectationOutcome
    observed: Any = msgspec.UNSET


class OperatorResult(msgspec.Struct, frozen=True):
    """The outcome of an operator, and a note where the observed value does not explain it."""

    outcome: ExpectationOutcome
    note: str = ""


HELD_RESULT: Final = OperatorResult(ExpectationOutcome.HELD)
FAILED_RESULT: Final = OperatorResult(ExpectationOutcome.FAILED)


def operator_result(holds: bool, note: str = "") -> OperatorResult:
    """Return held or failed, with an optional note."""
    if not note:
        return HELD_RESULT if holds else FAILED_RESULT
    return OperatorResult(ExpectationOutcome.HELD if holds else ExpectationOutcome.FAILED, note)


def not_evaluable(reason: str) -> OperatorResult:
    """Return that the evidence, or the expected value, has the wrong type or form."""
    return OperatorResult(ExpectationOutcome.NOT_EVALUABLE, reason)


# The closed table of the operators, and the pure functions behind them.
#
# Origin: answer-eval.md, section 2; the O rules of docs/checks.md. There is no operator for regular
# expressions, and none can be added at run time: the meaning of a receipt must not depend on the
# reader's installation.

# Equality and membership. Two JSON numbers are compared by value, anything else by its trimmed text
# (answer-eval.md, section 2: string-first, no coercion).

_VERSION_LIKE: Final = re.compile(r"v?[0-9]+(?:\.[0-9]+)+")
_VERSION_NOTE: Final = (
    "texts are compared letter by letter; semver_eq compares versions part by part"
)
_MIXED_TYPES_NOTE: Final = "a number and a text are compared as texts"
_NULL_NOTE: Final = "the evidence has null here, which is no value"


def find_equal(observed: JsonValue, expected: JsonValue) -> bool | None:
    """Say whether two values are equal, or None if that cannot be told.

    A null in the evidence equals null, and cannot be compared with any other value.
    """
    if not is_scalar(observed) or not is_scalar(expected):
        return None
    if observed is None:
        return True if expected is None else None
    if expected is None:
        return False
    if is_number(observed) and is_number(expected):
        return find_number(observed) == find_number(expected)
    return scalar_text(observed).strip() == scalar_text(expected).strip()


def equals(observed: JsonValue, expected: JsonValue) -> OperatorResult:
    """`eq`: the values are equal."""
    same = find_equal(observed, expected)
    return (
        _incomparable(observed, expected)
        if same is None
        else operator_result(same, _equality_note(observed, expected))
    )


def differs(observed: JsonValue, expected: JsonValue) -> OperatorResult:
    """`ne`: the values are not equal."""
    same = find_equal(observed, expected)
    if same is None:
        return _incomparable(observed, expected)
    return operator_result(not same, _equality_note(observed, expected))


def is_in(observed: JsonValue, expected: list[JsonValue]) -> OperatorResult:
    """`in`: the value equals a member of a list. The members are scalars (see check.py)."""
    answers = [find_equal(observed, member) for member in expected]
    if True in answers:
        return operator_result(True)
    return _incomparable(observed, None) if None in answers else operator_result(False)


def contains(observed: JsonValue, expected: JsonValue) -> OperatorResult:
    """`contains`: a list has an equal element, or a text has exactly this part."""
    if isinstance(observed, list):
        if not is_scalar(expected):
            return not_evaluable(f"what is looked for is {kind_of(expected)}, not a single value")
        return operator_result(any(find_equal(member, expected) for member in observed))
    return _compare_part(observed, expected, str.__contains__)


def starts_with(observed: JsonValue, expected: JsonValue) -> OperatorResult:
    """`starts_with`: a text starts with exactly this part."""
    return _compare_part(observed, expected, str.startswith)


def ends_with(observed: JsonValue, expected: JsonValue) -> OperatorResult:
    """`ends_with`: a text ends with exactly this part."""
    return _compare_part(observed, expected, str.endswith)


def _compare_part(
    observed: JsonValue, expected: JsonValue, has: Callable[[str, str], bool]
) -> OperatorResult:
    if observed is None:
        return not_evaluable(_NULL_NOTE)
    if not is_scalar(observed):
        return not_evaluable(f"the evidence has {kind_of(observed)} here, not a text")
    if expected is None or not is_scalar(expected):
        return not_evaluable(f"what is looked for is {kind_of(expected)}, not a text")
    if expected == "":
        return not_evaluable("every text has the empty text in it, so this asserts nothing")
    return operator_result(has(scalar_text(observed), scalar_text(expected)))


def _incomparable(observed: JsonValue, expected: JsonValue) -> OperatorResult:
    if observed is None and is_scalar(expected):
        return not_evaluable(_NULL_NOTE)
    if not is_scalar(observed):
        return not_evaluable(f"the evidence has {kind_of(observed)} here, not a single value")
    return not_evaluable(f"what is expected is {kind_of(expected)}, not a single value")


def _equality_note(observed: JsonValue, expected: JsonValue) -> str:
    if is_number(observed) is not is_number(expected) and _is_text_or_number(observed, expected):
        return _MIXED_TYPES_NOTE
    for value in (observed, expected):
        if isinstance(value, str) and _VERSION_LIKE.fullmatch(value.strip()):
            return _VERSION_NOTE
    return ""


def _is_text_or_number(*values: JsonValue) -> bool:
    return all(isinstance(value, str) or is_number(value) for value in values)


# Numbers. Differences and percentages are fractions, so nothing is rounded.

Comparison: TypeAlias = Callable[[JsonValue, JsonValue], OperatorResult]
_NUMBER_FORMAT: Final = "a number, or a text of digits such as 12 or -0.5"


def _number_comparison(holds: Callable[[Any, Any], bool]) -> Comparison:
    def compare(observed: JsonValue, expected: JsonValue) -> OperatorResult:
        pair = _number_pair(observed, expected)
        return pair if isinstance(pair, OperatorResult) else operator_result(holds(*pair))

    return compare


def _number_pair(
    observed: JsonValue, expected: JsonValue
) -> tuple[ExactNumber, ExactNumber] | OperatorResult:
    left, right = find_number(observed), find_number(expected)
    if left is None:
        return _not_a_number("the evidence", observed)
    if right is None:
        return _not_a_number("what is expected", expected)
    return left, right


less: Final = _number_comparison(operator.lt)
less_or_equal: Final = _number_comparison(operator.le)
greater: Final = _number_comparison(operator.gt)
greater_or_equal: Final = _number_comparison(operator.ge)


def between(observed: JsonValue, expected: list[JsonValue]) -> OperatorResult:
    """`between`: from the first to the second of two numbers, both included."""
    amount, low, high = find_number(observed), find_number(expected[0]), find_number(expected[1])
    if amount is None:
        return _not_a_number("the evidence", observed)
    if low is None or high is None:
        return _not_a_number("a bound", expected[0] if low is None else expected[1])
    if low > high:
        return not_evaluable("the lower bound is above the upper one, so no number fits")
    return operator_result(low <= amount <= high)


def abs_within(observed: JsonValue, expected: JsonValue, tol: JsonValue) -> OperatorResult:
    """`abs_within`: differs from the expected number by at most the tolerance."""
    gap = _difference_and_size(observed, expected)
    return (
        gap
        if isinstance(gap, OperatorResult)
        else operator_result(gap[0] <= _tolerance_fraction(tol))
    )


def pct_within(observed: JsonValue, expected: JsonValue, tol: JsonValue) -> OperatorResult:
    """`pct_within`: the same in per cent of the expected number, which must not be 0."""
    gap = _difference_and_size(observed, expected)
    if isinstance(gap, OperatorResult):
        return gap
    distance, size = gap
    if size == 0:
        return not_evaluable("there is no percentage of 0; use abs_within")
    return operator_result(distance * 100 <= _tolerance_fraction(tol) * size)


def _difference_and_size(
    observed: JsonValue, expected: JsonValue
) -> tuple[Fraction, Fraction] | OperatorResult:
    """Return the absolute difference of two numbers, and the absolute value of the second."""
    pair = _number_pair(observed, expected)
    if isinstance(pair, OperatorResult):
        return pair
    left, right = map(Fraction, pair)
    return abs(left - right), abs(right)


def _tolerance_fraction(tol: JsonValue) -> Fraction:
    # check.py has validated that the tolerance is a non-negative number.
    return Fraction(find_number(tol) or 0)


def _not_a_number(whose: str, value: JsonValue) -> OperatorResult:
    return not_evaluable(
        f"{whose} is {kind_of(value)} ({display_value(value)}), not {_NUMBER_FORMAT}"
    )


# Versions, compared as tuples of numbers. Not covered: pre-release tags and a leading v. A version
# with other characters than digits and dots is `not_evaluable`.

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
    def compare(observed: JsonValue, expected: JsonValue) -> OperatorResult:
        left, right = find_version(observed), find_version(expected)
        if left is None:
            return _not_a_version("the evidence", observed)
        if right is None:
            return _not_a_version("what is expected", expected)
        return operator_result(
            holds(left, right),
            _TRAILING_ZEROS_NOTE if _differ_in_trailing_zeros(left, right) else "",
        )

    return compare


def _is_version_prefix(observed: Version, expected: Version) -> bool:
    return observed[: len(expected)] == expected


same_version: Final = _version_comparison(operator.eq)
version_or_later: Final = _version_comparison(operator.ge)
earlier_version: Final = _version_comparison(operator.lt)
version_has_prefix: Final = _version_comparison(_is_version_prefix)


def _differ_in_trailing_zeros(one: Version, other: Version) -> bool:
    """Say whether two versions only differ in trailing zeros."""
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


# Length and type.


def _find_length(value: JsonValue) -> int | None:
    return len(value) if isinstance(value, str | list | dict) else None


def _length_comparison(holds: Callable[[int, int], bool]) -> Comparison:
    def compare(observed: JsonValue, expected: Any) -> OperatorResult:
        length = _find_length(observed)
        if length is None:
            return not_evaluable(f"the evidence has {kind_of(observed)} here, which has no length")
        return operator_result(holds(length, expected), f"its length is {length}")

    return compare


def is_type(observed: JsonValue, expected: str) -> OperatorResult:
    """`is_type`: the value has this type."""
    return operator_result(TYPES[expected](observed))


def matches_schema(observed: JsonValue, expected: dict[str, Any]) -> OperatorResult:
    """`matches_schema`: the value is as the schema says."""
    found = find_mismatch(observed, expected)
    return (
        not_evaluable(found)
        if isinstance(found, str)
        else operator_result(not found, str(found or ""))
    )


class Operand(Enum):
    """The operand of an operator."""

    NOTHING = "neither `value` nor `tol`"
    VALUE = "`value`, and no `tol`"
    PAIR = "`value`: a list of two, the lower and the upper bound, and no `tol`"
    MEMBERS = "`value`: a list of one or more single values, and no `tol`"
    WITHIN = "`value` and `tol` side by side; `tol` is a number that is not negative"
    SECONDS = "`value`: a number of seconds that is not negative, and no `tol`"
    COUNT = "`value`: a whole number that is not negative, and no `tol`"
    TYPE = "`value`: null, boolean, integer, number, string, array or object, and no `tol`"
    EXPECTATION = (
        "`value`: one expectation without every, some, any_of, matches_schema and fresh_within_s,"
        " and no `tol`"
    )
    EXPECTATIONS = "`value`: a list of 1 to 8 expectations as for every, and no `tol`"
    SCHEMA = "`value`: a JSON Schema, and no `tol`"


Apply: TypeAlias = Callable[[PathLookup, Expectation, int], OperatorResult]


class Operator(msgspec.Struct, frozen=True):
    """The operand and the pure function of an operator."""

    operand: Operand
    apply: Apply
    reads_time: bool = False
    """Without a path it reads the time of observation, not the primary value."""


def _value_operator(compare: Callable[[Any, Any], OperatorResult]) -> Apply:
    """Return an operator over the value at the path. Without a value it is not evaluable."""

    def apply(lookup: PathLookup, expectation: Expectation, at: int) -> OperatorResult:
        return (
            compare(lookup.value, expectation.value)
            if lookup.found
            else not_evaluable(lookup.reason)
        )

    return apply


def _tolerance_operator(compare: Callable[[Any, Any, Any], OperatorResult]) -> Apply:
    def apply(lookup: PathLookup, expectation: Expectation, at: int) -> OperatorResult:
        if not lookup.found:
            return not_evaluable(lookup.reason)
        return compare(lookup.value, expectation.value, expectation.tol)

    return apply


def _null_operator(wanted: bool) -> Apply:
    def apply(lookup: PathLookup, expectation: Expectation, at: int) -> OperatorResult:
        if not lookup.found:
            return not_evaluable(lookup.reason)
        return operator_result((lookup.value is None) is wanted)

    return apply


def _exists(lookup: PathLookup, expectation: Expectation, at: int) -> OperatorResult:
    return (
        not_evaluable(lookup.reason)
        if lookup.dotted or lookup.unfit
        else operator_result(lookup.found, lookup.reason)
    )


def _not_exists(lookup: PathLookup, expectation: Expectation, at: int) -> OperatorResult:
    return (
        not_evaluable(lookup.reason)
        if lookup.dotted or lookup.unfit
        else operator_result(not lookup.found, lookup.reason)
    )


def _freshness(find_moment: Callable[[object], int | None]) -> Apply:
    """Return `fresh_within_s` for a way to read times."""

    def apply(lookup: PathLookup, expectation: Expectation, at: int) -> OperatorResult:
        if not lookup.found:
            return not_evaluable(lookup.reason)
        moment = find_moment(lookup.value)
        if moment is None:
            return not_evaluable(
                f"the evidence has {kind_of(lookup.value)} ({display_value(lookup.value)}) here, "
                "not a time such as 2026-01-31T14:30:00Z"
            )
        age = at - moment
        if age < -MAX_CLOCK_SKEW_S * NANOSECONDS:
            return operator_result(
                False, f"FUTURE: the time lies {seconds_text(age)} s ahead of the check"
            )
        if is_older(age, expectation.value):
            return operator_result(False, f"STALE: the evidence is {seconds_text(age)} s old")
        return operator_result(True)

    return apply


# Operators over the members of a list, and over several expectations. They are not nested.


def _nested_result(member: JsonValue, wire: Any, at: int) -> OperatorResult:
    """Apply an expectation to a member; its path is relative to the member."""
    expectation = msgspec.convert(wire, Expectation)
    lookup = look_up_path(member, expectation.path)
    return OPERATORS[expectation.op].apply(lookup, expectation, at)


def _members_of(lookup: PathLookup) -> list[JsonValue] | OperatorResult:
    if not lookup.found:
        return not_evaluable(lookup.reason)
    if not isinstance(lookup.value, list):
        return not_evaluable(f"the evidence has {kind_of(lookup.value)} here, not a list")
    if not lookup.value:
        return not_evaluable("the list is empty, so nothing was checked")
    return lookup.value


def _every(lookup: PathLookup, expectation: Expectation, at: int) -> OperatorResult:
    members = _members_of(lookup)
    if isinstance(members, OperatorResult):
        return members
    results = [_nested_result(member, expectation.value, at) for member in members]
    worst = (ExpectationOutcome.FAILED, ExpectationOutcome.NOT_EVALUABLE)
    return _decisive(results, worst, ExpectationOutcome.HELD)


def _some(lookup: PathLookup, expectation: Expectation, at: int) -> OperatorResult:
    members = _members_of(lookup)
    if isinstance(members, OperatorResult):
        return members
    results = [_nested_result(member, expectation.value, at) for member in members]
    return _decisive(results, _BEST, ExpectationOutcome.FAILED)


def _any_of(lookup: PathLookup, expectation: Expectation, at: int) -> OperatorResult:
    if not lookup.found:
        return not_evaluable(lookup.reason)
    results = [_nested_result(lookup.value, wire, at) for wire in expectation.value]
    return _decisive(results, _BEST, ExpectationOutcome.FAILED)


_BEST: Final = (ExpectationOutcome.HELD, ExpectationOutcome.NOT_EVALUABLE)


def _decisive(
    results: Sequence[OperatorResult],
    first: tuple[ExpectationOutcome, ...],
    otherwise: ExpectationOutcome,
) -> OperatorResult:
    """Return the first of these outcomes that occurs, with its number and note."""
    for outcome in first:
        for number, result in enumerate(results):
            if result.outcome is outcome:
                note = f": {result.note}" if result.note else ""
                return OperatorResult(outcome, f"number {number} decides{note}")
    return OperatorResult(otherwise, f"all {len(results)} alike")


_ENGINE_1_0: Final[Mapping[str, Operator]] = MappingProxyType(
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
        "fresh_within_s": Operator(Operand.SECONDS, _freshness(find_nanoseconds), reads_time=True),
    }
)

_ENGINE_1_1: Final[Mapping[str, Operator]] = MappingProxyType(
    {
        **_ENGINE_1_0,
        "fresh_within_s": Operator(
            Operand.SECONDS, _freshness(find_offset_nanoseconds), reads_time=True
        ),
        "length_eq": Operator(Operand.COUNT, _value_operator(_length_comparison(operator.eq))),
        "length_gte": Operator(Operand.COUNT, _value_operator(_length_comparison(operator.ge))),
        "length_lte": Operator(Operand.COUNT, _value_operator(_length_comparison(operator.le))),
        "is_type": Operator(Operand.TYPE, _value_operator(is_type)),
        "is_null": Operator(Operand.NOTHING, _null_operator(True)),
        "not_null": Operator(Operand.NOTHING, _null_operator(False)),
        "any_of": Operator(Operand.EXPECTATIONS, _any_of),
        "every": Operator(Operand.EXPECTATION, _every),
        "some": Operator(Operand.EXPECTATION, _some),
    }
)
OPERATORS: Final[Mapping[str, Operator]] = MappingProxyType(
    {**_ENGINE_1_1, "matches_schema": Operator(Operand.SCHEMA, _value_operator(matches_schema))}
)
NESTING: Final = frozenset({"any_of", "every", "some", "matches_schema"})

FIRST_ENGINE: Final = "1.0.0"
ENGINE_VERSION: Final = "1.2.0"
ENGINES: Final[Mapping[str, Mapping[str, Operator]]] = MappingProxyType(
    {FIRST_ENGINE: _ENGINE_1_0, "1.1.0": _ENGINE_1_1, ENGINE_VERSION: OPERATORS}
)
"""The operators of every engine version, so that old receipts are replayed by their own rules."""
