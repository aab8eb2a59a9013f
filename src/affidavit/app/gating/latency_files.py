"""Measured latencies from JSON lines or CSV, told by the first letter of a file.

The CSV is the one of the latency page: a head with `e2e_ms`, stages, and `knobs` as JSON. Its
writer puts the head before every run that it appends, so a line that repeats it is no row.
"""

import csv
from codecs import BOM_UTF8
from collections.abc import Iterator
from typing import Final

from affidavit.app.gating.blocks import Block, OnBad
from affidavit.app.gating.files import Lines
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.json_lines import split_lines
from affidavit.base.places import excerpt
from affidavit.base.plain_numbers import number_in
from affidavit.base.strict_json import decode
from affidavit.formats.importing.csv_text import delimiter_of
from affidavit.gates.latency import (
    STAGES,
    LatencyV1,
    latencies_from_chunk,
    latency_from_value,
)

_NUMBERS: Final = frozenset({"e2e_ms", "rps", *STAGES})
_TEXTS: Final = frozenset({"qid", "config", "fault"})


def latencies(lines: Lines, bad: OnBad) -> Iterator[LatencyV1]:
    """Yield the rows of all files, and count them."""
    table: _Table | None = None
    for block in lines.blocks():
        if block.first_line == 1:
            table = None if _is_json(block.raw) else _Table(block.file, bad)
        rows = (
            (row for _, row in latencies_from_chunk(block.raw, block.first_line, block.file, bad))
            if table is None
            else table.rows(block)
        )
        for row in rows:
            lines.rows_read += 1
            yield row


def _is_json(raw: bytes) -> bool:
    """Tell JSON lines from a table; a byte order mark does not decide, and nothing is no table."""
    return raw.removeprefix(BOM_UTF8).lstrip()[:1] in (b"{", b"")


class _Table:
    """A CSV file: its head, which says what stands between the cells, and the rows of each block.

    Spreadsheets write semicolons or tabs where commas stand in numbers.
    """

    def __init__(self, file: str, bad: OnBad) -> None:
        self._file = file
        self._bad = bad
        self._head: list[str] | None = None
        self._delimiter = ""

    def rows(self, block: Block) -> Iterator[LatencyV1]:
        for line, raw in enumerate(split_lines(block.raw), block.first_line):
            if not raw.strip():
                continue
            try:
                cells = self._cells(raw.decode("utf-8-sig" if line == 1 else "utf-8"), line)
                if self._head is None:
                    self._head = self._known_head(cells, line)
                elif [cell.strip() for cell in cells] != self._head:
                    yield latency_from_value(self._fields(cells, line), line, self._file)
            except UnicodeDecodeError:
                self._bad(self._wrong("the line is not text in UTF-8", line))
            except AffidavitError as error:
                self._bad(error)

    def _cells(self, text: str, line: int) -> list[str]:
        if self._head is None and text.startswith("["):
            raise self._wrong("it begins a list; write one object on each line instead", line)
        self._delimiter = self._delimiter or delimiter_of(text.encode())
        try:
            return next(csv.reader([text], delimiter=self._delimiter, strict=True))
        except csv.Error as error:
            raise self._wrong(f"the line is not CSV: {error}", line) from None

    def _known_head(self, cells: list[str], line: int) -> list[str]:
        names = [cell.strip() for cell in cells]
        twice = next((name for name in names if name and names.count(name) > 1), None)
        if twice is not None:
            raise self._wrong("two columns have this name", line, excerpt(twice))
        if "e2e_ms" not in names:
            found = excerpt(", ".join(names))
            raise self._wrong(f"the file has no column e2e_ms; its columns are {found}", line)
        return names

    def _fields(self, cells: list[str], line: int) -> dict[str, object]:
        head = self._head or []
        if len(cells) != len(head):
            raise self._wrong(f"the line has {len(cells)} cells, and the head {len(head)}", line)
        fields: dict[str, object] = {}
        for name, cell in zip(head, cells, strict=True):
            text = cell.strip()
            if text and name in _NUMBERS:
                fields[name] = self._number(text, name, line)
            elif text and name in _TEXTS:
                fields[name] = text
            elif text and name == "knobs":
                fields[name] = self._knobs(text, line)
        return fields

    def _number(self, text: str, name: str, line: int) -> float:
        number = number_in(text)
        if number is None:
            raise self._wrong(f"{excerpt(text)!r} is not a number", line, name)
        return number

    def _knobs(self, text: str, line: int) -> object:
        try:
            return decode(text.encode())
        except AffidavitError as error:
            raise self._wrong(error.message, line, "knobs") from None

    def _wrong(self, problem: str, line: int, field: str | None = None) -> AffidavitError:
        where = Where(file=self._file, line=line, field=field)
        return AffidavitError(faults.LATENCY_ROW, where, problem=problem)
