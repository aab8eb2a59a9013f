"""Finds the receipts in files, folders and JSON lines, and reports an input that cannot be read."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final, Literal, TypeVar

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.exits import Exit
from affidavit.base.faults.input import FILE_UNREADABLE
from affidavit.base.files import is_folder, open_to_read, read_bounded
from affidavit.base.json_values import DOCUMENT_LIMITS
from affidavit.base.strict_json import decode, read_lines, split_lines

# What should have been verified and could not be read: an outcome like any other, never a yes.


@dataclass(frozen=True, slots=True)
class UnreadableInput:
    """What should have been a receipt or a bundle, and why it could not be read as one."""

    kind: Literal["receipt", "bundle"]
    name: str
    error: AffidavitError

    @property
    def exit(self) -> Exit:
        """Never a yes."""
        return self.error.fault.exit

    def as_wire(self) -> dict[str, object]:
        """Return the outcome as machines get it."""
        error = self.error.as_wire()
        return {self.kind: self.name, "valid": False, "exit": int(self.exit), "error": error}


# Where receipts lie: files, folders of them, and JSON lines with a receipt each.

LINE_ENDINGS: Final = (".jsonl", ".ndjson")
WHITE_SPACE: Final = b" \t\r\n"
_ENDINGS: Final = (".json", *LINE_ENDINGS)
_MAX_BYTES: Final = DOCUMENT_LIMITS.max_bytes

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class ReceiptInput:
    """One receipt to read: a file, or one line of a file, which is already in hand."""

    file: str
    line: int | None = None
    raw: bytes | None = None

    @property
    def name(self) -> str:
        """What the user knows it by."""
        return self.file if self.line is None else f"{self.file}:{self.line}"

    def content(self) -> bytes:
        """Return its bytes."""
        return read_bounded(self.file, _MAX_BYTES) if self.raw is None else self.raw


def receipt_inputs_in(files: Iterable[Path]) -> Iterator[ReceiptInput]:
    """Yield a subject for each receipt of some files, in order; lines are read as they are used."""
    for path in files:
        if path.suffix.lower() in LINE_ENDINGS:
            yield from _lines_of(path)
        else:
            yield ReceiptInput(str(path))


def receipt_inputs_from(raw: bytes, name: str) -> list[ReceiptInput]:
    """Return the receipts of standard input: one document, or one on each line."""
    lines = split_lines(raw)
    if len(lines) < 2 or not _is_document(lines[0]):
        return [ReceiptInput(name, None, raw)]
    return [
        ReceiptInput(name, number, line)
        for number, line in enumerate(lines, 1)
        if line.strip(WHITE_SPACE)
    ]


def files_in(paths: Iterable[Path]) -> list[Path]:
    """Return the files that are meant: those named, and those of folders that end as receipts do.

    What is hidden below a folder is not looked at, and links to folders are not followed.
    """
    return [file for path in paths for file in (_below(path) if is_folder(path) else (path,))]


def in_batches(items: Iterable[Item], size: int) -> Iterator[tuple[Item, ...]]:
    """Yield the items in portions, so that handing one to a process is worth its price."""
    rest = iter(items)
    while portion := tuple(islice(rest, size)):
        yield portion


def _refuse(error: OSError) -> None:
    reason = (error.strerror or str(error)).lower()
    raise AffidavitError(FILE_UNREADABLE, Where(file=str(error.filename)), reason=reason) from error


def _below(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder, onerror=_refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith(".") and name.lower().endswith(_ENDINGS):
                yield Path(place, name)


def _lines_of(path: Path) -> Iterator[ReceiptInput]:
    with open_to_read(path) as stream:
        try:
            for number, line in enumerate(read_lines(stream, _MAX_BYTES), 1):
                if line.strip(WHITE_SPACE):
                    yield ReceiptInput(str(path), number, line)
        except AffidavitError as error:
            raise error.at(file=str(path)) from None


def _is_document(line: bytes) -> bool:
    try:
        return isinstance(decode(line), dict)
    except AffidavitError:
        return False
