"""The use cases of the service on documents, sessions and ledgers, each in one workspace."""

import hashlib
import hmac
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Meta, Struct
from sqlalchemy import func, select

import affidavit
from affidavit.app import recording
from affidavit.app.bundle_sealing import seal_run
from affidavit.app.check import answer_text, ledger_rules_for
from affidavit.app.clock import now, now_ms, time_of
from affidavit.app.judges import BuiltIn
from affidavit.app.ledger_evidence import citation_in
from affidavit.app.ledger_store import LedgerStore
from affidavit.app.ledger_views import (
    CitationV1,
    ClaimDetailV1,
    DecisionListV1,
    DecisionV1,
    DocumentListV1,
    DocumentV1,
    ExportFormat,
    ExportV1,
    LedgerResponseV1,
    SessionListV1,
    SessionV1,
    claim_view,
    decision_list,
    decision_view,
    document_view,
    ledger_view,
    session_item,
    session_view,
)
from affidavit.app.page_views import PageViews
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import store as faults
from affidavit.base.faults.input import FILE_UNWRITABLE
from affidavit.base.json_values import JsonLimits
from affidavit.base.strict_json import decode
from affidavit.base.text import excerpt
from affidavit.base.validation import problem_and_field
from affidavit.decision.evaluation import DecisionSummary, summarise_decision
from affidavit.decision.evaluation import decide as decide_gates
from affidavit.documents.model import DocumentLimits
from affidavit.ledger.adjudication import gate_measures
from affidavit.ledger.model import ClaimType, Importance, Verdict
from affidavit.ledger.review import Approval, DecidedField, HumanDecision, reviewed_ledger
from affidavit.packs import event_types as kinds
from affidavit.reports.formats import FORMATS
from affidavit.seal.bundle.events import RUN_FINISHED, RUN_STARTED
from affidavit.seal.bundle.writer import EventDraft, RunIdentity
from affidavit.store.audit_rows import add_audit_entry
from affidavit.store.database import Scope, SystemScope
from affidavit.store.decision_rows import claim_key, decide, decisions_of
from affidavit.store.document_rows import (
    StoredDocument,
    add_document,
    delete_document,
    document,
    documents_by_content_ids,
    hold_document,
    list_documents,
)
from affidavit.store.jobs import add_job, waiting_jobs
from affidavit.store.session_rows import (
    RunSettings,
    StoredRun,
    add_run,
    add_session,
    delete_session,
    entries_of,
    exact_ledger,
    finished_run,
    hold_session,
    list_sessions,
    runs_of,
    session,
    stored_header,
    stored_ledger,
)
from affidavit.store.tables import documents, exports, jobs

MAX_TITLE_CHARACTERS: Final = 200
MAX_QUERY_CHARACTERS: Final = 10_000
MAX_NAME_CHARACTERS: Final = 200
PAGE: Final = 100
EXPORT_SECONDS: Final = 3600
MIN_FREE_BYTES: Final = 64 * 1024 * 1024

Result = TypeVar("Result")
Model = TypeVar("Model")
Title = Annotated[str, Meta(min_length=1, max_length=MAX_TITLE_CHARACTERS)]
Reason = Annotated[str, Meta(min_length=1, max_length=2_000)]


