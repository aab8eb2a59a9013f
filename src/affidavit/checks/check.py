"""Checks and their strict validation: answer-eval.md, section 1; the U rules of docs/checks.md.

A malformed check is refused with its id and field. A well-formed check that does not fit the
evidence (a text where a number is needed) is accepted and gets the verdict `not_evaluable`.
"""

from typing import Annotated, Any, Final

import msgspec

from affidavit.base.canonical import sorted_compact
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import receipts as faults
from affidavit.base.json_values import JsonValue
from affidavit.base.text import excerpt
from affidavit.base.validation import join_field, problem_and_field
from affidavit.checks.operators import OPERATORS, Expectation, Operand
from affidavit.checks.values import find_path_problem, is_number, is_scalar, kind_of

MAX_EXPECTATIONS: Final = 8
MAX_CHECKS: Final = 20
"""Checks beyond this number are listed as `not_checked`, not refused."""

CheckId = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}\Z")]
ToolName = Annotated[str, msgspec.Meta(min_length=1, max_length=128)]


class Check(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One check, as it is written and as the receipt repeats it."""

    id: CheckId
    tool: ToolName
    args: dict[str, Any] = {}
    expect: Expectation | list[Expectation] | msgspec.UnsetType = msgspec.UNSET
    observe: bool = False
    required: bool = True

    @property
    def expectations(self) -> tuple[Expectation, ...]:
        """The expectations; none if the check only observes."""
        if isinstance(self.expect, Expectation):
            return (self.expect,)
        return () if self.expect is msgspec.UNSET else tuple(self.expect)

    @property
    def adjudicates(self) -> bool:
        """Say whether the check asserts something. Otherwise it records the value."""
        return not self.observe and self.expect is not msgspec.UNSET


def checks_from_wire(value: JsonValue, file: str | None = None) -> tuple[Check, ...]:
    """Return the checks of a decoded JSON list, or raise the first error."""
    if not isinstance(value, list):
        raise AffidavitError(
            faults.CHECKS_NOT_A_LIST, Where(file, field="checks"), kind=kind_of(value)
        )
    if not value:
        raise AffidavitError(faults.CHECKS_NONE, Where(file, field="checks"))
    seen: set[str] = set()
    checks = []
    for number, member in enumerate(value):
        field = f"checks[{number}]"
        try:
            check = check_from_wire(member, f"number {number + 1}")
        except AffidavitError as error:
            place = join_field(field, error.where.field or "")
            raise AffidavitError(error.fault, Where(file, field=place), **error.values) from None
        if check.id in seen:
            where = Where(file, field=f"{field}.id")
            raise AffidavitError(faults.CHECK_ID_TWICE, where, check=check.id)
        seen.add(check.id)
        checks.append(check)
    return tuple(checks)


def check_from_wire(value: JsonValue, name: str) -> Check:
    """Return one check. Errors use `name` for it until its id is known."""
    try:
        # The check is repeated in the receipt, so it must have a canonical form.
        sorted_compact(value)
        check = msgspec.convert(value, Check)
    except msgspec.ValidationError as error:
        problem, field = problem_and_field(error)
        named = value.get("id") if isinstance(value, dict) else None
        shown = repr(excerpt(named)) if isinstance(named, str) and field != "id" else name
        raise AffidavitError(
            faults.CHECK_FIELD, Where(field=field or None), check=shown, problem=problem
        ) from None
    validate_check(check)
    return check


def validate_check(check: Check) -> None:
    """Raise if an expectation has an unknown operator or a wrong operand."""
    if isinstance(check.expect, list) and not 1 <= len(check.expect) <= MAX_EXPECTATIONS:
        raise AffidavitError(
            faults.CHECK_EXPECTATIONS,
            Where(field="expect"),
            check=repr(check.id),
            count=len(check.expect),
            limit=MAX_EXPECTATIONS,
        )
    for number, expectation in enumerate(check.expectations):
        place = f"expect[{number}]" if isinstance(check.expect, list) else "expect"
        _validate_expectation(expectation, repr(check.id), place)


def _validate_expectation(expectation: Expectation, check: str, place: str) -> None:
    operator = OPERATORS.get(expectation.op)
    if operator is None:
        raise AffidavitError(
            faults.CHECK_OPERATOR,
            Where(field=f"{place}.op"),
            check=check,
            operator=excerpt(expectation.op),
            known=", ".join(OPERATORS),
        )
    if expectation.path is not None and (problem := find_path_problem(expectation.path)):
        raise AffidavitError(
            faults.CHECK_PATH, Where(field=f"{place}.path"), check=check, problem=problem
        )
    if field := _invalid_operand_field(expectation, operator.operand):
        raise AffidavitError(
            faults.CHECK_OPERAND,
            Where(field=f"{place}.{field}"),
            check=check,
            operator=expectation.op,
            takes=operator.operand.value,
        )


def _invalid_operand_field(expectation: Expectation, operand: Operand) -> str | None:
    """Return the field that is missing, superfluous or malformed for the operator, or None."""
    value, tol = expectation.value, expectation.tol
    if operand is Operand.WITHIN:
        if value is msgspec.UNSET or isinstance(value, dict):
            return "value"
        return None if _is_tolerance(tol) else "tol"
    if tol is not None:
        return "tol"
    return None if _OPERAND_CHECKS[operand](value) else "value"


def _is_tolerance(value: Any) -> bool:
    return is_number(value) and value >= 0


def _is_scalar_list(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(is_scalar, value))


_OPERAND_CHECKS: Final = {
    Operand.NOTHING: lambda value: value is msgspec.UNSET,
    Operand.VALUE: lambda value: value is not msgspec.UNSET,
    Operand.PAIR: lambda value: isinstance(value, list) and len(value) == 2,
    Operand.MEMBERS: _is_scalar_list,
    Operand.SECONDS: _is_tolerance,
}
