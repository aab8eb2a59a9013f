"""What a file is outside: JSON, JSON lines, CSV, Parquet or a zip. Its name says nothing."""

from collections.abc import Callable, Iterator
from enum import StrEnum
from io import BufferedReader
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.formats.importing.csv_text import csv_rows
from affidavit.formats.importing.json_text import has_lines, json_document, json_lines, skip_mark
from affidavit.formats.importing.parquet import parquet_rows

OnBad = Callable[[AffidavitError], None]

_HEAD_BYTES: Final = 4096


class Container(StrEnum):
    """How the rows of a file are written."""

    EMPTY = "empty"
    JSON = "JSON"
    JSON_LINES = "JSON lines"
    CSV = "CSV"
    PARQUET = "Parquet"
    ARCHIVE = "zip"


def container_of(stream: BufferedReader) -> Container:
    """Return what an open file is, and leave it at its start (behind a byte order mark)."""
    skip_mark(stream)
    start = stream.tell()
    head = stream.peek(_HEAD_BYTES).lstrip()
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
