"""What workers do: read uploaded documents, check answers, render exports.

A job stores its result in the transaction that completes it, so a worker that dies has stored
nothing, and one whose lease has run out cannot store anything.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from threading import Event, Thread
from typing import Final

import msgspec
from sqlalchemy import select

from affidavit.app.check import CheckContext, check_answer, ledger_rules_for
from affidavit.app.clock import now, now_ms
from affidavit.app.judges import judge_for, judge_named
from affidavit.app.ledger_store import LedgerStore
from affidavit.app.project import Project
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence
from affidavit.base.faults import input as input_faults
from affidavit.base.faults import store as faults
from affidavit.documents.model import (
    DocumentSettings,
    RefusedDocument,
)
from affidavit.documents.reader_pool import DocumentReader
from affidavit.documents.reader_process import ReadingTask
from affidavit.judge.protocol import Judge
from affidavit.judge.thresholded import with_thresholds
from affidavit.ledger.adjudication import CheckRequest
from affidavit.ledger.record import ledger_to_json
from affidavit.ledger.review import reviewed_ledger
from affidavit.reports.formats import render
from affidavit.store.database import Scope
from affidavit.store.decision_rows import decisions_of
from affidavit.store.document_rows import document, fail_document, finish_document
from affidavit.store.jobs import (
    LEASE_MS,
    MAX_ATTEMPTS,
    Job,
    LeaseLostError,
    complete_job,
    give_up_job,
    renew_lease,
    retry_job,
    take_job,
)
from affidavit.store.session_rows import (
    fail_run,
    finish_run,
    packed_json,
    run,
    session,
    set_progress,
    start_run,
    stored_ledger,
)
from affidavit.store.tables import exports

TOP_K: Final = 8
Finish = Callable[[Scope], None]
"""Stores the result of a job."""
_PASSING: Final = frozenset(
    {
        faults.STORE_AWAY.code,
        input_faults.FILE_UNWRITABLE.code,
        evidence.DOCUMENT_TIMEOUT.code,
        evidence.DOCUMENT_CRASHED.code,
        evidence.INDEX_BUSY.code,
        evidence.INDEX_UNUSABLE.code,
    }
)
"""Another attempt may succeed. Any other known error would come again."""


@dataclass(slots=True)
class LedgerWorker:
    """Takes one job after another. `settings` and `project` are those of the service."""

    store: LedgerStore
    project: Project
    settings: DocumentSettings = field(default_factory=DocumentSettings)
    log: Callable[..., None] = lambda event, **members: None
    _reader: DocumentReader = field(init=False)

    def __post_init__(self) -> None:
        """Keep one reader process for all documents."""
        self._reader = DocumentReader(self.settings)

    def close(self) -> None:
        """End the reader process."""
        self._reader.stop()

    def run_one(self) -> bool:
        """Take a job and do it; False if none is due."""
        job = self.store.database.system(lambda system: take_job(system, now_ms()))
        if job is None:
            return False
        with _Heartbeat(self.store, job):
            self._attempt(job)
        return True

    def _attempt(self, job: Job) -> None:
        try:
            if job.attempts > MAX_ATTEMPTS:  # Whoever had it died each time.
                raise AffidavitError(
                    faults.JOB_FAILED, attempts=MAX_ATTEMPTS, problem="the worker died each time"
                )
            finish = _KINDS[job.kind](self, job)

            def complete(scope: Scope) -> None:
                finish(scope)
                complete_job(scope, job, now())

            self._end(job, complete)
        except AffidavitError as error:
            self._failed(job, error)
        except LeaseLostError:
            return
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            known = AffidavitError(input_faults.DEFECT, kind=type(error).__name__, detail=problem)
            self._failed(job, known, retry=True)

    def _failed(self, job: Job, error: AffidavitError, *, retry: bool = False) -> None:
        note = {"code": error.fault.code, "message": error.message, "next": error.next_step}
        may_retry = retry or error.fault.code in _PASSING
        self.log(
            "job",
            job=job.id,
            kind=job.kind,
            subject=job.subject_id,
            attempt=job.attempts,
            said=str(error),
        )
        if may_retry and job.attempts < MAX_ATTEMPTS:
            self._end(job, lambda scope: retry_job(scope, job, note, now_ms()))
            return

        def give_up(scope: Scope) -> None:
            _GIVE_UP[job.kind](scope, job, note)
            give_up_job(scope, job, note, now())

        self._end(job, give_up)

    def _end(self, job: Job, work: Callable[[Scope], object]) -> None:
        try:
            self.store.database.write(job.workspace_id, work)
        except LeaseLostError:
            return
        except AffidavitError as error:
            # The lease runs out, and the job is taken again when the database is back.
            if error.fault is not faults.STORE_AWAY:
                raise

    def ingest(self, job: Job) -> Finish:
        """Read an uploaded document."""
        found = self.store.database.read(
            job.workspace_id, lambda scope: document(scope, job.subject_id)
        )
        path = str(self.store.blobs.path(found.digest)).encode()
        task = ReadingTask(path, found.filename, True, found.digest)
        outcome = self._reader.read(task)
        if isinstance(outcome, RefusedDocument):
            finding = outcome.finding
            note = {"code": finding.code, "message": finding.message, "next": finding.next_step}
            if outcome.is_transient and job.attempts < MAX_ATTEMPTS:
                raise AffidavitError(evidence.DOCUMENT_CRASHED) from None
            return lambda scope: fail_document(scope, found.id, note, now())
        return partial(
            finish_document,
            document_id=found.id,
            source=msgspec.structs.replace(outcome.document, filename=found.filename),
            chunks=outcome.chunks,
            page_marks=msgspec.msgpack.encode(outcome.page_marks),
            line_boxes=msgspec.msgpack.encode(outcome.line_boxes),
            findings=outcome.findings,
            at=now(),
        )

    def check(self, job: Job) -> Finish:
        """Check the answer of a session against the documents of its workspace."""
        database, workspace = self.store.database, job.workspace_id

        def begin(scope: Scope) -> tuple[str, str | None, str]:
            start_run(scope, found, now())
            stored = session(scope, found.session_id)
            return stored.answer, stored.query, stored.title

        found = database.read(workspace, lambda scope: run(scope, job.subject_id))
        answer, query, title = database.write(workspace, begin)
        rules = ledger_rules_for(None, found.settings.gates)
        judge = with_thresholds(_judge(found.settings.judge, self.project), rules.judge_thresholds)
        index = self.store.index(workspace)
        context = CheckContext(index, judge, rules, TOP_K, index.findings)
        request = CheckRequest(
            answer=answer,
            query=query,
            title=title,
            answer_date=found.settings.answer_date,
            generated_at=now(),
        )

        def progress(done: int, total: int, _: str) -> None:
            database.write(workspace, lambda scope: set_progress(scope, found.id, done, total))

        ledger = check_answer(request, context, _thinned(progress))
        packed = packed_json(ledger_to_json(ledger))
        return lambda scope: finish_run(scope, found, ledger, packed, now())

    def export(self, job: Job) -> Finish:
        """Render the ledger of a run."""

        def load(scope: Scope) -> tuple[str, bytes]:
            row = scope.first(
                select(exports.c.run_id, exports.c.format).where(exports.c.id == job.subject_id)
            )
            if row is None:
                raise AffidavitError(faults.ITEM_UNKNOWN, kind="export", id=job.subject_id)
            return row.format, exported(scope, row.run_id, row.format)

        _, content = self.store.database.read(job.workspace_id, load)

        def store(scope: Scope) -> None:
            scope.update(exports, exports.c.id == job.subject_id, content=content)

        return store


def exported(scope: Scope, run_id: str, format_name: str) -> bytes:
    """Return the ledger of a run in a format, with what people decided.

    The JSON is the judge's ledger, which replays; what people decided is its member `review`.
    """
    ledger, decisions = stored_ledger(scope, run_id), decisions_of(scope, run_id)
    seen = reviewed_ledger(ledger, decisions)
    if format_name != "json" or not decisions:
        return b"".join(render("ledger", format_name, seen, review=decisions))
    review = {
        "decisions": decisions,
        "summary": seen.summary,
        "verdicts": {entry.claim_id: entry.verdict for entry in seen.entries},
        "decision": seen.gates.decision,
    }
    document = {**msgspec.to_builtins(ledger), "review": review}
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


@lru_cache(maxsize=4)
def _judge(name: str | None, project: Project) -> Judge:
    return judge_for(judge_named(name), project)


def _thinned(progress: Callable[[int, int, str], None]) -> Callable[[int, int, str], None]:
    """Report about fifty times in all: each report is a transaction."""

    def report(done: int, total: int, name: str) -> None:
        if done == 1 or done == total or done % max(1, total // 50) == 0:
            progress(done, total, name)

    return report


class _Heartbeat:
    """Renews the lease of a job while it is worked on."""

    def __init__(self, store: LedgerStore, job: Job) -> None:
        self._store = store
        self._job = job
        self._stopped = Event()
        self._thread = Thread(target=self._run, name="affidavit-lease", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(LEASE_MS / 4000):
            try:
                held = self._store.database.system(
                    lambda system: renew_lease(system, self._job, now_ms())
                )
            except AffidavitError:
                continue
            if not held:
                return


def _fail_run(scope: Scope, job: Job, note: object) -> None:
    with suppress(AffidavitError):  # The session was deleted meanwhile.
        fail_run(scope, run(scope, job.subject_id), note, now())


_KINDS: Final[Mapping[str, Callable[[LedgerWorker, Job], Finish]]] = {
    "ingest": LedgerWorker.ingest,
    "check": LedgerWorker.check,
    "export": LedgerWorker.export,
}
_GIVE_UP: Final[Mapping[str, Callable[[Scope, Job, object], None]]] = {
    "ingest": lambda scope, job, note: fail_document(scope, job.subject_id, note, now()),
    "check": _fail_run,
    "export": lambda scope, job, note: None,
}
