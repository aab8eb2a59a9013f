import re

import pytest
from tests.documents.making import (
    blank_pdf,
    encrypted_pdf,
    pdf_of,
    picture_pdf,
    read,
    refused,
    shown,
)

from affidavit.documents.chunking import page_at
from affidavit.documents.model import DocumentLimits, ReadDocument
from affidavit.documents.pdf_layout import Bookmark, PageLines, analyse_layout, build_blocks
from affidavit.documents.pdf_lines import PdfLine, lines_of, without_running_lines
from affidavit.documents.text_builder import TextBuilder

LOREM = "The archive keeps the records of leave for as long as the law asks for it and no longer."

LONG_TITLE = "Carry over and a title that is so long that it does not stand on one line of it"

MANUAL = f"""
#set document(title: "Leave Manual", date: datetime(year: 2024, month: 5, day: 6))
#set page(width: 320pt, height: 260pt, margin: 30pt, numbering: "1",
  header: [Harrow Lane Archives])
#set text(size: 10pt)
#set heading(numbering: "1.1")
= Leave
{LOREM} {LOREM}

== Annual leave
Everybody gets fifteen days:
- permanent employees,
- people on a contract
  that ends.
#pagebreak()
= {LONG_TITLE}
{LOREM}
#pagebreak()
= Last
{LOREM}
"""


@pytest.fixture(scope="module")
def manual() -> ReadDocument:
    return read(pdf_of(MANUAL), "manual.pdf")


def test_blocks_of_a_manual(manual: ReadDocument) -> None:
    assert shown(manual) == [
        "paragraph Harrow Lane Archives",
        "heading1 1 Leave",
        f"paragraph {LOREM} {LOREM}",
        "heading2 1.1 Annual leave",
        "paragraph Everybody gets fifteen days:",
        "item - permanent employees,",
        "item - people on a contract that ends.",
        f"heading1 2 {LONG_TITLE}",
        f"paragraph {LOREM}",
        "heading1 3 Last",
        f"paragraph {LOREM}",
    ]


def test_title_date_and_pages(manual: ReadDocument) -> None:
    assert (manual.document.title, manual.document.date, manual.document.page_count) == (
        "Leave Manual",
        "2024-05-06",
        3,
    )
    starts = [offset for offset, _ in manual.page_marks]
    pages = {
        word: page_at(manual.page_marks, starts, manual.text.index(word))
        for word in ("Annual", "Carry", "Last")
    }
    assert pages == {"Annual": 1, "Carry": 2, "Last": 3}


def test_a_paragraph_that_runs_over_a_page_is_one() -> None:
    words = " ".join(f"word{number}" for number in range(160))
    page = '#set page(width: 200pt, height: 150pt, margin: 20pt, numbering: "1")'
    markup = f"{page}\n{words} end.\n\nNext one."
    found = read(pdf_of(markup), "long.pdf")
    assert shown(found) == [f"paragraph {words} end.", "paragraph Next one."]
    assert found.document.page_count is not None
    assert found.document.page_count > 1
    starts = [offset for offset, _ in found.page_marks]
    assert page_at(found.page_marks, starts, found.text.index("word0")) == 1
    assert page_at(found.page_marks, starts, found.text.index("Next")) == found.document.page_count


def test_without_an_outline_large_lines_are_headings() -> None:
    markup = f"""
#set text(size: 10pt)
#text(size: 22pt)[The House Rules]

#text(size: 14pt)[Opening hours]

{LOREM}

#text(size: 14pt)[2.1 Quiet]

{LOREM}
"""
    found = read(pdf_of(markup), "rules.pdf")
    assert shown(found) == [
        "heading1 The House Rules",
        "heading2 Opening hours",
        f"paragraph {LOREM}",
        "heading2 2.1 Quiet",
        f"paragraph {LOREM}",
    ]
    assert found.document.title == "The House Rules"


def test_lines_of_contents_are_no_evidence(manual: ReadDocument) -> None:
    found = read(
        pdf_of('#set heading(numbering: "1")\n#outline()\n= Leave\nText here.\n= Pay\nMore.'),
        "c.pdf",
    )
    kinds = [line.split(" ")[0] for line in shown(found)]
    assert kinds.count("contents") == 2


def test_a_word_broken_at_a_line_end_is_whole_again() -> None:
    markup = """
#set page(width: 140pt, height: 300pt, margin: 10pt)
#set text(hyphenate: true, lang: "en")
#set par(justify: true)
extraordinarily notwithstanding administrators. Extraordinarily incomprehensible
notwithstanding representatives
"""
    found = read(pdf_of(markup), "narrow.pdf")
    for word in ("extraordinarily", "incomprehensible", "representatives"):
        assert word in found.text.lower()


REFUSED = {
    "a password is needed": (encrypted_pdf(), "AF202"),
    "a scan has no text": (picture_pdf(2), "AF205"),
    "a page without anything": (blank_pdf(), "AF204"),
    "the file was cut": (pdf_of("Text")[:400], "AF203"),
    "only the first bytes are a PDF's": (b"%PDF-1.7\nnothing else", "AF203"),
}


