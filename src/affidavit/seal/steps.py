"""The steps of a verification, each with its own line, and what they come to.

Origin: answer-eval, section 5: five steps. The third has two lines, for whether a signature holds
and whether its key may be believed are two questions. Steps 4 and 5, over the evidence, are done by
others and handed in as findings.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

import msgspec

from affidavit.base.errors import AffidavitError, Fault
from affidavit.base.exits import Exit, worst_exit
from affidavit.base.faults import receipts as faults

ANCHOR, RECEIPT_ID, SIGNATURE, KEY, EVIDENCE, REPLAY = (
    "anchor",
    "receipt_id",
    "signature",
    "key_lifecycle",
    "evidence",
    "replay",
)
STEP_NUMBERS: Final = {ANCHOR: 1, RECEIPT_ID: 2, SIGNATURE: 3, KEY: 3, EVIDENCE: 4, REPLAY: 5}
# What a verifier may do without: it was given nothing to check it with.
_OPTIONAL: Final = frozenset({ANCHOR, KEY})
_MAX_LISTED: Final = 5  # Findings that a line names; the report has all.


class StepStatus(StrEnum):
    """How a step ended.

    Skipped: there was nothing to check, or nothing to check it with. Not checked: it had to be
    checked and could not be, so nothing is proved.
    """

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    NOT_CHECKED = "not_checked"


class VerificationStep(msgspec.Struct, frozen=True):
    """One line of a verification."""

    name: str
    status: StepStatus
    detail: str
    fault: Fault | None = None

    @property
    def number(self) -> int:
        """Which of the five steps it is."""
        return STEP_NUMBERS[self.name]

    @property
    def code(self) -> str | None:
        """The code of what is wrong."""
        return None if self.fault is None else self.fault.code

    def as_wire(self) -> dict[str, object]:
        """Return the line as machines get it."""
        return {
            "number": self.number,
            "name": self.name,
            "status": self.status.value,
            "code": self.code,
            "detail": self.detail,
        }


class ReceiptVerification(msgspec.Struct, frozen=True):
    """All lines of the verification of one receipt. Nothing checked is never a yes."""

    receipt_id: str
    key_id: str
    steps: tuple[VerificationStep, ...]

    @property
    def exit(self) -> Exit:
        """Yes: all that had to hold was checked and holds. Else the gravest thing that is wrong."""
        failed = {
            step.fault.exit if step.fault else Exit.TAMPERED
            for step in self.steps
            if step.status is StepStatus.FAILED
        }
        if failed:
            return worst_exit(failed)
        return Exit.YES if _is_complete(self.steps) else Exit.UNKNOWN

    def and_steps(self, *more: VerificationStep) -> "ReceiptVerification":
        """Return the verification with the lines of steps that others did."""
        return ReceiptVerification(self.receipt_id, self.key_id, (*self.steps, *more))

    def as_wire(self) -> dict[str, object]:
        """Return the verification as machines get it."""
        return {
            "receipt_id": self.receipt_id,
            "key_id": self.key_id,
            "valid": self.exit is Exit.YES,
            "exit": int(self.exit),
            "steps": [step.as_wire() for step in self.steps],
        }


def _is_complete(steps: Sequence[VerificationStep]) -> bool:
    status = {step.name: step.status for step in steps}
    return all(
        status.get(name) is StepStatus.PASSED
        or (name in _OPTIONAL and status.get(name) is StepStatus.SKIPPED)
        for name in STEP_NUMBERS
    )


def passed(name: str, detail: str) -> VerificationStep:
    """Return the line of a step that holds."""
    return VerificationStep(name, StepStatus.PASSED, detail)


def skipped(name: str, detail: str) -> VerificationStep:
    """Return the line of a step for which there is nothing to check, or nothing to check with."""
    return VerificationStep(name, StepStatus.SKIPPED, detail)


def failed(name: str, error: AffidavitError) -> VerificationStep:
    """Return the line of a step that does not hold."""
    return VerificationStep(name, StepStatus.FAILED, error.message, error.fault)


def not_checked(name: str, error: AffidavitError) -> VerificationStep:
    """Return the line of a step that had to be checked and could not be."""
    return VerificationStep(name, StepStatus.NOT_CHECKED, error.message, error.fault)


def evidence_step(
    cited_count: int, absent: Sequence[str], changed: Sequence[str]
) -> VerificationStep:
    """Return step 4: what is cited and absent, and evidence that has another digest."""
    if absent:
        return failed(EVIDENCE, AffidavitError(faults.RECEIPT_CLOSURE, what=_listed(absent)))
    if changed:
        error = AffidavitError(faults.RECEIPT_EVIDENCE_DIGEST, what=_listed(changed))
        return failed(EVIDENCE, error)
    return passed(EVIDENCE, f"every citation resolves and every digest holds ({cited_count} cited)")


def replay_step(differences: Sequence[str]) -> VerificationStep:
    """Return step 5: where what is signed differs from what was recomputed."""
    if differences:
        return failed(REPLAY, AffidavitError(faults.RECEIPT_REPLAY, what=_listed(differences)))
    return passed(REPLAY, "verdicts and confidence follow from the evidence")


def _listed(findings: Sequence[str]) -> str:
    more = len(findings) - _MAX_LISTED
    return "; ".join(findings[:_MAX_LISTED]) + (f"; and {more} more" if more > 0 else "")
