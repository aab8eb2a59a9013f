"""The queue of work, in the database: a job is leased, retried with back-off, and completed once.

A worker that takes a job gets a lease, a random word. Only the holder of the current lease can
complete the job, in the transaction that stores what the job made. A lease that is not renewed
runs out, and the next worker takes the job over; the first one can then complete nothing.
"""

from typing import Any, Final

import msgspec
from msgspec import Struct
from sqlalchemy import and_, func, or_, select

from affidavit.store.database import Scope, SystemScope
from affidavit.store.tables import jobs

LEASE_MS: Final = 30_000
MAX_ATTEMPTS: Final = 4
_FIRST_WAIT_MS: Final = 1_000
_WAIT_FACTOR: Final = 4


class Job(Struct, frozen=True, kw_only=True):
    """A job that a worker holds. `attempts` counts this one."""

    id: str
    workspace_id: str
    kind: str
    subject_id: str
    attempts: int
    lease: str


class LeaseLostError(Exception):
    """Another worker has taken the job over, so nothing of this attempt may be stored."""


def add_job(scope: Scope, kind: str, subject_id: str, *, at: str, now_ms: int) -> str:
    """Queue work on a document, a run or an export."""
    row = {
        "id": scope.new_id(),
        "kind": kind,
        "subject_id": subject_id,
        "status": "queued",
        "due_ms": now_ms,
        "created_at": at,
    }
    scope.insert(jobs, [row])
    return str(row["id"])


def take_job(system: SystemScope, now_ms: int) -> Job | None:
    """Lease the job that has been due the longest; None if none is due."""
    due = or_(
        and_(jobs.c.status == "queued", jobs.c.due_ms <= now_ms),
        and_(jobs.c.status == "running", jobs.c.lease_until_ms <= now_ms),
    )
    columns = (jobs.c.id, jobs.c.workspace_id, jobs.c.kind, jobs.c.subject_id, jobs.c.attempts)
    query = select(*columns).where(due).order_by(jobs.c.due_ms, jobs.c.id).limit(1)
    # In SQLite a transaction that writes is alone.
    row = system.execute(query.with_for_update(skip_locked=True)).first()
    if row is None:
        return None
    job = Job(**{**row._asdict(), "attempts": row.attempts + 1}, lease=system.new_id())
    system.execute(
        jobs.update()
        .where(jobs.c.id == job.id)
        .values(
            status="running",
            attempts=job.attempts,
            lease=job.lease,
            lease_until_ms=now_ms + LEASE_MS,
        )
    )
    return job


def renew_lease(system: SystemScope, job: Job, now_ms: int) -> bool:
    """Keep a job for another while; False if it was taken over."""
    held = and_(jobs.c.id == job.id, jobs.c.lease == job.lease)
    statement = jobs.update().where(held).values(lease_until_ms=now_ms + LEASE_MS)
    return bool(system.execute(statement).rowcount)


def complete_job(scope: Scope, job: Job, at: str) -> None:
    """Record that a job is done, in the transaction that stores its result."""
    _end(scope, job, status="done", finished_at=at)


def give_up_job(scope: Scope, job: Job, error: object, at: str) -> None:
    """Record that a job will never be done, and why."""
    _end(scope, job, status="failed", error=_text(error), finished_at=at)


def retry_job(scope: Scope, job: Job, error: object, now_ms: int) -> None:
    """Put a job back into the queue; each attempt waits longer than the one before."""
    wait = _FIRST_WAIT_MS * _WAIT_FACTOR ** (job.attempts - 1)
    _end(scope, job, status="queued", error=_text(error), due_ms=now_ms + wait)


def waiting_jobs(system: SystemScope) -> dict[str, int]:
    """Return how many jobs there are in each state that is not final."""
    query = select(jobs.c.status, func.count()).group_by(jobs.c.status)
    counts = {str(status): int(count) for status, count in system.execute(query)}
    return {status: counts.get(status, 0) for status in ("queued", "running", "failed")}


def _end(scope: Scope, job: Job, **values: Any) -> None:
    held = (jobs.c.id == job.id, jobs.c.lease == job.lease)
    if not scope.update(jobs, *held, lease=None, lease_until_ms=None, **values):
        raise LeaseLostError


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()
