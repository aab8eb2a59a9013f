"""Reads the rows of JSON, JSON lines, CSV, Parquet and Arrow files, recognised by their content.

Each file is read once, from its start to its end. All of them except JSON documents are read row by
row, also if they are compressed.
"""

import csv
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from io import BufferedReader
from itertools import chain, repeat
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias, cast

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.faults.input import (
    EXTRA_MISSING,
    FILE_TOO_LARGE,
    JSON_LONG_LINE,
    JSON_NUMBER_DOMAIN,
)
from affidavit.base.files import open_to_read
from affidavit.base.json_values import JsonLimits, JsonValue
from affidavit.base.strict_json import decode, read_lines
from affidavit.importers.packed import PACKED, data_files, unpacked

# About a hundred thousand rows: a promptfoo document has 3.7 kB per row.
DOCUMENT_LIMITS: Final = JsonLimits(
    max_bytes=512 * 1024 * 1024, max_depth=128, max_string=64 * 1024 * 1024
)
# One line of OTLP is a batch of spans with all their prompts.
JSON_LINE_LIMITS: Final = JsonLimits(
    max_bytes=64 * 1024 * 1024, max_depth=128, max_string=64 * 1024 * 1024
)
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


# Strings are consumed whole, so a word in a string is never taken for a number.
_TOKEN: Final = re.compile(
    rb'("[^"\\]*_unix_nano"\s*+:\s*+)([0-9]{16,19})(?![0-9.eE])'
    rb'|("[^"\\]*+(?:\\.[^"\\]*+)*+")|-?Infinity|NaN',
    re.DOTALL,
)


def decode_tool_json(raw: bytes, limits: JsonLimits, first_line: int = 1) -> JsonValue:
    """Return a JSON value as tools write it; NaN and Infinity are null.

    Python writes them for a metric that could not be computed. Times in nanoseconds, which MLflow
    writes as numbers beyond 2^53, are kept as texts. Everything else is decoded strictly.
    """
    try:
        return decode(raw, limits, first_line)
    except AffidavitError as error:
        if error.fault is not JSON_NUMBER_DOMAIN:
            raise
    return decode(_TOKEN.sub(_accepted, raw), limits, first_line)


def _accepted(token: re.Match[bytes]) -> bytes:
    if token[1]:
        return b'%b"%b"' % (token[1], token[2])
    return token[3] or b"null"


def skip_byte_order_mark(stream: BufferedReader) -> None:
    """Skip a byte order mark."""
    if stream.peek(len(BYTE_ORDER_MARK)).startswith(BYTE_ORDER_MARK):
        stream.read(len(BYTE_ORDER_MARK))


def json_document(raw: bytes, file: str, first_line: int) -> JsonValue:
    """Return the only value of a file."""
    if len(raw) > DOCUMENT_LIMITS.max_bytes:
        raise AffidavitError(FILE_TOO_LARGE, Where(file), limit=DOCUMENT_LIMITS.max_bytes)
    try:
        return decode_tool_json(raw, DOCUMENT_LIMITS, first_line)
    except AffidavitError as error:
        raise error.at(file=file) from None


def json_lines(
    lines: Iterable[bytes], file: str, on_bad: Callable[[AffidavitError], None]
) -> Iterator[tuple[int, JsonValue]]:
    """Yield the value of each line that is not blank, with the line's number."""
    number = 0
    for number, raw in enumerate(lines, 1):
        text = raw.strip()
        if len(raw) > JSON_LINE_LIMITS.max_bytes and not raw.endswith(b"\n"):
            # The start of the next line is unknown.
            limit = JSON_LINE_LIMITS.max_bytes
            raise AffidavitError(JSON_LONG_LINE, Where(file, number), limit=limit)
        if text:
            try:
                value = decode_tool_json(text, JSON_LINE_LIMITS, number)
            except AffidavitError as error:
                on_bad(error.at(file=file, line=number))
            else:
                yield number, value


