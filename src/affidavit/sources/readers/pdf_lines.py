"""The lines of a PDF page, each with its place: a few cheap questions to pdfium per line."""

import re
from collections.abc import Callable, Iterator
from ctypes import byref, c_double
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from pypdfium2 import PdfTextPage

HYPHEN: Final = "\ufffe"
"""pdfium writes this where a word was broken over two lines, and leaves out the line's end."""
_WORD: Final = re.compile(r"\S+")
_Place = Callable[[int], tuple[float, float]]


class Line(NamedTuple):
    """A line of text. `x` and `y` are where its first letter stands, in points, y upwards."""

    text: str
    x: float
    y: float
    right: float
    size: float
    height: int = 1
    """How many printed lines it covers: one more for every word broken at a line's end."""


def lines_of(page: "PdfTextPage") -> tuple[Line, ...]:
    """Return the lines of a page in the order in which the file draws them."""
    return tuple(_whole_lines(_drawn_lines(page)))


def _drawn_lines(page: "PdfTextPage") -> Iterator[Line]:
    """Yield what pdfium takes for lines, cut where it ran two of them together."""
    from pypdfium2 import raw

    x, y, left, right, bottom, top = (c_double() for _ in range(6))
    origin, box = (byref(x), byref(y)), (byref(left), byref(right), byref(bottom), byref(top))
    index_of, size_of = raw.FPDFText_GetCharIndexFromTextIndex, raw.FPDFText_GetFontSize
    handle = page.raw

    def place(at: int) -> tuple[float, float]:
        raw.FPDFText_GetCharOrigin(handle, index_of(handle, at), *origin)
        return x.value, y.value

    def line(text: str, start: int) -> Line:
        first, last = index_of(handle, start), index_of(handle, start + len(text) - 1)
        raw.FPDFText_GetCharOrigin(handle, first, *origin)
        raw.FPDFText_GetCharBox(handle, last, *box)
        # A line may begin with a small raised mark, so its end is asked too.
        size = max(size_of(handle, first), size_of(handle, last))
        return Line(text, x.value, y.value, right.value, size, 1 + text.count(HYPHEN))

    at = 0
    for printed in _text(page).split("\r\n"):
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


def _cuts(text: str, start: int, whole: Line, place: _Place) -> Iterator[slice]:
    """Yield the parts of a text that stand at one height."""
    begin, height = 0, whole.y
    for word in _WORD.finditer(text):
        _, y = place(start + word.start())
        if abs(y - height) > 0.6 * whole.size:
            if word.start() > begin:
                yield slice(begin, word.start())
            begin = word.start()
            height = y
    yield slice(begin, len(text))


def _whole_lines(drawn: Iterator[Line]) -> Iterator[Line]:
    """Join what stands side by side: dots of a contents line are often drawn one by one."""
    pieces: list[Line] = []
    y = right = inf
    for line in drawn:
        slack = 0.1 * line.size
        if pieces and (abs(line.y - y) >= slack or line.x < right - slack):
            yield _joined(pieces)
            pieces = []
        pieces.append(line)
        y, right = line.y, line.right
    if pieces:
        yield _joined(pieces)


def _joined(pieces: list[Line]) -> Line:
    if len(pieces) == 1:
        return pieces[0]
    first, last = pieces[0], pieces[-1]
    text = " ".join(piece.text for piece in pieces)
    height = max(piece.height for piece in pieces)
    return Line(text, first.x, first.y, last.right, max(piece.size for piece in pieces), height)


def _text(page: "PdfTextPage") -> str:
    try:
        return str(page.get_text_range(errors="replace"))
    except (RecursionError, AssertionError):
        # pypdfium2 counts unprintable letters at the edges by recursion; a page may have thousands.
        return str(page.get_text_bounded(errors="replace"))
