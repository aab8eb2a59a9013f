"""Verifies and replays receipts offline against trusted keys: all five steps of answer-eval,
section 5.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, TypeAlias

from affidavit.app.keys import key_folder
from affidavit.app.verify_inputs import ReceiptInput, UnreadableInput
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.exits import Exit
from affidavit.base.faults import receipts as faults
from affidavit.base.files import read_bounded
from affidavit.base.json_values import JsonValue
from affidavit.base.notebook import result_table
from affidavit.base.strict_json import decode
from affidavit.checks.receipt_body import ReceiptBody
from affidavit.checks.replay import (
    ReplayDifference,
    ReplayDifferenceKind,
    ReplayResult,
    replay_body,
    replay_route,
)
from affidavit.checks.routes import RouteTable
from affidavit.seal.key_registry import TrustedKeys, trusted_keys_from
from affidavit.seal.receipt_verification import ReceiptTrust, verify_receipt
from affidavit.seal.receipts import Receipt, receipt_from_bytes
from affidavit.seal.rfc3161 import TimeStampTrust, roots_from
from affidavit.seal.steps import (
    ReceiptVerification,
    StepStatus,
    VerificationStep,
    evidence_step,
    replay_step,
)
from affidavit.store.files import may_exist

# What a verifier trusts, read from the files that the user names.

MAX_TRUST_BYTES: Final = 16 * 1024 * 1024


def key_files(named: Sequence[Path], project: Path) -> tuple[Path, ...]:
    """Return the keys documents to trust: those named, or the registry of this project."""
    if named:
        return tuple(named)
    own = key_folder(project).registry_path
    if not may_exist(own):
        raise AffidavitError(faults.KEYS_NONE)
    return (own,)


def trust_from(
    keys: Sequence[Path],
    roots: Sequence[Path],
    policy: str | None = None,
    *,
    stamp_required: bool = False,
) -> ReceiptTrust:
    """Return what is trusted: keys, and the roots of time stamp authorities."""
    stamps = TimeStampTrust(b"\n".join(map(_timestamp_roots, roots)), policy) if roots else None
    return ReceiptTrust(trusted_keys(keys), stamps, stamp_required)


def trusted_keys(files: Sequence[Path]) -> TrustedKeys:
    """Return the keys of all documents; an error names the file that has it."""
    documents = []
    for path in files:
        document = _keys_document(path)
        documents.append(document)
        try:
            trusted_keys_from([document])
        except AffidavitError as error:
            raise error.at(file=str(path)) from None
    return trusted_keys_from(documents)


def _timestamp_roots(path: Path) -> bytes:
    pem = read_bounded(path, MAX_TRUST_BYTES)
    try:
        roots_from(pem)
    except AffidavitError as error:
        raise error.at(file=str(path)) from None
    return pem


def _keys_document(path: Path) -> JsonValue:
    try:
        return decode(read_bounded(path, MAX_TRUST_BYTES))
    except AffidavitError as error:
        raise error.at(file=str(path)) from None


# Verifying receipts, offline: all five steps of answer-eval, section 5, for one or for many.
#
# Steps 1 to 3 (anchor, id, signature) are the seal's, steps 4 and 5 (evidence, replay) those of the
# checks; here they come together. What cannot be read is an outcome too, so that one bad file among
# thousands hides none of the others.


@dataclass(frozen=True, slots=True)
class ReceiptStatement:
    """What a receipt says of itself. It counts only if the verification is a yes."""

    verdict: JsonValue
    confidence: JsonValue
    issuer: JsonValue
    generated_at: JsonValue


@dataclass(frozen=True, slots=True)
class VerifiedReceipt:
    """A receipt with its verification."""

    name: str
    said: ReceiptStatement
    verification: ReceiptVerification

    @property
    def exit(self) -> Exit:
        """Yes: all that had to hold was checked and holds."""
        return self.verification.exit

    @property
    def problem(self) -> VerificationStep | None:
        """The line that decided, where it is no yes: what failed, or else was not checked."""
        wrong = [step for step in self.verification.steps if step.fault is not None]
        decisive = (step for step in wrong if step.fault and step.fault.exit is self.exit)
        failed = (step for step in wrong if step.status is StepStatus.FAILED)
        return next(decisive, next(failed, None))

    def as_wire(self) -> dict[str, object]:
        """Return the outcome as machines get it."""
        return {"receipt": self.name, **self.verification.as_wire(), "said": self.said}

    def _repr_html_(self) -> str:
        status = "valid" if self.exit is Exit.YES else "not valid"
        rows = ((step.status.value, step.name, step.detail) for step in self.verification.steps)
        return result_table(self.name, status, ("Status", "Step", "Detail"), rows)


ReceiptOutcome: TypeAlias = VerifiedReceipt | UnreadableInput


@dataclass(frozen=True, slots=True)
class ReceiptVerifier:
    """Verifies receipts under one trust at one moment. It crosses processes."""

    trust: ReceiptTrust
    at: datetime

    def __call__(self, subjects: Sequence[ReceiptInput]) -> tuple[ReceiptOutcome, ...]:
        """Verify some receipts; a file is read here, by whoever does the work."""
        return tuple(map(self.verify, subjects))

    def verify(self, subject: ReceiptInput) -> ReceiptOutcome:
        """Verify one receipt."""
        try:
            receipt = receipt_of(subject)
        except AffidavitError as error:
            return UnreadableInput("receipt", subject.name, error)
        verification = verify_steps(receipt, self.trust, self.at)
        return VerifiedReceipt(subject.name, _receipt_statement(receipt.value), verification)


def receipt_of(subject: ReceiptInput) -> Receipt:
    """Return the receipt that stands in a file or a line, or raise where it is none."""
    try:
        return receipt_from_bytes(subject.content())
    except AffidavitError as error:
        # A line is decoded by itself, so the error counts from its start; the file's line counts.
        line = error.where.line if subject.line is None else subject.line
        place = Where(subject.file, line, error.where.field)
        raise AffidavitError(error.fault, place, **error.values) from None


def verify_steps(receipt: Receipt, trust: ReceiptTrust, at: datetime) -> ReceiptVerification:
    """Return all five steps for a receipt. `at` is now."""
    first = verify_receipt(receipt, trust, at)
    return first.and_steps(*steps_of_replay(receipt.value, replay_of_receipt(receipt)))


def replay_of_receipt(receipt: Receipt) -> ReplayResult:
    """Return what follows from a receipt's evidence, beside what it says."""
    return replay_body(receipt.value, receipt.forms.content)


