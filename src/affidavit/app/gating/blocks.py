"""Bytes of a file, cut after whole lines: what the decoders are quickest with."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BufferedReader
from typing import IO, Final

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults.input import JSON_LONG_LINE
from affidavit.base.json_limits import LINE_LIMITS
from affidavit.base.json_lines import split_lines
from affidavit.gates.rows import lines_in, refuse

OnBad = Callable[[AffidavitError], None]
Stream = BufferedReader | IO[bytes]

MAX_LINE_BYTES: Final = LINE_LIMITS.max_bytes
BLOCK_BYTES: Final = 1 << 17
"""Some hundred lines: more bytes leave the processor's cache, fewer cost a call each."""


@dataclass(frozen=True, slots=True)
class Block:
    """Some whole lines of a file, and where they stand; `offset` counts bytes."""

    raw: bytes
    first_line: int
    offset: int
    file: str
    lines: int = 0


def blocks_of(
    stream: Stream,
    file: str,
    bad: OnBad = refuse,
    watch: Callable[[bytes], object] = len,
    *,
    start: int = 0,
    end: int | None = None,
) -> Iterator[Block]:
    """Yield the blocks of a stream from `start` to `end`, both at the start of a line.

    A line that is too long is told to `bad` and leaves a blank one behind, so that the lines after
    it keep their numbers. `watch` sees all bytes.
    """
    reading = _Reading(file, bad, start)
    position = start
    while end is None or position < end:
        wanted = BLOCK_BYTES if end is None else min(BLOCK_BYTES, end - position)
        piece = stream.read(wanted)
        if not piece:
            break
        position += len(piece)
        watch(piece)
        block = reading.take(piece)
        if block is not None:
            yield block
    last = reading.rest()
    if last is not None:
        yield last


class _Reading:
    """Cuts pieces of a file after whole lines; what is left over starts the next block."""

    def __init__(self, file: str, bad: OnBad, offset: int) -> None:
        self._file = file
        self._bad = bad
        self._offset = offset
        self._line = 1
        self._kept: list[bytes] = []
        self._kept_bytes = 0
        self._is_skipping = False

    def take(self, piece: bytes) -> Block | None:
        """Return a block if the piece ends a line."""
        cut = piece.rfind(b"\n") + 1
        if not cut:
            self._keep(piece)
            return None
        raw = b"".join((*self._kept, piece[:cut])) if self._kept else piece[:cut]
        block = self._block(raw)
        self._kept, self._kept_bytes, self._is_skipping = [], 0, False
        self._keep(piece[cut:])
        return block

    def rest(self) -> Block | None:
        """Return the last line if it has no line feed."""
        raw = b"".join(self._kept)
        return self._block(raw) if raw and not self._is_skipping else None

    def _keep(self, piece: bytes) -> None:
        if not piece:
            return
        self._kept_bytes += len(piece)
        if self._kept_bytes <= MAX_LINE_BYTES:
            self._kept.append(piece)
        elif not self._is_skipping:
            self._bad(_long_line(self._file, self._line))
            self._is_skipping = True

    def _block(self, raw: bytes) -> Block:
        size = len(raw)
        if self._is_skipping:
            lost = self._kept_bytes - sum(map(len, self._kept))
            _, _, after = raw.partition(b"\n")
            size, raw = size + lost, b"\n" + after
        if len(raw) > MAX_LINE_BYTES:
            raw = self._without_long_lines(raw)
        lines = lines_in(raw)
        block = Block(raw, self._line, self._offset, self._file, lines)
        self._line += lines
        self._offset += size
        return block

    def _without_long_lines(self, raw: bytes) -> bytes:
        lines = split_lines(raw)
        for index, line in enumerate(lines):
            if len(line) > MAX_LINE_BYTES:
                self._bad(_long_line(self._file, self._line + index))
                lines[index] = b""
        return b"\n".join(lines) + b"\n" * raw.endswith(b"\n")


def _long_line(file: str, line: int) -> AffidavitError:
    return AffidavitError(JSON_LONG_LINE, Where(file=file, line=line), limit=MAX_LINE_BYTES)
