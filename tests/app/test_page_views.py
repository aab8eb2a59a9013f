"""The boxes of a quote cover its ink and little else: measured in the pixels of real PDFs.

The quote is set in red, which moves no letter, so its ink is known without our own places.
"""

import struct
import zlib
from io import BytesIO
from typing import NamedTuple

import numpy as np
import pypdfium2
import pytest
from numpy.typing import NDArray
from tests.documents.making import pdf_of, read

from affidavit.app.page_views import DocumentText, quoted_lines
from affidavit.base.errors import AffidavitError
from affidavit.documents.chunking import chunk_document
from affidavit.documents.model import ChunkSettings, PageHighlight
from affidavit.documents.pdf_pages import MAX_PIXELS, highlights, render_page
from affidavit.ledger.model import Span

FIRST = (
    "Every record of leave is kept for as long as the law asks for it, and no longer than that."
    " A clerk of the archive destroys what is out of date in the presence of a witness."
    " Nobody may look into the file of a colleague without a written reason."
)
QUOTE = (
    "Employees who return from a long illness may carry over their unused leave to the next year,"
    " as long as they tell the office by the end of March."
)
REST = (
    "The office answers each request within two working days. It says which days are granted, which"
    " are not, and for what reason. An employee may object to the answer within two weeks, and then"
    " another officer decides about it."
)
ACCENTED = "Zoë\u2019s café officially offers an “efficient” naïve affidavit for 20 € per Fräulein."
PAGE = (
    "#set page(width: 460pt, height: {height}pt, margin: 30pt{more})\n#set text(size: {size}pt)\n"
)


def page(more: str = "", height: int = 640, size: float = 10) -> str:
    return PAGE.format(more=f", {more}" if more else "", height=height, size=size)


def red(text: str) -> str:
    return f"#text(fill: red)[{text}]"


def prose(before: int, after: int, quote: str = QUOTE) -> str:
    """Paragraphs with a quote in the middle of one."""
    return f"{FIRST}\n\n" * before + f"{FIRST} {red(quote)} {REST}\n\n" + f"{REST}\n\n" * after


JUSTIFIED = "#set par(justify: true)\n"
LAYOUTS = {
    "one column": (page() + prose(2, 2), QUOTE),
    "one column, justified and hyphenated": (
        page(size=12) + JUSTIFIED + "#set text(hyphenate: true)\n" + prose(2, 2),
        QUOTE,
    ),
    "two columns, in the left one": (page("columns: 2") + prose(1, 8), QUOTE),
    "two columns, in the right one": (page("columns: 2") + prose(8, 2), QUOTE),
    "two columns, from one to the next": (page("columns: 2", height=330) + prose(2, 6), QUOTE),
    "three columns, in the middle one": (
        page("columns: 3", height=440, size=8) + JUSTIFIED + prose(4, 8),
        QUOTE,
    ),
    "three columns, from one to the next": (
        page("columns: 3", height=266, size=8) + prose(4, 6),
        QUOTE,
    ),
    "two columns, from the last one to the next page": (
        page("columns: 2", height=318) + prose(5, 6),
        QUOTE,
    ),
    "across a page break": (page(height=188) + prose(2, 2), QUOTE),
    "across a page break with a running head": (
        page('header: [Rules of leave], numbering: "1"', height=188) + prose(2, 2),
        QUOTE,
    ),
    "a few words within a line": (page() + prose(2, 2, "by the end of March"), None),
    "one word": (page("columns: 2") + prose(2, 2, "Employees"), None),
    "words that are repeated in the line": (
        page() + "The leave, the leave, #text(fill: red)[the leave of others] and more.\n\n" + REST,
        None,
    ),
    "accents, ligatures and quotation marks": (page("columns: 2") + prose(1, 2, ACCENTED), None),
    "an item of a list": (page() + f"{FIRST}\n\n- {REST}\n- {red(QUOTE)}\n- {REST}\n", QUOTE),
    "a heading": (page() + f"{FIRST}\n\n= {red('What employees may carry over')}\n\n{REST}", None),
}


class Ink(NamedTuple):
    """Pixels of a page: how many are in the quote's colour, or dark, within boxes and in all."""

    quote_inside: int
    quote: int
    other_inside: int
    inside: int


def quote_of(markup: str, wanted: str | None) -> str:
    if wanted is not None:
        return wanted
    return markup.partition("#text(fill: red)[")[2].partition("]")[0]


def pixels_of(png: bytes) -> NDArray[np.int16]:
    """Return the rows, columns and colours of an image that was written without filters."""
    width, height = struct.unpack(">II", png[16:24])
    at, packed = 8, b""
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        if png[at + 4 : at + 8] == b"IDAT":
            packed += png[at + 8 : at + 8 + length]
        at += length + 12
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 3 * width + 1)
    return rows[:, 1:].reshape(height, width, 3).astype(np.int16)