def steps_of_replay(
    receipt: Mapping[str, JsonValue], done: ReplayResult
) -> tuple[VerificationStep, VerificationStep]:
    """Return the lines of steps 4 and 5."""
    index = receipt.get("evidence_index")
    count = len(index) if isinstance(index, dict) else 0
    found = done.differences
    return (
        evidence_step(
            count,
            _of_kind(found, ReplayDifferenceKind.CLOSURE),
            _of_kind(found, ReplayDifferenceKind.EVIDENCE_DIGEST),
        ),
        replay_step(_of_kind(found, ReplayDifferenceKind.REPLAY, ReplayDifferenceKind.SHAPE)),
    )


def _of_kind(found: Sequence[ReplayDifference], *kinds: ReplayDifferenceKind) -> list[str]:
    return [str(each) for each in found if each.kind in kinds]


def _receipt_statement(receipt: Mapping[str, JsonValue]) -> ReceiptStatement:
    keys = ("verdict", "confidence", "issuer", "generated_at")
    return ReceiptStatement(*(receipt.get(key) for key in keys))


# A receipt's table beside the one that follows from its evidence.
#
# No key is needed: a replay says whether the verdicts follow, not who signed them.

ANSWER = "the answer"


@dataclass(frozen=True, slots=True)
class VerdictAndConfidence:
    """A verdict and its confidence, as signed or as recomputed."""

    verdict: JsonValue
    confidence: JsonValue


@dataclass(frozen=True, slots=True)
class ReplayedRow:
    """One check, or the answer as a whole: what is signed, what follows, and why."""

    name: str
    signed: VerdictAndConfidence
    recomputed: VerdictAndConfidence
    explain: str

    @property
    def is_same(self) -> bool:
        """Say whether what is signed follows."""
        return self.signed == self.recomputed


@dataclass(frozen=True, slots=True)
class ReplayedReceipt:
    """Both tables, row by row, and every difference. Without rows nothing follows at all."""

    receipt_id: str
    rows: tuple[ReplayedRow, ...]
    differences: tuple[ReplayDifference, ...]

    @property
    def exit(self) -> Exit:
        """Yes: the receipt is exactly what follows from it."""
        return Exit.TAMPERED if self.differences else Exit.YES


def replay_receipt(receipt: Receipt, routes: RouteTable | None = None) -> ReplayedReceipt:
    """Make a receipt's body again: from checks and evidence, and with a table from its question."""
    done = replay_body(receipt.value, receipt.forms.content)
    found = done.differences
    rows = () if done.rebuilt is None else _rows(dict(receipt.value), done.rebuilt)
    if routes is not None and done.rebuilt is not None:
        _require_its_table(done.rebuilt, routes)
        found = (*found, *replay_route(receipt.value, routes))
    return ReplayedReceipt(receipt.id, rows, found)


def _require_its_table(body: ReceiptBody, routes: RouteTable) -> None:
    signed = body["route"]["router_sha256"] if "route" in body else routes.sha256
    if signed != routes.sha256:
        raise AffidavitError(faults.ROUTES_OTHER, signed=signed, found=routes.sha256)


def _rows(signed: ReceiptBody, made: ReceiptBody) -> tuple[ReplayedRow, ...]:
    # A body is made again only from one whose shape was read, so both have the same checks.
    rows = [
        ReplayedRow(
            new["id"], _verdict_and_confidence(old), _verdict_and_confidence(new), new["explain"]
        )
        for old, new in zip(signed.get("checks", ()), made.get("checks", ()), strict=True)
    ]
    return (
        *rows,
        ReplayedRow(ANSWER, _verdict_and_confidence(signed), _verdict_and_confidence(made), ""),
    )


def _verdict_and_confidence(entry: ReceiptBody) -> VerdictAndConfidence:
    return VerdictAndConfidence(entry["verdict"], entry["confidence"])
