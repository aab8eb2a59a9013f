"""Killed workers, a full disk, a database that goes away: nothing is lost or done twice."""

import os
import random
import resource
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest
from sqlalchemy import Connection, func, select, text
from tests.web.ledger_client import SOURCES, LedgerClient, ledger_client

from affidavit.app.ledger_workers import worker_processes
from affidavit.base.errors import AffidavitError
from affidavit.store.database import Database, SystemScope
from affidavit.store.tables import claims, jobs, runs

KILLS = 4
SESSIONS = 6


@pytest.fixture
def client(tmp_path: Path, store_url: str) -> Iterator[LedgerClient]:
    made = ledger_client(tmp_path, store_url)
    yield made
    made.close()


def states(database: Database) -> list[str]:
    return database.system(
        lambda system: list(system.execute(select(jobs.c.status)).scalars()), writes=False
    )


def test_killed_workers_lose_no_job_and_do_none_twice(client: LedgerClient) -> None:
    for path in SOURCES:
        client.upload(path)
    client.work()
    for number in range(SESSIONS):
        body = {"answer": f"Employees get {number + 10} days of annual leave.", "judge": "lexical"}
        assert client.ask("POST", "/sessions", body).status == 200
    dice = random.Random(19)
    ends: list[object] = []
    store = client.store
    # As if the leases had run out, also those of workers that live.
    lapse = jobs.update().where(jobs.c.status == "running").values(lease_until_ms=0)
    with worker_processes(
        store.config, client.service.project, 2, lambda event, **members: ends.append(members)
    ) as workers:
        for _ in range(KILLS):
            time.sleep(dice.uniform(0.5, 4))
            victim = dice.choice(workers)
            if victim.pid is not None:
                os.kill(victim.pid, signal.SIGKILL)
            store.database.system(lambda system: system.execute(lapse))
        until = time.monotonic() + 120
        while set(states(store.database)) & {"queued", "running"} and time.monotonic() < until:
            time.sleep(0.3)
    assert set(states(store.database)) == {"done"}
    assert ends

    def counted(system: SystemScope) -> list[tuple[str, int]]:
        query = (
            select(runs.c.status, func.count(claims.c.id))
            .join(claims, claims.c.run_id == runs.c.id)
            .group_by(runs.c.id, runs.c.status)
        )
        return [(row[0], row[1]) for row in system.execute(query)]

    assert store.database.system(counted, writes=False) == [("done", 1)] * SESSIONS


def test_a_job_whose_worker_dies_each_time_ends_with_a_reason(client: LedgerClient) -> None:
    client.upload(SOURCES[1])
    spent = jobs.update().values(attempts=4)
    client.store.database.system(lambda system: system.execute(spent))
    client.work()
    (document,) = client.get("/documents")["documents"]
    assert (document["status"], document["error"]["code"]) == ("error", "AF869")
    assert client.upload(SOURCES[1])["status"] == "processing"  # It may be tried again.


