"""What the pages show: lists, a ledger after its decisions, a claim, labels, an example."""

from collections.abc import Callable, Iterator
from importlib import resources
from io import BytesIO
from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from affidavit.app.ledger_service import PAGE, Actor, LedgerService
from affidavit.app.ledger_views import DocumentV1, SessionV1, document_view, session_view
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import store as faults
from affidavit.ledger.record import Ledger, LedgerEntry
from affidavit.ledger.review import (
    Approval,
    DecidedField,
    HumanDecision,
    approval_of,
    reviewed_ledger,
)
from affidavit.store.database import Scope
from affidavit.store.decision_rows import decisions_of
from affidavit.store.document_rows import list_documents
from affidavit.store.page_rows import (
    SessionSummary,
    last_decision_number,
    recent_sessions,
    runs_with_decided_verdicts,
)
from affidavit.store.session_rows import (
    StoredRun,
    entries_of,
    finished_run,
    runs_of,
    session,
    stored_ledger,
)

MAX_LISTED: Final = 500
EXAMPLE_SOURCES: Final = ("HR_Policy.pdf", "Leave_Guidelines.docx")
_PIECE: Final = 64 * 1024

Result = TypeVar("Result")


class WorkspaceHome(Struct, frozen=True, kw_only=True):
    """The documents and sessions of a workspace, the newest first."""

    sessions: list[SessionSummary]
    documents: list[DocumentV1]


class ReviewedSession(Struct, frozen=True, kw_only=True):
    """A session, and the ledger of one of its runs after what people decided."""

    session: SessionV1
    number: int
    ledger: Ledger
    """The effective ledger: verdict, type and importance are those of the last decision."""
    judged: dict[str, LedgerEntry]
    """What the judge said, by the keys of the claims."""
    decisions: tuple[HumanDecision, ...]
    claim_ids: dict[str, str]
    """What the API calls a claim, by its key."""

    @property
    def approval(self) -> Approval:
        """What people decided about the whole answer."""
        return approval_of(self.decisions)

    @property
    def is_newest(self) -> bool:
        """Whether decisions about this run are possible."""
        done = (each.number for each in self.session.runs if each.status == "done")
        return self.number == next(done, None)


class ExampleV1(Struct, frozen=True, kw_only=True):
    """The example after its documents were uploaded: what to check, and what to wait for."""

    question: str
    answer: str
    documents: list[str]


class LabelRowV1(Struct, frozen=True, kw_only=True):
    """A claim with the verdict that a person decided: a row of `judge calibrate`."""

    id: str
    claim: str
    evidence: list[str]
    label: str
    decided_by: str
    decided_at: str
    reason: str


class ReviewPages:
    """The use cases of the pages. Several threads call them at the same time."""

    def __init__(self, ledgers: LedgerService) -> None:
        self.ledgers = ledgers

    def home(self, caller: Actor) -> WorkspaceHome:
        """Return the documents and sessions of a workspace."""

        def work(scope: Scope) -> WorkspaceHome:
            found = list_documents(scope, limit=MAX_LISTED)
            newest = sorted(found, key=lambda each: each.created_at, reverse=True)
            return WorkspaceHome(
                sessions=recent_sessions(scope, PAGE),
                documents=[document_view(each) for each in newest],
            )

        return self._read(caller, work)

    def version(self, caller: Actor, session_id: str, number: int | None) -> str:
        """Return a text that changes with everything that the page of a session shows."""

        def work(scope: Scope) -> str:
            every = runs_of(scope, session_id)
            states = "-".join(f"{each.number}{each.status}" for each in every)
            decided = max((last_decision_number(scope, each.id) for each in every), default=0)
            return f"{number or 0}.{states}.{decided}"

        return self._read(caller, work)

    def session(self, caller: Actor, session_id: str, number: int | None) -> ReviewedSession | None:
        """Return a session with a ledger; None if it has none yet, or never will."""

        def work(scope: Scope) -> ReviewedSession | None:
            try:
                run = finished_run(scope, session_id, number)
            except AffidavitError as error:
                if error.fault is faults.SESSION_NOT_DONE and number is None:
                    return None
                raise
            return _reviewed(scope, session_id, run)

        return self._read(caller, work)

    def unfinished(self, caller: Actor, session_id: str) -> SessionV1:
        """Return a session with its runs."""
        return self.ledgers.session(caller, session_id)

    def labels(self, caller: Actor) -> bytes:
        """Return the claims whose verdict people decided, as rows for `judge calibrate`."""

        def work(scope: Scope) -> list[LabelRowV1]:
            return [row for run in runs_with_decided_verdicts(scope) for row in _labels(scope, run)]

        rows = self._read(caller, work)
        return b"".join(msgspec.json.encode(row) + b"\n" for row in rows)

    def load_example(self, caller: Actor) -> ExampleV1:
        """Upload the documents of the example, and return what to ask about them."""
        folder = resources.files("affidavit.app") / "example"
        uploaded = []
        for name in EXAMPLE_SOURCES:
            upload = self.ledgers.begin_upload(caller, name)
            try:
                stream = BytesIO((folder / name).read_bytes())
                while piece := stream.read(_PIECE):
                    upload.write(piece)
                uploaded.append(self.ledgers.finish_upload(caller, name, upload).id)
            finally:
                upload.abandon()
        return ExampleV1(
            question=(folder / "query.txt").read_text(encoding="utf-8").strip(),
            answer=(folder / "answer.md").read_text(encoding="utf-8"),
            documents=uploaded,
        )

    def _read(self, caller: Actor, work: Callable[[Scope], Result]) -> Result:
        store = self.ledgers.store
        return store.database.read(store.workspace(caller.workspace), work)


def _reviewed(scope: Scope, session_id: str, run: StoredRun) -> ReviewedSession:
    ledger, decisions = stored_ledger(scope, run.id), decisions_of(scope, run.id)
    stored = session_view(session(scope, session_id), runs_of(scope, session_id))
    return ReviewedSession(
        session=stored,
        number=run.number,
        ledger=reviewed_ledger(ledger, decisions),
        judged={entry.claim_id: entry for entry in ledger.entries},
        decisions=decisions,
        claim_ids={row.key: row.claim_id for row in entries_of(scope, run.id)},
    )


def _labels(scope: Scope, run: StoredRun) -> Iterator[LabelRowV1]:
    last = {
        each.claim_id: each
        for each in decisions_of(scope, run.id)
        if each.field is DecidedField.VERDICT
    }
    for entry in stored_ledger(scope, run.id).entries:
        decision = last.get(entry.claim_id)
        # A reading that neither supports nor contradicts has no passage, only its nearest words.
        texts = (reading.passage or reading.snippet for reading in entry.readings)
        evidence = [text for text in texts if text.strip()]
        if decision is not None and evidence:
            yield LabelRowV1(
                id=f"{run.session_id}/{run.number}/{entry.claim_id}",
                claim=entry.statement,
                evidence=evidence,
                label=decision.to_value,
                decided_by=decision.decided_by,
                decided_at=decision.decided_at,
                reason=decision.reason,
            )
