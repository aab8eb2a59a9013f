"""Writes the lines of a log: at once, in batches by a thread, or in batches synced at the end.

The queue is bounded. An event that does not fit is not waited for: it is counted by its type, and
the log gets an event of that type whose data is a mark, so that closure sees the gap. Nothing here
raises into the program that records; what went wrong is kept in `problems`.
"""

import asyncio
import atexit
import os
import threading
import weakref
from collections import Counter, deque
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.files import append_line_durably, append_lines
from affidavit.seal.bundle.writer import EventDraft
from affidavit.telemetry.recordable import unrecorded

MAX_QUEUED: Final = 10_000
BATCH_LINES: Final = 512
BATCH_SECONDS: Final = 0.2
CLOSE_SECONDS: Final = 30.0
_MAX_PROBLEMS: Final = 100


class Durability(StrEnum):
    """When an event is on the disk: when the call returns, soon after, or when the run ends."""

    EVENT = "event"
    BATCH = "batch"
    END = "end"


LinesOf = Callable[[EventDraft], list[bytes]]


class LogWriter:
    """Appends events to a log. `lines_of` makes the lines of an event; it may raise."""

    def __init__(
        self,
        path: Path,
        durability: Durability,
        lines_of: LinesOf,
        clock: Callable[[], str],
        max_queued: int = MAX_QUEUED,
    ) -> None:
        self.path = path
        self.problems: list[str] = []
        self._durability = durability
        self._lines_of = lines_of
        self._clock = clock
        self._max_queued = max_queued
        self._queue: deque[EventDraft] = deque()
        self._lost: Counter[str] = Counter()
        self._is_closing = False
        self._start()
        _WRITERS.add(self)

    def _start(self) -> None:
        """Make locks and no thread, also after a fork, where the thread is gone."""
        self._writing = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def restart_in_child(self) -> None:
        """Forget the queue of the parent, which the parent writes itself."""
        self._queue.clear()
        self._lost.clear()
        self._start()

    def put(self, draft: EventDraft) -> None:
        """Take an event. In `event` mode it is on the disk on return, unless a loop runs here."""
        if self._durability is Durability.EVENT and not _is_in_event_loop():
            self._queue.append(draft)
            self.flush()
            return
        if len(self._queue) >= self._max_queued:
            self._lost[draft.type] += 1
        else:
            self._queue.append(draft)
        if self._thread is None:
            self._start_thread()
        # Setting an event that is set already costs a lock, so it is asked first.
        if self._durability is Durability.EVENT and not self._wake.is_set():
            self._wake.set()

    def _start_thread(self) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="affidavit-recorder", daemon=True
                )
                self._thread.start()

    def _run(self) -> None:
        while not self._is_closing:
            self._wake.wait(BATCH_SECONDS)
            self._wake.clear()
            self._write_queued(is_last=False)

    def flush(self) -> None:
        """Write everything that was taken so far, and return when it is on the disk."""
        self._write_queued(is_last=True)

    def close(self) -> None:
        """Write everything and end the thread."""
        self._is_closing = True
        self._wake.set()
        self.flush()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(CLOSE_SECONDS)
        _WRITERS.discard(self)

    def _write_queued(self, *, is_last: bool) -> None:
        with self._writing:
            while self._queue or self._lost:
                lines = self._next_lines()
                is_synced = is_last or self._durability is not Durability.END
                try:
                    if len(lines) == 1 and is_synced:
                        append_line_durably(self.path, lines[0])
                    elif lines:
                        append_lines(self.path, lines, is_synced=is_synced)
                except AffidavitError as error:
                    self.note(str(error))

    def _next_lines(self) -> list[bytes]:
        lines: list[bytes] = []
        while self._queue and len(lines) < BATCH_LINES:
            lines += self._safe_lines(self._queue.popleft())
        lost, self._lost = self._lost, Counter()
        for kind, count in sorted(lost.items()):
            self.note(f"{count} events of the type {kind} are lost: the queue was full")
            mark = unrecorded("queue_full", count=count)
            lines += self._safe_lines(EventDraft(kind, self._clock(), mark))
        return lines

    def _safe_lines(self, draft: EventDraft) -> list[bytes]:
        try:
            return self._lines_of(draft)
        except Exception as error:
            self.note(str(error))
            mark = unrecorded("not_recordable", error=type(error).__name__)
            try:
                return self._lines_of(EventDraft(draft.type, self._clock(), mark))
            except Exception:
                return []

    def note(self, problem: str) -> None:
        """Keep a problem; only the first ones are kept."""
        if len(self.problems) < _MAX_PROBLEMS:
            self.problems.append(problem)


def _is_in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


_WRITERS: "weakref.WeakSet[LogWriter]" = weakref.WeakSet()


def _restart_all() -> None:
    for writer in list(_WRITERS):
        writer.restart_in_child()


def _flush_all() -> None:
    for writer in list(_WRITERS):
        writer.flush()


if hasattr(os, "register_at_fork"):  # Not on Windows, which does not fork.
    os.register_at_fork(after_in_child=_restart_all)
# A program may end without closing its run; what was taken is written all the same.
atexit.register(_flush_all)
