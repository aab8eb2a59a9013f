"""The queue: one holder at a time, retries that wait longer, and no job completed twice."""

from collections import Counter
from functools import partial
from threading import Thread

import pytest
from tests.store.making import AT, workspace

from affidavit.store.database import Database
from affidavit.store.jobs import (
    LEASE_MS,
    Job,
    LeaseLostError,
    add_job,
    complete_job,
    give_up_job,
    renew_lease,
    retry_job,
    take_job,
    waiting_jobs,
)

SUBJECT = "00000000-0000-0000-0000-000000000001"


def queue(database: Database, count: int = 1) -> str:
    mine = workspace(database)
    for number in range(count):
        add = partial(add_job, kind="check", subject_id=SUBJECT, at=AT, now_ms=number)
        database.write(mine, add)
    return mine


def take(database: Database, now_ms: int = 1_000) -> Job | None:
    return database.system(lambda system: take_job(system, now_ms))


def taken(database: Database, now_ms: int = 1_000) -> Job:
    job = take(database, now_ms)
    assert job is not None
    return job


def test_a_job_has_one_holder(database: Database) -> None:
    queue(database)
    job = taken(database)
    assert (job.kind, job.subject_id, job.attempts) == ("check", SUBJECT, 1)
    assert take(database) is None


def test_the_job_that_has_waited_longest_is_first(database: Database) -> None:
    mine = queue(database, 2)
    first = taken(database)
    database.write(mine, lambda scope: retry_job(scope, first, "busy", 5_000))
    assert taken(database).id != first.id
    assert take(database, 5_999) is None
    again = taken(database, 6_000)
    assert (again.id, again.attempts) == (first.id, 2)
    database.write(mine, lambda scope: retry_job(scope, again, "busy", 6_000))
    assert take(database, 9_999) is None
    assert taken(database, 10_000).attempts == 3


def test_a_job_whose_holder_died_is_taken_over_and_completed_once(database: Database) -> None:
    mine = queue(database)
    dead = taken(database)
    assert take(database, 999 + LEASE_MS) is None
    heir = taken(database, 1_000 + LEASE_MS)
    assert (heir.id, heir.attempts) == (dead.id, 2)
    with pytest.raises(LeaseLostError):
        database.write(mine, lambda scope: complete_job(scope, dead, AT))
    assert not database.system(lambda system: renew_lease(system, dead, 2_000))
    database.write(mine, lambda scope: complete_job(scope, heir, AT))
    with pytest.raises(LeaseLostError):
        database.write(mine, lambda scope: complete_job(scope, heir, AT))
    with pytest.raises(LeaseLostError):
        database.write(mine, lambda scope: give_up_job(scope, heir, "late", AT))
    assert database.system(waiting_jobs) == {"queued": 0, "running": 0, "failed": 0}


def test_a_renewed_lease_is_kept(database: Database) -> None:
    queue(database)
    job = taken(database)
    assert database.system(lambda system: renew_lease(system, job, LEASE_MS))
    assert take(database, 1_000 + LEASE_MS) is None
    assert taken(database, 2 * LEASE_MS).attempts == 2


def test_a_job_that_is_given_up_says_so(database: Database) -> None:
    mine = queue(database)
    job = taken(database)
    database.write(mine, lambda scope: give_up_job(scope, job, {"code": "AF869"}, AT))
    assert take(database, 10**12) is None
    assert database.system(waiting_jobs)["failed"] == 1


def test_many_workers_complete_each_job_once(database: Database) -> None:
    mine = queue(database, 24)
    done: Counter[str] = Counter()

    def work() -> None:
        while (job := take(database)) is not None:
            database.write(mine, partial(complete_job, job=job, at=AT))
            done[job.id] += 1

    workers = [Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(done) == 24
    assert set(done.values()) == {1}