def _json_contents(stream: BufferedReader, file: str, on_bad: "OnBad") -> "Contents":
    """Return JSON lines if the first line is a whole object and another line follows.

    A single line is a document, because a document may be longer than a line may be.
    """
    lines = iter(partial(stream.readline, JSON_LINE_LIMITS.max_bytes + 1), b"")
    blank, first = _skip_blank(lines)
    text = first.strip()
    if not text:
        return Contents(Container.EMPTY, iter(()))
    if text.startswith(b"{") and text.endswith(b"}"):
        more, second = _skip_blank(lines)
        if second:
            read = chain(repeat(b"", blank), (first,), repeat(b"", more), (second,))
            return Contents(Container.JSON_LINES, json_lines(chain(read, lines), file, on_bad))
    raw = first + stream.read(max(0, DOCUMENT_LIMITS.max_bytes + 1 - len(first)))
    value = rows_from_columns(json_document(raw, file, blank + 1))
    return Contents(Container.JSON, iter([(1, value)]))


def _skip_blank(lines: Iterator[bytes]) -> tuple[int, bytes]:
    """Return how many blank lines there are, and the line after them; b"" at the end."""
    for number, line in enumerate(lines):
        if line.strip():
            return number, line
    return 0, b""


# CSV: RFC 4180, with the byte order marks, semicolons and tabs of spreadsheets. Quoted cells may
# contain line feeds. A row with more or fewer cells than the header is bad, because its cells would
# be under the wrong names.

DELIMITERS: Final = ",;\t"
MAX_LINE_BYTES: Final = 64 * 1024 * 1024
_SAMPLE_BYTES: Final = 64 * 1024


def delimiter_of(header: bytes) -> str:
    """Return the delimiter of a header line: the one that occurs most often."""
    return max(DELIMITERS, key=lambda delimiter: header.count(delimiter.encode()))


def csv_rows(
    stream: BufferedReader, file: str, on_bad: Callable[[AffidavitError], None], names: list[str]
) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield each row with the line on which it starts; an empty cell is a null.

    `names` gets the names in the header, even if the table has no rows.
    """
    csv.field_size_limit(MAX_LINE_BYTES)
    header = stream.peek(_SAMPLE_BYTES).lstrip().partition(b"\n")[0]
    # In UTF-8 a line feed is never part of another character, so lines are decoded one by one.
    lines = map(bytes.decode, read_lines(stream, MAX_LINE_BYTES))
    reader = csv.reader(lines, delimiter=delimiter_of(header), strict=True)
    line = 1
    try:
        for cells in reader:
            if not names:
                names += _names_of(cells, file, line)
            elif len(cells) == len(names):
                yield line, {name: cell or None for name, cell in zip(names, cells, strict=True)}
            elif cells:
                on_bad(_uneven(len(cells), len(names), file, line))
            line = reader.line_num + 1
    except UnicodeDecodeError as error:
        raise not_utf8(error, file) from None
    except AffidavitError as error:
        raise error.at(file=file) from None
    except csv.Error as error:
        raise AffidavitError(
            faults.IMPORT_ROW, Where(file, line), problem=_problem(str(error))
        ) from None


def _problem(message: str) -> str:
    """Return a message of Python's reader, which is for programmers, in words for users."""
    if message.startswith("new-line"):
        return "lone carriage return outside of quotes"
    return "a quoted cell has no end" if "end of data" in message else f"it is not CSV ({message})"


def not_utf8(error: UnicodeDecodeError, file: str) -> AffidavitError:
    """Return the error for a table in another encoding; only UTF-16 can be recognised."""
    byte = error.object[error.start]
    encoding = "UTF-16" if error.object.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "WINDOWS-1252"
    return AffidavitError(
        faults.IMPORT_ENCODING, Where(file), byte=f"0x{byte:02x}", encoding=encoding
    )


def _names_of(cells: list[str], file: str, line: int) -> list[str]:
    names = [cell.strip() for cell in cells]
    twice = next((name for name in names if name and names.count(name) > 1), None)
    if twice is not None:
        problem = "two columns have this name"
        raise AffidavitError(faults.IMPORT_ROW, Where(file, line, twice), problem=problem)
    return names


def _uneven(cells: int, names: int, file: str, line: int) -> AffidavitError:
    problem = f"it has {cells} cells; the header has {names}"
    return AffidavitError(faults.IMPORT_ROW, Where(file, line), problem=problem)


