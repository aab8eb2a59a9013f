"""Which lines of a PDF are page furniture: running heads and feet, and page numbers.

They are found by what they are: the outermost lines of a page that come again on other pages (the
page's number aside), or that carry the page's number. Left in, they would stand in the middle of
every sentence that runs over a page. The first of each kind is kept, so that a date or version that
is only printed at the foot is not lost; a title beside a page number is not.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Final, NamedTuple

from affidavit.sources.readers.pdf_lines import Line

_BARE_NUMBER: Final = re.compile(r"\W*(?:page\s+)?(\d{1,5})(?:\s*(?:/|of)\s*\d{1,5})?\W*$", re.I)
_EDGE_NUMBERS: Final = re.compile(r"^(\d{1,5})(?![\w.])|(?<![\w.])(\d{1,5})$")
_NUMBER: Final = re.compile(r"(?<![\w.])\d{1,5}(?!\w|\.\d)")  # Not inside of "Version 2.1".
_ROMAN_NUMBER: Final = re.compile(r"[ivxlc]{1,8}$")
_YEAR: Final = re.compile(r"\b(?:19|20)\d\d\b")
_HEIGHT: Final = attrgetter("y")
_MASK: Final = "#"
_OUTERMOST: Final = 2
_PAGES_TO_REPEAT: Final = 3


class _Numbering(NamedTuple):
    """Where page numbers are printed, and by how much they differ from the page's index."""

    at_top: bool
    shift: int


def without_running_lines(pages: Sequence[tuple[Line, ...]]) -> tuple[tuple[Line, ...], ...]:
    """Return the pages without their furniture."""
    # By height: pdfium's order is the order of drawing.
    by_height = tuple(sorted(lines, key=_HEIGHT) for lines in pages)
    numbering = _numbering(by_height)
    shapes = tuple(_shapes(lines, index, numbering) for index, lines in enumerate(by_height))
    repeated = Counter(shape for page_shapes in shapes for shape in set(page_shapes.values()))
    seen: set[str] = set()
    bodies: list[tuple[Line, ...]] = []
    for index, (lines, page_shapes) in enumerate(zip(pages, shapes, strict=True)):
        numbered = _numbered_line(by_height[index], index, numbering)
        dropped = {
            line
            for line, shape in page_shapes.items()
            if (line is numbered and (shape in seen or not _YEAR.search(shape)))
            or (repeated[shape] >= _PAGES_TO_REPEAT and (shape in seen or not _has_letter(shape)))
        }
        bodies.append(tuple(line for line in lines if line not in dropped) if dropped else lines)
        seen.update(page_shapes.values())
    return tuple(bodies)


def _shapes(lines: Sequence[Line], index: int, numbering: _Numbering | None) -> Mapping[Line, str]:
    """Return the outermost lines, and each without what makes it differ from page to page."""
    number = "" if numbering is None else str(index + numbering.shift)
    edges = (*lines[:_OUTERMOST], *lines[max(_OUTERMOST, len(lines) - _OUTERMOST) :])
    return {line: _shape(line.text, number) for line in edges}


def _shape(text: str, number: str) -> str:
    if _ROMAN_NUMBER.match(text):
        return _MASK
    return _NUMBER.sub(lambda found: _MASK if found[0] == number else found[0], text)


def _has_letter(shape: str) -> bool:
    return any(letter.isalpha() for letter in shape)


def _numbering(pages: Sequence[Sequence[Line]]) -> _Numbering | None:
    """Return where most pages have their number; a line of nothing else is believed first."""
    written = sum(1 for lines in pages if lines)
    for numbers in (_bare_numbers, _edge_numbers):
        found = Counter(
            _Numbering(at_top, number - index)
            for index, lines in enumerate(pages)
            if lines
            for at_top in (False, True)
            for number in numbers(lines[-1 if at_top else 0].text)
        )
        best = max(found, key=lambda place: (found[place], -abs(place.shift)), default=None)
        if best is not None and found[best] >= max(_PAGES_TO_REPEAT, written // 2 + 1):
            return best
    return None


def _numbered_line(lines: Sequence[Line], index: int, numbering: _Numbering | None) -> Line | None:
    if numbering is None or not lines:
        return None
    line = lines[-1 if numbering.at_top else 0]
    numbers = (*_bare_numbers(line.text), *_edge_numbers(line.text))
    return line if index + numbering.shift in numbers else None


def _bare_numbers(text: str) -> tuple[int, ...]:
    bare = _BARE_NUMBER.match(text)
    return (int(bare[1]),) if bare else ()


def _edge_numbers(text: str) -> tuple[int, ...]:
    return tuple({int(left or right) for left, right in _EDGE_NUMBERS.findall(text)})
