"""Collects spans of running programs, and seals each trace as a bundle when it is complete.

A trace is complete when none of its spans is open any more; it is sealed a moment later, because
log records and the spans of other threads may still come. Memory is bounded: when too many spans
are held, the oldest trace is sealed as it is. What comes after a trace was sealed becomes a bundle
of its own, with a number. Nothing here raises into the program; `problems` says what went wrong.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from affidavit.app.bundles import ENDING
from affidavit.app.keys import random_bytes
from affidavit.app.telemetry_import import seal_trace
from affidavit.packs.model import Pack
from affidavit.seal.bundle.commitments import SALT_BYTES
from affidavit.telemetry.conventions import conventions
from affidavit.telemetry.importing import OwnedSpan, TraceRecords
from affidavit.telemetry.loss import MappingLoss
from affidavit.telemetry.spans import LogEvent

LINGER_SECONDS: Final = 1.0
MAX_SPANS: Final = 100_000
_MAX_PROBLEMS: Final = 100
_LOG: Final = logging.getLogger("affidavit")


class _Held:
    """A trace that is collected."""

    def __init__(self, trace_id: str) -> None:
        self.records = TraceRecords(trace_id)
        self.open = 0
        self.due: float | None = None
        """When it is sealed; None while a span is open."""


class TraceSealer:
    """Seals traces to a folder, in a thread of its own. All methods can be called by any thread."""

    def __init__(
        self,
        folder: Path,
        *,
        packs: Sequence[Pack] = (),
        absent_signals: Mapping[str, Any] | None = None,
        linger_seconds: float = LINGER_SECONDS,
        max_spans: int = MAX_SPANS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.folder = folder
        self.loss = MappingLoss(conventions().target())
        self.problems: list[str] = []
        self.sealed: list[Path] = []
        self._packs = packs
        self._absent = dict(absent_signals or {})
        self._linger = linger_seconds
        self._max_spans = max_spans
        self._clock = clock
        self._held: dict[str, _Held] = {}
        self._count = 0
        self._lock = threading.Lock()
        self._sealing = threading.Lock()
        self._wake = threading.Event()
        self._is_closed = False
        self._thread: threading.Thread | None = None
        folder.mkdir(parents=True, exist_ok=True)

    def started(self, trace_id: str) -> None:
        """Note that a span of a trace is open."""
        with self._lock:
            held = self._trace(trace_id)
            held.open += 1
            held.due = None

    def ended(self, owned: OwnedSpan) -> None:
        """Take a span that has ended."""
        with self._lock:
            held = self._trace(owned.span.trace_id)
            held.records.spans.append(owned)
            held.open = max(0, held.open - 1)
            self._count += 1
            if not held.open:
                held.due = self._clock() + self._linger
            if self._count > self._max_spans:
                self._held[min(self._held, key=self._age)].due = 0.0
                self._wake.set()
            self._start()

    def logged(self, event: LogEvent) -> None:
        """Take a log record of a trace."""
        with self._lock:
            self._trace(event.trace_id).records.logs.append(event)

    def _trace(self, trace_id: str) -> _Held:
        return self._held.setdefault(trace_id, _Held(trace_id))

    def _age(self, trace_id: str) -> float:
        spans = self._held[trace_id].records.spans
        return spans[0].span.start_ns if spans else float("inf")

    def _start(self) -> None:
        if self._thread is None and not self._is_closed:
            self._thread = threading.Thread(target=self._run, name="affidavit-sealer", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while not self._is_closed:
            self._wake.wait(max(self._linger / 4, 0.01))
            self._wake.clear()
            self.seal_due()

    def seal_due(self, *, everything: bool = False, complete: bool = False) -> None:
        """Seal the traces whose time has come, all complete ones, or everything that is held."""
        with self._sealing:
            now = self._clock()
            with self._lock:
                due = [
                    trace_id
                    for trace_id, held in self._held.items()
                    if everything or (held.due is not None and (complete or held.due <= now))
                ]
                taken = [self._held.pop(trace_id) for trace_id in due]
                self._count -= sum(len(held.records.spans) for held in taken)
            for held in taken:
                if held.records.spans:
                    self._seal(held.records)

    def _seal(self, records: TraceRecords) -> None:
        try:
            target = self._free_name(records.trace_id)
            seal_trace(
                records,
                target,
                self.loss,
                salt=random_bytes(SALT_BYTES).hex(),
                packs=self._packs,
                absent_signals=self._absent,
            )
            self.sealed.append(target)
        except Exception as error:
            if len(self.problems) < _MAX_PROBLEMS:
                self.problems.append(f"trace {records.trace_id}: {error}")
            _LOG.warning("trace %s was not sealed: %s", records.trace_id, error)

    def _free_name(self, trace_id: str) -> Path:
        number, target = 1, self.folder / f"{trace_id}{ENDING}"
        while target.exists():
            number += 1
            target = self.folder / f"{trace_id}-{number}{ENDING}"
        return target

    def flush(self) -> None:
        """Seal every complete trace now."""
        self.seal_due(complete=True)

    def close(self) -> None:
        """Seal everything; traces with open spans are sealed as they are."""
        self._is_closed = True
        self._wake.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(30.0)
        self.seal_due(everything=True)


def plain(value: Any) -> Any:
    """Return an attribute of the SDK as a plain value; the SDK has tuples and mappings."""
    if isinstance(value, Mapping):
        return {str(name): plain(held) for name, held in value.items()}
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    return value
