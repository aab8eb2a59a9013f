"""Receives spans of other programs, and seals every trace as a bundle when it has become quiet.

A receiving process decodes a request, appends it to the journal, and only then acknowledges it. One
other process reads the journal, holds no more of it than which frames belong to which trace, and
writes the bundles. What comes after a trace was sealed becomes a bundle of its own, with a number.
"""

import os
import signal
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from msgspec import Struct

from affidavit.app.bundles import ENDING
from affidavit.app.keys import random_bytes
from affidavit.app.ledger_workers import log_to_stderr
from affidavit.app.span_journal import FOLDER, FramePlace, JournalReader, JournalWriter
from affidavit.app.telemetry_import import seal_trace
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import service as service_faults
from affidavit.base.faults import telemetry as faults
from affidavit.base.faults.bundles import BUNDLE_EMPTY
from affidavit.seal.bundle.commitments import SALT_BYTES
from affidavit.store.api_keys import DEFAULT_WORKSPACE
from affidavit.store.files import exclusive_lock
from affidavit.telemetry.conventions import conventions
from affidavit.telemetry.loss import MappingLoss
from affidavit.telemetry.otlp_json import OtlpFormatError
from affidavit.telemetry.receiving import (
    FrameHead,
    ReceivedRequest,
    frames_of,
    read_request,
    records_of,
)

MAX_BODY_BYTES: Final = 16 * 1024 * 1024
"""Of a request, packed and unpacked. Exporters send 512 spans at a time."""
MAX_HELD_BYTES: Final = 128 * 1024 * 1024
"""Of all requests that a process is reading."""
DECODING_THREADS: Final = 2
MAX_TRACE_RECORDS: Final = 50_000
"""A longer trace is sealed in parts, because a bundle has at most 100,000 events."""
MAX_TRACE_BYTES: Final = 32 * 1024 * 1024
MAX_FRAMES: Final = 100_000
"""Held at a time. Beyond it the oldest traces are sealed as they are."""
SEALING_THREADS: Final = 4
_MAX_ROUND: Final = 256
POLL_SECONDS: Final = 0.2
RETRY_SECONDS: Final = 5.0
_FINDINGS: Final = 5

Log = Callable[..., None]


class ReceiverConfig(Struct, frozen=True, kw_only=True):
    """Where traces are sealed, and when."""

    folder: Path
    quiet_seconds: float = 5.0
    """How long nothing must have come for a trace whose root span is there."""
    max_age_seconds: float = 600.0
    """After this a trace is sealed as it is, also without its root span."""
    max_journal_bytes: int = 256 * 1024 * 1024
    key_spans: float = 0.0
    """Spans per second for each key and process; 0 means no limit."""


class BodyBudget:
    """Bounds the memory of the bodies that are being read, in all threads of a process."""

    def __init__(self, limit: int = MAX_HELD_BYTES) -> None:
        self._limit = limit
        self._used = 0
        self._lock = threading.Lock()

    @contextmanager
    def hold(self) -> Iterator[Callable[[int], None]]:
        """Yield a function that takes bytes of the budget, or raises that there are none left."""
        taken = 0

        def take(count: int) -> None:
            nonlocal taken
            with self._lock:
                if self._used + count > self._limit:
                    raise AffidavitError(service_faults.BUSY, seconds=1)
                self._used += count
                taken += count

        try:
            yield take
        finally:
            with self._lock:
                self._used -= taken


class SpanReceiver:
    """Takes export requests; several threads call it at the same time."""

    def __init__(self, config: ReceiverConfig) -> None:
        self.budget = BodyBudget()
        self._journal = JournalWriter(config.folder, config.max_journal_bytes)
        self._decoding = threading.Semaphore(DECODING_THREADS)

    def take(
        self,
        raw: bytes,
        *,
        is_json: bool,
        of_logs: bool,
        workspace: str = DEFAULT_WORKSPACE,
        require_rate: Callable[[int], None] = lambda records: None,
    ) -> ReceivedRequest:
        """Return what was taken, after it is on the disk; raise if nothing was taken.

        `require_rate` is called with the number of records, and raises if they are too many.
        """
        with self._decoding:
            try:
                request = read_request(raw, is_json=is_json, of_logs=of_logs)
            except OtlpFormatError as error:
                raise AffidavitError(faults.RECEIVED_BODY, problem=str(error)) from None
            require_rate(request.records)
            frames = [frame for one in request.traces for frame in frames_of(one, workspace)]
        if frames:
            self._journal.append(frames)
        request.traces = []
        return request

    def close(self) -> None:
        """Complete the journal of this process."""
        self._journal.close()


