"""The positioned text lines of PDF pages, and the removal of running headers, footers and page
numbers.
"""

import re
from collections.abc import Callable, Iterator
from ctypes import byref, c_double
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from pypdfium2 import PdfTextPage
from collections import Counter
from collections.abc import Mapping, Sequence
from operator import attrgetter

# The lines of a PDF page, each with its place: a few cheap questions to pdfium per line.

HYPHEN: Final = "\ufffe"
"""pdfium writes this where a word was broken over two lines, and leaves out the line's end."""
_WORD: Final = re.compile(r"\S+")
_GlyphPosition = Callable[[int], tuple[float, float]]


class PdfLine(NamedTuple):
    """A line of text. `x` and `y` are the place of its first letter, in points, y upwards."""

    text: str
    x: float
    y: float
    right: float
    size: float
    height: int = 1
    """How many printed lines it covers: one more for every word broken at a line's end."""


def lines_of(page: "PdfTextPage") -> tuple[PdfLine, ...]:
    """Return the lines of a page in the order in which the file draws them."""
    return tuple(_whole_lines(_drawn_lines(page)))


def _drawn_lines(page: "PdfTextPage") -> Iterator[PdfLine]:
    """Yield what pdfium takes for lines, cut where it ran two of them together."""
    from pypdfium2 import raw

    x, y, left, right, bottom, top = (c_double() for _ in range(6))
    origin, box = (byref(x), byref(y)), (byref(left), byref(right), byref(bottom), byref(top))
    index_of, size_of = raw.FPDFText_GetCharIndexFromTextIndex, raw.FPDFText_GetFontSize
    handle = page.raw

    def place(at: int) -> tuple[float, float]:
        raw.FPDFText_GetCharOrigin(handle, index_of(handle, at), *origin)
        return x.value, y.value

    def line(text: str, start: int) -> PdfLine:
        first, last = index_of(handle, start), index_of(handle, start + len(text) - 1)
        raw.FPDFText_GetCharOrigin(handle, first, *origin)
        raw.FPDFText_GetCharBox(handle, last, *box)
        # A line may begin with a small raised mark, so the size of its end counts too.
        size = max(size_of(handle, first), size_of(handle, last))
        return PdfLine(
            text=text,
            x=x.value,
            y=y.value,
            right=right.value,
            size=size,
            height=1 + text.count(HYPHEN),
        )

    at = 0
    for printed in _page_text(page).split("\r\n"):
        text = printed.strip()
        if text:
            start = at + len(printed) - len(printed.lstrip())
            whole = line(text, start)
            if bottom.value < whole.y - whole.size and whole.height == 1:
                for cut in _cuts(text, start, whole, place):
                    yield line(text[cut].rstrip(), start + cut.start)
            else:
                yield whole
        at += len(printed) + 2


def _cuts(text: str, start: int, whole: PdfLine, place: _GlyphPosition) -> Iterator[slice]:
    """Yield the parts of a text at the same height."""
    begin, height = 0, whole.y
    for word in _WORD.finditer(text):
        _, y = place(start + word.start())
        if abs(y - height) > 0.6 * whole.size:
            if word.start() > begin:
                yield slice(begin, word.start())
            begin = word.start()
            height = y
    yield slice(begin, len(text))


def _whole_lines(drawn: Iterator[PdfLine]) -> Iterator[PdfLine]:
    """Join adjacent parts: dots of a contents line are often drawn one by one."""
    pieces: list[PdfLine] = []
    y = right = inf
    for line in drawn:
        slack = 0.1 * line.size
        if pieces and (abs(line.y - y) >= slack or line.x < right - slack):
            yield _join_line(pieces)
            pieces = []
        pieces.append(line)
        y, right = line.y, line.right
    if pieces:
        yield _join_line(pieces)


def _join_line(pieces: list[PdfLine]) -> PdfLine:
    if len(pieces) == 1:
        return pieces[0]
    first, last = pieces[0], pieces[-1]
    return PdfLine(
        text=" ".join(piece.text for piece in pieces),
        x=first.x,
        y=first.y,
        right=last.right,
        size=max(piece.size for piece in pieces),
        height=max(piece.height for piece in pieces),
    )


def _page_text(page: "PdfTextPage") -> str:
    try:
        return str(page.get_text_range(errors="replace"))
    except (RecursionError, AssertionError):
        # pypdfium2 counts unprintable letters at the edges by recursion; a page may have thousands.
        return str(page.get_text_bounded(errors="replace"))


# Which lines of a PDF are page furniture: running heads and feet, and page numbers.
#
# They are found by what they are: the outermost lines of a page that come again on other pages (the
# page's number aside), or that carry the page's number. Left in, they would stand in the middle of
# every sentence that runs over a page. The first of each kind is kept, so that a date or version
# that is only printed at the foot is not lost; a title beside a page number is not.

_BARE_NUMBER: Final = re.compile(r"\W*(?:page\s+)?(\d{1,5})(?:\s*(?:/|of)\s*\d{1,5})?\W*$", re.I)
_EDGE_NUMBERS: Final = re.compile(r"^(\d{1,5})(?![\w.])|(?<![\w.])(\d{1,5})$")
_NUMBER: Final = re.compile(r"(?<![\w.])\d{1,5}(?!\w|\.\d)")  # Not inside of "Version 2.1".
_ROMAN_NUMBER: Final = re.compile(r"[ivxlc]{1,8}$")
_YEAR: Final = re.compile(r"\b(?:19|20)\d\d\b")
_HEIGHT: Final = attrgetter("y")
_MASK: Final = "#"
_OUTERMOST: Final = 2
_PAGES_TO_REPEAT: Final = 3


class _PageNumbering(NamedTuple):
    """Where page numbers are printed, and by how much they differ from the page's index."""

    at_top: bool
    shift: int


def without_running_lines(pages: Sequence[tuple[PdfLine, ...]]) -> tuple[tuple[PdfLine, ...], ...]:
    """Return the pages without their furniture."""
    # By height: pdfium's order is the order of drawing.
    by_height = tuple(sorted(lines, key=_HEIGHT) for lines in pages)
    numbering = _page_numbering(by_height)
    shapes = tuple(_shapes(lines, index, numbering) for index, lines in enumerate(by_height))
    repeated = Counter(shape for page_shapes in shapes for shape in set(page_shapes.values()))
    seen: set[str] = set()
    bodies: list[tuple[PdfLine, ...]] = []
    for index, (lines, page_shapes) in enumerate(zip(pages, shapes, strict=True)):
        numbered = _page_number_line(by_height[index], index, numbering)
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
    lines: Sequence[PdfLine], index: int, numbering: _PageNumbering | None
) -> Mapping[PdfLine, str]:
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


def _page_numbering(pages: Sequence[Sequence[PdfLine]]) -> _PageNumbering | None:
    """Return where most pages have their number; a line of nothing else is believed first."""
    written = sum(1 for lines in pages if lines)
    for numbers in (_bare_numbers, _edge_numbers):
        found = Counter(
            _PageNumbering(at_top, number - index)
            for index, lines in enumerate(pages)
            if lines
            for at_top in (False, True)
            for number in numbers(lines[-1 if at_top else 0].text)
        )
        best = max(found, key=lambda place: (found[place], -abs(place.shift)), default=None)
        if best is not None and found[best] >= max(_PAGES_TO_REPEAT, written // 2 + 1):
            return best
    return None


def _page_number_line(
    lines: Sequence[PdfLine], index: int, numbering: _PageNumbering | None
) -> PdfLine | None:
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
