"""What the page of a PDF shows beside paragraphs: columns, tables, footnotes and their places."""

from pathlib import Path

import pytest
from tests.documents.making import pdf_of, read, shown, write_all

from affidavit.documents.ingest import index_sources
from affidavit.documents.model import DocumentSettings
from affidavit.documents.tables import TableCell, is_number, table_lines
from affidavit.ledger.model import Span

PAGE = "#set page(width: 420pt, height: 400pt, margin: 30pt)\n#set text(size: 10pt)\n"
PROSE = (
    "The archive keeps the records of leave for as long as the law asks for it and no longer."
    " After that a clerk destroys them in the presence of a witness who signs the list."
)


def blocks(markup: str) -> list[str]:
    return shown(read(pdf_of(PAGE + markup), "x.pdf"))


def rows(markup: str) -> list[str]:
    return [block for block in blocks(markup) if block.startswith("row")]


RULED = """
#table(columns: (100pt, 90pt, 120pt),
  table.header([*Plan*], [*Price*], [*Support*]),
  [Annual], [20 EUR], [by email, within two working days of the request],
  [Monthly], [3 EUR], [none],
)
"""
UNRULED = """
#table(columns: 3, stroke: none, column-gutter: 20pt,
  [Country], [2023], [2024],
  [Norway], [5.5], [5.6],
  [Sweden], [10.5], [10.6],
  [Denmark], [5.9], [6.0],
)
"""
SPANNING = """
#table(columns: (80pt, 60pt, 60pt, 60pt, 60pt), stroke: none, align: center,
  table.hline(),
  [], table.cell(colspan: 2)[Men], table.cell(colspan: 2)[Women],
  table.hline(start: 1, end: 3), table.hline(start: 3, end: 5),
  [Region], [Young], [Old], [Young], [Old],
  table.hline(),
  [North], [11], [12], [13], [14],
  [South], [21], [22], [23], [24],
  table.hline(),
)
"""
TABLES = {
    "rules divide rows whose cells have several lines": (
        RULED,
        [
            "row | Plan: Annual; Price: 20 EUR; Support: by email, within two working days of the"
            " request. |",
            "row | Plan: Monthly; Price: 3 EUR; Support: none. |",
        ],
    ),
    "gaps divide columns where there are no rules": (
        UNRULED,
        [
            "row | Country: Norway; 2023: 5.5; 2024: 5.6. |",
            "row | Country: Sweden; 2023: 10.5; 2024: 10.6. |",
            "row | Country: Denmark; 2023: 5.9; 2024: 6.0. |",
        ],
    ),
    "a name above several columns names them all": (
        SPANNING,
        [
            "row | Region: North; Men Young: 11; Men Old: 12; Women Young: 13; Women Old: 14. |",
            "row | Region: South; Men Young: 21; Men Old: 22; Women Young: 23; Women Old: 24. |",
        ],
    ),
    "a column of signs belongs to the next one": (
        """#table(columns: 3, stroke: none, column-gutter: 20pt,
  [Name], [], [Sum], [Ada], [\\$], [500], [Bob], [\\$], [70], [Eve], [\\$], [8])""",
        [
            "row | Name: Ada; Sum: $ 500. |",
            "row | Name: Bob; Sum: $ 70. |",
            "row | Name: Eve; Sum: $ 8. |",
        ],
    ),
    "dots that lead to a value are not part of its name": (
        """#table(columns: (150pt, 60pt, 60pt), stroke: none,
  [Offence], [Men], [Women],
  [Theft . . . . . . . . . . . . .], [117], [22], [Fraud . . . . . . . . . .], [59], [31],
  [Arson . . . . . . . . . . . . . . .], [12], [4])""",
        [
            "row | Offence: Theft; Men: 117; Women: 22. |",
            "row | Offence: Fraud; Men: 59; Women: 31. |",
            "row | Offence: Arson; Men: 12; Women: 4. |",
        ],
    ),
    "page numbers make a table of contents": (
        """#table(columns: 2, stroke: none, column-gutter: 40pt,
  [Leave], [3], [Pay], [7], [Travel], [7], [Index], [19])""",
        [],
    ),
    "running text is no table": (f"{PROSE}\n\n{PROSE}", []),
    "a list with wide marks is no table": (
        "#set enum(body-indent: 30pt)\n+ One of them\n+ Two of them\n+ Three of them",
        [],
    ),
    "code is no table": (
        "```\nint a = 1;        // the first one\nint b = 2;        // the second one\n"
        "int c = 3;        // the third one\n```",
        [],
    ),
}


@pytest.mark.parametrize(("markup", "wanted"), TABLES.values(), ids=TABLES.keys())
def test_tables(markup: str, wanted: list[str]) -> None:
    assert rows(markup) == wanted


def test_a_table_interrupts_no_paragraph() -> None:
    found = blocks(f"{PROSE}\n{UNRULED}\n{PROSE}")
    assert [block.split(" ")[0] for block in found] == ["paragraph", *["row"] * 3, "paragraph"]
    assert found[0] == found[-1] == f"paragraph {PROSE}"


