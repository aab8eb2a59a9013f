"""What lists and exports of labels need of many sessions at once, in the rows of one workspace."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import select

from affidavit.ledger.record import LedgerSummary
from affidavit.ledger.review import Approval, DecidedField
from affidavit.store.database import Scope
from affidavit.store.session_rows import StoredRun, run
from affidavit.store.tables import human_decisions, runs, sessions


class SessionSummary(Struct, frozen=True, kw_only=True):
    """A session in a list, with what its newest ledger says."""

    id: str
    title: str
    query: str | None
    status: str
    created_at: str
    updated_at: str
    decision: str | None = None
    summary: LedgerSummary | None = None
    approval: Approval = Approval.OPEN
    done: int = 0
    total: int = 0


class _Header(Struct, frozen=True):
    summary: LedgerSummary


_SESSION = ("id", "title", "query", "status", "created_at", "updated_at")


def recent_sessions(scope: Scope, limit: int) -> list[SessionSummary]:
    """Return the newest sessions, each with its newest ledger after what people decided."""
    columns = (sessions.c[name] for name in _SESSION)
    newest = select(*columns).order_by(sessions.c.created_at.desc(), sessions.c.id).limit(limit)
    found = [row._asdict() for row in scope.rows(newest)]
    ids = [each["id"] for each in found]
    ledgers = _newest_ledgers(scope, ids)
    return [SessionSummary(**each, **ledgers.get(each["id"], {})) for each in found]


def _newest_ledgers(scope: Scope, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    by_run: dict[str, dict[str, Any]] = {}
    query = (
        select(
            *(runs.c.id, runs.c.session_id, runs.c.status, runs.c.done, runs.c.total),
            *(runs.c.decision, runs.c.header, runs.c.reviewed),
        )
        .where(runs.c.session_id.in_(ids))
        .order_by(runs.c.number)
    )
    for row in scope.rows(query):
        values = found.setdefault(row.session_id, {})
        values.update(done=row.done, total=row.total)
        if row.status == "done":
            text = row.reviewed or row.header
            values.update(decision=row.decision, approval=Approval.OPEN)
            values["summary"] = msgspec.json.decode(text, type=_Header).summary if text else None
            by_run[row.id] = values
    decided = (
        select(human_decisions.c.run_id, human_decisions.c.to_value)
        .where(human_decisions.c.field == DecidedField.APPROVAL.value)
        .where(human_decisions.c.session_id.in_(ids))
        .order_by(human_decisions.c.number)
    )
    newest = {id(values): run_id for run_id, values in by_run.items()}
    for row in scope.rows(decided):
        values = by_run.get(row.run_id, {})
        if newest.get(id(values)) == row.run_id:
            values["approval"] = Approval(row.to_value)
    return found


def last_decision_number(scope: Scope, run_id: str) -> int:
    """Return the number of the newest decision about a run; 0 if there is none."""
    query = (
        select(human_decisions.c.number)
        .where(human_decisions.c.run_id == run_id)
        .order_by(human_decisions.c.number.desc())
        .limit(1)
    )
    row = scope.first(query)
    return 0 if row is None else int(row.number)


def runs_with_decided_verdicts(scope: Scope) -> Iterator[StoredRun]:
    """Yield the runs in which a person decided the verdict of a claim, the oldest first."""
    decided = (
        select(human_decisions.c.run_id)
        .where(human_decisions.c.field == DecidedField.VERDICT.value)
        .order_by(human_decisions.c.number)
    )
    for run_id in dict.fromkeys(row.run_id for row in scope.rows(decided)):
        yield run(scope, run_id)
