"""Sessions, their runs and the ledgers of these, in the rows of one workspace.

The exact JSON of a ledger is kept with its run, because it is what replays. The rows of its claims
repeat it in the tables of evidence-ledger.md, section 10, where they can be asked for.
"""

import zlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct
from sqlalchemy import func, select

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import store as faults
from affidavit.decision.evaluation import DecisionSummary
from affidavit.ledger.model import Importance, Span
from affidavit.ledger.record import (
    Ledger,
    LedgerEntry,
    LedgerSummary,
    Remark,
    RiskFlag,
    ledger_from_json,
)
from affidavit.store.database import Scope
from affidavit.store.identity import known_id
from affidavit.store.tables import (
    claims,
    document_chunks,
    documents,
    evidence_chunks,
    evidence_ledger,
    runs,
    sessions,
)

_JSON: Final = msgspec.json
_FASTEST: Final = 1


class SessionRecord(Struct, frozen=True, kw_only=True):
    """A session: a question and an answer, which are checked in one run or more."""

    id: str
    title: str
    query: str | None
    mode: str
    answer: str
    status: str
    imported_from: str | None
    legal_hold: bool
    created_at: str
    updated_at: str


class RunSettings(Struct, frozen=True, kw_only=True):
    """What a run is to be made with."""

    answer_date: str
    judge: str | None = None
    gates: tuple[str, ...] = ()


class StoredRun(Struct, frozen=True, kw_only=True):
    """One check of a session."""

    id: str
    session_id: str
    number: int
    status: str
    error: dict[str, Any] | None
    settings: RunSettings
    done: int
    total: int
    ledger_id: str | None
    decision: str | None
    created_at: str
    finished_at: str | None


class LedgerHeader(Struct, frozen=True, kw_only=True):
    """The parts of a ledger that every look at it needs, and that are not in rows."""

    summary: LedgerSummary
    risk_flags: tuple[RiskFlag, ...]
    follow_up_questions: tuple[str, ...]
    recommended_actions: tuple[str, ...]
    gates: DecisionSummary


class LedgerRow(Struct, frozen=True, kw_only=True):
    """One claim with its verdict, from the rows."""

    id: str
    claim_id: str
    key: str
    claim_text: str
    claim_type: str
    importance: str
    start_offset: int | None
    end_offset: int | None
    verdict: str
    confidence_score: float
    evidence_snippet: str
    source_document: dict[str, Any] | None
    notes: str
    chunk_hashes: list[str]


_SESSION: Final = tuple(sessions.c[name] for name in SessionRecord.__struct_fields__)
_RUN: Final = tuple(runs.c[name] for name in StoredRun.__struct_fields__)


def add_session(
    scope: Scope,
    *,
    title: str,
    query: str | None,
    answer: str,
    at: str,
    status: str = "queued",
    imported_from: str | None = None,
) -> SessionRecord:
    """Store a question and an answer."""
    row = {
        "id": scope.new_id(),
        "title": title,
        "query": query,
        "mode": "answer",
        "answer": answer,
        "status": status,
        "imported_from": imported_from,
        "created_at": at,
        "updated_at": at,
    }
    scope.insert(sessions, [row])
    return session(scope, str(row["id"]))


def session(scope: Scope, session_id: str) -> SessionRecord:
    """Return a session."""
    wanted = known_id("session", session_id)
    row = scope.first(select(*_SESSION).where(sessions.c.id == wanted))
    if row is None:
        raise AffidavitError(faults.ITEM_UNKNOWN, kind="session", id=session_id)
    return SessionRecord(**row._asdict())


def list_sessions(
    scope: Scope, *, after: str | None = None, limit: int | None = None
) -> list[SessionRecord]:
    """Return sessions in the order of their ids; `after` is the last id of the page before."""
    query = select(*_SESSION).order_by(sessions.c.id).limit(limit)
    if after is not None:
        query = query.where(sessions.c.id > known_id("session", after))
    return [SessionRecord(**row._asdict()) for row in scope.rows(query)]


def hold_session(scope: Scope, session_id: str, *, hold: bool, at: str) -> SessionRecord:
    """Put a session under a legal hold, or lift it."""
    found = session(scope, session_id)
    scope.update(sessions, sessions.c.id == found.id, legal_hold=hold, updated_at=at)
    return session(scope, session_id)


def delete_session(scope: Scope, session_id: str) -> SessionRecord:
    """Delete a session with its runs, ledgers and decisions."""
    found = session(scope, session_id)
    if found.legal_hold:
        raise AffidavitError(faults.ITEM_HELD, kind="session", id=session_id)
    scope.delete(sessions, sessions.c.id == found.id)
    return found


def is_imported(scope: Scope, origin: str) -> bool:
    """Whether a session was imported from this ledger before."""
    return scope.first(select(sessions.c.id).where(sessions.c.imported_from == origin)) is not None