_WINDOW_BITS: Final = {"gzip": zlib.MAX_WBITS | 16, "deflate": zlib.MAX_WBITS}
_PIECE_BYTES: Final = 1024 * 1024


def unpacked_body(raw: bytes, encoding: str, take: Callable[[int], None]) -> bytes:
    """Return a body without its encoding; `take` is called before each piece is unpacked."""
    bits = _WINDOW_BITS.get(encoding)
    if bits is None:
        raise AffidavitError(faults.RECEIVED_TYPE, found=f"encoded as {encoding[:60]!a}")
    unpacker = zlib.decompressobj(wbits=bits)
    pieces, size, rest = [], 0, raw
    while rest and not unpacker.eof:
        take(_PIECE_BYTES)
        try:
            piece = unpacker.decompress(rest, _PIECE_BYTES)
        except zlib.error as error:
            problem = f"it cannot be unpacked: {error}"
            raise AffidavitError(faults.RECEIVED_BODY, problem=problem) from None
        size += len(piece)
        if size > MAX_BODY_BYTES:
            raise AffidavitError(service_faults.BODY_TOO_LARGE, limit=MAX_BODY_BYTES)
        pieces.append(piece)
        rest = unpacker.unconsumed_tail
    if not unpacker.eof:
        raise AffidavitError(faults.RECEIVED_BODY, problem="it cannot be unpacked: it is cut off")
    return b"".join(pieces)


@dataclass(slots=True)
class _Collected:
    """The frames of a trace that are in no bundle yet."""

    first_at: float
    last_at: float
    places: list[FramePlace] = field(default_factory=list)
    records: int = 0
    size: int = 0
    has_root: bool = False
    retry_at: float = 0.0


TraceKey = tuple[str, str]
"""The workspace and the id of a trace: workspaces never share a bundle."""


