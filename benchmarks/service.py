"""`POST /v1/answer` with five file-fed checks and two workers: receipts per second, and latency.

The bare framework, which serves a constant to the same driver in the same rounds, is the limit. The
driver and two processes share two cores, so other load on the machine shows: the time that the
threads of the server waited for a core is part of the figures.
"""

import contextlib
import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.figure import Figure

WORKERS = 2
CHECKS = 5
CONNECTIONS = 16
RECEIPTS_A_SECOND = 500
P99_MS = 50.0
WARM_UP_SECONDS = 3.0
TOOLS = """
[tools.leave_days]
required_args = ["kind"]
value_path = "results.0.days"
unit = "days"
max_age_s = 86400

[[tools.leave_days.sources]]
kind = "file"
path = "leave.json"
where = { kind = "{kind}" }
observed_at = "asked"
"""


@dataclass(frozen=True, slots=True)
class Round:
    """The figures of the driver, and CPU time and waiting time of the server for each request."""

    per_second: float
    p50_ms: float
    p99_ms: float
    cpu_ms: float
    waited_ms: float


def measure(quick: bool = False) -> list[Figure]:
    """Measure the throughput, and the latency at half of the required throughput."""
    # Long rounds: a service that slows down over time looks good in a short one.
    rounds, seconds = (2, 1.5) if quick else (3, 10.0)
    most, half, bare_most, bare_half = [], [], [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        body = project_in(folder)
        with served(folder) as service, served_bare() as bare:
            for server in (service, bare):
                loaded(server, body, WARM_UP_SECONDS, 0)
            for _ in range(rounds):
                most.append(loaded(service, body, seconds, 0))
                bare_most.append(loaded(bare, body, seconds, 0))
                half.append(loaded(service, body, seconds, RECEIPTS_A_SECOND / 2))
                bare_half.append(loaded(bare, body, seconds, RECEIPTS_A_SECOND / 2))
    return [throughput(most, bare_most), lateness(half, bare_half)]


def throughput(rounds: list[Round], bare: list[Round]) -> Figure:
    """Return the throughput of the worst round, and that of the bare framework."""
    worst, limit = (min(each, key=lambda one: one.per_second) for each in (rounds, bare))
    return Figure(
        "POST /v1/answer, receipts a second",
        f"at least {RECEIPTS_A_SECOND} on two cores",
        worst.per_second,
        "higher",
        RECEIPTS_A_SECOND,
        f"rounds {', '.join(f'{one.per_second:.0f}' for one in rounds)}; {worst.cpu_ms:.2f} ms CPU"
        f" and {worst.waited_ms:.2f} ms of waiting for a core each; the bare framework"
        f" {limit.per_second:.0f} a second, {limit.cpu_ms:.2f} ms; driver on the same cores",
    )


def lateness(rounds: list[Round], bare: list[Round]) -> Figure:
    """Return the latency of the worst round, and that of the bare framework."""
    worst, limit = (max(each, key=lambda one: one.p99_ms) for each in (rounds, bare))
    return Figure(
        "POST /v1/answer, p99 in ms at half that load",
        f"under {P99_MS:.0f} ms",
        worst.p99_ms,
        "lower",
        P99_MS,
        f"rounds {', '.join(f'{one.p99_ms:.0f}' for one in rounds)}; median {worst.p50_ms:.1f} ms;"
        f" {worst.waited_ms:.2f} ms of waiting for a core each; the bare framework"
        f" {limit.p99_ms:.1f} ms, rounds {', '.join(f'{one.p99_ms:.0f}' for one in bare)}",
    )


def project_in(folder: Path) -> Path:
    """Create a project with a tool, its file and a key; return the file of a request."""
    kinds = [f"kind-{number}" for number in range(CHECKS)]
    rows = [{"kind": kind, "days": 15, "since": "2024-01-01"} for kind in kinds]
    (folder / "leave.json").write_text(json.dumps(rows), "utf-8")
    (folder / "affidavit.toml").write_text(TOOLS, "utf-8")
    expect = {"op": "eq", "value": 15}
    checks = [
        {"id": kind, "tool": "leave_days", "args": {"kind": kind}, "expect": expect}
        for kind in kinds
    ]
    body = folder / "request.json"
    body.write_text(json.dumps({"checks": checks}), "utf-8")
    subprocess.run(
        [*affidavit("keys", "new"), "--project", str(folder)], check=True, capture_output=True
    )
    time.sleep(2.1)  # A file that was just written is not cached.
    return body


def affidavit(*arguments: str) -> list[str]:
    """Return the command line of Affidavit."""
    return [sys.executable, "-m", "affidavit", *arguments]


@contextlib.contextmanager
def served(folder: Path) -> Iterator[tuple[int, int]]:
    """Run the service; yield its process and its port."""
    port = free_port()
    options = ("--workers", str(WORKERS), "--address-rate", "0", "-q", "--port", str(port))
    with running([*affidavit("serve", *options), "--project", str(folder)], port) as process:
        yield process, port


@contextlib.contextmanager
def served_bare() -> Iterator[tuple[int, int]]:
    """Run the framework alone."""
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.service_bare", str(port), str(WORKERS)]
    with running(command, port) as process:
        yield process, port


@contextlib.contextmanager
def running(command: list[str], port: int) -> Iterator[int]:
    """Run a server until the block ends. Waits until it answers."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            for _ in range(300):
                # A connection is accepted before a process serves it, so wait for an answer.
                with contextlib.suppress(OSError), connected(port) as probe:
                    probe.sendall(b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
                    if probe.recv(1):
                        break
                time.sleep(0.1)
            yield process.pid
        finally:
            process.terminate()


def connected(port: int) -> socket.socket:
    """Return a connection to a server of this machine."""
    return socket.create_connection(("127.0.0.1", port), timeout=30)


def free_port() -> int:
    """Return a free port."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def loaded(server: tuple[int, int], body: Path, seconds: float, rate: float) -> Round:
    """Run the driver once and return its figures."""
    process, port = server
    driver = [sys.executable, "-m", "benchmarks.service_load"]
    options = (port, "/v1/answer", body, seconds, CONNECTIONS, rate)
    before = spent(process)
    done = subprocess.run([*driver, *map(str, options)], check=True, stdout=subprocess.PIPE)
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["statuses"].keys() == {"200"}, found["statuses"]
    cpu_ms, waited_ms = (
        (after - earlier) / found["all"] / 1e6
        for earlier, after in zip(before, spent(process), strict=True)
    )
    return Round(found["per_second"], found["p50_ms"], found["p99_ms"], cpu_ms, waited_ms)


def spent(process: int) -> tuple[int, int]:
    """Return the CPU time and the waiting time of a process and its children, in ns.

    Linux counts them for each thread and forgets them when the thread ends.
    """
    had, waited = 0, 0
    for thread in Path(f"/proc/{process}/task").iterdir():
        with contextlib.suppress(OSError):  # The thread has ended.
            running, waiting, _ = (thread / "schedstat").read_text("utf-8").split()
            had, waited = had + int(running), waited + int(waiting)
    for child in Path(f"/proc/{process}/task/{process}/children").read_text("utf-8").split():
        below = spent(int(child))
        had, waited = had + below[0], waited + below[1]
    return had, waited
