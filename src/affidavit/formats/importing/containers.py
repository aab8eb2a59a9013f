"""What a file is outside: JSON, JSON lines, CSV, Parquet or a zip. Its name says nothing."""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from io import BufferedReader
from types import MappingProxyType
from typing import Final

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.formats.importing.csv_text import csv_rows
from affidavit.formats.importing.json_text import has_lines, json_document, json_lines, skip_mark
from affidavit.formats.importing.parquet import parquet_rows

OnBad = Callable[[AffidavitError], None]

_HEAD_BYTES: Final = 4096
# What a file begins with that holds rows only for other programs.
_PACKED: Final[Mapping[bytes, tuple[str, str]]] = MappingProxyType(
    {
        b"\x1f\x8b": ("compressed with gzip", "unpack it first, with gunzip"),
        b"\x28\xb5\x2f\xfd": ("compressed with Zstandard", "unpack it first, with unzstd"),
        b"\xfd7zXZ\0": ("compressed with xz", "unpack it first, with unxz"),
        b"\xd0\xcf\x11\xe0": ("an Excel workbook", "save the sheet as CSV UTF-8"),
        b"%PDF-": ("a PDF", "name the file that the tool wrote for programs"),
        b"\x89PNG": ("an image", "name the file that the tool wrote for programs"),
        b"\xff\xd8\xff": ("an image", "name the file that the tool wrote for programs"),
    }
)


class Container(StrEnum):
    """How the rows of a file are written."""

    EMPTY = "empty"
    JSON = "JSON"
    JSON_LINES = "JSON lines"
    CSV = "CSV"
    PARQUET = "Parquet"
    ARCHIVE = "zip"


def container_of(stream: BufferedReader, file: str) -> Container:
    """Return what an open file is, and leave it at its start (behind a byte order mark)."""
    skip_mark(stream)
    start = stream.tell()
    head = stream.peek(_HEAD_BYTES).lstrip()
    for mark, (what, remedy) in _PACKED.items():
        if head.startswith(mark):
            raise AffidavitError(faults.IMPORT_PACKED, Where(file), what=what, remedy=remedy)
    if not head:
        found = Container.EMPTY if not stream.read().strip() else Container.JSON
    elif head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        found = Container.ARCHIVE
    elif head.startswith(b"PAR1"):
        found = Container.PARQUET
    elif head[:1] in (b"{", b"["):
        found = Container.JSON_LINES if has_lines(stream) else Container.JSON
    else:
        found = Container.CSV
    stream.seek(start)
    return found


def values_in(
    stream: BufferedReader, container: Container, file: str, on_bad: OnBad
) -> Iterator[tuple[int, object]]:
    """Yield what the file holds, each value with its line."""
    if container is Container.JSON:
        yield 1, json_document(stream, file)
    elif container is Container.JSON_LINES:
        yield from json_lines(stream, file, on_bad)
    elif container is Container.CSV:
        yield from csv_rows(stream, file, on_bad)
    elif container is Container.PARQUET:
        yield from parquet_rows(stream, file)
    elif container is Container.ARCHIVE:
        # Python's zip reader is a tenth of the time in which everything else starts.
        from affidavit.formats.importing.archive import samples_in

        yield from samples_in(stream, file, on_bad)