def add_run(scope: Scope, session_id: str, settings: RunSettings, at: str) -> StoredRun:
    """Store that a session is to be checked."""
    found = session(scope, session_id)
    query = select(func.coalesce(func.max(runs.c.number), 0) + 1)
    row = scope.first(query.where(runs.c.session_id == found.id))
    made = {
        "id": scope.new_id(),
        "session_id": found.id,
        "number": 1 if row is None else row[0],
        "status": "queued",
        "settings": _text(settings),
        "created_at": at,
    }
    scope.insert(runs, [made])
    _set_status(scope, found.id, "queued", at)
    return run(scope, str(made["id"]))


def run(scope: Scope, run_id: str) -> StoredRun:
    """Return a run."""
    row = scope.first(select(*_RUN).where(runs.c.id == known_id("run", run_id)))
    if row is None:
        raise AffidavitError(faults.ITEM_UNKNOWN, kind="run", id=run_id)
    return _run(row)


def runs_of(scope: Scope, session_id: str) -> list[StoredRun]:
    """Return the runs of a session, the newest first."""
    found = session(scope, session_id)
    query = select(*_RUN).where(runs.c.session_id == found.id).order_by(runs.c.number.desc())
    return [_run(row) for row in scope.rows(query)]


def finished_run(scope: Scope, session_id: str, number: int | None = None) -> StoredRun:
    """Return the newest run with a ledger, or the one with this number."""
    every = runs_of(scope, session_id)
    for each in every:
        if number is None and each.status == "done":
            return each
        if each.number == number:
            if each.status == "done":
                return each
            raise AffidavitError(faults.SESSION_NOT_DONE, id=session_id, status=each.status)
    if number is not None:
        raise AffidavitError(faults.ITEM_UNKNOWN, kind="run", id=str(number))
    status = every[0].status if every else "queued"
    raise AffidavitError(faults.SESSION_NOT_DONE, id=session_id, status=status)


def set_progress(scope: Scope, run_id: str, done: int, total: int) -> None:
    """Record how many claims of a run are done."""
    scope.update(runs, runs.c.id == run_id, done=done, total=total)


def start_run(scope: Scope, found: StoredRun, at: str) -> None:
    """Record that a run has begun."""
    scope.update(runs, runs.c.id == found.id, status="running")
    _set_status(scope, found.session_id, "running", at)


def fail_run(scope: Scope, found: StoredRun, error: object, at: str) -> None:
    """Record why a run has no ledger."""
    scope.update(runs, runs.c.id == found.id, status="error", error=_text(error), finished_at=at)
    _set_status(scope, found.session_id, "error", at)


def packed_json(exact: bytes) -> bytes:
    """Return the exact JSON of a ledger as it is stored. It takes too long for a transaction."""
    return zlib.compress(exact, _FASTEST)


def finish_run(scope: Scope, found: StoredRun, ledger: Ledger, packed: bytes, at: str) -> None:
    """Store the ledger of a run: its exact JSON, which is packed, and its rows."""
    total = len(ledger.entries)
    scope.update(
        runs,
        runs.c.id == found.id,
        status="done",
        error=None,
        done=total,
        total=total,
        ledger_id=ledger.ledger_id,
        decision=ledger.gates.decision.value,
        header=header_text(ledger),
        ledger=packed,
        finished_at=at,
    )
    _insert_entries(scope, found, ledger, at)
    _set_status(scope, found.session_id, "done", at)


def header_text(ledger: Ledger) -> str:
    """Return the parts of a ledger that are not in rows, as JSON."""
    return _text({name: getattr(ledger, name) for name in LedgerHeader.__struct_fields__})


def stored_header(scope: Scope, run_id: str) -> LedgerHeader:
    """Return the header of a finished run, after what people decided."""
    row = scope.first(select(runs.c.header, runs.c.reviewed).where(runs.c.id == run_id))
    text = None if row is None else row.reviewed or row.header
    if text is None:
        raise AffidavitError(faults.ITEM_UNKNOWN, kind="ledger", id=run_id)
    return _JSON.decode(text, type=LedgerHeader)


def exact_ledger(scope: Scope, run_id: str) -> bytes:
    """Return the JSON of a ledger, byte for byte as it was made."""
    row = scope.first(select(runs.c.ledger).where(runs.c.id == run_id))
    if row is None or row.ledger is None:
        raise AffidavitError(faults.ITEM_UNKNOWN, kind="ledger", id=run_id)
    try:
        return zlib.decompress(row.ledger)
    except zlib.error:
        raise AffidavitError(faults.STORE_DAMAGED, problem=f"the ledger of {run_id}") from None


def stored_ledger(scope: Scope, run_id: str) -> Ledger:
    """Return the ledger of a run."""
    return ledger_from_json(exact_ledger(scope, run_id))


