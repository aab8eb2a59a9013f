"""Reading in other processes: one worker per job, a time limit per document, results in order."""

import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Final

import msgspec

from affidavit.base.faults import evidence as faults
from affidavit.documents.cache import OUTCOME_DECODER
from affidavit.documents.model import finding_from_fault
from affidavit.documents.reader_process import ReadingTask, read_message, write_message
from affidavit.documents.reading import ReadingOutcome, RefusedDocument
from affidavit.documents.settings import DocumentSettings

# -P: a module that lies in the current folder must not be taken for one of ours.
_COMMAND: Final = (sys.executable, "-P", "-m", "affidavit.documents.reader_process")
_TASKS_AHEAD: Final = 4
"""Documents under way per job: enough that a slow one does not idle the others."""


def read_in_processes(
    tasks: Sequence[ReadingTask],
    settings: DocumentSettings,
    jobs: int,
    *,
    command: Sequence[str] = _COMMAND,
) -> Iterator[ReadingOutcome]:
    """Yield one outcome per task, in order, whatever becomes of the workers."""
    workers: list[_ReaderProcess] = []
    own = threading.local()

    def ingest(task: ReadingTask) -> ReadingOutcome:
        if not hasattr(own, "worker"):
            own.worker = _ReaderProcess(command, settings)
            workers.append(own.worker)
        worker: _ReaderProcess = own.worker
        return worker.ingest(task)

    with ThreadPoolExecutor(max(1, min(jobs, len(tasks)))) as threads:
        try:
            yield from _in_order(threads, ingest, tasks, _TASKS_AHEAD * max(1, jobs))
        finally:
            for worker in workers:
                worker.stop()


def _in_order(
    threads: ThreadPoolExecutor,
    ingest: Callable[[ReadingTask], ReadingOutcome],
    tasks: Sequence[ReadingTask],
    ahead: int,
) -> Iterator[ReadingOutcome]:
    under_way: deque[Future[ReadingOutcome]] = deque()
    try:
        for task in tasks:
            under_way.append(threads.submit(ingest, task))
            if len(under_way) >= ahead:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()
    finally:
        for future in under_way:
            future.cancel()


class _ReaderProcess:
    """A process of its own, started when it is first needed, and again when it died."""

    def __init__(self, command: Sequence[str], settings: DocumentSettings) -> None:
        self._command = tuple(command)
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None

    def ingest(self, task: ReadingTask) -> ReadingOutcome:
        process = self._running()
        timed_out = threading.Event()

        def give_up() -> None:
            timed_out.set()
            process.kill()

        seconds = self._settings.limits.seconds_per_document
        timer = threading.Timer(seconds, give_up)
        timer.start()
        try:
            answer = _exchange(process, msgspec.msgpack.encode(task))
        finally:
            timer.cancel()
        if answer is not None:
            outcome: ReadingOutcome = OUTCOME_DECODER.decode(answer)
            return outcome
        code = self._end()
        if timed_out.is_set():
            fault = finding_from_fault(
                faults.DOCUMENT_TIMEOUT, task.filename, seconds=f"{seconds:g}"
            )
            return RefusedDocument(fault)
        reason = f"signal {-code}" if code < 0 else f"exit {code}"
        return RefusedDocument(
            finding_from_fault(faults.DOCUMENT_CRASHED, task.filename, reason=reason)
        )

    def stop(self) -> None:
        """End the process, also in the middle of a document."""
        if self._process is not None:
            self._process.kill()
            self._end()

    def _running(self) -> "subprocess.Popen[bytes]":
        if self._process is None:
            self._process = subprocess.Popen(  # noqa: S603 - our own module and interpreter
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            _send(self._process, msgspec.msgpack.encode(self._settings))
        return self._process

    def _end(self) -> int:
        process, self._process = self._process, None
        if process is None:
            return 0
        for stream in (process.stdin, process.stdout):
            with suppress(OSError):
                if stream is not None:
                    stream.close()
        return process.wait()


def _send(process: "subprocess.Popen[bytes]", message: bytes) -> None:
    # A process that is gone already is noticed when its answer is missing.
    with suppress(OSError):
        if process.stdin is not None:
            write_message(process.stdin, message)


def _exchange(process: "subprocess.Popen[bytes]", message: bytes) -> bytes | None:
    _send(process, message)
    with suppress(OSError):
        return read_message(process.stdout) if process.stdout is not None else None
    return None