_BATCH_ROWS: Final = 1000


def rows_from_columns(value: JsonValue) -> JsonValue:
    """Return the rows of a table that is stored by columns; return any other value unchanged.

    There are three such forms: `to_json` of pandas by default (every column is an object with the
    same row numbers), with `orient="split"`, as MLflow writes it (`columns` and `data`), and an
    object of lists of equal lengths.
    """
    if not isinstance(value, dict) or not value:
        return value
    if isinstance(value.get("columns"), list) and isinstance(value.get("data"), list):
        return _rows_from_split(value)
    columns = [_cells(column) for column in value.values()]
    if any(column is None or column.keys() != (columns[0] or {}).keys() for column in columns):
        return value
    by_name = dict(zip(value, cast(list[dict[str, JsonValue]], columns), strict=True))
    return [
        {name: column[number] for name, column in by_name.items()}
        for number in next(iter(by_name.values()))
    ]


def _rows_from_split(value: dict[str, JsonValue]) -> JsonValue:
    names, data = cast(list[JsonValue], value["columns"]), cast(list[JsonValue], value["data"])
    if not all(isinstance(cells, list) and len(cells) == len(names) for cells in data):
        return value
    return [
        dict(zip(map(str, names), cells, strict=True)) for cells in data if isinstance(cells, list)
    ]


def _cells(column: JsonValue) -> dict[str, JsonValue] | None:
    """Return the cells of a column by their row numbers; None if it is not a column.

    A list of objects is not a column but the rows themselves, in an object about them.
    """
    if isinstance(column, dict):
        return column if all(map(str.isdecimal, column)) else None
    if isinstance(column, list) and column and not isinstance(column[0], dict):
        return {str(number): cell for number, cell in enumerate(column)}
    return None


