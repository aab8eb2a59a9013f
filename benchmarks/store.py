"""The store: rows written, a ledger read, documents read, and a service with many clients.

Rows are those of claims, evidence and citations, written ledger by ledger as a check ends, each in
a transaction that also stores the exact JSON. To pack that JSON is timed apart: it happens before
the transaction. For PostgreSQL the CPU time of the client counts, for SQLite that is all of it.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import msgspec
from tests.store.databases import empty_postgresql, postgresql_server, ready_database

from affidavit.app.check import CheckContext, check_answer
from affidavit.app.clock import datetime_of, now
from affidavit.app.judges import judge_for, judge_named
from affidavit.app.keys import create_key, key_folder, random_bytes
from affidavit.app.ledger_store import LedgerStore, store_config
from affidavit.app.project import Project
from affidavit.app.service import api_key_file, create_api_key
from affidavit.documents.ingest import index_sources
from affidavit.documents.model import DocumentSettings
from affidavit.ledger.adjudication import CheckRequest
from affidavit.ledger.record import Ledger, ledger_to_json
from affidavit.ledger.rules import DEFAULT_RULES
from affidavit.store.api_keys import ApiKeyScope
from affidavit.store.database import Database, Scope
from affidavit.store.identity import workspace_id
from affidavit.store.schema import upgrade
from affidavit.store.session_rows import (
    RunSettings,
    StoredRun,
    add_run,
    add_session,
    finish_run,
    packed_json,
    run,
)
from benchmarks.figure import Figure
from benchmarks.manuals import unpack_manuals
from benchmarks.service import affidavit, free_port, running
from benchmarks.store_load import load

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "samples" / "leave"
AT = "2026-01-03T14:30:00Z"
ROWS = 100_000
CLAIMS = 500
READS = 40
COPIES = 6  # Of 193 pages: 1,158.
CLIENTS = 50
LIMITS = {"sqlite": 60_000, "postgresql": 100_000}
_INGEST = """
import sys
from pathlib import Path
from affidavit.documents.ingest import index_sources
from affidavit.documents.model import DocumentSettings
found = index_sources([Path(sys.argv[1])], Path(sys.argv[2]), DocumentSettings(), jobs=1)
assert not found.findings, found.findings
"""


def measure(quick: bool = False) -> list[Figure]:
    """Measure everything; `quick` writes fewer rows and puts the load on for shorter."""
    with tempfile.TemporaryDirectory(prefix="store-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # The user of PostgreSQL has to get in.
        ledger = ledger_of(CLAIMS, folder)
        rows = ROWS // 5 if quick else ROWS
        (folder / "server").mkdir(mode=0o755)
        with postgresql_server(folder / "server") as address:
            figures = [
                written("sqlite", f"sqlite:///{folder}/rows.db", ledger, rows),
                written("postgresql", empty_postgresql(address), ledger, rows),
            ]
        figures.append(reading(folder / "reads", ledger))
        figures.append(ingesting(folder / "ingest", copies=2 if quick else COPIES))
        figures.extend(many_clients(folder / "load", ledger, 8.0 if quick else 60.0))
    return figures


def ledger_of(count: int, folder: Path) -> Ledger:
    """Return a ledger of the sample answer, repeated to so many claims."""
    found = index_sources([SAMPLES / "sources"], folder / "index", DocumentSettings(), jobs=0)
    judge = judge_for(judge_named("lexical"), Project(folder))
    context = CheckContext(found.index, judge, DEFAULT_RULES, 8, ())
    request = CheckRequest(
        answer=(SAMPLES / "answer.md").read_text("utf-8"),
        query="What may I take?",
        title="Leave",
        answer_date=AT[:10],
        generated_at=AT,
    )
    made = check_answer(request, context)
    found.index.close()
    entries = tuple(
        msgspec.structs.replace(made.entries[at % len(made.entries)], claim_id=f"clm_{at:03}")
        for at in range(count)
    )
    flags = tuple(msgspec.structs.replace(each, affected_claims=()) for each in made.risk_flags)
    return msgspec.structs.replace(made, entries=entries, risk_flags=flags)


def written(kind: str, url: str, ledger: Ledger, rows: int) -> Figure:
    """Write ledgers, one transaction each, and return the rows for each CPU second."""
    exact = ledger_to_json(ledger)
    started = time.process_time()
    packed = packed_json(exact)
    packing = time.process_time() - started
    per_ledger = (
        2 * len(ledger.entries)
        + len(ledger.remarks)
        + sum(len(entry.evidence.chunk_ids) for entry in ledger.entries)
    )
    with ready_database(url) as database:
        workspace = workspace_id(database, "default", AT)
        prepared = [new_run(database, workspace) for _ in range(rows // per_ledger + 2)]
        finish(database, workspace, prepared.pop(), ledger, packed)
        started, began = time.process_time(), time.perf_counter()
        for each in prepared:
            finish(database, workspace, each, ledger, packed)
        seconds, took = time.process_time() - started, time.perf_counter() - began
    count = per_ledger * len(prepared)
    return Figure(
        f"store: ledger rows written to {kind} for each CPU second",
        f"at least {LIMITS[kind]:,}",
        count / seconds,
        "higher",
        LIMITS[kind],
        f"{count:,} rows of {len(prepared)} ledgers of {len(ledger.entries)} claims in"
        f" {seconds:.2f} s CPU, {took:.1f} s on the clock; before that, {packing:.3f} s"
        f" to pack {len(exact) / 1e6:.1f} MB of JSON each",
    )


def new_run(database: Database, workspace: str) -> StoredRun:
    """Store a session that is to be checked."""

    def work(scope: Scope) -> StoredRun:
        made = add_session(scope, title="Leave", query=None, answer="x", at=AT)
        return add_run(scope, made.id, RunSettings(answer_date=AT[:10]), AT)

    return database.write(workspace, work)


def finish(
    database: Database, workspace: str, made: StoredRun, ledger: Ledger, packed: bytes
) -> None:
    """Store the ledger of a run, as a worker does."""
    database.write(workspace, lambda scope: finish_run(scope, made, ledger, packed, AT))


def reading(folder: Path, ledger: Ledger) -> Figure:
    """Return what a GET of the ledger costs the process that serves it."""
    with served(folder, ledger, workers=1, job_workers=1) as service:
        address = f"{service.url}/api/v1/sessions/{service.session}/ledger"
        sizes = {len(fetched(address, service.keys[0])) for _ in range(5)}
        before = own_cpu(service.server)
        for _ in range(READS):
            sizes.add(len(fetched(address, service.keys[0])))
        milliseconds = (own_cpu(service.server) - before) / READS * 1000
    return Figure(
        f"store: GET of a ledger of {len(ledger.entries)} claims, ms CPU",
        "under 20 ms",
        milliseconds,
        "lower",
        20.0,
        f"{max(sizes):,} bytes; SQLite, {READS} requests",
    )


def ingesting(folder: Path, copies: int) -> Figure:
    """Return what it costs from upload to ready, over what the command line needs."""
    sources = folder / "sources"
    sources.mkdir(parents=True)
    data = (unpack_manuals(folder, "policy.pdf") / "policy.pdf").read_bytes()
    for number in range(copies):
        # Bytes behind the end of a PDF are not read; they make each copy a document of its own.
        (sources / f"{number}.pdf").write_bytes(data + b"\n%% copy %d\n" % number)
    command = [sys.executable, "-c", _INGEST, str(sources), str(folder / "index")]
    before = children_cpu()
    subprocess.run(command, check=True)
    theirs = children_cpu() - before
    with served(folder / "project", None, workers=1, job_workers=1) as service:
        key, base = service.keys[0], f"{service.url}/api/v1/documents"
        before = tree_cpu(service.server)
        for path in sorted(sources.iterdir()):
            fetched(f"{base}?filename={path.name}", key, path.read_bytes())
        until = time.monotonic() + 600
        while time.monotonic() < until:
            states = {each["status"] for each in json.loads(fetched(base, key))["documents"]}
            if states == {"ready"}:
                break
            assert "error" not in states
            time.sleep(0.5)
        ours = tree_cpu(service.server) - before
    return Figure(
        f"store: upload to ready of {193 * copies:,} PDF pages, over the command line's ingest",
        "at most 1.2x",
        ours / theirs,
        "lower",
        1.2,
        f"{ours:.2f} s over {theirs:.2f} s CPU, with all processes of both",
    )


def many_clients(folder: Path, ledger: Ledger, seconds: float) -> list[Figure]:
    """Return how a service with two workers does under a mixed load."""
    with served(folder, ledger, workers=2, job_workers=2) as service:
        port = int(service.url.rpartition(":")[2])
        options = (port, service.session, service.keys, CLIENTS)
        full = asyncio.run(load(*options, seconds, 0.0))
        half = asyncio.run(load(*options, seconds, full.per_second / 2))
    statuses = dict(Counter(full.statuses) + Counter(half.statuses))
    errors = sum(count for status, count in statuses.items() if status >= 500)
    return [
        Figure(
            f"store: {CLIENTS} clients, reads and checks, two workers: answers 5xx",
            "none",
            errors,
            "lower",
            0.0,
            f"{full.per_second:.0f} answers a second for {seconds:g} s, then half: {statuses}",
        ),
        Figure(
            "store: p99 of the reads at half of that load, in ms",
            "under 100 ms",
            half.read_p99_ms,
            "lower",
            100.0,
            f"median {half.read_p50_ms:.1f} ms; the driver runs on the same cores",
        ),
    ]


class Served(msgspec.Struct, frozen=True):
    """A running service: its process, its address, keys for it, and a session with a ledger."""

    server: int
    url: str
    keys: list[str]
    session: str


@contextmanager
def served(
    project: Path, ledger: Ledger | None, *, workers: int, job_workers: int
) -> Iterator[Served]:
    """Run a service with a new store until the block ends."""
    project.mkdir(parents=True, exist_ok=True)
    create_key(key_folder(project), "af", None, random_bytes, datetime_of(None))
    keys = [
        create_api_key(
            api_key_file(project),
            f"client {number}",
            tuple(ApiKeyScope),
            random_bytes=random_bytes,
            at=now(),
        ).key
        for number in range(10)
    ]
    store = LedgerStore(store_config(project))
    upgrade(store.database)
    session = ""
    if ledger is not None:
        workspace, packed = store.workspace("default"), packed_json(ledger_to_json(ledger))
        made = new_run(store.database, workspace)
        finish(store.database, workspace, made, ledger, packed)
        session = store.database.read(workspace, lambda scope: run(scope, made.id)).session_id
    store.close()
    port = free_port()
    options = ("--workers", workers, "--job-workers", job_workers, "--port", port, "-q")
    limits = ("--key-rate", "0", "--address-rate", "0", "--project", project)
    with running([*affidavit("serve", *map(str, (*options, *limits)))], port) as process:
        service = Served(process, f"http://127.0.0.1:{port}", keys, session)
        if ledger is not None:
            for path in sorted((SAMPLES / "sources").iterdir()):
                fetched(
                    f"{service.url}/api/v1/documents?filename={path.name}",
                    keys[0],
                    path.read_bytes(),
                )
        yield service


def fetched(address: str, key: str, body: bytes | None = None) -> bytes:
    """Return what an address answers."""
    headers = {"authorization": f"Bearer {key}", "content-type": "application/octet-stream"}
    request = Request(address, data=body, headers=headers)  # noqa: S310 - our own service
    with urlopen(request, timeout=60) as response:  # noqa: S310 - our own service
        content: bytes = response.read()
    return content


def own_cpu(process: int) -> float:
    """Return the CPU seconds of a process without its children."""
    return sum(cpu_times(process)[:2])


def tree_cpu(process: int) -> float:
    """Return the CPU seconds of a process and everything that it started, ended ones too."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text("utf-8").split()
    return sum(cpu_times(process)) + sum(map(tree_cpu, map(int, children)))


def cpu_times(process: int) -> list[float]:
    """Return CPU seconds: in user mode and the system, own and those of children that ended."""
    fields = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()
    return [int(fields[at]) / 100 for at in (11, 12, 13, 14)]


def children_cpu() -> float:
    """Return the CPU seconds of the children of this process that have ended."""
    import resource

    usage: Any = resource.getrusage(resource.RUSAGE_CHILDREN)
    return float(usage.ru_utime + usage.ru_stime)