def test_a_caption_below_its_table_comes_first() -> None:
    found = blocks(f"#figure({UNRULED.strip().removeprefix('#')}, caption: [Millions of people])")
    assert [block.split(" ")[0] for block in found] == ["caption", *["row"] * 3]
    assert found[0] == "caption Table 1: Millions of people"


def test_columns_are_read_one_after_the_other() -> None:
    markup = f"#set par(justify: true)\n= Rules\n#columns(2, gutter: 20pt)[{PROSE} {PROSE} {PROSE}]"
    assert blocks(markup) == ["heading1 Rules", f"paragraph {PROSE} {PROSE} {PROSE}"]


def test_columns_that_are_drawn_line_by_line() -> None:
    left = [f"left text number {number} goes" for number in "abcdef"]
    right = [f"right text number {number} goes" for number in "abcdef"]
    places = "".join(
        f"#place(dx: 0pt, dy: {12 * at}pt)[{one}]\n#place(dx: 115pt, dy: {12 * at}pt)[{two}]\n"
        for at, (one, two) in enumerate(zip(left, right, strict=True))
    )
    assert blocks(places) == [f"paragraph {' '.join((*left, *right))}"]


def test_a_footnote_is_apart_from_the_sentence_that_it_interrupts() -> None:
    sentence = " ".join(["Every clerk who works in the archive for a whole year"] * 30)
    found = blocks(f"Leave is paid.#footnote[Except on strike days.] {sentence} is paid.")
    kinds = [block.split(" ")[0] for block in found]
    assert kinds == ["paragraph", "note"]
    assert found[0].endswith(f"{sentence} is paid.")
    assert "Except on strike days." in found[1]


def test_the_boxes_of_a_quote_are_kept_in_the_index(tmp_path: Path) -> None:
    folder = write_all(tmp_path / "in", {"x.pdf": pdf_of(f"{PAGE}{PROSE}\n#pagebreak()\nLast.")})
    found = index_sources([folder], tmp_path / "kept", DocumentSettings(), jobs=0)
    with found.index as index:
        (hit, *_) = index.search("a clerk destroys records in the presence of a witness")
        start = hit.chunk.text.index("a clerk")
        boxes = index.boxes_of(hit.chunk, Span(start, start + 7))
        whole = index.boxes_of(hit.chunk, Span(0, len(hit.chunk.text)))
    assert len(boxes) == 1
    assert len(whole) == 2
    assert all(box.page == 1 and 29 < box.x0 < box.x1 < 391 for box in whole)
    assert whole[0].y0 > whole[1].y0


CELLS = {
    "a row header without a name stands before a colon": (
        [["", "Days"], ["Annual", "15"]],
        1,
        ["| Annual: Days: 15. |"],
    ),
    "a cell without a name is written alone": (
        [["Annual", "15", "paid"]],
        0,
        ["| Annual: 15; paid. |"],
    ),
    "a cell that ends a sentence needs no other full stop": (
        [["Rule", "Text"], ["1", "Be kind."]],
        1,
        ["| Rule: 1; Text: Be kind. |"],
    ),
    "an empty cell is left out with its name": (
        [["Kind", "Days", "Pay"], ["Sick", "", "full"]],
        1,
        ["| Kind: Sick; Pay: full. |"],
    ),
    "several header rows are one name": (
        [["", "Men"], ["", "Young"], ["North", "11"]],
        2,
        ["| North: Men Young: 11. |"],
    ),
    "nothing": ([], 0, []),
}


@pytest.mark.parametrize(("grid", "header", "wanted"), CELLS.values(), ids=CELLS.keys())
def test_rows_as_text(grid: list[list[str]], header: int, wanted: list[str]) -> None:
    table = [[TableCell(text, at) for at, text in enumerate(row)] for row in grid]
    assert list(table_lines(table, header)) == wanted


def test_a_row_of_one_wide_cell_names_the_rows_below() -> None:
    table = [
        [TableCell("Kind", 0), TableCell("Days", 1)],
        [TableCell("Europe", 0, 2)],
        [TableCell("Annual", 0), TableCell("25", 1)],
    ]
    assert list(table_lines(table, 1)) == ["| Europe |", "| Europe: Kind: Annual; Days: 25. |"]


def test_a_long_row_is_several_lines_with_its_row_header() -> None:
    texts = ["North", *(f"{'x' * 100}{at}" for at in range(12))]
    lines = list(table_lines([[TableCell(text, at) for at, text in enumerate(texts)]], 0))
    assert len(lines) == 3
    assert all(line.startswith("| North: x") and len(line) < 700 for line in lines)


NUMBERS = {
    "1,540.0": True,
    "-3": True,
    "20 EUR": True,
    "5%": True,
    "$7,825": True,
    "\u2013": True,
    "2005-09-23": True,
    "Annual": False,
    "C1": False,
    "3 to 5 years": False,
}


@pytest.mark.parametrize(("text", "wanted"), NUMBERS.items())
def test_is_number(text: str, wanted: bool) -> None:
    assert is_number(text) is wanted
