"""Rows of a CSV file, one by one, in whatever of three delimiters it was saved with.

Origin: RFC 4180, with what spreadsheets add: a byte order mark, semicolons or tabs. Quoted cells
may hold line feeds. A row with more or fewer cells than the header has is a broken row: its cells
would stand under the wrong names.
"""

import csv
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator
from io import BufferedReader
from typing import TYPE_CHECKING, Final

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.json_lines import read_lines

if TYPE_CHECKING:
    from _csv import Reader

DELIMITERS: Final = ",;\t"
MAX_LINE_BYTES: Final = 64 * 1024 * 1024
_SAMPLE_BYTES: Final = 64 * 1024


def delimiter_of(header: bytes) -> str:
    """Return the delimiter that a header line was written with: the one that it has most often."""
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
    """Return the names in the header of a table that was read, and has no rows."""
    return _names_of(next((cells for cells in _reader(stream) if cells), []), file, 1)


def _reader(stream: BufferedReader) -> "Reader":
    csv.field_size_limit(MAX_LINE_BYTES)
    header = stream.peek(_SAMPLE_BYTES).lstrip().partition(b"\n")[0]
    # A line feed is never a part of another letter in UTF-8, so lines are decoded one by one.
    lines = (raw.decode() for raw in read_lines(stream, MAX_LINE_BYTES))
    return csv.reader(lines, delimiter=delimiter_of(header), strict=True)


def _problem(said: str) -> str:
    """Say in other words what Python's reader says; its advice is for programmers."""
    if said.startswith("new-line"):
        return "a carriage return stands alone outside of quotes"
    return "a quoted cell has no end" if "end of data" in said else f"it is not CSV ({said})"


def not_utf8(error: UnicodeDecodeError, file: str) -> AffidavitError:
    """Say that a table is stored in another encoding; only spreadsheets' UTF-16 tells its own."""
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
    problem = f"it has {cells} cells, and the header has {names}"
    return AffidavitError(faults.IMPORT_ROW, Where(file, line), problem=problem)