def ink_of(png: bytes, boxes: list[tuple[float, float, float, float]]) -> Ink:
    pixels = pixels_of(png)
    height, width, _ = pixels.shape
    inside = np.zeros((height, width), np.bool_)
    for left, top, right, bottom in boxes:
        rows = slice(round(top * height), round(bottom * height))
        inside[rows, round(left * width) : round(right * width)] = True
    quote = pixels[:, :, 0] - pixels[:, :, 1:].max(axis=2) > 60
    other = (pixels.max(axis=2) < 128) & ~quote
    counts = (quote & inside, quote, other & inside, inside)
    return Ink(*(int(each.sum()) for each in counts))


def highlighted(pdf: bytes, quote: str) -> list[PageHighlight]:
    document = read(pdf, "rules.pdf")
    start = document.text.index(quote)
    text = DocumentText(chunk_document(document, ChunkSettings()))
    assert text.between(start, start + len(quote)) == quote
    lines = quoted_lines(document.line_boxes, text, Span(start, start + len(quote)))
    return list(highlights(pdf, lines).pages)


def require_covered(pdf: bytes, quote: str) -> list[PageHighlight]:
    """Assert that nearly all of the quote's ink is in the boxes, and nearly no other."""
    found = highlighted(pdf, quote)
    seen = {each.page: each.boxes for each in found}
    with pypdfium2.PdfDocument(pdf) as document:
        pages = len(document)
    for number in range(1, pages + 1):
        ink = ink_of(render_page(pdf, number, 800).png, seen.get(number, []))
        assert (ink.quote > 0) is (number in seen)
        assert ink.quote_inside >= 0.995 * ink.quote, ink
        assert ink.other_inside <= 0.02 * ink.quote, ink
        # The boxes are no larger than the words.
        assert ink.inside <= 12 * ink.quote, ink
    return found


@pytest.mark.parametrize(("markup", "wanted"), LAYOUTS.values(), ids=LAYOUTS.keys())
def test_the_boxes_cover_the_quote(markup: str, wanted: str | None) -> None:
    found = require_covered(pdf_of(markup), quote_of(markup, wanted))
    assert found


def test_a_quote_across_a_page_break_has_boxes_on_both_pages() -> None:
    markup, _ = LAYOUTS["across a page break"]
    assert [each.page for each in highlighted(pdf_of(markup), QUOTE)] == [1, 2]


def changed(pdf: bytes, *, rotation: int = 0, crop: bool = False) -> bytes:
    document = pypdfium2.PdfDocument(pdf)
    for each in document:
        each.set_rotation(rotation)
        if crop:
            each.set_cropbox(20, 100, 450, 630)
    buffer = BytesIO()
    document.save(buffer)
    return buffer.getvalue()


@pytest.mark.parametrize("rotation", [90, 180, 270])
def test_a_page_that_is_shown_rotated(rotation: int) -> None:
    pdf = changed(pdf_of(LAYOUTS["two columns, in the right one"][0]), rotation=rotation)
    (found,) = require_covered(pdf, QUOTE)
    assert (found.width, found.height) == ((640, 460) if rotation != 180 else (460, 640))


def test_a_page_that_is_shown_cropped() -> None:
    (found,) = require_covered(changed(pdf_of(LAYOUTS["one column"][0]), crop=True), QUOTE)
    assert (found.width, found.height) == (430, 530)


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
@pytest.mark.parametrize("turn", [-90, 90, 180])
def test_text_that_runs_in_another_direction(turn: int, rotation: int) -> None:
    """A landscape table is often drawn on its side, on a page that is shown rotated."""
    markup = (
        "#set page(width: 640pt, height: 460pt, margin: 30pt)\n"
        f"#rotate({turn}deg, reflow: true)[#block(width: 380pt)[{FIRST} {red(QUOTE)} {REST}]]"
    )
    pdf = changed(pdf_of(markup), rotation=rotation)
    assert read(pdf, "rules.pdf").text.startswith(FIRST)
    assert require_covered(pdf, QUOTE)


def test_a_page_of_an_unusual_shape_is_rendered_smaller() -> None:
    tall = pdf_of("#set page(width: 20pt, height: 4000pt, margin: 1pt)\na")
    height, width, _ = pixels_of(render_page(tall, 1, 2400).png).shape
    assert width * height <= MAX_PIXELS * 1.01
    assert height / width == pytest.approx(200, rel=0.02)


def test_what_is_no_pdf_is_refused() -> None:
    with pytest.raises(AffidavitError, match="AF203"):
        render_page(b"%PDF-1.4 nothing", 1, 400)
