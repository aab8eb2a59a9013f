"""One expectation, and what it comes to: it held, it failed, or it could not be evaluated."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import msgspec


class Expectation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One expectation of a check, as it is written: answer-eval.md, section 1.

    `value` may be any JSON value, null too, so what is not given is UNSET.
    """

    op: str
    path: str | None = None
    value: Any = msgspec.UNSET
    tol: Any = None


class ExpectationOutcome(StrEnum):
    """The three results of one expectation."""

    HELD = "held"
    FAILED = "failed"
    NOT_EVALUABLE = "not_evaluable"

    # An Enum's own hash runs in Python, several times for each check.
    __hash__ = str.__hash__


@dataclass(frozen=True, slots=True)
class OperatorResult:
    """A result, and a remark on it where there is more to say than what was seen."""

    held: ExpectationOutcome
    why: str = ""


HELD_RESULT: Final = OperatorResult(ExpectationOutcome.HELD)
FAILED_RESULT: Final = OperatorResult(ExpectationOutcome.FAILED)


def operator_result(is_so: bool, why: str = "") -> OperatorResult:
    """Return held or failed, with a remark if there is one."""
    if not why:
        return HELD_RESULT if is_so else FAILED_RESULT
    return OperatorResult(ExpectationOutcome.HELD if is_so else ExpectationOutcome.FAILED, why)


def not_evaluable(why: str) -> OperatorResult:
    """Return that the evidence, or what is expected of it, has the wrong form."""
    return OperatorResult(ExpectationOutcome.NOT_EVALUABLE, why)
