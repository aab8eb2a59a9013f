"""Tables for people: drawn on a terminal, plain and whole in a pipe."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from affidavit.cli.printable import on_one_line

if TYPE_CHECKING:
    from rich.table import Table as RichTable


class Tone(StrEnum):
    """How a cell is meant. A sign goes with each color, for those who do not see it."""

    PLAIN = "plain"
    GOOD = "good"
    BAD = "bad"
    UNSURE = "unsure"
    FAINT = "faint"
    ABSENT = "absent"


_STYLES: Final = MappingProxyType(
    {
        Tone.PLAIN: ("", ""),
        Tone.GOOD: ("green", "✓ "),
        Tone.BAD: ("bold red", "✗ "),
        Tone.UNSURE: ("yellow", "? "),
        Tone.FAINT: ("dim", "· "),
        Tone.ABSENT: ("dim", "○ "),
    }
)
_SIGNS_IN_ASCII: Final = MappingProxyType({"✓ ": "+ ", "✗ ": "x ", "· ": "- ", "○ ": "o "})


@dataclass(frozen=True, slots=True)
class Cell:
    """A text of a table and how it is meant."""

    text: str
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True)
class Table:
    """Columns and rows; a plain string is a cell without a tone."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell | str, ...], ...]


def plain_table(table: Table) -> str:
    """Return the table as aligned text, as wide as its content: nothing is cut or wrapped."""
    body = [tuple(on_one_line(cell_of(cell).text) for cell in row) for row in table.rows]
    heads = tuple(column.upper() for column in table.columns)
    widths = [max(map(cell_width, column)) for column in zip(heads, *body, strict=True)]
    lines = (heads, tuple("-" * width for width in widths), *body)
    return "".join(f"{_aligned(line, widths)}\n" for line in lines)


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (
        cell + " " * (width - cell_width(cell)) for cell, width in zip(cells, widths, strict=True)
    )
    return "  ".join(padded).rstrip()


def cell_of(cell: Cell | str) -> Cell:
    """Return what stands in a row as a cell."""
    return Cell(cell) if isinstance(cell, str) else cell


def cell_width(text: str) -> int:
    """Return how many columns a terminal needs for a text: wide letters two, combining none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(letter) else 1 + (unicodedata.east_asian_width(letter) in "WF")
        for letter in text
    )


def drawn_table(table: Table, *, ascii_only: bool, boxed: bool = False) -> "RichTable":
    """Return the table for a terminal: words that do not fit are folded, never cut.

    `boxed` rules off every row, for rows of several lines.
    """
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    frame = box.SQUARE if boxed else box.SIMPLE_HEAD
    drawn = RichTable(box=box.ASCII if ascii_only else frame, header_style="bold", show_lines=boxed)
    for column in table.columns:
        drawn.add_column(column, overflow="fold")
    for row in table.rows:
        cells = []
        for cell in map(cell_of, row):
            style, sign = _STYLES[cell.tone]
            sign = _SIGNS_IN_ASCII.get(sign, sign) if ascii_only else sign
            # Text, never markup: what stands in square brackets belongs to the user.
            cells.append(Text(sign + on_one_line(cell.text), style))
        drawn.add_row(*cells)
    return drawn
