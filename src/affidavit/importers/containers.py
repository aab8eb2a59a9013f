"""Reads the rows of JSON, JSON lines, CSV and Parquet files, recognised by their content."""

import csv
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from io import BufferedReader
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.faults.input import EXTRA_MISSING, FILE_TOO_LARGE, JSON_NUMBER_DOMAIN
from affidavit.base.json_values import JsonLimits, JsonValue
from affidavit.base.strict_json import decode, read_lines

if TYPE_CHECKING:
    from _csv import Reader


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
_TOKEN: Final = re.compile(rb'("[^"\\]*+(?:\\.[^"\\]*+)*+")|-?Infinity|NaN', re.DOTALL)


def decode_tool_json(raw: bytes, limits: JsonLimits, first_line: int = 1) -> JsonValue:
    """Return a JSON value as tools write it; NaN and Infinity are null.

    Python writes them for a metric that could not be computed. Everything else is decoded strictly.
    """
    try:
        return decode(raw, limits, first_line)
    except AffidavitError as error:
        if error.fault is not JSON_NUMBER_DOMAIN:
            raise
    return decode(_TOKEN.sub(lambda token: token[1] or b"null", raw), limits, first_line)


def skip_byte_order_mark(stream: BufferedReader) -> None:
    """Skip a byte order mark."""
    if stream.peek(len(BYTE_ORDER_MARK)).startswith(BYTE_ORDER_MARK):
        stream.read(len(BYTE_ORDER_MARK))


def has_lines(stream: BufferedReader) -> bool:
    """Say whether the first line is a whole object and another line follows.

    A single line counts as a document, because a document may be longer than a line may be.
    """
    first = stream.readline(JSON_LINE_LIMITS.max_bytes).strip()
    while not first and stream.peek(1):
        first = stream.readline(JSON_LINE_LIMITS.max_bytes).strip()
    if not (first.startswith(b"{") and first.endswith(b"}")):
        return False
    return any(
        line.strip() for line in iter(lambda: stream.readline(JSON_LINE_LIMITS.max_bytes), b"")
    )


def json_document(stream: BufferedReader, file: str) -> JsonValue:
    """Return the only value of a file."""
    raw = stream.read(DOCUMENT_LIMITS.max_bytes + 1)
    if len(raw) > DOCUMENT_LIMITS.max_bytes:
        raise AffidavitError(FILE_TOO_LARGE, Where(file), limit=DOCUMENT_LIMITS.max_bytes)
    try:
        return decode_tool_json(raw, DOCUMENT_LIMITS)
    except AffidavitError as error:
        raise error.at(file=file) from None