def entries_of(scope: Scope, run_id: str) -> list[LedgerRow]:
    """Return the claims of a run with their verdicts, in the order of the answer."""
    hashes: dict[str, list[str]] = {}
    cited = (
        select(evidence_chunks.c.entry_id, evidence_chunks.c.chunk_hash)
        .join(evidence_ledger, evidence_ledger.c.id == evidence_chunks.c.entry_id)
        .where(evidence_ledger.c.run_id == run_id)
        .order_by(evidence_chunks.c.entry_id, evidence_chunks.c.position)
    )
    for row in scope.rows(cited):
        hashes.setdefault(row.entry_id, []).append(row.chunk_hash)
    query = (
        select(
            *(
                evidence_ledger.c.id,
                claims.c.id,
                claims.c.key,
                claims.c.claim_text,
                claims.c.claim_type,
                claims.c.importance,
                claims.c.start_offset,
                claims.c.end_offset,
                evidence_ledger.c.verdict,
                evidence_ledger.c.confidence_score,
                evidence_ledger.c.evidence_snippet,
                evidence_ledger.c.source_document,
                evidence_ledger.c.notes,
            ),
        )
        .join(evidence_ledger, evidence_ledger.c.claim_id == claims.c.id)
        .where(claims.c.run_id == run_id)
        .order_by(claims.c.position)
    )
    names = LedgerRow.__struct_fields__
    found = []
    for row in scope.rows(query):
        values = dict(zip(names, row, strict=False))
        source = values["source_document"]
        values["source_document"] = None if source is None else _JSON.decode(source)
        found.append(LedgerRow(**values, chunk_hashes=hashes.get(values["id"], [])))
    return found


_CLAIM: Final = (
    *("id", "position", "key", "claim_text", "claim_type", "importance"),
    *("requires_citation", "start_offset", "end_offset"),
)
_ENTRY: Final = (
    *("id", "claim_id", "verdict", "confidence_score"),
    *("evidence_snippet", "source_document", "notes"),
)
_CITED: Final = ("entry_id", "position", "chunk_hash", "chunk_number")


def _insert_entries(scope: Scope, found: StoredRun, ledger: Ledger, at: str) -> None:
    common = {"session_id": found.session_id, "run_id": found.id, "created_at": at}
    numbers = _chunk_numbers(scope, ledger)
    entry_ids = scope.new_ids(len(ledger.entries))
    claim_ids = scope.new_ids(len(ledger.entries) + len(ledger.remarks))
    claim_rows: list[tuple[Any, ...]] = []
    entry_rows: list[tuple[Any, ...]] = []
    chunk_rows: list[tuple[Any, ...]] = []
    for position, entry in enumerate(ledger.entries):
        claim_id, entry_id = claim_ids[position], entry_ids[position]
        claim_rows.append((claim_id, position, *_claim(entry, entry.importance)))
        entry_rows.append((entry_id, claim_id, *_entry(entry)))
        by_hash = {each.chunk_hash: each.chunk_id for each in entry.deciding_readings}
        chunk_rows.extend(
            (entry_id, place, chunk_hash, numbers.get(by_hash[chunk_hash]))
            for place, chunk_hash in enumerate(entry.evidence.chunk_ids)
        )
    for position, remark in enumerate(ledger.remarks, len(claim_rows)):
        made = _claim(remark, Importance.MINOR, needs_evidence=False)
        claim_rows.append((claim_ids[position], position, *made))
    scope.insert_many(claims, _CLAIM, claim_rows, **common)
    scope.insert_many(evidence_ledger, _ENTRY, entry_rows, **common)
    scope.insert_many(evidence_chunks, _CITED, chunk_rows)


def _claim(
    claim: LedgerEntry | Remark, importance: Importance, *, needs_evidence: bool = True
) -> tuple[Any, ...]:
    span: Span = claim.claim_span
    return (
        *(claim.claim_id, claim.claim_text, claim.claim_type.value, importance.value),
        *(needs_evidence, span.start, span.end),
    )


def _entry(entry: LedgerEntry) -> tuple[Any, ...]:
    source = entry.evidence.source
    return (
        entry.verdict.value,
        entry.confidence_score,
        entry.evidence.snippet or "",
        None if source is None else _text(source),
        entry.notes,
    )


def _chunk_numbers(scope: Scope, ledger: Ledger) -> Mapping[str, int]:
    """Return the numbers of the chunks on which verdicts rest, by their ids in the ledger."""
    wanted = sorted({chunk_id for entry in ledger.entries for chunk_id in entry.rests_on})
    found: dict[str, int] = {}
    for at in range(0, len(wanted), 500):
        query = (
            select(document_chunks.c.id, document_chunks.c.number)
            .join(documents, documents.c.id == document_chunks.c.document_id)
            .where(document_chunks.c.id.in_(wanted[at : at + 500]))
        )
        found.update((row.id, row.number) for row in scope.rows(query))
    return found


def _set_status(scope: Scope, session_id: str, status: str, at: str) -> None:
    scope.update(sessions, sessions.c.id == session_id, status=status, updated_at=at)


def _run(row: Any) -> StoredRun:
    values = row._asdict()
    values["error"] = None if row.error is None else _JSON.decode(row.error)
    values["settings"] = _JSON.decode(row.settings, type=RunSettings)
    return StoredRun(**values)


def _text(value: object) -> str:
    return _JSON.encode(value).decode()
