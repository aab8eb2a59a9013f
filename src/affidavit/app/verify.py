"""Verify and replay receipts offline: all five steps of answer-eval, section 5.

Steps 1 to 3 (anchor, id, signature) are in `seal`, steps 4 and 5 (evidence, replay) in `checks`.
An input that cannot be read is an outcome too, so that one bad file does not hide the others.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain, islice
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from msgspec import Struct

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.exits import Exit
from affidavit.base.faults import receipts as faults
from affidavit.base.faults.input import FILE_UNREADABLE
from affidavit.base.files import is_folder, open_to_read, read_bounded
from affidavit.base.json_values import DOCUMENT_LIMITS, JsonLimits, JsonValue
from affidavit.base.strict_json import decode, read_lines, split_lines
from affidavit.base.text import excerpt
from affidavit.checks.receipt import (
    MAX_LINKED,
    ReceiptBody,
    ReplayDifference,
    ReplayDifferenceKind,
    ReplayResult,
    RoutingReplay,
    asked_question,
    replay_body,
    replay_route,
    router_digest,
)
from affidavit.checks.routes import RouteTable
from affidavit.seal.keys import TrustedKeys, public_key_from_pem, trusted_keys_from
from affidavit.seal.links import LINKED_RECEIPTS, LinkedSet
from affidavit.seal.receipts import (
    ROUTING,
    Receipt,
    ReceiptTrust,
    ReceiptVerification,
    evidence_step,
    receipt_from,
    receipt_from_bytes,
    replay_step,
    routing_step,
    sets_of,
    skipped,
    verify_receipt,
    with_token,
)
from affidavit.seal.rfc3161 import TimeStampTrust, roots_from, token_from_file
from affidavit.seal.verification import UnreadableInput, VerificationStep, VerifiedInput

MAX_TRUST_BYTES: Final = 16 * 1024 * 1024
LINE_ENDINGS: Final = (".jsonl", ".ndjson")
_ENDINGS: Final = (".json", *LINE_ENDINGS)
_WHITE_SPACE: Final = b" \t\r\n"
_MAX_BYTES: Final = DOCUMENT_LIMITS.max_bytes
_RECEIPTS_PER_TASK: Final = 64  # About 10 ms of work for a process.

_LINKED_DOCUMENT: Final = re.compile(rb'\s*\{\s*"' + LINKED_RECEIPTS.encode() + rb'"\s*:')
_Read = TypeVar("_Read")

VerifiedReceipt: TypeAlias = VerifiedInput[ReceiptVerification]
ReceiptOutcome: TypeAlias = VerifiedReceipt | UnreadableInput


def key_files(named: Sequence[Path], project: Path) -> tuple[Path, ...]:
    """Return the keys documents to trust: those named, or the registry of the project."""
    if named:
        return tuple(named)
    from affidavit.app.keys import key_folder
    from affidavit.store.files import may_exist

    registry = key_folder(project).registry_path
    if not may_exist(registry):
        raise AffidavitError(faults.KEYS_NONE)
    return (registry,)


def trust_from(
    keys: Sequence[Path],
    roots: Sequence[Path],
    policy: str | None = None,
    *,
    stamp_required: bool = False,
) -> ReceiptTrust:
    """Return what is trusted: keys, and the roots of time stamp authorities."""
    stamps = stamp_trust(roots, policy) if roots else None
    return ReceiptTrust(trusted_keys(keys), stamps, stamp_required)


def stamp_trust(roots: Sequence[Path], policy: str | None = None) -> TimeStampTrust:
    """Return the time stamp authorities to trust, by the certificates of their roots."""
    return TimeStampTrust(b"\n".join(map(_timestamp_roots, roots)), policy)


def trusted_keys(files: Sequence[Path]) -> TrustedKeys:
    """Return the keys of all documents; an error names the file that caused it."""
    documents = []
    for path in files:
        try:
            documents.append(_keys_document(read_bounded(path, MAX_TRUST_BYTES)))
            trusted_keys_from(documents[-1:])
        except AffidavitError as error:
            raise error.at(file=str(path)) from None
    return trusted_keys_from(documents)


def _keys_document(raw: bytes) -> JsonValue:
    """Return a keys document; a public key in PEM is a document with one key."""
    if not raw.lstrip().startswith(b"-----BEGIN"):
        return decode(raw)
    key = public_key_from_pem(raw)
    return {key.id: key.text}


def detached_token(path: Path) -> bytes:
    """Return the time stamp token in a file."""
    try:
        return token_from_file(read_bounded(path, MAX_TRUST_BYTES))
    except AffidavitError as error:
        raise error.at(file=str(path)) from None


def _timestamp_roots(path: Path) -> bytes:
    pem = read_bounded(path, MAX_TRUST_BYTES)
    try:
        roots_from(pem)
    except AffidavitError as error:
        raise error.at(file=str(path)) from None
    return pem


class ReceiptInput(Struct, frozen=True):
    """One receipt to read: a file, or bytes that were read already, perhaps a line of a file."""

    file: str
    line: int | None = None
    raw: bytes | None = None
    limits: JsonLimits = DOCUMENT_LIMITS

    @property
    def name(self) -> str:
        """The file, and the line if there is one."""
        return self.file if self.line is None else f"{self.file}:{self.line}"

    def receipt(self) -> Receipt:
        """Read the one receipt; an error names the file and the line."""
        return self._read(_one_receipt_from_bytes)

    def receipts(self) -> tuple[Receipt, ...]:
        """Read the receipt, or all of a document that holds linked ones."""
        return self._read(_receipts_from_bytes)

    def _read(self, decode_receipts: Callable[[bytes, JsonLimits], _Read]) -> _Read:
        try:
            raw = read_bounded(self.file, _MAX_BYTES) if self.raw is None else self.raw
            return decode_receipts(raw, self.limits)
        except AffidavitError as error:
            # The decoder counts lines from the start of `raw`.
            line = error.where.line if self.line is None else self.line
            where = Where(self.file, line, error.where.field)
            raise AffidavitError(error.fault, where, **error.values) from None


def is_linked_document(raw: bytes) -> bool:
    """Say whether a text starts as a document of linked receipts does."""
    return _LINKED_DOCUMENT.match(raw) is not None


def _one_receipt_from_bytes(raw: bytes, limits: JsonLimits) -> Receipt:
    if is_linked_document(raw):
        problem = "it holds linked receipts; `affidavit verify` replays all of them"
        raise AffidavitError(faults.RECEIPT_FORMAT, problem=problem)
    return receipt_from_bytes(raw, limits)


def _receipts_from_bytes(raw: bytes, limits: JsonLimits) -> tuple[Receipt, ...]:
    if not is_linked_document(raw):
        return (receipt_from_bytes(raw, limits),)
    document = decode(raw, limits)
    linked = document.get(LINKED_RECEIPTS) if isinstance(document, dict) else None
    is_alone = isinstance(document, dict) and len(document) == 1
    if not is_alone or not isinstance(linked, list) or not 1 <= len(linked) <= MAX_LINKED:
        problem = f"it is not {{{LINKED_RECEIPTS}}} with a list of 1 to {MAX_LINKED} receipts"
        raise AffidavitError(faults.RECEIPT_FORMAT, problem=problem)
    return tuple(receipt_from(each) for each in linked)


def receipt_inputs_in(files: Iterable[Path]) -> Iterator[ReceiptInput]:
    """Yield the receipts of files in order; lines are read when they are used."""
    for path in files:
        if path.suffix.lower() in LINE_ENDINGS:
            yield from _lines_of(path)
        else:
            yield ReceiptInput(str(path))


def receipt_inputs_from(raw: bytes, name: str) -> list[ReceiptInput]:
    """Return the receipts of standard input: one document, or one on each line."""
    lines = split_lines(raw)
    if len(lines) < 2 or not _is_document(lines[0]):
        return [ReceiptInput(name, None, raw)]
    return [
        ReceiptInput(name, number, line)
        for number, line in enumerate(lines, 1)
        if line.strip(_WHITE_SPACE)
    ]


def files_in(paths: Iterable[Path]) -> list[Path]:
    """Return the named files, and the .json, .jsonl and .ndjson files below named folders.

    Hidden files and folders are left out, and links to folders are not followed.
    """
    return [file for path in paths for file in (_below(path) if is_folder(path) else (path,))]


def _refuse(error: OSError) -> None:
    reason = (error.strerror or str(error)).lower()
    raise AffidavitError(FILE_UNREADABLE, Where(file=str(error.filename)), reason=reason) from error


def _below(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder, onerror=_refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith(".") and name.lower().endswith(_ENDINGS):
                yield Path(place, name)


def _lines_of(path: Path) -> Iterator[ReceiptInput]:
    with open_to_read(path) as stream:
        try:
            for number, line in enumerate(read_lines(stream, _MAX_BYTES), 1):
                if line.strip(_WHITE_SPACE):
                    yield ReceiptInput(str(path), number, line)
        except AffidavitError as error:
            raise error.at(file=str(path)) from None


def _is_document(line: bytes) -> bool:
    try:
        return isinstance(decode(line), dict)
    except AffidavitError:
        return False


class ReceiptVerifier(Struct, frozen=True):
    """Verifies receipts at one time, perhaps with a detached token. It is pickled for processes."""

    trust: ReceiptTrust
    at: datetime
    routes: RouteTable | None = None
    token: bytes | None = None

    def __call__(self, inputs: Sequence[ReceiptInput]) -> tuple[ReceiptOutcome, ...]:
        """Verify receipts; their files are read here, in the process that does the work."""
        return tuple(chain.from_iterable(map(self.verify, inputs)))

    def verify(self, subject: ReceiptInput) -> tuple[ReceiptOutcome, ...]:
        """Verify one receipt, or all of a document that holds linked ones."""
        try:
            if self.token is None:
                receipts = subject.receipts()
            else:
                receipts = (with_token(subject.receipt(), self.token),)
        except AffidavitError as error:
            return (UnreadableInput("receipt", subject.name, error),)
        return tuple(
            VerifiedInput(
                "receipt",
                subject.name if len(receipts) == 1 else f"{subject.name}, receipt {number}",
                verify_steps(receipt, self.trust, self.at, self.routes),
            )
            for number, receipt in enumerate(receipts, 1)
        )

    def verify_all(self, inputs: Iterable[ReceiptInput], jobs: int) -> Iterator[ReceiptOutcome]:
        """Yield the outcome of each receipt, in order; `jobs` processes share the work."""
        rest = iter(inputs)
        batches = iter(lambda: tuple(islice(rest, _RECEIPTS_PER_TASK)), ())
        if jobs <= 1:
            return chain.from_iterable(map(self, batches))
        from affidavit.engine.local import run_in_order

        return chain.from_iterable(run_in_order(self, batches, jobs))


def linked_sets_of(outcomes: Iterable[ReceiptOutcome]) -> tuple[LinkedSet, ...]:
    """Return the sets of linked receipts among the outcomes. Only valid receipts count."""
    return sets_of(each.verification for each in outcomes if isinstance(each, VerifiedInput))


def require_receipts(outcomes: Sequence[ReceiptOutcome]) -> None:
    """Raise if there was no receipt, or if the only input could not be read."""
    if not outcomes:
        raise AffidavitError(faults.RECEIPTS_NONE)
    if len(outcomes) == 1 and isinstance(outcomes[0], UnreadableInput):
        raise outcomes[0].error


def verify_steps(
    receipt: Receipt, trust: ReceiptTrust, at: datetime, routes: RouteTable | None = None
) -> ReceiptVerification:
    """Return all five steps for a receipt. `at` is now."""
    replayed = replay_body(receipt.value, receipt.forms.content)
    steps = steps_of_replay(receipt.value, replayed)
    if asked_question(receipt.value) is not None:
        steps = (*steps, _routing_step(receipt.value, replayed, routes))
    return verify_receipt(receipt, trust, at, steps, replayed.not_interpreted)


def _routing_step(
    receipt: Mapping[str, JsonValue], result: ReplayResult, routes: RouteTable | None
) -> VerificationStep:
    """Return the line that says whether the question compiles to the checks of the receipt."""
    if routes is None:
        return skipped(ROUTING, "how the question became checks was not replayed: name --routes")
    signed = router_digest(receipt)
    if signed is not None and signed != routes.sha256:
        error = AffidavitError(faults.ROUTES_OTHER, signed=excerpt(signed), found=routes.sha256)
        return routing_step((), error)
    if signed is None or result.rebuilt is None:
        problem = "no route table is named" if signed is None else "the receipt is of other rules"
        replayed = RoutingReplay(unreplayable=f"the question: {problem}")
    else:
        replayed = replay_route(receipt, routes)
    if replayed.unreplayable is not None:
        error = AffidavitError(faults.RECEIPT_UNREPLAYABLE, what=replayed.unreplayable)
        return routing_step((), error)
    return routing_step([str(each) for each in replayed.differences])


def steps_of_replay(
    receipt: Mapping[str, JsonValue], result: ReplayResult
) -> tuple[VerificationStep, ...]:
    """Return steps 4 and 5."""
    index = receipt.get("evidence_index")

    def texts(kind: ReplayDifferenceKind) -> list[str]:
        return [str(each) for each in result.differences if each.kind is kind]

    return (
        evidence_step(
            len(index) if isinstance(index, dict) else 0,
            texts(ReplayDifferenceKind.CLOSURE),
            texts(ReplayDifferenceKind.EVIDENCE_DIGEST),
            result.unknown_evidence,
        ),
        replay_step(texts(ReplayDifferenceKind.REPLAY), result.unreplayable),
    )


class VerdictAndConfidence(Struct, frozen=True):
    """A verdict with its confidence, as signed or as recomputed."""

    verdict: JsonValue
    confidence: JsonValue


class ReplayedRow(Struct, frozen=True):
    """One check, or the answer as a whole: signed, recomputed, and explained."""

    name: str
    signed: VerdictAndConfidence
    recomputed: VerdictAndConfidence
    explain: str

    @property
    def is_same(self) -> bool:
        """Whether the recomputed values equal the signed ones."""
        return self.signed == self.recomputed


class ReplayedReceipt(Struct, frozen=True):
    """The rows of a replay and every difference. There are no rows if nothing can be recomputed."""

    receipt_id: str
    rows: tuple[ReplayedRow, ...]
    differences: tuple[ReplayDifference, ...]
    unreplayable: str | None = None
    not_interpreted: tuple[str, ...] = ()

    @property
    def exit(self) -> Exit:
        """Yes if the recomputed receipt equals the signed one."""
        if self.differences:
            return Exit.TAMPERED
        return Exit.YES if self.unreplayable is None else Exit.UNKNOWN


def replay_receipt(receipt: Receipt, routes: RouteTable | None = None) -> ReplayedReceipt:
    """Recompute a receipt from its checks and evidence, and with a table from its question.

    No key is needed: a replay tells whether the verdicts follow, not who signed them.
    """
    result = replay_body(receipt.value, receipt.forms.content)
    rebuilt, differences = result.rebuilt, result.differences
    if rebuilt is None:
        return ReplayedReceipt(receipt.id, (), differences, result.unreplayable)
    unreplayable = None
    if routes is not None and asked_question(receipt.value) is not None:
        signed = router_digest(receipt.value) or ""
        if signed != routes.sha256:
            raise AffidavitError(faults.ROUTES_OTHER, signed=signed, found=routes.sha256)
        routed = replay_route(receipt.value, routes)
        differences = (*differences, *routed.differences)
        unreplayable = routed.unreplayable
    rows = _rows(dict(receipt.value), rebuilt)
    return ReplayedReceipt(receipt.id, rows, differences, unreplayable, result.not_interpreted)


def _rows(signed: ReceiptBody, rebuilt: ReceiptBody) -> tuple[ReplayedRow, ...]:
    # Only a body of the right shape is rebuilt, so both have the same checks.
    pairs = zip(signed.get("checks", ()), rebuilt.get("checks", ()), strict=True)
    rows = [_row(new["id"], old, new, new["explain"]) for old, new in pairs]
    return (*rows, _row("the answer", signed, rebuilt, ""))


def _row(name: str, signed: ReceiptBody, rebuilt: ReceiptBody, explain: str) -> ReplayedRow:
    first, second = (
        VerdictAndConfidence(entry["verdict"], entry["confidence"]) for entry in (signed, rebuilt)
    )
    return ReplayedRow(name, first, second, explain)
