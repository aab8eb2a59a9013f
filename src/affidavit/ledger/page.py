"""An answer as lines, each with its place, its indentation and whether it is quoted."""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Final

from affidavit.ledger.model import Span

_MARGIN: Final = " \t>"
_TAB: Final = "    "
LABELLED: Final = re.compile(
    r"(?:[-*+\u2022][ \t]+)?\[(\^?[\w.-]{1,32}(?=\]:)|\^[\w.-]{1,32}|[A-Za-z]?\d{1,3})\](?!\()"
    r"(:?)[ \t]*(?=\S)(.*)"
)
"""`[1] HR_Policy.pdf`, `[^1]: HR_Policy.pdf`, `- [1] HR_Policy.pdf`."""


class BlockKind(StrEnum):
    """What a block of an answer is."""

    PROSE = "prose"
    ITEM = "item"
    ROW = "row"
    TABLE_HEADER = "table_header"
    HEADING = "heading"
    CODE = "code"
    REFERENCE = "reference"
    MARKUP = "markup"


@dataclass(frozen=True, slots=True)
class Block:
    """A block of an answer. `lines` are its lines without marks; for a row, its cells."""

    kind: BlockKind
    lines: tuple[Span, ...]
    indent: int = 0
    header: tuple[Span, ...] = ()
    """For a row below a header: the header's cells."""
    label: str = ""
    """For a reference: what an anchor calls it."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its margin (indentation, quote marks) and its trailing white space."""

    start: int
    end: int
    indent: int
    quoted: bool

    @property
    def is_blank(self) -> bool:
        """Whether the line is empty."""
        return self.start >= self.end


@dataclass(frozen=True)
class Page:
    """An answer with its lines."""

    answer: str
    lines: tuple[Line, ...]

    def text(self, at: int) -> str:
        """Return the text of line `at`."""
        line = self.lines[at]
        return self.answer[line.start : line.end]

    def span(self, at: int) -> Span:
        """Return the place of line `at`."""
        return Span(self.lines[at].start, self.lines[at].end)

    def has_text_from(self, at: int) -> bool:
        """Tell whether line `at` or a later one has text."""
        return any(not line.is_blank for line in self.lines[at:])

    @cached_property
    def tail(self) -> int:
        """The number of the first of the labelled lines at the end of the answer.

        If there is nothing before them, they are the answer itself, not a reference list.
        """
        first = len(self.lines)
        for at in range(len(self.lines) - 1, -1, -1):
            if self.lines[at].is_blank:
                continue
            if LABELLED.fullmatch(self.text(at)) is None:
                return first
            first = at
        return len(self.lines)


def page_of(answer: str) -> Page:
    """Return `answer` as a page."""
    lines, start = [], 0
    for raw in answer.split("\n"):
        lines.append(_line(raw, start))
        start += len(raw) + 1
    return Page(answer, tuple(lines))


def _line(raw: str, start: int) -> Line:
    width = len(raw) - len(raw.lstrip(_MARGIN))
    margin = raw[:width].replace("\t", _TAB)
    _, mark, inner = margin.rpartition(">")
    # One space after a quote mark belongs to the mark.
    indent = len(inner.removeprefix(" ")) if mark else len(inner)
    end = start + max(width, len(raw.rstrip()))
    return Line(start + width, end, indent, bool(mark))
