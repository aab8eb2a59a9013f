"""The plan of a gate, and its inputs: JSON lines in blocks of whole lines, and stored reports."""

import hashlib
import sys
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import IO, Annotated, Any, ClassVar, Final, Literal, TypeVar

from msgspec import UNSET, Meta, Struct, structs

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults.input import FILE_MISSING, FILE_UNREADABLE, JSON_LONG_LINE
from affidavit.base.files import is_there, open_to_read
from affidavit.base.json_rows import lines_in, raise_error
from affidavit.base.json_values import LINE_LIMITS, JsonValue
from affidavit.base.strict_json import read_json_file, split_lines
from affidavit.decision.counts import MAX_LISTED
from affidavit.decision.evaluation import Correction
from affidavit.decision.report import ReportInput

Name = Annotated[str, Meta(min_length=1)]
Names = Name | tuple[Name, ...]
"""One file or several."""
Tokens = Name | Annotated[tuple[Name, ...], Meta(min_length=1)]
"""One refusal token or several."""
RefusalMode = Literal["words", "exact"]
Plan = TypeVar("Plan", bound="GatePlan")


class GatePlan(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings that every gate has, from the command line or a table `[gates.*]`.

    `fail_on_regression` is the report of an earlier run.
    """

    PATHS: ClassVar[tuple[str, ...]] = ()
    """The settings of a gate that name files, besides the report of an earlier run."""

    gates: str | tuple[str, ...] = ()
    skip_bad: bool = False
    fail_on_regression: Name | None = None
    correction: Correction | None = None

    def in_folder(self: Plan, folder: Path) -> Plan:
        """Return the plan with the paths of a configuration file in this folder."""
        paths = ((name, getattr(self, name)) for name in (*self.PATHS, "fail_on_regression"))
        return structs.replace(self, **{name: _in_folder(value, folder) for name, value in paths})

    def inputs(self) -> tuple[str, ...]:
        """Return the files that the gate reads."""
        values = (getattr(self, name) for name in (*self.PATHS, "fail_on_regression"))
        return tuple(name for value in values if value is not None for name in _paths_in(value))


def listed(names: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return one text or several as a tuple."""
    return (names,) if isinstance(names, str) else names


def _in_folder(value: Any, folder: Path) -> Any:
    if isinstance(value, Mapping):
        return {key: str(folder / name) for key, name in value.items()}
    if isinstance(value, tuple):
        return tuple(str(folder / name) for name in value)
    return None if value is None else str(folder / value)


def _paths_in(value: Names | Mapping[Any, str]) -> tuple[str, ...]:
    return tuple(value.values()) if isinstance(value, Mapping) else listed(value)


# Blocks of whole lines, the input that decoders read fastest.

OnBadLine = Callable[[AffidavitError], None]
Stream = BufferedReader | IO[bytes]

MAX_LINE_BYTES: Final = LINE_LIMITS.max_bytes
BLOCK_BYTES: Final = 1 << 17
"""A few hundred lines: larger blocks leave the processor cache, smaller ones cost calls."""


@dataclass(frozen=True, slots=True)
class LineBlock:
    """Whole lines of a file and their location; `offset` counts bytes."""

    raw: bytes
    first_line: int
    offset: int
    file: str
    lines: int = 0


def blocks_of(
    stream: Stream,
    file: str,
    bad: OnBadLine = raise_error,
    watch: Callable[[bytes], object] = len,
    *,
    start: int = 0,
    end: int | None = None,
) -> Iterator[LineBlock]:
    """Yield the blocks of a stream from `start` to `end`, both at the start of a line.

    A line that is too long is passed to `bad` and becomes a blank line, so that the lines after it
    keep their numbers. `watch` gets all bytes.
    """
    reading = _BlockReader(file, bad, start)
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


class _BlockReader:
    """Cuts pieces of a file after whole lines; the remainder starts the next block."""

    def __init__(self, file: str, bad: OnBadLine, offset: int) -> None:
        self._file = file
        self._bad = bad
        self._offset = offset
        self._line = 1
        self._kept: list[bytes] = []
        self._kept_bytes = 0
        self._is_skipping = False

    def take(self, piece: bytes) -> LineBlock | None:
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

    def rest(self) -> LineBlock | None:
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

    def _block(self, raw: bytes) -> LineBlock:
        size = len(raw)
        if self._is_skipping:
            lost = self._kept_bytes - sum(map(len, self._kept))
            _, _, after = raw.partition(b"\n")
            size, raw = size + lost, b"\n" + after
        if len(raw) > MAX_LINE_BYTES:
            raw = self._without_long_lines(raw)
        lines = lines_in(raw)
        block = LineBlock(raw, self._line, self._offset, self._file, lines)
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


# Files of JSON lines, read in blocks with constant memory and digested in the same pass. The
# `offset` of a block counts over all files of one input, so a row can be found again without
# keeping the rows.

Row = TypeVar("Row")
RowsOf = Callable[[bytes, int, str | None, OnBadLine], Iterator[tuple[int, Row]]]

STANDARD_INPUT: Final = "-"
_MAGIC: Final = frozenset("*?[")


@dataclass(slots=True)
class BadLines:
    """Collects lines that are not rows, or raises at the first one."""

    skip: bool = False
    count: int = 0
    first: list[AffidavitError] = field(default_factory=list)

    def __call__(self, error: AffidavitError) -> None:
        """Count a line that is not a row, or raise its error."""
        if not self.skip:
            raise error
        self.count += 1
        if len(self.first) < MAX_LISTED:
            self.first.append(error)

    def described(self) -> tuple[str, ...]:
        """Return the first of them, each with its location and problem."""
        return tuple(f"{error.where}: {error.message} ({error.fault.code})" for error in self.first)


class StreamDigest:
    """The size and digest of a stream of bytes."""

    def __init__(self) -> None:
        self._sha256 = hashlib.sha256()
        self.size = 0

    def __call__(self, piece: bytes) -> None:
        """Add the next piece."""
        self.size += len(piece)
        self._sha256.update(piece)

    @property
    def digest(self) -> str:
        """The digest of all pieces."""
        return f"sha256:{self._sha256.hexdigest()}"


class InputLines:
    """The lines of one input: a file, several, or standard input.

    After all blocks were read, `as_input` has the digest and the counts.
    """

    def __init__(self, role: str, names: Iterable[str], bad: BadLines | None = None) -> None:
        self.role = role
        self.given = tuple(names)
        self.files = files_named(self.given)
        self._bad = BadLines() if bad is None else bad
        self._digests: list[str] = []
        self.rows_read = 0

    def blocks(self) -> Iterator[LineBlock]:
        """Yield the blocks of all files in order."""
        self._digests = []
        offset = 0
        for name in self.files:
            seen = StreamDigest()
            with open_input(name) as stream:
                for block in blocks_of(stream, shown_name(name), self._bad, seen):
                    yield replace(block, offset=offset + block.offset)
            offset += seen.size
            self._digests.append(seen.digest)

    def rows(self, rows_of: RowsOf[Row]) -> Iterator[tuple[int, Row]]:
        """Yield the rows with their line numbers, decoded by `from_chunk` of a row reader."""
        for block in self.blocks():
            for line, row in rows_of(block.raw, block.first_line, block.file, self._bad):
                self.rows_read += 1
                yield line, row

    def as_input(self, rows: int | None = None) -> ReportInput:
        """Return the description of this input for the report."""
        return ReportInput(
            path=", ".join(map(shown_name, self.given)),
            digest=digest_of_files(self._digests),
            rows=self.rows_read if rows is None else rows,
            skipped=self._bad.count,
            skipped_lines=self._bad.described() or UNSET,
        )


def digest_of_files(digests: list[str]) -> str | None:
    """Return the digest of one file, or the digest of the list of digests."""
    if len(digests) == 1:
        return digests[0]
    listed = "".join(f"{digest}\n" for digest in digests)
    return f"sha256:{hashlib.sha256(listed.encode()).hexdigest()}" if digests else None


def files_named(names: Iterable[str]) -> tuple[str, ...]:
    """Return the files that match names and patterns, sorted within a pattern.

    An existing file is itself, even if its name looks like a pattern.
    """
    found: list[str] = []
    for name in names:
        if name == STANDARD_INPUT or not _MAGIC.intersection(name) or is_there(name):
            found.append(name)
            continue
        matches = _matches(Path(name))
        if not matches:
            raise AffidavitError(FILE_MISSING, Where(file=name))
        found.extend(matches)
    return tuple(dict.fromkeys(found))


def _matches(pattern: Path) -> list[str]:
    root = Path(pattern.anchor)
    try:
        return sorted(str(path) for path in root.glob(str(pattern.relative_to(root))))
    except (OSError, ValueError) as error:  # A removed folder, or `**` within a name.
        where = Where(file=str(pattern))
        raise AffidavitError(FILE_UNREADABLE, where, reason=_reason(error)) from None


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return "no file can have this name"


def shown_name(name: str) -> str:
    """Return the name of a file for the report; invalid UTF-8 is escaped."""
    if name == STANDARD_INPUT:
        return "standard input"
    return name.encode("utf-8", "backslashreplace").decode()


@contextmanager
def open_input(name: str) -> Iterator[Stream]:
    """Open a file or standard input; a closed standard input is an error."""
    if name == STANDARD_INPUT:
        if sys.stdin is None:
            raise AffidavitError(FILE_MISSING, Where(file="standard input"))
        yield sys.stdin.buffer
        return
    with open_to_read(name) as stream:
        yield stream


@dataclass(slots=True)
class BlockIndex:
    """The number and byte offset of the first line of each block, and how many lines there are."""

    lines: "array[int]" = field(default_factory=lambda: array("q"))
    offsets: "array[int]" = field(default_factory=lambda: array("q"))
    count: int = 0

    def watch(self, blocks: Iterable[LineBlock]) -> Iterator[LineBlock]:
        """Yield the blocks unchanged, and remember where they start."""
        for block in blocks:
            self.lines.append(block.first_line)
            self.offsets.append(block.offset)
            self.count += block.lines
            yield block


@dataclass(frozen=True, slots=True)
class LineRange:
    """Consecutive lines of a file, and where some of them start.

    `before` counts the lines before it in the whole input, `before_in_file` those in its file.
    """

    file: str
    shown: str
    before: int
    before_in_file: int
    blocks: BlockIndex


@dataclass(frozen=True, slots=True)
class FoundLine:
    """A line that was read again: its number in the input, and its location."""

    number: int
    raw: bytes
    file: str
    line: int


@dataclass(slots=True)
class LineIndex:
    """The line ranges of an input, in order."""

    ranges: list[LineRange] = field(default_factory=list)

    def fetch(self, numbers: Iterable[int]) -> Iterator[FoundLine]:
        """Yield lines by their numbers in the whole input."""
        starts = [line_range.before for line_range in self.ranges]
        for number in sorted(numbers):
            line_range = self.ranges[bisect_right(starts, number - 1) - 1]
            own = number - line_range.before
            blocks = line_range.blocks
            block = bisect_right(blocks.lines, own) - 1
            with open_input(line_range.file) as stream:
                stream.seek(blocks.offsets[block])
                raw = next(islice(stream, own - blocks.lines[block], None), b"")
            yield FoundLine(number, raw, line_range.shown, line_range.before_in_file + own)


# Stored reports: baselines, accuracy reports, and both sides of a comparison.

MAX_BASELINE_BYTES: Final = 1024 * 1024 * 1024
"""A report of ten million items has some hundred megabytes."""


def read_stored_report(path: str | Path) -> JsonValue:
    """Return the JSON of a stored report."""
    return read_json_file(Path(path), MAX_BASELINE_BYTES)


def baseline_outcomes(name: str | None, kind: str) -> dict[str, bool | None] | None:
    """Return the outcomes of the items of a baseline; None without a baseline."""
    if name is None:
        return None
    from affidavit.gates.comparison import outcomes_from_report

    return outcomes_from_report(read_stored_report(name), kind, name)
