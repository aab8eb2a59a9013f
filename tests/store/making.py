"""A workspace with the seed's documents, session and ledger."""

from collections.abc import Sequence

from tests.ledger.examples import ANSWER, CHUNKS, GUIDE, HR, QUERY, REQUEST, seed_ledger

from affidavit.ledger.record import Ledger, ledger_to_json
from affidavit.store.database import Database, Scope
from affidavit.store.document_rows import add_document, finish_document
from affidavit.store.identity import workspace_id
from affidavit.store.session_rows import (
    RunSettings,
    StoredRun,
    add_run,
    add_session,
    finish_run,
    packed_json,
    run,
)

AT = "2026-01-03T14:30:00Z"
LATER = "2026-01-04T09:00:00Z"


def workspace(database: Database, name: str = "acme") -> str:
    return workspace_id(database, name, AT)


def add_sources(scope: Scope) -> Sequence[str]:
    """Store the two documents of the seed's example, as they are after reading."""
    ids = []
    for source in (HR, GUIDE):
        stored, _ = add_document(scope, source.filename, source.digest, 1000, AT)
        chunks = [chunk for chunk in CHUNKS if chunk.document_id == source.id]
        finish_document(
            scope,
            stored.id,
            source,
            chunks,
            page_marks=b"\x90",
            line_boxes=b"\x90",
            findings=(),
            at=AT,
        )
        ids.append(stored.id)
    return ids


def add_checked_session(scope: Scope, ledger: Ledger | None = None) -> StoredRun:
    """Store the session of the seed's example with a finished run."""
    made = ledger or seed_ledger()
    stored = add_session(scope, title="Leave Policy Q&A", query=QUERY, answer=ANSWER, at=AT)
    started = add_run(scope, stored.id, RunSettings(answer_date=REQUEST.answer_date), AT)
    finish_run(scope, started, made, packed_json(ledger_to_json(made)), AT)
    return run(scope, started.id)
