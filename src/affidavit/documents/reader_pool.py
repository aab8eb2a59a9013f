"""Reads documents in other processes: one per job, with a time limit per document, in order."""

import subprocess
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Final, TypeVar

import msgspec

from affidavit.base.faults import evidence as faults
from affidavit.documents.model import (
    OUTCOME_DECODER,
    DocumentSettings,
    Highlights,
    PageImage,
    ReadingOutcome,
    RefusedDocument,
    finding_from_fault,
)
from affidavit.documents.reader_process import (
    HighlightingTask,
    ReadingTask,
    RenderingTask,
    read_message,
    write_message,
)

# -P: modules in the current folder must not be imported.
_COMMAND: Final = (sys.executable, "-P", "-m", "affidavit.documents.reader_process")
_TASKS_AHEAD: Final = 4
"""Submitted documents per job: enough that a slow one does not block the others."""

_IMAGES: Final = msgspec.msgpack.Decoder(PageImage | RefusedDocument)
_HIGHLIGHTS: Final = msgspec.msgpack.Decoder(Highlights | RefusedDocument)
Outcome = TypeVar("Outcome")


def read_in_processes(
    tasks: Sequence[ReadingTask],
    settings: DocumentSettings,
    jobs: int,
    *,
    command: Sequence[str] = _COMMAND,
) -> Iterator[ReadingOutcome]:
    """Yield one outcome per task, in order, even if reader processes die."""
    processes: list[_ReaderProcess] = []
    own = threading.local()

    def read(task: ReadingTask) -> ReadingOutcome:
        if not hasattr(own, "process"):
            own.process = _ReaderProcess(command, settings)
            processes.append(own.process)
        process: _ReaderProcess = own.process
        return process.run(task, task.filename, OUTCOME_DECODER)

    with ThreadPoolExecutor(max(1, min(jobs, len(tasks)))) as threads:
        try:
            yield from _in_order(threads, read, tasks, _TASKS_AHEAD * max(1, jobs))
        finally:
            for process in processes:
                process.stop()


def _in_order(
    threads: ThreadPoolExecutor,
    read: Callable[[ReadingTask], ReadingOutcome],
    tasks: Sequence[ReadingTask],
    ahead: int,
) -> Iterator[ReadingOutcome]:
    pending: deque[Future[ReadingOutcome]] = deque()
    try:
        for task in tasks:
            pending.append(threads.submit(read, task))
            if len(pending) >= ahead:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        for future in pending:
            future.cancel()


class _ReaderProcess:
    """A reader process, started when it is first needed and again after it died."""

    def __init__(self, command: Sequence[str], settings: DocumentSettings) -> None:
        self._command = tuple(command)
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self._dropped: weakref.finalize[..., _ReaderProcess] | None = None

    def run(
        self, task: object, filename: str, decoder: "msgspec.msgpack.Decoder[Outcome]"
    ) -> Outcome | RefusedDocument:
        process = self._running()
        timed_out = threading.Event()
        seconds = self._settings.limits.seconds_per_document
        timer = threading.Timer(seconds, _kill, (process, timed_out))
        timer.start()
        try:
            answer = _exchange(process, msgspec.msgpack.encode(task))
        finally:
            timer.cancel()
        if answer is not None:
            return decoder.decode(answer)
        code = self._end()
        if timed_out.is_set():
            finding = finding_from_fault(faults.DOCUMENT_TIMEOUT, filename, seconds=f"{seconds:g}")
        else:
            reason = f"signal {-code}" if code < 0 else f"exit {code}"
            finding = finding_from_fault(faults.DOCUMENT_CRASHED, filename, reason=reason)
        return RefusedDocument(finding)

    def stop(self) -> None:
        """End the process, even while it reads a document."""
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
            # No process is left behind when the reader is dropped.
            self._dropped = weakref.finalize(self, _killed, self._process)
            _send(self._process, msgspec.msgpack.encode(self._settings))
        return self._process

    def _end(self) -> int:
        process, self._process = self._process, None
        if process is None:
            return 0
        if self._dropped is not None:
            self._dropped.detach()
        return _ended(process)


class PageReader:
    """Renders pages and finds quotes in one process, one task after another.

    pdfium is not safe in several threads, and a hostile file must not end the service.
    """

    def __init__(self, settings: DocumentSettings, command: Sequence[str] = _COMMAND) -> None:
        self._process = _ReaderProcess(command, settings)
        self._lock = threading.Lock()

    def render(self, task: RenderingTask) -> PageImage | RefusedDocument:
        """Return a page as an image."""
        with self._lock:
            return self._process.run(task, task.filename, _IMAGES)

    def highlight(self, task: HighlightingTask) -> Highlights | RefusedDocument:
        """Return where the quoted parts of lines are."""
        with self._lock:
            return self._process.run(task, task.filename, _HIGHLIGHTS)

    def stop(self) -> None:
        """End the process."""
        self._process.stop()


class DocumentReader:
    """Reads one document after another in one process: to start one costs as much as 40 pages."""

    def __init__(self, settings: DocumentSettings) -> None:
        self._process = _ReaderProcess(_COMMAND, settings)

    def read(self, task: ReadingTask) -> ReadingOutcome:
        """Return the outcome of a task, also if the process crashes or takes too long."""
        return self._process.run(task, task.filename, OUTCOME_DECODER)

    def stop(self) -> None:
        """End the process."""
        self._process.stop()


def _ended(process: "subprocess.Popen[bytes]") -> int:
    for stream in (process.stdin, process.stdout):
        with suppress(OSError):
            if stream is not None:
                stream.close()
    return process.wait()


def _killed(process: "subprocess.Popen[bytes]") -> int:
    process.kill()
    return _ended(process)


def _kill(process: "subprocess.Popen[bytes]", timed_out: threading.Event) -> None:
    timed_out.set()
    process.kill()


def _send(process: "subprocess.Popen[bytes]", message: bytes) -> None:
    # If the process is gone, its answer will be missing.
    with suppress(OSError):
        if process.stdin is not None:
            write_message(process.stdin, message)


def _exchange(process: "subprocess.Popen[bytes]", message: bytes) -> bytes | None:
    _send(process, message)
    with suppress(OSError):
        return read_message(process.stdout) if process.stdout is not None else None
    return None
