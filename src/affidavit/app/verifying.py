"""Verifying receipts, offline: all five steps of answer-eval, section 5, for one or for many.

Steps 1 to 3 (anchor, id, signature) are the seal's, steps 4 and 5 (evidence, replay) those of the
checks; here they come together. What cannot be read is an outcome too, so that one bad file among
thousands hides none of the others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from affidavit.app.receipt_files import Subject
from affidavit.app.unreadable import Unreadable
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.exits import Exit
from affidavit.base.json_limits import JsonValue
from affidavit.checks.differences import Difference, DifferenceKind
from affidavit.checks.replay import Replay, replay
from affidavit.seal.receipt import Receipt, receipt_from_bytes
from affidavit.seal.steps import Status, Step, Verification, evidence_step, replay_step
from affidavit.seal.verify import Trust, verify_receipt


@dataclass(frozen=True, slots=True)
class Said:
    """What a receipt says of itself. It counts only if the verification is a yes."""

    verdict: JsonValue
    confidence: JsonValue
    issuer: JsonValue
    generated_at: JsonValue


@dataclass(frozen=True, slots=True)
class Verified:
    """A receipt with its verification."""

    name: str
    said: Said
    verification: Verification

    @property
    def exit(self) -> Exit:
        """Yes: all that had to hold was checked and holds."""
        return self.verification.exit

    @property
    def problem(self) -> Step | None:
        """The line that decided, where it is no yes: what failed, or else was not checked."""
        wrong = [step for step in self.verification.steps if step.fault is not None]
        decisive = (step for step in wrong if step.fault and step.fault.exit is self.exit)
        failed = (step for step in wrong if step.status is Status.FAILED)
        return next(decisive, next(failed, None))

    def as_wire(self) -> dict[str, object]:
        """Return the outcome as machines get it."""
        return {"receipt": self.name, **self.verification.as_wire(), "said": self.said}


Outcome: TypeAlias = Verified | Unreadable


@dataclass(frozen=True, slots=True)
class ReceiptVerifier:
    """Verifies receipts under one trust at one moment. It crosses processes."""

    trust: Trust
    at: datetime

    def __call__(self, subjects: Sequence[Subject]) -> tuple[Outcome, ...]:
        """Verify some receipts; a file is read here, by whoever does the work."""
        return tuple(map(self.verify, subjects))

    def verify(self, subject: Subject) -> Outcome:
        """Verify one receipt."""
        try:
            receipt = receipt_of(subject)
        except AffidavitError as error:
            return Unreadable("receipt", subject.name, error)
        verification = verify_steps(receipt, self.trust, self.at)
        return Verified(subject.name, _said(receipt.value), verification)


def receipt_of(subject: Subject) -> Receipt:
    """Return the receipt that stands in a file or a line, or raise where it is none."""
    try:
        return receipt_from_bytes(subject.content())
    except AffidavitError as error:
        # A line is decoded by itself, so the error counts from its start; the file's line counts.
        line = error.where.line if subject.line is None else subject.line
        place = Where(subject.file, line, error.where.field)
        raise AffidavitError(error.fault, place, **error.values) from None


def verify_steps(receipt: Receipt, trust: Trust, at: datetime) -> Verification:
    """Return all five steps for a receipt. `at` is now."""
    first = verify_receipt(receipt, trust, at)
    return first.and_steps(*steps_of_replay(receipt.value, replayed(receipt)))


def replayed(receipt: Receipt) -> Replay:
    """Return what follows from a receipt's evidence, beside what it says."""
    return replay(receipt.value, receipt.forms.content)


def steps_of_replay(receipt: Mapping[str, JsonValue], done: Replay) -> tuple[Step, Step]:
    """Return the lines of steps 4 and 5."""
    index = receipt.get("evidence_index")
    count = len(index) if isinstance(index, dict) else 0
    found = done.differences
    return (
        evidence_step(
            count,
            _of_kind(found, DifferenceKind.CLOSURE),
            _of_kind(found, DifferenceKind.EVIDENCE_DIGEST),
        ),
        replay_step(_of_kind(found, DifferenceKind.REPLAY, DifferenceKind.SHAPE)),
    )


def _of_kind(found: Sequence[Difference], *kinds: DifferenceKind) -> list[str]:
    return [str(each) for each in found if each.kind in kinds]


def _said(receipt: Mapping[str, JsonValue]) -> Said:
    keys = ("verdict", "confidence", "issuer", "generated_at")
    return Said(*(receipt.get(key) for key in keys))
