"""Tables of every format as lines of text, one per row: `| Plan: Annual; price: 20 EUR. |`.

A row begins with its row header. Every other cell stands behind the name of its column, and a
semicolon ends it. A row header without a name, and the label of a group of rows, stand before a
colon: `| Europe: Annual: price: 20 EUR. |`. The rules are in docs/adr/0023.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

_LONGEST_LINE: Final = 600
"""A longer row is several lines, each with the row header, so that no chunk begins inside of it."""
_LONGEST_LABEL: Final = 80
_ENDS_SENTENCE: Final = (".", "!", "?")
_NUMERIC: Final = re.compile(r"[^\w]*\d[\d.,:/%\s\u2013\u2212-]*\W*(?:[A-Za-z%\u20ac]{1,3})?$")
_EMPTY: Final = frozenset({"-", "\u2013", "\u2014", "..", "..."})


class TableCell(NamedTuple):
    """A cell and the columns that it covers."""

    text: str
    column: int
    span: int = 1
    is_header: bool = False


TableRow = Sequence[TableCell]


def is_number(text: str) -> bool:
    """Tell whether a cell is a value: a number, with or without a unit, or a dash for none."""
    return text in _EMPTY or bool(_NUMERIC.match(text))


def table_lines(rows: Sequence[TableRow], header_rows: int) -> Iterator[str]:
    """Yield one line of text per row; a table that only has header rows still shows them."""
    return (text for _, text in numbered_lines(rows, header_rows))


def numbered_lines(rows: Sequence[TableRow], header_rows: int) -> Iterator[tuple[int, str]]:
    """Yield the lines of a table, each with the index of its row."""
    width = max((cell.column + cell.span for row in rows for cell in row), default=0)
    first = header_rows if header_rows < len(rows) else 0
    names = column_names(rows[:first], width)
    label = ""
    for index, row in enumerate(rows[first:], start=first):
        cells = [cell for cell in row if cell.text]
        if len(cells) == 1 and _is_label(cells[0], width):
            label = cells[0].text.rstrip(":")
            yield index, f"| {cells[0].text} |"
        elif cells:
            yield from ((index, line) for line in _row_lines(cells, names, label))


def _is_label(cell: TableCell, width: int) -> bool:
    return (
        1 < width <= cell.column + cell.span
        and cell.column == 0
        and len(cell.text) <= _LONGEST_LABEL
        and not cell.text.endswith(_ENDS_SENTENCE)
    )


def column_names(header: Sequence[TableRow], width: int) -> list[str]:
    """Return the name of every column: what stands above it, from top to bottom."""
    names: list[list[str]] = [[] for _ in range(width)]
    for row in header:
        for cell in row:
            for name in names[cell.column : cell.column + cell.span]:
                if cell.text and cell.text not in name[-1:]:
                    name.append(cell.text)
    return [" ".join(name).rstrip(":;") for name in names]


def _row_lines(cells: Sequence[TableCell], names: Sequence[str], label: str) -> Iterator[str]:
    stubs = _stub_count(cells)
    head = "".join(f"{text}: " for text in (label,) if text)
    parts = [_named(cell, names) for cell in cells]
    unnamed = [cell.text.rstrip(":") for cell in cells[:stubs] if not _name_of(cell, names)]
    if len(unnamed) == stubs and len(cells) > stubs:
        head += ", ".join(unnamed) + ": "
    else:
        head += "".join(f"{part}; " for part in parts[:stubs])
    line = head
    for part in parts[stubs:]:
        if len(line) > len(head) and len(line) + len(part) > _LONGEST_LINE:
            yield _line(line)
            line = head
        line += f"{part}; "
    yield _line(line)


def _stub_count(cells: Sequence[TableCell]) -> int:
    """Return how many of the first cells name the row: all marked ones, or else the first."""
    marked = 0
    while marked < len(cells) and cells[marked].is_header:
        marked += 1
    return min(marked, len(cells) - 1) or 1


def _name_of(cell: TableCell, names: Sequence[str]) -> str:
    covered = names[cell.column : cell.column + cell.span]
    return ", ".join(dict.fromkeys(filter(None, covered)))


def _named(cell: TableCell, names: Sequence[str]) -> str:
    name = _name_of(cell, names)
    return f"{name}: {cell.text}" if name and name != cell.text else cell.text


def _line(text: str) -> str:
    line = text.rstrip(" ;:")
    return f"| {line} |" if line.endswith(_ENDS_SENTENCE) else f"| {line}. |"
