"""`POST /v1/answer` with five file-fed checks, two workers: receipts a second, and how late.

The bare framework, serving a constant to the same driver in the same run, is the limit.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.figure import Figure

WORKERS = 2
CHECKS = 5
CONNECTIONS = 16
RECEIPTS_A_SECOND = 500
P99_MS = 50.0
WARM_UP_SECONDS = 3.0
TICKS = os.sysconf("SC_CLK_TCK")
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


def measure(quick: bool = False) -> list[Figure]:
    """Measure how much comes through, and how late it comes at half the load."""
    seconds = 3.0 if quick else 10.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        body = project_in(folder)
        with served(folder) as service:
            loaded(service, body, WARM_UP_SECONDS, 0)
            most = loaded(service, body, seconds, 0)
            half = loaded(service, body, seconds, RECEIPTS_A_SECOND / 2)
        with served_bare() as bare:
            loaded(bare, body, WARM_UP_SECONDS, 0)
            limit = loaded(bare, body, seconds, 0)
    return [
        Figure(
            "POST /v1/answer, receipts a second",
            f"at least {RECEIPTS_A_SECOND} on two cores",
            most["per_second"],
            "higher",
            RECEIPTS_A_SECOND,
            f"{most['cpu_ms']:.2f} ms CPU each; the bare framework {limit['per_second']:.0f} a"
            f" second, {limit['cpu_ms']:.2f} ms; driver on the same cores",
        ),
        Figure(
            "POST /v1/answer, p99 in ms at half that load",
            f"under {P99_MS:.0f} ms",
            half["p99_ms"],
            "lower",
            P99_MS,
            f"median {half['p50_ms']:.1f} ms at {half['per_second']:.0f} a second",
        ),
    ]


def project_in(folder: Path) -> Path:
    """Make a project with a tool, its file and a key; return the file of a request."""
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
    time.sleep(2.1)  # A file that was just written is read again each time, until it has rested.
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
    """Run a server until the block ends; wait until it answers."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            for _ in range(300):
                with contextlib.suppress(OSError):
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                time.sleep(0.1)
            yield process.pid
        finally:
            process.terminate()


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def loaded(server: tuple[int, int], body: Path, seconds: float, rate: float) -> dict[str, Any]:
    """Return what the driver found, and how much CPU a request cost the server."""
    process, port = server
    driver = [sys.executable, "-m", "benchmarks.service_load"]
    wanted = (port, "/v1/answer", body, seconds, CONNECTIONS, rate)
    before = cpu_seconds(process)
    done = subprocess.run([*driver, *map(str, wanted)], check=True, capture_output=True)
    found: dict[str, Any] = json.loads(done.stdout)
    found["cpu_ms"] = (cpu_seconds(process) - before) / found["all"] * 1000
    assert found["statuses"].keys() == {"200"}, found["statuses"]
    return found


def cpu_seconds(process: int) -> float:
    """Return the CPU time of a process and all below it, as Linux counts it."""
    stat = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()
    spent = (int(stat[11]) + int(stat[12])) / TICKS
    children = Path(f"/proc/{process}/task/{process}/children").read_text("utf-8").split()
    return spent + sum(cpu_seconds(int(child)) for child in children)
