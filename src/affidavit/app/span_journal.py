"""The journal of the receiver: what was acknowledged is on the disk until it is in a bundle.

Every receiving process appends to a segment of its own; one process reads all of them. A segment is
deleted when it is complete and everything in it is in bundles. `sealed.log` says which frames go to
which bundle, before the bundle is written: whether the bundle exists decides after a crash.
"""

import errno
import os
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import telemetry as faults
from affidavit.base.faults.input import FILE_UNWRITABLE
from affidavit.base.files import append_lines, write_atomically
from affidavit.telemetry.receiving import FrameError, FrameHead, head_at

FOLDER: Final = ".journal"
OPEN: Final = ".open"
COMPLETE: Final = ".segment"
MAX_BYTES: Final = 256 * 1024 * 1024
SEGMENT_BYTES: Final = 8 * 1024 * 1024
FULL_SECONDS: Final = 2
"""How long a sender should wait for room in the journal."""
_COUNT_SECONDS: Final = 0.25
_SEALED_BYTES: Final = 4 * 1024 * 1024


class _Batch:
    """What is written and synced together."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.is_done = False
        self.error: AffidavitError | None = None


class JournalWriter:
    """Appends frames. Threads that append at the same time share one sync of the disk."""

    def __init__(
        self, folder: Path, max_bytes: int = MAX_BYTES, segment_bytes: int = SEGMENT_BYTES
    ) -> None:
        self._folder = folder / FOLDER
        self._max_bytes = max_bytes
        self._segment_bytes = segment_bytes
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._batch = _Batch()
        self._name = f"{time.time_ns():020}-{token_hex(4)}"
        self._count = 0
        self._handle: int | None = None
        self._path = self._folder
        self._size = 0
        self._used = 0
        self._counted_at = float("-inf")
        self._make_folder()

    def _make_folder(self) -> None:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise _unwritable(self._folder, error) from None

    def append(self, frames: Sequence[bytes]) -> None:
        """Return when the frames are on the disk; raise if there is no room for them."""
        with self._lock:
            size = sum(map(len, frames))
            if self._bytes_used() + size > self._max_bytes:
                raise AffidavitError(faults.RECEIVER_FULL, seconds=FULL_SECONDS)
            self._used += size
            batch = self._batch
            batch.pieces.extend(frames)
        with self._writing:
            if not batch.is_done:
                with self._lock:
                    self._batch = _Batch()
                try:
                    self._write(b"".join(batch.pieces))
                except OSError as error:
                    batch.error = _unwritable(self._path, error)
                batch.is_done = True
        if batch.error is not None:
            raise batch.error

    def close(self) -> None:
        """Complete the segment."""
        with self._writing:
            self._complete()

    def _bytes_used(self) -> int:
        """Return the bytes of all segments, of other processes too."""
        moment = time.monotonic()
        if moment - self._counted_at > _COUNT_SECONDS:
            self._used = bytes_of_segments(self._folder)
            self._counted_at = moment
        return self._used

    def _write(self, data: bytes) -> None:
        if self._handle is None:
            self._begin()
        handle = self._handle
        if handle is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(handle, view) :]
            os.fsync(handle)
        except OSError:
            # What is half written was not acknowledged, and a new segment begins clean.
            with suppress(OSError):
                os.ftruncate(handle, self._size)
            self._complete()
            raise
        self._size += len(data)
        if self._size >= self._segment_bytes:
            self._complete()

    def _begin(self) -> None:
        self._count += 1
        self._path = self._folder / f"{self._name}-{self._count:06}{OPEN}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
        new = self._path.with_suffix(".new")
        self._handle = os.open(new, flags | getattr(os, "O_CLOEXEC", 0), 0o600)
        self._size = 0
        # Whoever reads the segment learns from the lock whether its writer lives, so it has the
        # lock before it has its name.
        _try_lock(self._handle)
        new.rename(self._path)
        _sync_folder(self._folder)

    def _complete(self) -> None:
        if self._handle is not None:
            with suppress(OSError):
                self._path.rename(self._path.with_suffix(COMPLETE))
            os.close(self._handle)
            self._handle = None


def _try_lock(handle: int) -> bool:
    """Lock an open file for this handle; return whether nobody else has it."""
    if not hasattr(os, "lockf"):  # Windows: what a killed writer left is read as it grows.
        return False
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def bytes_of_segments(folder: Path) -> int:
    """Return how many bytes the segments in a folder have."""
    total = 0
    with suppress(OSError), os.scandir(folder) as found:
        for entry in found:
            if entry.name.endswith((OPEN, COMPLETE)):
                with suppress(OSError):
                    total += entry.stat().st_size
    return total


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _unwritable(path: Path, error: OSError) -> AffidavitError:
    reason = (error.strerror or str(error)).lower()
    return AffidavitError(FILE_UNWRITABLE, Where(file=str(path)), reason=reason)


class FramePlace(NamedTuple):
    """Where a frame stands in the journal."""

    segment: str
    start: int
    end: int


class _JournalSegment:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.read_to = 0
        self.left = 0
        """How many of its frames are in no bundle."""
        self.is_complete = False


class _Sealing(Struct):
    """A line of sealed.log: the frames that go to a bundle, or that it is there."""

    target: str
    frames: list[tuple[str, int]] = []
    done: bool = False


class JournalReader:
    """Reads the frames of all segments, and deletes the segments that are not needed any more."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.problems: list[str] = []
        self._journal = folder / FOLDER
        self._log = self._journal / "sealed.log"
        self._segments: dict[str, _JournalSegment] = {}
        self._journal.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._sealed = self._sealed_before()

    def poll(self) -> Iterator[tuple[FramePlace, FrameHead]]:
        """Yield the frames that were added since the last call, and are in no bundle."""
        for segment in self._found():
            # Asked before it is read: what a writer adds later is read later.
            is_complete = not segment.is_complete and self._has_no_writer(segment)
            yield from self._new_frames(segment)
            segment.is_complete = segment.is_complete or is_complete

    def _found(self) -> list[_JournalSegment]:
        try:
            names = sorted(entry.name for entry in os.scandir(self._journal))
        except OSError:
            return []
        for name in names:
            path = self._journal / name
            if path.suffix in (OPEN, COMPLETE):
                segment = self._segments.setdefault(path.stem, _JournalSegment(path))
                segment.path = path
        return [one for _, one in sorted(self._segments.items()) if not one.is_complete]

    def _has_no_writer(self, segment: _JournalSegment) -> bool:
        if segment.path.suffix == COMPLETE:
            return True
        try:
            handle = os.open(segment.path, os.O_RDONLY)
        except OSError:  # It was just renamed.
            return False
        try:
            return _try_lock(handle)
        finally:
            os.close(handle)

    def _new_frames(self, segment: _JournalSegment) -> Iterator[tuple[FramePlace, FrameHead]]:
        try:
            with segment.path.open("rb") as stream:
                stream.seek(segment.read_to)
                data = stream.read()
        except OSError:
            return
        start, name = 0, segment.path.stem
        while True:
            try:
                found = head_at(data, start)
            except (FrameError, msgspec.MsgspecError) as error:
                self.problems.append(f"{segment.path.name} is damaged: {error}; it is kept")
                # Kept for people to look at; what was read of it is sealed.
                segment.is_complete = True
                segment.left += 1
                return
            if found is None:
                segment.read_to += start
                return
            head, end = found
            place = FramePlace(name, segment.read_to + start, segment.read_to + end)
            if (place.segment, place.start) not in self._sealed:
                segment.left += 1
                yield place, head
            start = end

    def read(self, place: FramePlace) -> bytes:
        """Return a frame."""
        path = self._segments[place.segment].path
        try:
            stream = path.open("rb")
        except FileNotFoundError:  # Its writer has completed it since.
            stream = path.with_suffix(COMPLETE).open("rb")
        with stream:
            stream.seek(place.start)
            return stream.read(place.end - place.start)

    def begin(self, sealings: Iterable[tuple[str, Sequence[FramePlace]]]) -> None:
        """Write down which frames go to which bundles, before these are written."""
        lines = [
            msgspec.json.encode(_Sealing(target, [(one.segment, one.start) for one in places]))
            for target, places in sealings
        ]
        append_lines(self._log, lines, is_synced=True)

    def finish(self, sealings: Sequence[tuple[str, Sequence[FramePlace]]]) -> None:
        """Write down that bundles were written."""
        lines = [msgspec.json.encode(_Sealing(target, done=True)) for target, _ in sealings]
        if lines:
            append_lines(self._log, lines, is_synced=False)
        for _, places in sealings:
            for place in places:
                self._sealed.add((place.segment, place.start))
                self._segments[place.segment].left -= 1

    def delete_segments(self) -> None:
        """Delete the segments that are complete and in bundles."""
        for stem, segment in list(self._segments.items()):
            if segment.is_complete and not segment.left:
                with suppress(OSError):
                    segment.path.unlink()
                del self._segments[stem]
                self._sealed = {one for one in self._sealed if one[0] != stem}
        with suppress(OSError):
            if self._log.stat().st_size > _SEALED_BYTES:
                self._write_sealed()

    def _write_sealed(self) -> None:
        held = sorted(self._sealed)
        line = msgspec.json.encode(_Sealing("", held, done=True))
        write_atomically(self._log, line + b"\n" if held else b"")

    def _sealed_before(self) -> set[tuple[str, int]]:
        """Return the frames that earlier processes sealed, and forget those of old segments."""
        begun: dict[str, list[tuple[str, int]]] = {}
        sealed: set[tuple[str, int]] = set()
        with suppress(FileNotFoundError):
            for line in self._log.read_bytes().splitlines():
                try:
                    one = msgspec.json.decode(line, type=_Sealing)
                except msgspec.MsgspecError:  # A torn line: its bundles were not begun.
                    continue
                if one.done:
                    sealed.update(begun.pop(one.target, ()))
                    sealed.update(one.frames)
                else:
                    begun[one.target] = one.frames
        for target, frames in begun.items():
            if (self.folder / target).exists():
                sealed.update(frames)
        there = {entry.name.partition(".")[0] for entry in os.scandir(self._journal)}
        self._sealed = {one for one in sealed if one[0] in there}
        self._write_sealed()
        return self._sealed
