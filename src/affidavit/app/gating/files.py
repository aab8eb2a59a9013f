"""Files of JSON lines, read in blocks of whole lines: flat in memory, digested on the way.

A block is what the decoders are quickest with, about a thousand lines. Its place (`offset`) is
counted over all files of one input, so a row can be found again without keeping the rows.
"""

import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeVar

from affidavit.app.gating.blocks import Block, OnBad, Stream, blocks_of
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults.input import FILE_MISSING, FILE_UNREADABLE
from affidavit.base.files import is_there, open_to_read
from affidavit.gates.report import Input
from affidavit.gates.tally import LISTED

Row = TypeVar("Row")
RowsOf = Callable[[bytes, int, str | None, OnBad], Iterator[tuple[int, Row]]]

STANDARD_INPUT: Final = "-"
_MAGIC: Final = frozenset("*?[")


@dataclass(slots=True)
class BadLines:
    """What becomes of lines that are no rows: the first one stops, or all are counted."""

    skip: bool = False
    count: int = 0
    first: list[AffidavitError] = field(default_factory=list)

    def __call__(self, error: AffidavitError) -> None:
        """Take note of a line that is no row, or stop at it."""
        if not self.skip:
            raise error
        self.count += 1
        if len(self.first) < LISTED:
            self.first.append(error)

    def said(self) -> tuple[str, ...]:
        """Return the first of them: where each stands, and what is wrong with it."""
        return tuple(f"{error.where}: {error.message} ({error.fault.code})" for error in self.first)


class Digested:
    """The size and the digest of bytes that come in pieces."""

    def __init__(self) -> None:
        self._sha256 = hashlib.sha256()
        self.size = 0

    def __call__(self, piece: bytes) -> None:
        """Take the next piece."""
        self.size += len(piece)
        self._sha256.update(piece)

    @property
    def digest(self) -> str:
        """The digest of all pieces."""
        return f"sha256:{self._sha256.hexdigest()}"


class Lines:
    """The lines of one input: a file, several, or standard input.

    After the blocks were read to their end, `as_input` has the digest and the counts.
    """

    def __init__(self, role: str, names: Iterable[str], bad: BadLines | None = None) -> None:
        self.role = role
        self.given = tuple(names)
        self.files = files_named(self.given)
        self._bad = BadLines() if bad is None else bad
        self._digests: list[str] = []
        self.rows_read = 0

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks of all files in order."""
        self._digests = []
        offset = 0
        for name in self.files:
            seen = Digested()
            with opened(name) as stream:
                for block in blocks_of(stream, shown_name(name), self._bad, seen):
                    yield replace(block, offset=offset + block.offset)
            offset += seen.size
            self._digests.append(seen.digest)

    def rows(self, rows_of: RowsOf[Row]) -> Iterator[tuple[int, Row]]:
        """Yield the rows with their lines, read by a row reader's `from_chunk`."""
        for block in self.blocks():
            for line, row in rows_of(block.raw, block.first_line, block.file, self._bad):
                self.rows_read += 1
                yield line, row

    def as_input(self, rows: int | None = None) -> Input:
        """Return what a report says of this input."""
        return Input(
            self.role,
            ", ".join(map(shown_name, self.given)),
            digest_of_files(self._digests),
            self.rows_read if rows is None else rows,
            self._bad.count,
            self._bad.said(),
        )


def digest_of_files(digests: list[str]) -> str | None:
    """Return the digest of an input: a file's own, or of several files the digest of the list."""
    if len(digests) == 1:
        return digests[0]
    listed = "".join(f"{digest}\n" for digest in digests)
    return f"sha256:{hashlib.sha256(listed.encode()).hexdigest()}" if digests else None


def files_named(names: Iterable[str]) -> tuple[str, ...]:
    """Return the files that names and patterns stand for; a pattern's files in their order.

    A file that is there is itself, also if its name looks like a pattern.
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
    except (OSError, ValueError) as error:  # A folder that goes away, or `**` within a name.
        where = Where(file=str(pattern))
        raise AffidavitError(FILE_UNREADABLE, where, reason=_reason(error)) from None


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return "no file can have this name"


def shown_name(name: str) -> str:
    """Return a file's name as a report has it; bytes that are no text become escapes."""
    if name == STANDARD_INPUT:
        return "standard input"
    return name.encode("utf-8", "backslashreplace").decode()


@contextmanager
def opened(name: str) -> Iterator[Stream]:
    """Open a file, or standard input; a standard input that is closed is empty."""
    if name == STANDARD_INPUT:
        if sys.stdin is None:
            raise AffidavitError(FILE_MISSING, Where(file="standard input"))
        yield sys.stdin.buffer
        return
    with open_to_read(name) as stream:
        yield stream