class NewSessionV1(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An answer to check against the documents of the workspace, and the question it answers."""

    answer: Annotated[str, Meta(min_length=1)]
    query: Annotated[str, Meta(max_length=MAX_QUERY_CHARACTERS)] | None = None
    title: Title | None = None
    answer_date: str | None = None
    judge: BuiltIn | None = None
    gates: list[Annotated[str, Meta(max_length=200)]] = []


class NewRunV1(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How to check a session once more, against the documents that are ready then."""

    answer_date: str | None = None
    judge: BuiltIn | None = None
    gates: list[Annotated[str, Meta(max_length=200)]] = []


class ClaimChangeV1(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a person decides about a claim, and why.

    `expected` is the effective verdict that the person saw; if it has changed since, nothing is.
    """

    reason: Reason
    verdict: Verdict | None = None
    claim_type: ClaimType | None = None
    importance: Importance | None = None
    expected: Verdict | None = None


class ApprovalV1(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Whether a person approves the answer or rejects it, and why."""

    decision: Approval
    reason: Reason
    expected: Approval | None = None


class HoldV1(Struct, frozen=True, forbid_unknown_fields=True):
    """Whether something is under a legal hold, so that nobody can delete it."""

    legal_hold: bool


class ExportRequestV1(Struct, frozen=True, forbid_unknown_fields=True):
    """The format of an export: section 11.2."""

    format: ExportFormat


class UploadLimits(Struct, frozen=True, kw_only=True):
    """The limits of uploads. Pages, size unpacked and time are those of reading documents."""

    max_bytes: int = 64 * 1024 * 1024
    max_documents: int = 10_000
    seconds: float = 300.0
    reading: DocumentLimits = DocumentLimits()


@dataclass(frozen=True, slots=True)
class Actor:
    """Who asks, and in which workspace."""

    workspace: str
    name: str
    identity: str = ""
    """Who it is in the audit log, where that is not the name."""


@dataclass(frozen=True, slots=True)
class Download:
    """A rendered export."""

    content: bytes
    media_type: str
    filename: str


class Upload:
    """A document that is being uploaded: written to the disk as it comes."""

    def __init__(self, folder: Path, limit: int) -> None:
        self.path = folder / os.urandom(16).hex()
        self._limit = limit
        self._digest = hashlib.sha256()
        self.size = 0
        with self._os_errors():
            self._stream = self.path.open("xb")

    def write(self, piece: bytes) -> None:
        """Add a piece."""
        self.size += len(piece)
        if self.size > self._limit:
            problem = f"it has more than {self._limit} bytes"
            raise AffidavitError(faults.UPLOAD_LIMIT, problem=problem)
        self._digest.update(piece)
        with self._os_errors():
            self._stream.write(piece)

    def finish(self) -> str:
        """Write everything to the disk and return the digest."""
        with self._os_errors():
            self._stream.flush()
            os.fsync(self._stream.fileno())
            self._stream.close()
        return f"sha256:{self._digest.hexdigest()}"

    @contextmanager
    def _os_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:  # A full disk.
            reason = (error.strerror or str(error)).lower()
            where = Where(file=str(self.path))
            raise AffidavitError(FILE_UNWRITABLE, where, reason=reason) from error

    def abandon(self) -> None:
        """Remove what there is."""
        with suppress(OSError):
            self._stream.close()
        with suppress(OSError):
            self.path.unlink()


class LedgerService:
    """The use cases. Several threads call them at the same time."""

    def __init__(self, store: LedgerStore, limits: UploadLimits | None = None) -> None:
        self.store = store
        self.limits = limits or UploadLimits()
        self.pages = PageViews(store)

    def require_ready(self) -> None:
        """Raise unless the database answers, and there is room on the disk."""
        self.store.database.system(lambda system: system.execute(select(1)), writes=False)
        if (free := self._free_bytes()) < MIN_FREE_BYTES:
            raise AffidavitError(faults.STORE_AWAY, reason=f"only {free} bytes are free")

    def figures(self) -> dict[str, float]:
        """Return how much work waits, and how much room is left."""

        def work(system: SystemScope) -> dict[str, float]:
            counts = waiting_jobs(system)
            queued = jobs.c.status == "queued"
            oldest = system.execute(select(func.min(jobs.c.due_ms)).where(queued)).scalar()
            late = 0 if oldest is None else max(0, now_ms() - oldest)
            return {
                **{f"jobs_{status}": count for status, count in counts.items()},
                "jobs_oldest_due_seconds": late / 1000,
            }

        found = self.store.database.system(work, writes=False)
        return {**found, "disk_free_bytes": self._free_bytes()}

    def _free_bytes(self) -> int:
        return shutil.disk_usage(self.store.config.data).free

    # Documents.

    def begin_upload(self, caller: Actor, filename: str) -> Upload:
        """Return where to write a document, if there is room for one more."""
        _require_filename(filename)
        count = self._read(caller, lambda scope: len(scope.rows(select(documents.c.id))))
        if count >= self.limits.max_documents:
            problem = f"the workspace has {count} documents"
            raise AffidavitError(faults.UPLOAD_LIMIT, problem=problem)
        return Upload(self.store.blobs.incoming, self.limits.max_bytes)

    def finish_upload(self, caller: Actor, filename: str, upload: Upload) -> DocumentV1:
        """Keep an uploaded document, and queue its reading if it is new."""
        digest = upload.finish()
        if not upload.size:
            raise AffidavitError(faults.UPLOAD_LIMIT, problem="it is empty")
        # The bytes are there before a row names them.
        self.store.blobs.keep(upload.path, digest)

        def work(scope: Scope) -> DocumentV1:
            stored, is_new = add_document(scope, filename, digest, upload.size, now())
            if is_new:
                add_job(scope, "ingest", stored.id, at=now(), now_ms=now_ms())
                detail = {"filename": filename, "digest": digest}
                _audit(scope, caller, "document.upload", stored.id, **detail)
            return document_view(stored)

        return self._write(caller, work)

    def documents(self, caller: Actor, after: str | None) -> DocumentListV1:
        """Return a page of documents."""
        found = self._read(caller, lambda s: list_documents(s, after=after, limit=PAGE + 1))
        shown = [document_view(each) for each in found[:PAGE]]
        return DocumentListV1(shown, shown[-1].id if len(found) > PAGE else None)

    def document(self, caller: Actor, document_id: str) -> DocumentV1:
        """Return a document with its status."""
        return self._read(caller, lambda scope: document_view(document(scope, document_id)))

    def original(self, caller: Actor, document_id: str) -> tuple[Path, DocumentV1]:
        """Return the file with the bytes that were uploaded."""
        found = self.document(caller, document_id)
        return self.store.blobs.path(found.digest), found

    def hold_document(self, caller: Actor, document_id: str, request: HoldV1) -> DocumentV1:
        """Put a document under a legal hold, or lift it."""
        hold = request.legal_hold

        def work(scope: Scope) -> DocumentV1:
            held = hold_document(scope, document_id, hold=hold, at=now())
            _audit(scope, caller, "document.hold", held.id, legal_hold=hold)
            return document_view(held)

        return self._write(caller, work)

    def delete_document(self, caller: Actor, document_id: str) -> None:
        """Delete a document, and its bytes if no other workspace has them."""

        def work(scope: Scope) -> StoredDocument:
            gone = delete_document(scope, document_id)
            detail = {"filename": gone.filename, "digest": gone.digest}
            _audit(scope, caller, "document.delete", gone.id, **detail)
            return gone

        deleted = self._write(caller, work)

        def is_kept(system: SystemScope) -> bool:
            query = select(documents.c.id).where(documents.c.digest == deleted.digest).limit(1)
            return system.execute(query).first() is not None

        if not self.store.database.system(is_kept, writes=False):
            self.store.blobs.delete([deleted.digest])

    # Sessions.

    def create_session(self, caller: Actor, request: NewSessionV1) -> SessionV1:
        """Store an answer and queue its check."""
        text = answer_text(request.answer.encode(), Where(field="answer"))
        settings = _settings(request)
        title = request.title or excerpt(request.query or text, 80)

        def work(scope: Scope) -> SessionV1:
            made = add_session(scope, title=title, query=request.query, answer=text, at=now())
            self._queue_run(scope, made.id, settings)
            _audit(scope, caller, "session.create", made.id)
            return _session(scope, made.id)

        return self._write(caller, work)

    def run_session(self, caller: Actor, session_id: str, request: NewRunV1) -> SessionV1:
        """Queue another check of a session."""
        settings = _settings(request)

        def work(scope: Scope) -> SessionV1:
            self._queue_run(scope, session_id, settings)
            _audit(scope, caller, "session.check", session_id)
            return _session(scope, session_id)

        return self._write(caller, work)

    def sessions(self, caller: Actor, after: str | None) -> SessionListV1:
        """Return a page of sessions."""
        found = self._read(caller, lambda s: list_sessions(s, after=after, limit=PAGE + 1))
        shown = [session_item(each) for each in found[:PAGE]]
        return SessionListV1(shown, shown[-1].id if len(found) > PAGE else None)

    def session(self, caller: Actor, session_id: str) -> SessionV1:
        """Return a session with its runs."""
        return self._read(caller, lambda scope: _session(scope, session_id))

    def hold_session(self, caller: Actor, session_id: str, request: HoldV1) -> SessionV1:
        """Put a session under a legal hold, or lift it."""

        def work(scope: Scope) -> SessionV1:
            hold_session(scope, session_id, hold=request.legal_hold, at=now())
            _audit(scope, caller, "session.hold", session_id, legal_hold=request.legal_hold)
            return _session(scope, session_id)

        return self._write(caller, work)

    def delete_session(self, caller: Actor, session_id: str) -> None:
        """Delete a session with everything that belongs to it."""

        def work(scope: Scope) -> None:
            delete_session(scope, session_id)
            _audit(scope, caller, "session.delete", session_id)

        self._write(caller, work)

    # Ledgers and decisions.

    def ledger(self, caller: Actor, session_id: str, number: int | None) -> LedgerResponseV1:
        """Return the ledger of a session: of its newest finished run, or of one by its number."""

        def work(scope: Scope) -> LedgerResponseV1:
            stored = session(scope, session_id)
            run = finished_run(scope, session_id, number)
            rows, decisions = entries_of(scope, run.id), decisions_of(scope, run.id)
            return ledger_view(stored, run, stored_header(scope, run.id), rows, decisions)

        return self._read(caller, work)

    def sealed_ledger(self, caller: Actor, session_id: str, number: int | None) -> bytes:
        """Return the judge's ledger, byte for byte: section 9.2."""
        return self._read(caller, lambda s: exact_ledger(s, finished_run(s, session_id, number).id))

    def claim(self, caller: Actor, session_id: str, claim_id: str) -> ClaimDetailV1:
        """Return a claim of the newest ledger with everything that was read about it."""

        def work(scope: Scope) -> ClaimDetailV1:
            run = finished_run(scope, session_id)
            key = claim_key(scope, run.id, claim_id)
            rows, decisions = entries_of(scope, run.id), decisions_of(scope, run.id)
            entries = stored_ledger(scope, run.id).entries
            judged = next(entry for entry in entries if entry.claim_id == key)
            wanted = {reading.document_id for reading in judged.readings}
            return claim_view(
                judged, rows, decisions, documents_by_content_ids(scope, sorted(wanted))
            )

        return self._read(caller, work)

    def decisions(self, caller: Actor, session_id: str, after: int) -> DecisionListV1:
        """Return what people decided about the newest ledger after a decision."""

        def work(scope: Scope) -> DecisionListV1:
            run = finished_run(scope, session_id)
            return decision_list(decisions_of(scope, run.id), entries_of(scope, run.id), after)

        return self._read(caller, work)

    def gates(self, caller: Actor, session_id: str, gates: Sequence[str]) -> DecisionSummary:
        """Return what gates say about the newest ledger after what people decided."""
        rules = ledger_rules_for(None, tuple(gates))

        def work(scope: Scope) -> DecisionSummary:
            run = finished_run(scope, session_id)
            seen = reviewed_ledger(stored_ledger(scope, run.id), decisions_of(scope, run.id))
            measures = gate_measures(seen.entries, seen.findings)
            return summarise_decision(decide_gates(rules.active_gates, measures))

        return self._read(caller, work)

    def change_claim(
        self, caller: Actor, session_id: str, claim_id: str, request: ClaimChangeV1
    ) -> LedgerResponseV1:
        """Record what a person decides about a claim of the newest ledger."""
        changes = {
            DecidedField.VERDICT: request.verdict,
            DecidedField.CLAIM_TYPE: request.claim_type,
            DecidedField.IMPORTANCE: request.importance,
        }
        wanted = {field: value for field, value in changes.items() if value is not None}
        if not wanted or (request.expected is not None and request.verdict is None):
            problem = "it changes nothing" if not wanted else "`expected` is about the verdict"
            raise AffidavitError(faults.DECISION_INVALID, Where(field="verdict"), problem=problem)

        def work(scope: Scope) -> LedgerResponseV1:
            stored, run = session(scope, session_id), finished_run(scope, session_id)
            claim_key(scope, run.id, claim_id)
            for field, value in wanted.items():
                decide(
                    scope,
                    run,
                    field,
                    value.value,
                    claim_id=claim_id,
                    expected=request.expected if field is DecidedField.VERDICT else None,
                    reason=request.reason,
                    by=caller.name,
                    at=now(),
                )
                said = {"field": field.value, "to": value.value, "reason": request.reason}
                _audit(scope, caller, "claim.decide", claim_id, session=session_id, **said)
            rows, decisions = entries_of(scope, run.id), decisions_of(scope, run.id)
            return ledger_view(stored, run, stored_header(scope, run.id), rows, decisions)

        return self._write(caller, work)

    def approve(self, caller: Actor, session_id: str, request: ApprovalV1) -> DecisionV1:
        """Record whether a person approves the answer of the newest ledger or rejects it."""

        def work(scope: Scope) -> DecisionV1:
            made = decide(
                scope,
                finished_run(scope, session_id),
                DecidedField.APPROVAL,
                request.decision.value,
                claim_id=None,
                expected=request.expected,
                reason=request.reason,
                by=caller.name,
                at=now(),
            )
            said = {"to": request.decision.value, "reason": request.reason}
            _audit(scope, caller, "session.decide", session_id, **said)
            return decision_view(made, {})

        return self._write(caller, work)

    @contextmanager
    def bundle(self, caller: Actor, session_id: str) -> Iterator[Path]:
        """Seal the newest ledger and what people decided in a bundle, and yield its file."""

        def work(scope: Scope) -> tuple[StoredRun, bytes, tuple[HumanDecision, ...]]:
            run = finished_run(scope, session_id)
            return run, exact_ledger(scope, run.id), decisions_of(scope, run.id)

        run, exact, decisions = self._read(caller, work)
        with TemporaryDirectory(prefix="affidavit-") as folder:
            log, target = Path(folder, "run.jsonl"), Path(folder, "run.tar.gz")
            log.write_bytes(_event_log(run, exact, decisions))
            seal_run(log, target)
            yield target

    # Exports.

    def export(self, caller: Actor, session_id: str, format_name: ExportFormat) -> ExportV1:
        """Queue an export of the newest ledger, and return where it can be fetched."""
        expires = now_ms() + EXPORT_SECONDS * 1000

        def work(scope: Scope) -> str:
            run = finished_run(scope, session_id)
            export_id = scope.new_id()
            row = {
                "id": export_id,
                "run_id": run.id,
                "format": format_name,
                "expires_ms": expires,
                "created_at": now(),
            }
            scope.insert(exports, [row])
            add_job(scope, "export", export_id, at=now(), now_ms=now_ms())
            _audit(scope, caller, "ledger.export", session_id, format=format_name)
            return export_id

        export_id = self._write(caller, work)
        return self.export_status(caller, export_id)

    def export_status(self, caller: Actor, export_id: str) -> ExportV1:
        """Return where an export can be fetched, and whether it is ready."""

        def work(scope: Scope) -> tuple[int, bool]:
            is_ready = exports.c.content.is_not(None).label("is_ready")
            query = select(exports.c.expires_ms, is_ready).where(exports.c.id == export_id)
            row = scope.first(query)
            return (0, False) if row is None else (row.expires_ms, bool(row.is_ready))

        expires, is_ready = self._read(caller, work)
        signature = self._signature(export_id, expires)
        moment = datetime.fromtimestamp(expires / 1000, UTC)
        return ExportV1(
            download_url=f"/api/v1/exports/{export_id}?expires={expires}&signature={signature}",
            expires_at=moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
            status="ready" if is_ready else "processing",
        )

    def download(self, export_id: str, expires: str, signature: str) -> Download:
        """Return an export to whoever has its signed address."""
        given = int(expires) if expires.isdecimal() and len(expires) < 16 else 0
        if not hmac.compare_digest(
            self._signature(export_id, given).encode(), signature.encode("utf-8", "replace")
        ):
            raise AffidavitError(faults.EXPORT_SIGNATURE)
        if given <= now_ms():
            raise AffidavitError(faults.EXPORT_GONE)

        def work(system: SystemScope) -> Any:
            query = select(exports.c.format, exports.c.content).where(exports.c.id == export_id)
            return system.execute(query).first()

        row = self.store.database.system(work, writes=False)
        if row is None:  # Its session was deleted.
            raise AffidavitError(faults.EXPORT_GONE)
        if row.content is None:
            raise AffidavitError(faults.EXPORT_WAITING, seconds=1)
        kind = next(each for each in FORMATS if each.name == row.format)
        return Download(row.content, kind.media_type, f"ledger{kind.suffixes[0]}")

    def _signature(self, export_id: str, expires: int) -> str:
        said = f"{export_id}.{expires}".encode()
        return hmac.new(self.store.export_secret, said, "sha256").hexdigest()

    # Citations.

    def citation(self, caller: Actor, chunk_hash: str) -> CitationV1:
        """Return what a citation leads to: section 5.3."""
        return self._read(caller, lambda scope: citation_in(scope, chunk_hash))

    def _queue_run(self, scope: Scope, session_id: str, settings: RunSettings) -> None:
        run = add_run(scope, session_id, settings, now())
        add_job(scope, "check", run.id, at=now(), now_ms=now_ms())

    def _read(self, caller: Actor, work: Callable[[Scope], Result]) -> Result:
        return self.store.database.read(self.store.workspace(caller.workspace), work)

    def _write(self, caller: Actor, work: Callable[[Scope], Result]) -> Result:
        return self.store.database.write(self.store.workspace(caller.workspace), work)


def request_from_json(raw: bytes, limits: JsonLimits, model: type[Model]) -> Model:
    """Return a request, read by the rules of strict JSON."""
    try:
        return msgspec.convert(decode(raw, limits), model)
    except msgspec.ValidationError as error:
        problem, field = problem_and_field(error)
        raise AffidavitError(faults.REQUEST_INVALID, Where(field=field), problem=problem) from None


def _audit(scope: Scope, caller: Actor, action: str, subject: str, **detail: Any) -> None:
    by = caller.identity or caller.name
    add_audit_entry(scope, at=now(), by=by, action=action, subject=subject, detail=detail)


def _session(scope: Scope, session_id: str) -> SessionV1:
    return session_view(session(scope, session_id), runs_of(scope, session_id))


def _settings(request: NewSessionV1 | NewRunV1) -> RunSettings:
    ledger_rules_for(None, tuple(request.gates))  # Refused now, not by a worker later.
    return RunSettings(
        answer_date=time_of(request.answer_date)[:10],
        judge=request.judge,
        gates=tuple(request.gates),
    )


def _require_filename(name: str) -> None:
    problem = None
    if not name.strip() or name in (".", ".."):
        problem = "it is empty"
    elif len(name) > MAX_NAME_CHARACTERS:
        problem = f"it has more than {MAX_NAME_CHARACTERS} characters"
    elif not name.isprintable() or "/" in name or "\\" in name:
        problem = "it has a path, or characters that cannot be printed"
    if problem:
        shown = name[:60]
        raise AffidavitError(
            faults.UPLOAD_NAME, Where(field="filename"), name=shown, problem=problem
        )


def _event_log(run: StoredRun, exact: bytes, decisions: tuple[HumanDecision, ...]) -> bytes:
    """Return the ledger and the decisions as the log of a run, which can be sealed."""
    identity = RunIdentity(run.id, "urn:affidavit:service", "affidavit", affidavit.__version__)
    ledger = decode(exact)
    at = str(run.finished_at)
    verdict = {"verdict": run.decision, "subject": run.ledger_id}
    drafts = [
        EventDraft(RUN_STARTED, run.created_at, {}),
        EventDraft(kinds.LEDGER, at, {"ledger": ledger}),
        EventDraft(kinds.VERDICT, at, verdict),
    ]
    for each in decisions:
        decision = each.to_value if each.field is DecidedField.APPROVAL else "changed"
        data = {
            "approver": each.decided_by,
            "decision": decision,
            "what": each.what,
            "reason": each.reason,
        }
        drafts.append(EventDraft(kinds.HUMAN_APPROVAL, each.decided_at, data, personal_data=True))
    last = decisions[-1].decided_at if decisions else at
    drafts.append(EventDraft(RUN_FINISHED, last, {"status": "completed"}))
    lines = (recording.header_line(identity), *map(recording.entry_line, drafts))
    return b"".join(line + b"\n" for line in lines)
