"""Compares ways to run the service in two processes, for docs/adr/0019-web-server.md.

    python -m benchmarks.service_servers ROUNDS SECONDS [VARIANT ...]

Every round loads each variant once without a rate and once at RATE requests per second; medians are
printed. The variant `granian` needs granian 2 in the environment, which Affidavit does not install.
"""

import contextlib
import os
import socket
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.service import WORKERS, Round, free_port, loaded, project_in, running

VARIANTS = ("dispatcher", "shared-socket", "reuse-port", "granian", "anyio-limiter", "anyio-pool")
RATE = 150.0
_VARIANT, _PROJECT = "AFFIDAVIT_BENCH_VARIANT", "AFFIDAVIT_BENCH_PROJECT"


def application() -> Any:
    """Return the application, with the short tasks run as the variant wants it."""
    import anyio
    from anyio.to_thread import run_sync

    from affidavit.app.service import ServiceConfig
    from affidavit.web.application import application_from_config
    from affidavit.web.settings import WebSettings
    from affidavit.web.task_thread import MAX_WAIT_SECONDS, ShortTaskThread

    one_at_a_time = anyio.CapacityLimiter(1)

    async def run_limited(_: ShortTaskThread, task: Any) -> Any:
        with anyio.move_on_after(MAX_WAIT_SECONDS):
            return await run_sync(task, limiter=one_at_a_time, abandon_on_cancel=True)

    async def run_pooled(_: ShortTaskThread, task: Any) -> Any:
        return await run_sync(task)

    own: dict[str, Any] = {"anyio-limiter": run_limited, "anyio-pool": run_pooled}
    if run := own.get(os.environ[_VARIANT]):
        setattr(ShortTaskThread, "run", run)  # noqa: B010 - a method, which mypy guards
    config = ServiceConfig(project=Path(os.environ[_PROJECT]))
    app = application_from_config(config, WebSettings(address_rate=0), log_requests=False)

    async def plain(scope: Any, receive: Any, send: Any) -> None:
        await app(scope, receive, send)  # granian only takes functions.

    return plain


class OwnSocket:
    """Unpickled in each worker as a socket of its own on the same port (SO_REUSEPORT)."""

    def __init__(self, port: int) -> None:
        self.port = port

    def __reduce__(self) -> Any:
        return own_socket, (self.port,)


def own_socket(port: int) -> socket.socket:
    """Return a socket that shares its port with those of other processes."""
    own = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    own.bind(("127.0.0.1", port))
    return own


def serve(variant: str, port: int, project: str) -> None:
    """Serve a project as the variant does."""
    os.environ |= {_VARIANT: variant, _PROJECT: project}
    if variant == "granian":
        from granian import Granian

        target = "benchmarks.service_servers:application"
        options: dict[str, Any] = {"interface": "asgi", "loop": "asyncio", "websockets": False}
        Granian(
            target, factory=True, port=port, workers=WORKERS, log_enabled=False, **options
        ).serve()
        return
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    from affidavit.web.server import ListenAddress, listen_at, serve_in_processes

    config = uvicorn.Config(
        "benchmarks.service_servers:application",
        factory=True,
        workers=WORKERS,
        http="h11",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        access_log=False,
    )
    if variant == "reuse-port":
        sockets: Any = [OwnSocket(port)]
        Multiprocess(config, sockets=sockets).run()
        return
    listening = listen_at(ListenAddress("127.0.0.1", port))
    if variant == "shared-socket":
        Multiprocess(config, sockets=[listening]).run()
    else:
        serve_in_processes(config, listening)


def compare(rounds: int, seconds: float, variants: tuple[str, ...]) -> None:
    """Load the variants in turn, and print the medians of each."""
    found: dict[tuple[str, float], list[Round]] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        body = project_in(Path(folder))
        servers = {}
        for variant in variants:
            port = free_port()
            command = [sys.executable, "-m", "benchmarks.service_servers", "serve", variant]
            process = stack.enter_context(running([*command, str(port), folder], port))
            servers[variant] = process, port
            loaded(servers[variant], body, 2.0, 0)
        for number in range(rounds):
            for place in range(len(variants)):
                variant = variants[(number + place) % len(variants)]
                for rate in (0.0, RATE):
                    one = loaded(servers[variant], body, seconds, rate)
                    found.setdefault((variant, rate), []).append(one)
    for (variant, rate), each in sorted(found.items(), key=lambda entry: entry[0][::-1]):
        figures = (
            statistics.median(getattr(one, name) for one in each)
            for name in ("per_second", "p50_ms", "p99_ms", "cpu_ms")
        )
        print(f"{variant:14} rate {rate:3.0f}", *(f"{figure:9.2f}" for figure in figures))


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    else:
        compare(int(sys.argv[1]), float(sys.argv[2]), tuple(sys.argv[3:]) or VARIANTS)