class ReceivedTraceSealer:
    """Seals the traces of a journal in a folder. `clock` is monotonic."""

    def __init__(
        self, config: ReceiverConfig, log: Log, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._config = config
        self._log = log
        self._clock = clock
        self._journal = JournalReader(config.folder)
        self._held: dict[TraceKey, _Collected] = {}
        self._threads = ThreadPoolExecutor(SEALING_THREADS, "affidavit-sealer")

    def run_round(self, *, everything: bool = False) -> int:
        """Read what was received, and seal the traces whose time has come; return how many."""
        for place, head in self._journal.poll():
            self._collect(place, head)
        for problem in self._journal.problems:
            self._log("journal", said=problem)
        self._journal.problems.clear()
        sealed = self._seal(self._due(everything=everything))
        self._journal.delete_segments()
        return sealed

    def close(self) -> None:
        """Seal everything that was received."""
        while self.run_round(everything=True):
            continue
        self._threads.shutdown()

    def _collect(self, place: FramePlace, head: FrameHead) -> None:
        moment = self._clock()
        key = (head.workspace, head.trace_id)
        held = self._held.get(key)
        if held is None:
            held = self._held[key] = _Collected(moment, moment)
        held.last_at = moment
        held.places.append(place)
        held.records += head.records
        held.has_root = held.has_root or head.has_root
        held.size += place.end - place.start

    def _due(self, *, everything: bool) -> list[TraceKey]:
        moment, config = self._clock(), self._config

        def is_due(held: _Collected) -> bool:
            return held.retry_at <= moment and (
                everything
                or (held.has_root and moment - held.last_at >= config.quiet_seconds)
                or moment - held.first_at >= config.max_age_seconds
                or held.records >= MAX_TRACE_RECORDS
                or held.size >= MAX_TRACE_BYTES
            )

        due = [key for key, held in self._held.items() if is_due(held)]
        if not due:
            due = self._oldest_beyond_limits(moment)
        return due[:_MAX_ROUND]

    def _oldest_beyond_limits(self, moment: float) -> list[TraceKey]:
        """Return the oldest traces, if what is held leaves too little room for what comes."""
        size = sum(held.size for held in self._held.values())
        frames = sum(len(held.places) for held in self._held.values())
        found = []
        for key, held in self._held.items():
            if size <= self._config.max_journal_bytes // 2 and frames <= MAX_FRAMES:
                break
            if held.retry_at <= moment:
                found.append(key)
                size -= held.size
                frames -= len(held.places)
        return found

    def _seal(self, due: Sequence[TraceKey]) -> int:
        parts = [(key, *self._next_part(key)) for key in due]
        if not parts:
            return 0
        sealings = [(target, places) for _, target, places in parts]
        self._journal.begin(sealings)
        done = list(self._threads.map(self._seal_part, parts))
        self._journal.finish(
            [one for one, is_sealed in zip(sealings, done, strict=True) if is_sealed]
        )
        for (key, _, places), is_sealed in zip(parts, done, strict=True):
            self._forget(key, places if is_sealed else ())
        return sum(done)

    def _next_part(self, key: TraceKey) -> tuple[str, list[FramePlace]]:
        """Return the name of the next bundle of a trace, and the frames that it gets."""
        places: list[FramePlace] = []
        size = 0
        for place in self._held[key].places:
            size += place.end - place.start
            if places and size > MAX_TRACE_BYTES:
                break
            places.append(place)
        return self._free_name(key), places

    def _free_name(self, key: TraceKey) -> str:
        workspace, trace_id = key
        folder = "" if workspace == DEFAULT_WORKSPACE else f"{workspace}/"
        number, name = 1, f"{folder}{trace_id}{ENDING}"
        while (self._config.folder / name).exists():
            number += 1
            name = f"{folder}{trace_id}-{number}{ENDING}"
        return name

    def _forget(self, key: TraceKey, places: Sequence[FramePlace]) -> None:
        held = self._held[key]
        if not places:
            held.retry_at = self._clock() + RETRY_SECONDS
            return
        held.places = held.places[len(places) :]
        if not held.places:
            del self._held[key]
            return
        held.size = sum(one.end - one.start for one in held.places)
        held.records = MAX_TRACE_RECORDS  # The rest is due, too.

    def _seal_part(self, part: tuple[TraceKey, str, Sequence[FramePlace]]) -> bool:
        """Write a bundle; return whether its frames need no further attempt."""
        (_, trace_id), target, places = part
        path = self._config.folder / target
        loss = MappingLoss(conventions().target())
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            records = records_of(trace_id, map(self._journal.read, places))
            written = seal_trace(records, path, loss, salt=random_bytes(SALT_BYTES).hex())
        except (AffidavitError, OSError) as error:
            if isinstance(error, AffidavitError) and error.fault is BUNDLE_EMPTY:
                self._log("not_sealed", trace=trace_id, said="it has log records and no spans")
                return True
            self._log("not_sealed", trace=trace_id, said=str(error))
            return False
        except Exception as error:
            return self._keep_aside(trace_id, path, places, error)
        report = loss.report()
        self._log(
            "sealed",
            bundle=target,
            events=written.contents.count,
            dropped=report.dropped,
            findings=list(report.findings[:_FINDINGS]),
        )
        return True

    def _keep_aside(
        self, trace_id: str, path: Path, places: Sequence[FramePlace], error: Exception
    ) -> bool:
        """Keep the frames of a trace that no attempt could seal, beside the bundles."""
        kept = path.with_suffix("").with_suffix(".frames")
        try:
            kept.write_bytes(b"".join(map(self._journal.read, places)))
        except OSError as problem:
            self._log("not_sealed", trace=trace_id, said=str(problem))
            return False
        said = f"{type(error).__name__}: {error}"
        self._log("not_sealed", trace=trace_id, said=said, kept=kept.name)
        return True


def seal_until_stopped(config: ReceiverConfig, is_quiet: bool, parent: int) -> None:
    """Seal traces until SIGTERM arrives or the service has ended.

    After SIGTERM everything that was received is sealed. If the service was killed, it stays in the
    journal for the next one.
    """
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the service, which stops us.

    def log(event: str, **members: object) -> None:
        if event != "sealed" or members.get("findings") or not is_quiet:
            log_to_stderr(event, **members)

    # A service that was killed may have left a process that is still sealing.
    with exclusive_lock(config.folder / FOLDER / "sealer.lock"):
        sealer = ReceivedTraceSealer(config, log)
        while not stopped.is_set() and os.getppid() == parent:
            if not sealer.run_round():
                stopped.wait(POLL_SECONDS)
        if stopped.is_set():
            sealer.close()
