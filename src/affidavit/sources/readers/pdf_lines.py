"""The lines of a PDF page, each with its place: a few cheap questions to pdfium per line."""

from ctypes import byref, c_double
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from pypdfium2 import PdfTextPage

HYPHEN: Final = "\ufffe"
"""pdfium writes this where a word was broken over two lines, and leaves out the line's end."""


class Line(NamedTuple):
    """A line of text. `x` and `y` are where its first letter stands, in points, y upwards."""

    text: str
    x: float
    y: float
    right: float
    size: float

    @property
    def height(self) -> int:
        """How many printed lines it covers: one more for every word broken at a line's end."""
        return 1 + self.text.count(HYPHEN)


def lines_of(page: "PdfTextPage") -> tuple[Line, ...]:
    """Return the lines of a page in the order in which the file draws them."""
    from pypdfium2 import raw

    x, y, left, right, bottom, top = (c_double() for _ in range(6))
    origin, box = (byref(x), byref(y)), (byref(left), byref(right), byref(bottom), byref(top))
    index_of, size_of = raw.FPDFText_GetCharIndexFromTextIndex, raw.FPDFText_GetFontSize
    handle = page.raw
    lines: list[Line] = []
    at = 0
    for printed in _text(page).split("\r\n"):
        text = printed.strip()
        if text:
            start = at + len(printed) - len(printed.lstrip())
            first, last = index_of(handle, start), index_of(handle, start + len(text) - 1)
            raw.FPDFText_GetCharOrigin(handle, first, *origin)
            raw.FPDFText_GetCharBox(handle, last, *box)
            # A line may begin with a small raised mark, so its end is asked too.
            size = max(size_of(handle, first), size_of(handle, last))
            lines.append(Line(text, x.value, y.value, right.value, size))
        at += len(printed) + 2
    return tuple(lines)


def _text(page: "PdfTextPage") -> str:
    try:
        return str(page.get_text_range(errors="replace"))
    except (RecursionError, AssertionError):
        # pypdfium2 counts unprintable letters at the edges by recursion; a page may have thousands.
        return str(page.get_text_bounded(errors="replace"))
