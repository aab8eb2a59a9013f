"""Which lines of a PDF are page furniture: running heads and feet, and page numbers.

They are found by what they are: the outermost lines of a page that come again on other pages (the
page's number aside), or that carry the page's number. Left in, they would stand in the middle of
every sentence that runs over a page. The first of each kind is kept, so that a date or version that
is only printed at the foot is not lost; a title beside a page number is not.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from affidavit.sources.readers.pdf_lines import Line

_BARE_NUMBER: Final = re.compile(r"\W*(?:page\s+)?(\d{1,5})(?:\s*(?:/|of)\s*\d{1,5})?\W*$", re.I)
_EDGE_NUMBERS: Final = re.compile(r"^(\d{1,5})(?![\w.])|(?<![\w.])(\d{1,5})$")
_ROMAN_NUMBER: Final = re.compile(r"[ivxlc]{1,8}$")
_YEAR: Final = re.compile(r"\b(?:19|20)\d\d\b")
_MASK: Final = "#"
_OUTERMOST: Final = 2
_PAGES_TO_REPEAT: Final = 3


class _Numbering(NamedTuple):
    """Where page numbers are printed, and by how much they differ from the page's index."""

    at_top: bool
    shift: int


def without_running_lines(pages: Sequence[tuple[Line, ...]]) -> tuple[tuple[Line, ...], ...]:
    """Return the pages without their furniture."""
    numbering = _numbering(pages)
    shapes = tuple(_shapes(lines, index, numbering) for index, lines in enumerate(pages))
    repeated = Counter(shape for page_shapes in shapes for shape in set(page_shapes.values()))
    seen: set[str] = set()
    bodies: list[tuple[Line, ...]] = []
    for index, (lines, page_shapes) in enumerate(zip(pages, shapes, strict=True)):
        numbered = _numbered_line(lines, index, numbering)
        dropped = {
            line
            for line, shape in page_shapes.items()
            if (line is numbered and (shape in seen or not _YEAR.search(shape)))
            or (repeated[shape] >= _PAGES_TO_REPEAT and (shape in seen or not _has_letter(shape)))
        }
        bodies.append(tuple(line for line in lines if line not in dropped) if dropped else lines)
        seen.update(page_shapes.values())
    return tuple(bodies)


def _shapes(
    lines: tuple[Line, ...], index: int, numbering: _Numbering | None
) -> Mapping[Line, str]:
    """Return the outermost lines, and each without what makes it differ from page to page."""
    number = None if numbering is None else index + numbering.shift
    return {line: _shape(line.text, number) for line in _edges(lines)}


def _edges(lines: tuple[Line, ...]) -> Iterator[Line]:
    """Yield the outermost lines of a page by height: pdfium's order is the order of drawing."""
    by_height = sorted(lines, key=lambda line: line.y)
    yield from by_height[:_OUTERMOST]
    yield from by_height[max(_OUTERMOST, len(by_height) - _OUTERMOST) :]


def _shape(text: str, number: int | None) -> str:
    if _ROMAN_NUMBER.match(text):
        return _MASK
    # Not inside of "Version 2.1".
    return text if number is None else re.sub(rf"(?<![\w.]){number}(?!\w|\.\d)", _MASK, text)


def _has_letter(shape: str) -> bool:
    return any(letter.isalpha() for letter in shape)


def _numbering(pages: Sequence[tuple[Line, ...]]) -> _Numbering | None:
    """Return where most pages have their number; a line of nothing else is believed first."""
    written = sum(1 for lines in pages if lines)
    for numbers in (_bare_numbers, _edge_numbers):
        found = Counter(
            _Numbering(at_top, number - index)
            for index, lines in enumerate(pages)
            if lines
            for at_top in (False, True)
            for number in numbers(_outermost(lines, at_top=at_top).text)
        )
        best = max(found, key=lambda place: (found[place], -abs(place.shift)), default=None)
        if best is not None and found[best] >= max(_PAGES_TO_REPEAT, written // 2 + 1):
            return best
    return None


def _numbered_line(
    lines: tuple[Line, ...], index: int, numbering: _Numbering | None
) -> Line | None:
    if numbering is None or not lines:
        return None
    line = _outermost(lines, at_top=numbering.at_top)
    numbers = (*_bare_numbers(line.text), *_edge_numbers(line.text))
    return line if index + numbering.shift in numbers else None


def _outermost(lines: tuple[Line, ...], *, at_top: bool) -> Line:
    return (max if at_top else min)(lines, key=lambda line: line.y)


def _bare_numbers(text: str) -> tuple[int, ...]:
    bare = _BARE_NUMBER.match(text)
    return (int(bare[1]),) if bare else ()


def _edge_numbers(text: str) -> tuple[int, ...]:
    return tuple({int(left or right) for left, right in _EDGE_NUMBERS.findall(text)})
