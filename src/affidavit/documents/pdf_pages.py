"""A page of a PDF as an image, and the places of a quote on it.

The lines that a quote covers are known from reading the document. Of a line that it covers in part,
the letters are looked up on the page. Places are fractions of the page as it is shown, from its
left upper corner, so they are right for every size, rotation and cropping.
"""

import struct
import unicodedata
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from ctypes import byref, c_double, c_int
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import store as faults
from affidavit.documents.model import Highlights, PageHighlight, PageImage, QuotedLine
from affidavit.documents.pdf import open_pdf
from affidavit.documents.pdf_turns import text_direction

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage

MAX_PIXELS: Final = 12_000_000
"""Of an image. A page of an unusual shape is rendered smaller than it was asked for."""
_BYTES_PER_PIXEL: Final = 3
_LEVEL: Final = 6
_DEVICE: Final = 1_000_000
"""pdfium tells places on a device in whole units: this many make a page."""
_MARGIN_POINTS: Final = 0.5
"""Around a box, for what smoothing makes of the edges of letters."""

Rectangle = tuple[float, float, float, float]
"""Left, bottom, right and top in points."""


def render_page(data: bytes, number: int, width: int) -> PageImage:
    """Return a page, counted from 1, as an image of some width in pixels."""
    with closing(open_pdf(data)) as document, closing(_page(document, number)) as page:
        shown_width, shown_height = page.get_size()
        scale = width / max(shown_width, 1.0)
        pixels = width * max(shown_height, 1.0) * scale
        scale *= min(1.0, (MAX_PIXELS / pixels) ** 0.5)
        bitmap = page.render(scale=scale, rev_byteorder=True, prefer_bgrx=False)
        with closing(bitmap):
            return PageImage(_png(bytes(bitmap.buffer), bitmap.width, bitmap.height, bitmap.stride))


def highlights(data: bytes, lines: Sequence[QuotedLine]) -> Highlights:
    """Return where the quoted parts of some lines are on their pages."""
    with closing(open_pdf(data)) as document:
        by_page = groupby(lines, key=lambda line: line.box.page)
        return Highlights(
            tuple(_highlight(document, number, list(found)) for number, found in by_page)
        )


def _page(document: "PdfDocument", number: int) -> "PdfPage":
    from pypdfium2 import PdfiumError

    try:
        return document[number - 1]
    except PdfiumError:
        raise AffidavitError(faults.PAGE_FAILED, page=number, problem="it is damaged") from None