def json_lines(
    stream: BufferedReader, file: str, on_bad: Callable[[AffidavitError], None]
) -> Iterator[tuple[int, JsonValue]]:
    """Yield the value of each line that is not blank, with the line's number."""
    lines = read_lines(stream, JSON_LINE_LIMITS.max_bytes)
    number = 0
    while True:
        try:
            raw = next(lines, None)
        except AffidavitError as error:  # Too long: the start of the next line is unknown.
            raise error.at(file=file) from None
        if raw is None:
            return
        number += 1
        text = raw.strip()
        if text:
            try:
                value = decode_tool_json(text, JSON_LINE_LIMITS, number)
            except AffidavitError as error:
                on_bad(error.at(file=file, line=number))
            else:
                yield number, value


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
    stream: BufferedReader, file: str, on_bad: Callable[[AffidavitError], None]
) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield each row with the line on which it starts; an empty cell is a null."""
    reader = _reader(stream)
    line = 1
    names: list[str] = []
    try:
        for cells in reader:
            if not names:
                names = _names_of(cells, file, line)
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


def csv_names(stream: BufferedReader, file: str) -> list[str]:
    """Return the names in the header of a table without rows."""
    return _names_of(next((cells for cells in _reader(stream) if cells), []), file, 1)


def _reader(stream: BufferedReader) -> "Reader":
    csv.field_size_limit(MAX_LINE_BYTES)
    header = stream.peek(_SAMPLE_BYTES).lstrip().partition(b"\n")[0]
    # In UTF-8 a line feed is never part of another character, so lines are decoded one by one.
    lines = (raw.decode() for raw in read_lines(stream, MAX_LINE_BYTES))
    return csv.reader(lines, delimiter=delimiter_of(header), strict=True)


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
    """Return the rows of a table that is stored by columns, as `to_json` of pandas does by default.

    Every column is an object with the same row numbers. Any other value is returned unchanged.
    """
    if not isinstance(value, dict) or not value:
        return value
    columns = [column for column in value.values() if isinstance(column, dict)]
    if len(columns) < len(value) or any(column.keys() != columns[0].keys() for column in columns):
        return value
    if not all(number.isdecimal() for number in columns[0]):
        return value
    return [
        {name: column[number] for name, column in zip(value, columns, strict=True)}
        for number in columns[0]
    ]


def parquet_rows(
    stream: BufferedReader, file: str, *, is_arrow: bool = False
) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield each row with its number, from Parquet or from an Arrow file."""
    try:
        import pyarrow
        from pyarrow import ipc, parquet
    except ImportError:
        raise AffidavitError(
            EXTRA_MISSING, feature="reading Parquet", package="pyarrow", extra="parquet"
        ) from None
    number = 0
    try:
        for batch in (
            _arrow_batches(ipc.open_file(stream))
            if is_arrow
            else parquet.ParquetFile(stream).iter_batches(batch_size=_BATCH_ROWS)
        ):
            for row in batch.to_pylist():
                number += 1
                yield number, row
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise AffidavitError(
            faults.IMPORT_BROKEN,
            Where(file),
            reason=f"it cannot be read as {'Arrow' if is_arrow else 'Parquet'} ({reason})",
        ) from None


def _arrow_batches(opened: Any) -> Iterator[Any]:
    for number in range(opened.num_record_batches):
        yield opened.get_batch(number)


OnBad = Callable[[AffidavitError], None]

_HEAD_BYTES: Final = 4096
# The first bytes of formats that cannot be imported.
_PACKED: Final[Mapping[bytes, tuple[str, str]]] = MappingProxyType(
    {
        b"\x1f\x8b": ("compressed with gzip", "unpack it first, with gunzip"),
        b"\x28\xb5\x2f\xfd": ("compressed with Zstandard", "unpack it first, with unzstd"),
        b"\xfd7zXZ\0": ("compressed with xz", "unpack it first, with unxz"),
        b"\xd0\xcf\x11\xe0": ("an Excel workbook", "save the sheet as CSV UTF-8"),
        b"%PDF-": ("a PDF", "give the file that the tool exports as data"),
        b"\x89PNG": ("an image", "give the file that the tool exports as data"),
        b"\xff\xd8\xff": ("an image", "give the file that the tool exports as data"),
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
    ARCHIVE = "zip"


def container_of(stream: BufferedReader, file: str) -> Container:
    """Return the container of an open file, and rewind it to behind a byte order mark."""
    skip_byte_order_mark(stream)
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
    elif head.startswith(b"ARROW1"):
        found = Container.ARROW
    elif head[:1] in (b"{", b"["):
        found = Container.JSON_LINES if has_lines(stream) else Container.JSON
    else:
        found = Container.CSV
    stream.seek(start)
    return found


def values_in(
    stream: BufferedReader, container: Container, file: str, on_bad: OnBad
) -> Iterator[tuple[int, object]]:
    """Yield the values of a file, each with its line."""
    if container is Container.JSON:
        yield 1, rows_from_columns(json_document(stream, file))
    elif container is Container.JSON_LINES:
        yield from json_lines(stream, file, on_bad)
    elif container is Container.CSV:
        yield from csv_rows(stream, file, on_bad)
    elif container in (Container.PARQUET, Container.ARROW):
        yield from parquet_rows(stream, file, is_arrow=container is Container.ARROW)
    elif container is Container.ARCHIVE:
        yield from _archived(stream, file, on_bad)


def _archived(stream: BufferedReader, file: str, on_bad: OnBad) -> Iterator[tuple[int, object]]:
    # Importing zipfile takes a tenth of the start-up time.
    from affidavit.importers.inspect_archive import SAMPLE, members_in

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
