"""Parses the rows of tables in passages: `| Plan: Annual; price: 20 EUR. |` (docs/adr/0023).

Lines of assignments below each other, `rate = 4.5`, are a table too: a name and its value each.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from affidavit.ledger.model import Span

ROW: Final = re.compile(r"^\| (.*\S) \|[ \t]*$", re.M)
# Possessive, and up to a space: a line can be read in one way only.
_PAIR: Final = r"[^\s=][^=\n]{0,40}?[ \t]=[ \t][^\s=]++(?!\S)"
_ASSIGNMENTS: Final = re.compile(rf"^(?:{_PAIR}[ \t]*)+$", re.M)
_LEAST_ASSIGNMENTS: Final = 2
_VALUE_COLUMN: Final = "value"


class RowCell(NamedTuple):
    """A cell and the name of its column."""

    column: str
    """Empty for the name of the row."""
    text: str


class ParsedRow(NamedTuple):
    """A row, with the passage and the place in it where it stands."""

    cells: tuple[RowCell, ...]
    passage: int
    span: Span
    text: str


class ParsedTable(NamedTuple):
    """Rows that share their columns."""

    rows: tuple[ParsedRow, ...]
    columns: tuple[str, ...]


def has_rows(passage: str) -> bool:
    """Tell whether a passage has rows of a table."""
    return ROW.search(passage) is not None


def parse_tables(passages: Sequence[str]) -> list[ParsedTable]:
    """Return the tables, in order; rows with the columns of an earlier table go on with it."""
    tables: list[list[ParsedRow]] = []
    for number, passage in enumerate(passages):
        lines: list[ParsedRow] = []
        end = -1
        for found in ROW.finditer(passage):
            line = ParsedRow((), number, Span(*found.span()), found[0].rstrip())
            if lines and passage[end : found.start()].strip():
                _add_rows(tables, lines)
                lines = []
            lines.append(line)
            end = found.end()
        _add_rows(tables, lines)
        tables.extend(_assignments(number, passage))
    return [
        ParsedTable(
            tuple(rows), tuple(dict.fromkeys(cell.column for row in rows for cell in row.cells))
        )
        for rows in tables
    ]


def _assignments(number: int, passage: str) -> Iterator[list[ParsedRow]]:
    """Yield the runs of assignments that stand below each other."""
    run: list[ParsedRow] = []
    end = 0
    for line in _ASSIGNMENTS.finditer(passage):
        if passage[end : line.start()].strip():
            yield from (run,) if len(run) >= _LEAST_ASSIGNMENTS else ()
            run = []
        for found in re.finditer(_PAIR, line[0]):
            name, value = found[0].split("=")
            cells = (RowCell("", name.strip()), RowCell(_VALUE_COLUMN, value.strip()))
            span = Span(line.start() + found.start(), line.start() + found.end())
            run.append(ParsedRow(cells, number, span, found[0]))
        end = line.end()
    yield from (run,) if len(run) >= _LEAST_ASSIGNMENTS else ()


def _add_rows(tables: list[list[ParsedRow]], lines: Sequence[ParsedRow]) -> None:
    heads = [line.text[2:-2].split("; ", 1)[0].split(": ") for line in lines]
    named = _shared_names(heads)
    rows = [line._replace(cells=tuple(_cells(line.text, named))) for line in lines]
    rows = [row for row in rows if len(row.cells) > 1]
    if not rows:
        return
    columns = {cell.column for row in rows for cell in row.cells}
    for table in tables:
        known = {cell.column for row in table for cell in row.cells}
        if 2 * len(known & columns - {""}) > len((known | columns) - {""}):
            there = {row.text for row in table}
            table.extend(row for row in rows if row.text not in there)
            return
    tables.append(rows)


def _shared_names(heads: Sequence[Sequence[str]]) -> int:
    """Return how many parts of a row's beginning are names of rows, not of the first column."""
    if len(heads) < 2:
        return max(len(heads[0]) - 2, 0) if heads else 0
    for place in range(min(map(len, heads)) - 1):
        if len({head[place] for head in heads}) == 1:
            is_label = len({tuple(head[place + 1 : place + 2]) for head in heads}) == 1
            return place + (is_label and min(map(len, heads)) > place + 2)
    return max(min(map(len, heads)) - 2, 1)


def _cells(line: str, named: int) -> Iterator[RowCell]:
    body = line[2:-2].removesuffix(".") if not line.endswith("... |") else line[2:-2]
    first, *others = body.split("; ")
    *heads, value = first.split(": ", named + 1) if first.count(": ") >= named else [first]
    yield from (RowCell("", head) for head in heads[:named])
    if len(heads) > named:
        yield RowCell(heads[named], value)
    elif value:
        yield RowCell("", value)
    for part in others:
        name, colon, text = part.partition(": ")
        yield RowCell(name, text) if colon else RowCell("", name)
