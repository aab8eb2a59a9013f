"""One expectation of a check, and its result: held, failed or not evaluable."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import msgspec


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


class ExpectationResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The outcome of one expectation. `observed` is left out unless it is a single value."""

    outcome: ExpectationOutcome
    observed: Any = msgspec.UNSET


@dataclass(frozen=True, slots=True)
class OperatorResult:
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
