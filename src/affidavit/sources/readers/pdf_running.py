"""Which lines of a PDF are page furniture: running heads and feet, and page numbers.

They are found by what they are: the outermost lines of a page that come again on other pages
(numbers aside), or that carry the page's number. Left in, they would stand in the middle of every
sentence that runs over a page. The first of each kind is kept, so that a date or version that is
only printed at the foot is not lost; a title beside a page number is not.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from affidavit.sources.readers.pdf_lines import Line

_NUMBER: Final = re.compile(r"\d+")
_EDGE_NUMBERS: Final = re.compile(r"^(\d{1,5})\b(?![.\d])|(?<![\d.])(\d{1,5})$")
_ROMAN_NUMBER: Final = re.compile(r"[ivxlc]{1,8}$")
_YEAR: Final = re.compile(r"\b(?:19|20)\d\d\b")
_OUTERMOST: Final = 2
_PAGES_TO_REPEAT: Final = 3


def without_running_lines(pages: Sequence[tuple[Line, ...]]) -> tuple[tuple[Line, ...], ...]:
    """Return the pages without their furniture."""
    edges = tuple({line: _shape(line) for line in _edges(lines)} for lines in pages)
    shapes = Counter(shape for page_edges in edges for shape in set(page_edges.values()))
    shift = _number_shift(edges)
    seen: set[str] = set()
    bodies: list[tuple[Line, ...]] = []
    for index, (lines, page_edges) in enumerate(zip(pages, edges, strict=True)):
        dropped = {
            line
            for line, shape in page_edges.items()
            if _is_dropped(line, shape, index, shapes, shift, seen)
        }
        bodies.append(tuple(line for line in lines if line not in dropped) if dropped else lines)
        seen.update(page_edges.values())
    return tuple(bodies)


def _is_dropped(
    line: Line, shape: str, index: int, shapes: Counter[str], shift: int | None, seen: set[str]
) -> bool:
    numbered = shift is not None and index + shift in _numbers(line)
    if not numbered and shapes[shape] < _PAGES_TO_REPEAT:
        return False
    return shape in seen or not _is_kept_once(line, numbered)


def _edges(lines: tuple[Line, ...]) -> Iterator[Line]:
    """Yield the outermost lines of a page by height: pdfium's order is the order of drawing."""
    by_height = sorted(lines, key=lambda line: line.y)
    yield from by_height[:_OUTERMOST]
    yield from by_height[max(_OUTERMOST, len(by_height) - _OUTERMOST) :]


def _shape(line: Line) -> str:
    shape = _NUMBER.sub("#", line.text)
    return "#" if _ROMAN_NUMBER.match(shape) else shape


def _is_kept_once(line: Line, numbered: bool) -> bool:
    """Whether the first line of its kind may say what stands nowhere else."""
    if numbered:
        return bool(_YEAR.search(line.text))
    return any(letter.isalpha() for letter in line.text)


def _numbers(line: Line) -> set[int]:
    return {int(left or right) for left, right in _EDGE_NUMBERS.findall(line.text)}


def _number_shift(edges: Sequence[Mapping[Line, str]]) -> int | None:
    """Return printed number minus page index where that is the same on most pages."""
    shifts = Counter(
        number - index
        for index, lines in enumerate(edges)
        for number in {number for line in lines for number in _numbers(line)}
    )
    if not shifts:
        return None
    shift, count = max(shifts.items(), key=lambda item: (item[1], -abs(item[0])))
    written = sum(1 for lines in edges if lines)
    return shift if count >= _PAGES_TO_REPEAT and 2 * count > written else None