def arrow_rows(
    stream: BufferedReader, file: str, container: "Container"
) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield each row with its number, from Parquet or Arrow."""
    try:
        import pyarrow
        from pyarrow import ipc, parquet
    except ImportError:
        raise AffidavitError(
            EXTRA_MISSING, feature=f"reading {container}", package="pyarrow", extra="parquet"
        ) from None
    batches: Iterable[Any]
    number = 0
    try:
        if container is Container.PARQUET:
            batches = parquet.ParquetFile(stream).iter_batches(batch_size=_BATCH_ROWS)
        elif container is Container.ARROW:
            opened = ipc.open_file(stream)
            batches = map(opened.get_batch, range(opened.num_record_batches))
        else:
            batches = ipc.open_stream(stream)
        for batch in batches:
            # A file may be one batch; as Python values it would be many times as large.
            for start in range(0, batch.num_rows, _BATCH_ROWS):
                for row in batch.slice(start, _BATCH_ROWS).to_pylist():
                    number += 1
                    yield number, row
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise AffidavitError(
            faults.IMPORT_BROKEN, Where(file), reason=f"it cannot be read as {container} ({reason})"
        ) from None


OnBad: TypeAlias = Callable[[AffidavitError], None]

_HEAD_BYTES: Final = 4096
_UNPACK: Final = "unpack it first"
_EXPORT: Final = "give the file that the tool exports as data"
# The first bytes of formats that cannot be imported.
_UNREADABLE: Final[Mapping[bytes, tuple[str, str]]] = MappingProxyType(
    {
        b"\xd0\xcf\x11\xe0": ("an Excel workbook", "save the sheet as CSV UTF-8"),
        b"%PDF-": ("a PDF", _EXPORT),
        b"\x89PNG": ("an image", _EXPORT),
        b"\xff\xd8\xff": ("an image", _EXPORT),
    }
)


class Container(StrEnum):
    """The file format that contains the rows."""

    EMPTY = "empty"
    JSON = "JSON"
    JSON_LINES = "JSON lines"
    CSV = "CSV"
    PARQUET = "Parquet"
    ARROW = "Arrow"
    ARROW_STREAM = "an Arrow stream"
    ARCHIVE = "zip"


# The first bytes of formats that are not text. Those that are read from their end cannot be read
# while they are unpacked.
_BINARY: Final[Mapping[bytes, Container]] = MappingProxyType(
    {
        b"PK\x03\x04": Container.ARCHIVE,
        b"PK\x05\x06": Container.ARCHIVE,
        b"PAR1": Container.PARQUET,
        b"ARROW1": Container.ARROW,
        b"\xff\xff\xff\xff": Container.ARROW_STREAM,
    }
)


@dataclass(frozen=True, slots=True)
class Contents:
    """The values of an open file, each with its line, or with its number if it has no lines."""

    container: Container
    values: Iterator[tuple[int, object]]
    is_packed: bool = False
    names: list[str] = field(default_factory=list)
    """The columns of a table, once the first row was asked for."""

    @property
    def has_lines(self) -> bool:
        """Whether each value has a line of its own."""
        return self.container in (Container.JSON_LINES, Container.CSV)


@contextmanager
def open_contents(path: str | Path, file: str, on_bad: OnBad) -> Iterator[Contents]:
    """Open a file, or a folder of Arrow files, to be read once; `file` is its name in messages."""
    if Path(path).is_dir():
        yield Contents(Container.ARROW_STREAM, _rows_in_folder(Path(path), file))
        return
    with open_to_read(path) as stream:
        method = next((one for one in PACKED if _starts_with(stream, one)), None)
        if method is None:
            yield _contents(stream, file, on_bad)
            return
        with unpacked(stream, PACKED[method], file) as plain:
            yield replace(_contents(plain, file, on_bad, PACKED[method]), is_packed=True)


def _starts_with(stream: BufferedReader, mark: bytes) -> bool:
    return stream.peek(len(mark)).startswith(mark)


def _contents(
    stream: BufferedReader, file: str, on_bad: OnBad, packed: str | None = None
) -> Contents:
    skip_byte_order_mark(stream)
    head = stream.peek(_HEAD_BYTES).lstrip()
    found = next((one for mark, one in _BINARY.items() if head.startswith(mark)), None)
    _check_readable(head, found, packed, file)
    if found is Container.ARCHIVE:
        return Contents(found, _archived(stream, file, on_bad))
    if found is not None:
        return Contents(found, arrow_rows(stream, file, found))
    if head[:1] in (b"{", b"["):
        return _json_contents(stream, file, on_bad)
    if head:
        names: list[str] = []
        return Contents(Container.CSV, csv_rows(stream, file, on_bad, names), names=names)
    return _json_contents(stream, file, on_bad)  # It is empty, or has many blank lines.


def _check_readable(head: bytes, found: Container | None, packed: str | None, file: str) -> None:
    """Refuse a file whose rows cannot be read, by its first bytes."""
    named = next((said for mark, said in _UNREADABLE.items() if head.startswith(mark)), None)
    if packed is not None and any(head.startswith(mark) for mark in PACKED):
        named = "compressed twice", _UNPACK
    elif packed is not None and found is not None and found is not Container.ARROW_STREAM:
        named = f"{found} compressed with {packed}", _UNPACK
    elif named is None and found is None and b"\0\0" in head:
        named = "not text", _EXPORT
    if named is not None:
        raise AffidavitError(faults.IMPORT_PACKED, Where(file), what=named[0], remedy=named[1])


def _rows_in_folder(folder: Path, file: str) -> Iterator[tuple[int, object]]:
    for path in data_files(folder, file):
        with open_to_read(path) as stream:
            yield from arrow_rows(stream, str(path), Container.ARROW_STREAM)


def _archived(stream: BufferedReader, file: str, on_bad: OnBad) -> Iterator[tuple[int, object]]:
    # Importing zipfile takes a tenth of the start-up time.
    from affidavit.importers.inspect_log import SAMPLE, members_in

    for number, (name, raw) in enumerate(members_in(stream, file)):
        try:
            value = decode_tool_json(raw, SAMPLE)
        except AffidavitError as error:
            on_bad(error.at(file=f"{file}:{name}"))
        else:
            # The first member is the header, whatever it contains.
            yield number, value if number else {"eval": {}, **as_mapping(value)}


def as_mapping(value: JsonValue) -> dict[str, JsonValue]:
    """Return an object; anything else is an empty one."""
    return value if isinstance(value, dict) else {}
