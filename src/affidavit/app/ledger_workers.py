"""The worker processes of a service: started with it, replaced when they die, stopped with it."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

from affidavit.app.ledger_store import LedgerStore, StoreConfig
from affidavit.app.project import Project
from affidavit.base.errors import AffidavitError

IDLE_SECONDS: Final = 0.25
AWAY_SECONDS: Final = 2.0
CHECK_SECONDS: Final = 0.5
STOP_SECONDS: Final = 30.0

Log = Callable[..., None]
"""Called with the name of an event and its members."""


def work_until_stopped(config: StoreConfig, project: Path, parent: int) -> None:
    """Do jobs until SIGTERM arrives or the service has ended; the running job is finished."""
    from affidavit.app.ledger_jobs import LedgerWorker

    stopped = Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the service, which stops us.
    worker = LedgerWorker(LedgerStore(config), Project(project), log=log_to_stderr)
    while not stopped.is_set() and os.getppid() == parent:
        try:
            busy = worker.run_one()
            pause = 0.0 if busy else IDLE_SECONDS
        except AffidavitError:  # The database is away.
            pause = AWAY_SECONDS
        stopped.wait(pause)
    worker.close()


def worker_processes(
    config: StoreConfig, project: Path, count: int, log: Log
) -> AbstractContextManager[list[BaseProcess]]:
    """Run the workers of a store within the block."""
    return supervised_processes(work_until_stopped, (config, project), count, log)


@contextmanager
def supervised_processes(
    target: Callable[..., None], args: tuple[Any, ...], count: int, log: Log
) -> Iterator[list[BaseProcess]]:
    """Run processes within the block; one that exits is replaced, and the log says so.

    The last argument of each is the id of this process: it ends when we do.
    """
    context: Any = get_context("spawn")

    def started() -> BaseProcess:
        process: BaseProcess = context.Process(
            target=target, args=(*args, os.getpid()), name="affidavit-worker", daemon=True
        )
        process.start()
        return process

    workers = [started() for _ in range(count)]
    stopped = Event()

    def supervise() -> None:
        while not stopped.wait(CHECK_SECONDS):
            for at, worker in enumerate(workers):
                if not worker.is_alive() and not stopped.is_set():
                    workers[at] = started()
                    log(
                        "worker_ended",
                        pid=worker.pid,
                        reason="it exited",
                        exit_code=worker.exitcode,
                        replaced_by=workers[at].pid,
                    )

    supervisor = Thread(target=supervise, name="affidavit-workers", daemon=True)
    supervisor.start()
    try:
        yield workers
    finally:
        stopped.set()
        supervisor.join()
        _stop(workers)


def _stop(workers: list[BaseProcess]) -> None:
    for worker in workers:
        worker.terminate()
    until = time.monotonic() + STOP_SECONDS
    for worker in workers:
        worker.join(max(0.0, until - time.monotonic()))
        if worker.is_alive():
            # Its job is taken over when its lease has run out.
            worker.kill()
            worker.join()


def log_to_stderr(event: str, **members: object) -> None:
    """Write a line as the log of the service does."""
    import msgspec

    from affidavit.app.clock import now

    line = msgspec.json.encode({"at": now(), "event": event, **members}).decode()
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
