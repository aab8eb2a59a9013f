"""Tables for people, drawn on a terminal or aligned as plain text, with control characters
escaped.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from rich.table import Table as RichTable

# A control character in a source could clear the screen or paint a verdict that nobody reached, and
# a bidirectional override could show a sentence in another order than the one that was judged. Both
# are shown as escapes, and so is what nobody would see, but for the joiners of scripts and emoji.
# `--json` needs none of this: JSON escapes them itself.

_CONTROL_CHARACTERS: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
_LINE_BREAKS: Final = re.compile(r"\s*[\n\t]\s*")


def _escape_character(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def escape_controls(text: str) -> str:
    """Return the text with what a terminal would obey shown as escapes; line breaks stay."""
    return _CONTROL_CHARACTERS.sub(_escape_character, text)


def single_line(text: str) -> str:
    """Return the text as one line: a line break, with the space around it, is one space."""
    return escape_controls(_LINE_BREAKS.sub(" ", text.strip()))


class Tone(StrEnum):
    """How a cell is meant. A sign goes with each color, for those who do not see it."""

    PLAIN = "plain"
    GOOD = "good"
    BAD = "bad"
    UNSURE = "unsure"
    FAINT = "faint"
    ABSENT = "absent"


_TONE_STYLES: Final = MappingProxyType(
    {
        Tone.PLAIN: ("", ""),
        Tone.GOOD: ("green", "✓ "),
        Tone.BAD: ("bold red", "✗ "),
        Tone.UNSURE: ("yellow", "? "),
        Tone.FAINT: ("dim", "· "),
        Tone.ABSENT: ("dim", "○ "),
    }
)
_ASCII_SIGNS: Final = MappingProxyType({"✓ ": "+ ", "✗ ": "x ", "· ": "- ", "○ ": "o "})


@dataclass(frozen=True, slots=True)
class Cell:
    """A text of a table and how it is meant."""

    text: str
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True)
class TextTable:
    """Columns and rows; a plain string is a cell without a tone."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell | str, ...], ...]
    boxed: bool = False
    """Drawn with a frame around every row on a terminal."""


@dataclass(frozen=True, slots=True)
class Note:
    """A remark beside the result, for standard error."""

    text: str


@dataclass(frozen=True, slots=True)
class TextPanel:
    """A text under a title."""

    title: str
    body: str


# What a rendering for people consists of; a plain string is a line of the result.
TextPart: TypeAlias = str | TextTable | TextPanel | Note


def text_table(
    columns: Iterable[str], rows: Iterable[Iterable[Cell | str]], *, boxed: bool = False
) -> TextTable:
    """Return a table of any iterables."""
    return TextTable(tuple(columns), tuple(tuple(row) for row in rows), boxed)


def plain_table(table: TextTable) -> str:
    """Return the table as aligned text, as wide as its content: nothing is cut or wrapped."""
    body = [tuple(single_line(as_cell(cell).text) for cell in row) for row in table.rows]
    heads = tuple(column.upper() for column in table.columns)
    widths = [max(map(cell_width, column)) for column in zip(heads, *body, strict=True)]
    lines = (heads, tuple("-" * width for width in widths), *body)
    return "".join(f"{_aligned(line, widths)}\n" for line in lines)


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (
        cell + " " * (width - cell_width(cell)) for cell, width in zip(cells, widths, strict=True)
    )
    return "  ".join(padded).rstrip()


def as_cell(cell: Cell | str) -> Cell:
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


def rich_table(table: TextTable, *, ascii_only: bool) -> "RichTable":
    """Return the table for a terminal: words that do not fit are folded, never cut."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    frame = box.SQUARE if table.boxed else box.SIMPLE_HEAD
    drawn = RichTable(
        box=box.ASCII if ascii_only else frame, header_style="bold", show_lines=table.boxed
    )
    for column in table.columns:
        drawn.add_column(column, overflow="fold")
    for row in table.rows:
        cells = []
        for cell in map(as_cell, row):
            style, sign = _TONE_STYLES[cell.tone]
            sign = _ASCII_SIGNS.get(sign, sign) if ascii_only else sign
            # Text, never markup: what stands in square brackets belongs to the user.
            cells.append(Text(sign + single_line(cell.text), style))
        drawn.add_row(*cells)
    return drawn