def _png(pixels: bytes, width: int, height: int, stride: int) -> bytes:
    """Return an image of three bytes per pixel as PNG: RFC 2083, with no filter."""
    view = memoryview(pixels)
    packer = zlib.compressobj(_LEVEL)
    packed = []
    for row in range(height):
        start = row * stride
        packed.append(packer.compress(b"\0"))
        packed.append(packer.compress(view[start : start + width * _BYTES_PER_PIXEL]))
    packed.append(packer.flush())
    colours = (8, 2, 0, 0, 0)  # Eight bits each of red, green and blue.
    header = struct.pack(">IIBBBBB", width, height, *colours)
    chunks = ((b"IHDR", header), (b"IDAT", b"".join(packed)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in chunks
    )


def _highlight(document: "PdfDocument", number: int, lines: Sequence[QuotedLine]) -> PageHighlight:
    with closing(_page(document, number)) as page:
        letters = _letters_of(page) if any(map(_is_part, lines)) else []
        boxes = [_shown(page, _quoted_box(line, letters)) for line in lines]
        width, height = page.get_size()
    return PageHighlight(page=number, width=round(width, 2), height=round(height, 2), boxes=boxes)


def _shown(page: "PdfPage", box: Rectangle) -> tuple[float, float, float, float]:
    from pypdfium2 import raw

    corners = []
    margin = _MARGIN_POINTS
    for x, y in (box[0] - margin, box[1] - margin), (box[2] + margin, box[3] + margin):
        across, down = c_int(), c_int()
        whole = (0, 0, _DEVICE, _DEVICE, 0)
        raw.FPDF_PageToDevice(page.raw, *whole, x, y, byref(across), byref(down))
        corners.append([min(max(each.value / _DEVICE, 0.0), 1.0) for each in (across, down)])
    (left, top), (right, bottom) = corners
    return min(left, right), min(top, bottom), max(left, right), max(top, bottom)


class _Letter(NamedTuple):
    """A letter of a page without its accents; a ligature is several in one place."""

    text: str
    box: Rectangle


def _letters_of(page: "PdfPage") -> list[_Letter]:
    """Return the letters of a page that are seen, in the order of its text."""
    from pypdfium2 import raw

    found: list[_Letter] = []
    left, right, bottom, top = sides = [c_double() for _ in range(4)]
    places = [byref(each) for each in sides]
    shown = page.get_rotation()
    with closing(page.get_textpage()) as text:
        direction = text_direction(text)
    # pdfium orders the letters of upright text only; their places do not change.
    page.set_rotation(90 * direction)
    with closing(page.get_textpage()) as text:
        for at in range(text.count_chars()):
            letters = _bare(chr(raw.FPDFText_GetUnicode(text.raw, at)))
            if letters and raw.FPDFText_GetCharBox(text.raw, at, *places):
                box = (left.value, bottom.value, right.value, top.value)
                found.extend(_Letter(letter, box) for letter in letters)
    page.set_rotation(shown)
    return found


def _bare(text: str) -> str:
    """Return the letters of a text as they are compared: without spaces, accents and ligatures."""
    return "".join(
        letter
        for letter in unicodedata.normalize("NFKD", text)
        if not letter.isspace() and letter.isprintable() and not unicodedata.combining(letter)
    )


def _is_part(line: QuotedLine) -> bool:
    return bool(_bare(line.text[: line.start]) or _bare(line.text[line.end :]))


def _quoted_box(line: QuotedLine, letters: Iterable[_Letter]) -> Rectangle:
    """Return where the quoted part of a line is; the whole line if its letters are not found.

    The row of a table is read with the names of its columns, so its letters are not those in print.
    """
    whole = (line.box.x0, line.box.y0, line.box.x1, line.box.y1)
    if not _is_part(line):
        return whole
    own = [letter for letter in letters if _is_within(letter.box, whole)]
    quoted = _bare(line.text[line.start : line.end])
    first = _position(
        quoted, "".join(each.text for each in own), len(_bare(line.text[: line.start]))
    )
    if first is None:
        return whole
    left, bottom, right, top = _around(each.box for each in own[first : first + len(quoted)])
    # As high as its line, so that the box does not jump from word to word.
    if whole[2] - whole[0] < whole[3] - whole[1]:
        return whole[0], bottom, whole[2], top
    # The mark of a list item and the hyphen of a broken word are not in the text.
    if own[0].box[0] < own[-1].box[0]:
        left = left if _bare(line.text[: line.start]) else whole[0]
        right = right if _bare(line.text[line.end :]) else whole[2]
    return left, whole[1], right, whole[3]


def _position(quoted: str, printed: str, wanted: int) -> int | None:
    """Return where the quoted letters are in the printed ones: of several places, the nearest."""
    places = list(_places(quoted, printed)) if quoted else []
    return min(places, key=lambda at: abs(at - wanted), default=None)


def _places(quoted: str, printed: str) -> Iterator[int]:
    at = printed.find(quoted)
    while at >= 0:
        yield at
        at = printed.find(quoted, at + 1)


def _is_within(letter: Rectangle, line: Rectangle) -> bool:
    x, y = (letter[0] + letter[2]) / 2, (letter[1] + letter[3]) / 2
    return line[0] - 1 <= x <= line[2] + 1 and line[1] - 1 <= y <= line[3] + 1


def _around(boxes: Iterable[Rectangle]) -> Rectangle:
    lefts, bottoms, rights, tops = zip(*boxes, strict=True)
    return min(lefts), min(bottoms), max(rights), max(tops)