def test_connections_that_were_cut_are_replaced(client: LedgerClient) -> None:
    if not client.store.database.is_postgresql:
        pytest.skip("SQLite has no connections that can be cut")
    assert client.get("/documents")["documents"] == []
    cut = text(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    other = Database(str(client.store.config.url))
    other.as_owner(lambda connection: connection.execute(cut))
    other.close()
    assert client.get("/documents")["documents"] == []


@contextmanager
def full_disk(most: int) -> Iterator[None]:
    """Let no file of this process become larger."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def on_sqlite(tmp_path: Path) -> Iterator[LedgerClient]:
    made = ledger_client(tmp_path, f"sqlite:///{tmp_path}/data/store.db")
    yield made
    made.close()


def test_a_full_disk_is_a_problem_document_and_passes(
    on_sqlite: LedgerClient, tmp_path: Path
) -> None:
    client = on_sqlite
    with full_disk(4096):
        upload = client.ask("POST", "/documents?filename=a.txt", b"x" * 50_000)
        session = client.ask("POST", "/sessions", {"answer": "y" * 300_000})
    for reply in (upload, session):
        assert (reply.status, reply.json["code"]) == (503, "AF510"), reply.body
        assert str(tmp_path) not in reply.body.decode()
    assert list(client.store.blobs.incoming.iterdir()) == []
    assert client.get("/documents")["documents"] == client.get("/sessions")["sessions"] == []
    assert client.upload(SOURCES[0])["status"] == "processing"


def test_a_database_that_is_busy_is_waited_for(on_sqlite: LedgerClient) -> None:
    held, release = Event(), Event()

    def work(_: SystemScope) -> None:
        held.set()
        release.wait(10)

    holder = Thread(target=lambda: on_sqlite.store.database.system(work))
    holder.start()
    held.wait(10)
    assert on_sqlite.get("/documents")["documents"] == []  # Readers do not wait.
    release.set()
    assert on_sqlite.ask("POST", "/sessions", {"answer": "x"}).status == 200
    holder.join()


@contextmanager
def away(client: LedgerClient) -> Iterator[None]:
    """Let nobody connect to the database within the block, and cut every connection."""
    database = client.store.database
    if database.file is not None:
        database.close()  # An open connection would still see the files.
        folder = database.file.parent
        away_to = folder.rename(folder.with_name("unmounted"))
        try:
            yield
        finally:
            away_to.rename(folder)
        return
    name = str(database.url.database)
    other = Database(client.store.config.url.replace(f"/{name}?", "/postgres?"))

    def execute(statement: str) -> None:
        other.as_owner(lambda connection: connection.execute(text(statement)))

    execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
    cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
    execute(f"{cut}'{name}'")
    try:
        yield
    finally:
        execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')
        other.close()


def test_a_database_that_was_away_is_used_again_without_a_restart(client: LedgerClient) -> None:
    client.upload(SOURCES[1])
    with away(client):
        asked = [
            client.ask("GET", "/documents"),
            client.ask("POST", "/sessions", {"answer": "x"}),
            client.ask("POST", "/documents?filename=b.txt", b"x"),
            client.service.ask("GET", "/readyz"),
        ]
        with pytest.raises(AffidavitError, match=r"^AF851: "):
            client.worker.run_one()
    for reply in asked:
        assert (reply.status, reply.json["code"]) == (503, "AF510"), reply.body
        assert "store.db" not in reply.body.decode()
        assert "postgres" not in reply.body.decode()
    assert client.service.ask("GET", "/readyz").status == 200
    assert client.get("/sessions")["sessions"] == []
    client.work()
    assert [each["status"] for each in client.get("/documents")["documents"]] == ["ready"]
    assert client.ask("POST", "/sessions", {"answer": "x"}).status == 200


@contextmanager
def held(client: LedgerClient) -> Iterator[None]:
    """Hold what every writer needs within the block, in a transaction that does not end."""
    began, release = Event(), Event()
    other = Database(client.store.config.url)

    def work(connection: Connection) -> None:
        if other.is_postgresql:
            connection.execute(text("LOCK TABLE sessions IN ACCESS EXCLUSIVE MODE"))
        began.set()
        release.wait(30)

    holder = Thread(target=lambda: other.as_owner(work))
    holder.start()
    assert began.wait(30)
    try:
        yield
    finally:
        release.set()
        holder.join()
        other.close()


def test_a_database_that_is_too_slow_is_a_problem_document_and_passes(
    tmp_path: Path, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("affidavit.store.database.BUSY_SECONDS", 0.5)
    client = ledger_client(tmp_path, store_url)
    assert client.ask("POST", "/sessions", {"answer": "before"}).status == 200
    with held(client):
        reply = client.ask("POST", "/sessions", {"answer": "x"})
        assert (reply.status, reply.json["code"]) == (503, "AF510"), reply.body
        assert client.service.ask("GET", "/healthz").status == 200
    assert client.ask("POST", "/sessions", {"answer": "after"}).status == 200
    assert len(client.get("/sessions")["sessions"]) == 2
    client.close()