@pytest.mark.parametrize(("data", "code"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(data: bytes, code: str) -> None:
    assert refused(data, "x.pdf").code == code


def test_too_many_pages() -> None:
    data = pdf_of("a #pagebreak() b #pagebreak() c")
    assert refused(data, "x.pdf", DocumentLimits(max_pages=2)).message == (
        "the document exceeds a limit (pages: more than 2)"
    )


def test_pages_that_are_pictures_are_named() -> None:
    found = read(picture_pdf(14, text="Some text."), "mixed.pdf")
    (warning,) = found.findings
    assert (warning.code, warning.read) == ("AF211", True)
    assert warning.message.startswith("14 of 15 pages are images without text: 1, 2, 3, ")
    assert warning.message.endswith(", ...")


TITLES = {
    "a program's own words are no title": ("Microsoft Word - draft7", "Fallback"),
    "a filename is no title": ("final.DOCX", "Fallback"),
    "what the author wrote is": ("House Rules", "House Rules"),
}


@pytest.mark.parametrize(("stated", "wanted"), TITLES.values(), ids=TITLES.keys())
def test_title(stated: str, wanted: str) -> None:
    markup = (
        f'#set document(title: "{stated}")\n#text(size: 20pt)[Fallback]\n\nSome text of the body.'
    )
    assert read(pdf_of(markup), "t.pdf").document.title == wanted


def line(text: str, y: float, x: float = 50.0, size: float = 10.0) -> PdfLine:
    return PdfLine(text, x, y, x + 5 * len(text), size)


def test_running_lines_go_and_the_first_of_each_stays() -> None:
    pages = [
        (line("Harrow Lane, Version 2.1", 800), line(f"Body {letter}", 400), line(f"Page {n}", 20))
        for n, letter in enumerate("abcd", start=1)
    ]
    kept = [[item.text for item in page] for page in without_running_lines(pages)]
    assert kept == [["Harrow Lane, Version 2.1", "Body a"], ["Body b"], ["Body c"], ["Body d"]]


def test_a_foot_with_a_year_is_kept_once() -> None:
    pages = [
        (
            line(f"Body {letter}", 400),
            line("x", 300),
            line("y", 200),
            line(f"Effective 2026 - {n}", 20),
        )
        for n, letter in enumerate("abcd", start=1)
    ]
    assert (
        sum("Effective" in item.text for page in without_running_lines(pages) for item in page) == 1
    )


@pytest.mark.parametrize("head", ["2 Security", "Security"], ids=["as it is", "without its number"])
def test_a_running_head_that_repeats_a_heading_goes(head: str) -> None:
    # The page's number is in the heading, so its first repetition looks like another line.
    tops = [line("2 Security", 780, size=14), *(line(head, 800) for _ in range(3))]
    pages = [
        (top, *(line(f"{top} {n}", 500 - 20 * n) for n in range(4)), line(str(number), 20))
        for number, top in enumerate(tops, 2)
    ]
    kept = [[item.text for item in page if item.y > 600] for page in without_running_lines(pages)]
    assert kept == [["2 Security"], [], [], []]


def test_a_title_beside_the_page_number_goes() -> None:
    pages = [
        (line(f"Section {title} {n}", 800), line("one", 500), line("two", 400), line("three", 300))
        for n, title in enumerate(("Leave", "Pay", "Travel", "Sickness"), start=7)
    ]
    assert all("Section" not in item.text for page in without_running_lines(pages) for item in page)


def test_nothing_runs_on_two_pages() -> None:
    pages = [(line("Same", 800), line("Body", 400)), (line("Same", 800), line("Other", 400))]
    assert without_running_lines(pages) == tuple(pages)


def test_roman_page_numbers_go() -> None:
    pages = [
        (line(f"Body {n}a", 400), line("b", 390), line("c", 300), line(n, 20))
        for n in ("i", "ii", "iii")
    ]
    assert all(
        item.text not in {"i", "ii", "iii"}
        for page in without_running_lines(pages)
        for item in page
    )


def test_a_bookmark_finds_the_nearest_line_that_says_it() -> None:
    lines = (line("Leave", 700), line("text", 600), line("4.1 Leave", 500), line("more", 400))
    layout = analyse_layout(
        [PageLines(1, lines, is_picture=False)], [Bookmark(1, 510.0, "Leave", 2)]
    )
    assert {key: (found.level, found.starts) for key, found in layout.headings.items()} == {
        (1, 2): (2, True)
    }


BOOKMARKS_TO_NOTHING = {
    "a page that is not there": Bookmark(9, None, "Leave", 1),
    "a title of no letters": Bookmark(1, None, "---", 1),
    "a title that no line says": Bookmark(1, None, "Pay", 1),
}


@pytest.mark.parametrize("mark", BOOKMARKS_TO_NOTHING.values(), ids=BOOKMARKS_TO_NOTHING.keys())
def test_a_bookmark_to_nothing_is_no_heading(mark: Bookmark) -> None:
    layout = analyse_layout(
        [PageLines(1, (line("Leave", 700), line("x" * 300, 600)), is_picture=False)], [mark]
    )
    assert layout.headings == {}


def test_a_page_without_lines_has_no_title() -> None:
    assert analyse_layout([PageLines(1, (), is_picture=False)], []).title == ""


def pieces(*lines: PdfLine) -> list[str]:
    """The blocks of one page of lines."""
    builder = TextBuilder(DocumentLimits())
    build_blocks(analyse_layout([PageLines(1, lines, is_picture=False)], []), builder)
    return [f"{block.kind} {builder.text()[block.start : block.end]}" for block in builder.blocks()]


FULL = "this line is as long as a line of this page can be"
PLACES = {
    "right below at the same edge": (
        [line(FULL, 700), line("end", 688)],
        [f"paragraph {FULL} end"],
    ),
    "a gap ends a paragraph": (
        [line(FULL, 700), line(FULL, 688), line("end", 660)],
        [f"paragraph {FULL} {FULL}", "paragraph end"],
    ),
    "another size ends a paragraph": (
        [line(FULL, 700), line("end", 688, size=8.0)],
        [f"paragraph {FULL}", "paragraph end"],
    ),
    "a short line ends a paragraph": (
        [line("Short", 700), line(f"A{FULL}", 688)],
        ["paragraph Short", f"paragraph A{FULL}"],
    ),
    "a short line in the middle of a sentence does not": (
        [line("Short", 700), line(FULL, 688)],
        [f"paragraph Short {FULL}"],
    ),
    "the first line of a text may stand out": (
        [line(f"{FULL} x", 700), line(FULL, 688, x=62), line("end.", 676, x=62)],
        [f"paragraph {FULL} x {FULL} end."],
    ),
    "a first line may stand in, and the next ones out": (
        [line(FULL, 700, x=70), line(FULL, 688), line("end", 676)],
        [f"paragraph {FULL} {FULL} end"],
    ),
    "a line that stands in begins a paragraph": (
        [line(f"{FULL}.", 700), line(FULL, 688, x=70)],
        [f"paragraph {FULL}.", f"paragraph {FULL}"],
    ),
    "a line that stands out after others begins one": (
        [line(FULL, 700, x=70), line(FULL, 688, x=70), line(FULL, 676, x=40)],
        [f"paragraph {FULL} {FULL}", f"paragraph {FULL}"],
    ),
    "an item hangs": (
        [line(f"\u2022 {FULL}", 700), line("end", 688, x=62), line(f"\u2022 {FULL}", 676)],
        [f"item - {FULL} end", f"item - {FULL}"],
    ),
    "a wrapped number is no item": (
        [line(FULL, 700), line(f"15. {FULL}", 688)],
        [f"paragraph {FULL} 15. {FULL}"],
    ),
    "the first number of a list is one": (
        [line(FULL, 700), line(f"1. {FULL}", 688), line(f"2. {FULL}", 676)],
        [f"paragraph {FULL}", f"item 1. {FULL}", f"item 2. {FULL}"],
    ),
    "another column begins another paragraph": (
        [line(FULL, 100), line("New column", 700, x=300)],
        [f"paragraph {FULL}", "paragraph New column"],
    ),
    "a hyphen that belongs to the word stays": (
        [
            line("a long line that ends in the word Half\ufffe", 700),
            line("Installed, and this one ends with a pro\ufffe", 688),
            line("vides, and the last one of them in well\ufffe", 676),
            line("known", 664),
            line("well-known text", 600),
        ],
        [
            "paragraph a long line that ends in the word Half-Installed, and this one ends with a"
            " provides, and the last one of them in well-known",
            "paragraph well-known text",
        ],
    ),
}


@pytest.mark.parametrize(("lines", "wanted"), PLACES.values(), ids=PLACES.keys())
def test_paragraphs_by_place(lines: list[PdfLine], wanted: list[str]) -> None:
    assert pieces(*lines) == wanted


class BrokenTextPage:
    """A page whose text pypdfium2 cannot take in one way."""

    raw = None

    def count_chars(self) -> int:
        return 1

    def get_text_range(self, errors: str) -> str:
        raise RecursionError(errors)

    def get_text_bounded(self, errors: str) -> str:
        return " " if errors == "replace" else "wrong"


def test_a_page_that_makes_pypdfium2_recur_is_read_another_way() -> None:
    assert lines_of(BrokenTextPage()) == ()


def test_a_page_that_cannot_be_loaded_damages_the_document() -> None:
    good = pdf_of("#set document(date: none)\nText")
    broken = re.sub(rb"/Type ?/Page\b", b"/Type /Pxge", good)
    assert len(broken) >= len(good)
    assert refused(broken, "x.pdf").code in {"AF203", "AF204"}
