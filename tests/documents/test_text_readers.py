"""HTML, Markdown and plain text: what stands in the file, block by block."""

import textwrap
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.documents.making import read, refused, shown

from affidavit.documents.model import DocumentLimits
from affidavit.documents.text_tables import find_tables

HTML = {
    "headings, paragraphs and inline marks": (
        "<h1>Leave</h1><p>It is <b>15</b> days<sup>1</sup>.<br>Each year.</p>"
        "<h2>Pay &amp; more</h2>",
        ["heading1 Leave", "paragraph It is 15 days1. Each year.", "heading2 Pay & more"],
    ),
    "text without a paragraph is one": (
        "Loose <i>text</i><div>Block</div>tail",
        ["paragraph Loose text", "paragraph Block", "paragraph tail"],
    ),
    "lists are numbered as a browser does": (
        "<ul><li>a<li>b<ol><li>c</li><li><p>d</p><p>more</p></li></ol></ul><li>stray</li>",
        ["item - a", "item - b", "item1 1. c", "item1 2. d", "paragraph more", "item - stray"],
    ),
    "code is kept as it is": ("<pre>a  b\n  c</pre>", ["code ```\na  b\n  c\n```"]),
    "empty code is no block": ("<pre> </pre><p>a</p>", ["paragraph a"]),
    "rows carry their header": (
        "<table><caption>Days</caption><thead><tr><td>Kind<td>Days</thead>"
        "<tr><td>Annual<td>15<tr><td>Sick<p>Long</p>end<td>30</table>",
        [
            "caption Days",
            "row | Kind: Annual; Days: 15. |",
            "row | Kind: Sick Long end; Days: 30. |",
        ],
    ),
    "a header of th": (
        "<table><tr><th>Kind<th>Days<tr><td>Annual<td>15</table>",
        ["row | Kind: Annual; Days: 15. |"],
    ),
    "a table of a header alone still says it": (
        "<table><tr><th>Kind<th>Days</table>",
        ["row | Kind: Days. |"],
    ),
    "a table that lays out the page is no data": (
        "<table><tr><td><h2>Leave</h2><td>Text</table><table><tr><td>one</table>",
        ["heading2 Leave", "paragraph Text", "paragraph one"],
    ),
    "what nobody reads is left out": (
        "<nav>menu</nav><script>x()</script><style>p{}</style><p hidden>h</p><!-- c -->"
        "<div style='display: none'>n</div><div role='navigation'>r</div><p class='x'>seen</p>",
        ["paragraph seen"],
    ),
    "links to the chapters around are navigation": (
        "<div class=NAVHEADER><table><tr><td>Prev<td>Next</table></div><p>seen</p>",
        ["paragraph seen"],
    ),
    "a definition belongs to its term": (
        "<dl><dt><code>-eq</code><dd>equal<p>as in<dt>-n, <dt>-ne:<dd><p>not equal</dl><p>t",
        ["item - -eq: equal", "paragraph as in", "item - -n, -ne: not equal", "paragraph t"],
    ),
    "a term introduces what is no text": (
        "<dl><dt>Days<dd><ul><li>15</ul><dt>Code<dd><pre>x</pre><dt>Empty</dl>",
        [
            *("paragraph Days:", "item1 - 15", "paragraph Code:", "code ```\nx\n```"),
            "paragraph Empty:",
        ],
    ),
    "the sign of a link to a heading goes": (
        "<h1>Leave<a href='#l'>\u00b6</a></h1><p>t",
        ["heading1 Leave", "paragraph t"],
    ),
}


@pytest.mark.parametrize(("source", "wanted"), HTML.values(), ids=HTML.keys())
def test_html(source: str, wanted: list[str]) -> None:
    assert shown(read(f"<html><body>{source}".encode(), "x.html")) == wanted


def test_html_title_and_date() -> None:
    head = (
        "<title>House\nRules</title><meta name=date content=2023-01-01>"
        "<meta property='article:modified_time' content='2025-02-03T04:05:06Z'><meta name=x>"
    )
    found = read(f"<!doctype html><head>{head}</head><body><p>Text.".encode(), "x.htm")
    assert (found.document.title, found.document.date, found.document.media_type) == (
        "House Rules",
        "2025-02-03",
        "text/html",
    )


def test_html_without_a_title_is_called_by_its_heading() -> None:
    assert read(b"<html><body><h1>Rules \xc2\xb6</h1><p>a", "x.html").document.title == "Rules"
    assert read(b"<html><body><p>a", "rules.html").document.title == "rules"


def test_html_nested_to_kill_the_parser() -> None:
    found = refused(b"<html>" + b"<div>" * 6000 + b"x", "x.html")
    assert (found.code, "nested deeper" in found.message) == ("AF207", True)


def test_html_with_paragraphs_that_are_never_closed_is_no_attack() -> None:
    assert len(read(b"<html><body>" + b"<p>a<br>b" * 6000, "x.html").blocks) == 6000


MARKDOWN = {
    "headings of both kinds": ("# Leave\n\nPay\n---\n", ["heading1 Leave", "heading2 Pay"]),
    "marks of emphasis, links and pictures go": (
        "It *is* **15** `days` [here](u) ![pic](p)\nnext  \nline \\* &amp;",
        ["paragraph It is 15 days here pic next line * &"],
    ),
    "lists": (
        "- a\n- b\n  1. c\n  2. d\n\n     more\n\n3. e\n",
        ["item - a", "item - b", "item1 1. c", "item1 2. d", "paragraph more", "item 3. e"],
    ),
    "tables": (
        "| Kind | Days |\n|---|---|\n| Annual | 15 |\n| Sick | |\n",
        ["row | Kind: Annual; Days: 15. |", "row | Kind: Sick. |"],
    ),
    "a table of a header alone still says it": (
        "| Kind | Days |\n|---|---|\n",
        ["row | Kind: Days. |"],
    ),
    "code of both kinds": (
        "```py\nx = 1\n```\n\n    y = 2\n",
        ["code ```\nx = 1\n```", "code ```\ny = 2\n```"],
    ),
    "code that holds a fence": ("~~~\n```\n~~~\n", ["code ~~~\n```\n~~~"]),
    "HTML inside loses its tags": (
        "<div>\n<b>text</b>\n</div>\n\na <i>b</i>",
        ["paragraph text", "paragraph a b"],
    ),
    "comments are not read": (
        "<!-- one -->\n\n<div>a <!-- two --> b</div>\n\n<!-- three\n",
        ["paragraph a b"],
    ),
    "quotations are paragraphs": ("> said\n", ["paragraph said"]),
    "a ruler is nothing": ("a\n\n***\n\nb\n", ["paragraph a", "paragraph b"]),
}


@pytest.mark.parametrize(("source", "wanted"), MARKDOWN.values(), ids=MARKDOWN.keys())
def test_markdown(source: str, wanted: list[str]) -> None:
    assert shown(read(source.encode(), "x.md")) == wanted


def test_markdown_comments_without_end_take_no_endless_time() -> None:
    before = time.process_time()
    assert shown(read(b"text\n\n" + b"<!--" * 50_000, "x.md")) == ["paragraph text"]
    assert time.process_time() - before < 5


def test_markdown_front_matter() -> None:
    source = (
        "---\ntitle: 'House Rules'\ndate: 2024-01-02\nupdated: 2025-03-04\nx: y\n---\n# Leave\n"
    )
    found = read(source.encode(), "x.md")
    assert (found.document.title, found.document.date, shown(found)) == (
        "House Rules",
        "2025-03-04",
        ["heading1 Leave"],
    )
    assert read(b"# Leave\n", "x.md").document.title == "Leave"
    assert read(b"text\n", "notes.md").document.title == "notes"


PLAIN = {
    "paragraphs are unwrapped": (
        "One\ntwo.\n\n\nThree.",
        ["paragraph One two.", "paragraph Three."],
    ),
    "underlined headings": (
        "Leave\n=====\ntext\n\nPay\n---",
        ["heading1 Leave", "paragraph text", "heading2 Pay"],
    ),
    "numbered headings": (
        "1 Leave\n\n4.2. Carry over\n\n4.2 is a number that is used in a sentence.",
        [
            "heading1 1 Leave",
            "heading2 4.2. Carry over",
            "paragraph 4.2 is a number that is used in a sentence.",
        ],
    ),
    "headings in capitals": ("ANNUAL LEAVE\n\nOK", ["heading1 ANNUAL LEAVE", "paragraph OK"]),
    "a long first line is no heading": ("A" * 120, ["paragraph " + "A" * 120]),
    "lists": (
        "Rules:\n* one\n  more\n\u2022 two\n\n(a) three\n(b) four\n\n1. five\n15. is it",
        [
            "paragraph Rules:",
            "item - one more",
            "item - two",
            "item (a) three",
            "item (b) four",
            "item 1. five",
            "item 15. is it",
        ],
    ),
    "a wrapped number is no list": (
        "the limit is\n15. and more",
        ["paragraph the limit is 15. and more"],
    ),
    "rows of a table stand alone": (
        "| a | b |\n| 1 | 2 |\nafter",
        ["row | a | b |", "row | 1 | 2 |", "paragraph after"],
    ),
    "control characters and soft hyphens go, ligatures open": (
        "a\x07b\u00adc \ufb01ne\u200b cafe\u0301",
        ["paragraph abc fine caf\u00e9"],
    ),
}


@pytest.mark.parametrize(("source", "wanted"), PLAIN.values(), ids=PLAIN.keys())
def test_plain(source: str, wanted: list[str]) -> None:
    assert shown(read(source.encode(), "x.txt")) == wanted


TEXT_TABLES = {
    "a simple table of reStructuredText": (
        "Sizes:\n\n====  =====  ======\nFile  Bytes  Note\n====  =====  ======\n"
        "a.c     120  *old*\nb.c      80\n             more\n====  =====  ======\n\nafter",
        [
            "paragraph Sizes:",
            "row | File: a.c; Bytes: 120; Note: *old*. |",
            "row | File: b.c; Bytes: 80; Note: more. |",
            "paragraph after",
        ],
    ),
    "a simple table without a header": (
        "====== ====\nNOERR  0x00\nEINVAL 0x16\n====== ====",
        ["row | NOERR: 0x00. |", "row | EINVAL: 0x16. |"],
    ),
    "names of columns that are not exactly above them": (
        "====== ==== ====\n         Min  Max\n====== ==== ====\nash:   1.3  3.2\n====== ==== ====",
        ["row | ash: Min: 1.3; Max: 3.2. |"],
    ),
    "a header over two columns, underlined": (
        "=====  =====  ======\n   Inputs     Output\n------------  ------\n  A      B    A or B\n"
        "=====  =====  ======\nNo     No     No\nNo     Yes    Yes\n=====  =====  ======",
        [
            "row | Inputs A: No; Inputs B: No; Output A or B: No. |",
            "row | Inputs A: No; Inputs B: Yes; Output A or B: Yes. |",
        ],
    ),
    "marks of reStructuredText around words go": (
        "=======  =======\nName     Value\n=======  =======\n|one|    ``a``\n"
        ":py:`x`  **b**\n=======  =======",
        ["row | Name: one; Value: a. |", "row | Name: x; Value: b. |"],
    ),
    "a grid": (
        "+------+-------+\n| Kind | Days  |\n+======+=======+\n| Paid | 15    |\n| time |       |\n"
        "+------+-------+\n| Sick | 30    |\n+------+-------+",
        ["row | Kind: Paid time; Days: 15. |", "row | Kind: Sick; Days: 30. |"],
    ),
    "a grid with cells over rows and columns": (
        "+-----+----+----+\n| R   | A  | B  |\n+=====+====+====+\n| one | 1  | 2  |\n"
        "|     +----+----+\n|     | 3 to 4  |\n+-----+----+----+",
        ["row | R: one; A: 1; B: 2. |", "row | R: one; A, B: 3 to 4. |"],
    ),
    "the grid of a database client": (
        "+----+-----+\n| id | sum |\n+----+-----+\n| a  |   1 |\n| b  |   2 |\n+----+-----+",
        ["row | id: a; sum: 1. |", "row | id: b; sum: 2. |"],
    ),
    "a grid without a mark for its header": (
        "+-----+-----+\n| Day | Sum |\n+-----+-----+\n| Mon | 1   |\n+-----+-----+\n| Tue | 2   |\n"
        "+-----+-----+",
        ["row | Day: Mon; Sum: 1. |", "row | Day: Tue; Sum: 2. |"],
    ),
    "cells between bars": (
        " name | size\n------+------\n a    | 12\n b    | 13\n(2 rows)",
        ["row | name: a; size: 12. |", "row | name: b; size: 13. |", "paragraph (2 rows)"],
    ),
    "the table of Markdown in plain text": (
        "| a | b |\n|---|:-:|\n| 1 | 2 |",
        ["row | a: 1; b: 2. |"],
    ),
    "values between commas": (
        'Year,"Sum, all"\n1999,"1,200"\n2000,1300',
        ["row | Year: 1999; Sum, all: 1,200. |", "row | Year: 2000; Sum, all: 1300. |"],
    ),
    "values between tabs": (
        "Name\tSize\na\t1\nb\t2",
        ["row | Name: a; Size: 1. |", "row | Name: b; Size: 2. |"],
    ),
    "aligned columns below a title": (
        "Trains today\nTo       Leaves  Platform\nBern     10:02          4\n"
        "Zug      10:14         11",
        [
            "paragraph Trains today",
            "row | To: Bern; Leaves: 10:02; Platform: 4. |",
            "row | To: Zug; Leaves: 10:14; Platform: 11. |",
        ],
    ),
    "aligned columns below a rule": (
        "Option   Meaning\n------   -------\n-a       all files\n-q       say nothing",
        ["row | Option: -a; Meaning: all files. |", "row | Option: -q; Meaning: say nothing. |"],
    ),
    "aligned columns below a title and above a rule": (
        "By load\nLOAD  N   NOT MEASURED\n----  --  ------------\n5rps  20  0\n9rps  30  1",
        [
            "paragraph By load",
            "row | LOAD: 5rps; N: 20; NOT MEASURED: 0. |",
            "row | LOAD: 9rps; N: 30; NOT MEASURED: 1. |",
        ],
    ),
    "columns aligned by tabs": (
        "\tStart\t\tUse\n\t-------------------\n\t0100\t\tstack\n\tff00\t\theap",
        ["row | Start: 0100; Use: stack. |", "row | Start: ff00; Use: heap. |"],
    ),
}


@pytest.mark.parametrize(("source", "wanted"), TEXT_TABLES.values(), ids=TEXT_TABLES.keys())
def test_tables_of_plain_text(source: str, wanted: list[str]) -> None:
    assert shown(read(source.encode(), "x.txt")) == wanted


@pytest.mark.parametrize(("source", "wanted"), TEXT_TABLES.values(), ids=TEXT_TABLES.keys())
def test_tables_of_plain_text_inside_markdown(source: str, wanted: list[str]) -> None:
    rows = [line for line in wanted if line.startswith("row ")]
    fenced = f"# Title\n\n```\n{source}\n```\n"
    if len(rows) == len(wanted):
        assert shown(read(fenced.encode(), "x.md")) == ["heading1 Title", *rows]
    if not source.startswith("\t"):
        found = shown(read(f"See [here].\n\n{source}\n\n[here]: x\n".encode(), "x.md"))
        assert found[0] == "paragraph See here."
        assert [line for line in found if line.startswith("row ")] == rows


NO_TABLES = {
    "justified prose": (
        "The  committee  met  in  May  and\nagreed  to  spend  300  euros  on\n"
        "paper,  pens,  and  a  new  lamp."
    ),
    "sentences with as many commas": (
        "Apples, pears, and plums are sold\nBread, butter, and milk are not\n"
        "Tea, salt, and 20 eggs are"
    ),
    "places and years": "Berlin, Germany, 1990\nParis, France, 1991\nRome, Italy, 1992",
    "numbers without names": "1,2,3\n4,5,6\n7,8,9",
    "a numbered list": "1. Restore the first part\n2. Restore the second part\n3. Load the third",
    "references": "[1] bindings/clock.txt\n[3] bindings/mux.txt\n[4] bindings/pll.txt",
    "program text": 'emit(fd, KEY, 1);\nemit(fd, SYN, 0);\nemit(fd, KEY, 0);',
    "definitions": "#define ONE    1\n#define TWO    2\n#define THREE  3",
    "assignments": " 0 = tclk    (Bus clock)\n 1 = cpuclk  (CPU clock)\n 2 = l2clk   (Cache)",
    "an address": "Jane Doe          12 Main Street\nExample Ltd.      90210 Springfield",
    "a heading and its text": "Leave\n=====\nEmployees have   15 days\nand may take     5 more",
    "a ruler": "one\n\n==== ====\n\ntwo",
    "a grid that is not closed": "+---+---+\n| a | b |",
    "a drawing": "+-----+\n| box |----> out\n+-----+",
    "a letter": (
        "Dear Ms Smith,\n\nwe send you 3 books, 2 maps, and 1 globe,\n"
        "as you asked, on 3 May, by post,\nfree of charge, with thanks, and soon."
    ),
}  # fmt: skip


@pytest.mark.parametrize("source", NO_TABLES.values(), ids=NO_TABLES.keys())
def test_what_is_no_table_stays_text(source: str) -> None:
    assert list(find_tables(source.splitlines())) == []


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.lists(
            st.sampled_from(
                ["the", "sum", "of", "12", "dogs,", "and", "3,400", "(see", "p.", "7)", "is:", "5%"]
            ),
            min_size=4, max_size=12,
        ),
        min_size=1, max_size=8,
    ),
    st.integers(min_value=20, max_value=80),
)  # fmt: skip
def test_wrapped_sentences_are_never_a_table(sentences: list[list[str]], width: int) -> None:
    text = textwrap.fill(" ".join(" ".join(words) + "." for words in sentences), width)
    assert list(find_tables(text.splitlines())) == []


def test_rules_without_end_take_no_endless_time() -> None:
    before = time.process_time()
    for line in ("=== ===", "+--+--+", "a | b", "a,b", "a  1"):
        assert len(read(f"{line}\n\n".encode() * 3000, "x.txt").text) > 0
        assert len(read(f"{line}\n".encode() * 6000, "x.txt").text) > 0
    assert time.process_time() - before < 10


def test_plain_headings_without_end() -> None:
    assert len(read(b"A\n===\n" * 5000, "x.txt").blocks) == 5000


def test_plain_title() -> None:
    assert read(b"Leave\n=====\ntext", "x.txt").document.title == "Leave"
    assert read(b"text", "notes.txt").document.title == "notes"


ENCODINGS = {
    "UTF-8": "caf\u00e9".encode(),
    "UTF-8 with a mark": "caf\u00e9".encode("utf-8-sig"),
    "UTF-16 little": b"\xff\xfe" + "caf\u00e9".encode("utf-16-le"),
    "UTF-16 big": b"\xfe\xff" + "caf\u00e9".encode("utf-16-be"),
    "UTF-32": "caf\u00e9".encode("utf-32"),
}


@pytest.mark.parametrize("data", ENCODINGS.values(), ids=ENCODINGS.keys())
def test_encodings(data: bytes) -> None:
    found = read(data, "x.txt")
    assert (found.text, found.findings) == ("caf\u00e9", ())


def test_windows_1252_is_a_guess_and_says_so() -> None:
    found = read(b"caf\xe9 \x80 5 \x81 end", "x.txt")
    assert found.text == "caf\u00e9 \u20ac 5 end"
    assert [item.code for item in found.findings] == ["AF210"]
    assert found.findings[0].read


def test_a_mark_that_lies() -> None:
    found = refused(b"\xff\xfe" + b"abc", "x.txt")
    assert (found.code, "UTF-16" in found.message) == ("AF203", True)


DECLARED = {
    "a declared encoding": (
        "<html><meta charset=iso-8859-15><p>\u20ac5".encode("iso-8859-15"),
        "\u20ac5",
    ),
    "one that is not known": (b"<html><meta charset=klingon><p>caf\xc3\xa9", "caf\u00e9"),
    "one that is not true": (b"<html><meta charset=utf-8><p>caf\xe9", "caf\u00e9"),
    "a byte order mark goes first": (
        b"\xef\xbb\xbf<html><meta charset=latin1><p>caf\xc3\xa9",
        "caf\u00e9",
    ),
}


@pytest.mark.parametrize(("data", "text"), DECLARED.values(), ids=DECLARED.keys())
def test_html_encodings(data: bytes, text: str) -> None:
    assert read(data, "x.html").text == text


def test_limits_hold_for_text_too() -> None:
    assert (
        "characters of text" in refused(b"abcdef", "x.md", DocumentLimits(max_characters=3)).message
    )


TABLES = {
    "a cell over several rows names each of them": (
        "<table><tr><th>Region<th>Kind<th>Days<tr><td rowspan=2>North<td>Annual<td>15"
        "<tr><td>Sick<td>30</table>",
        [
            "row | Region: North; Kind: Annual; Days: 15. |",
            "row | Region: North; Kind: Sick; Days: 30. |",
        ],
    ),
    "a header over several columns names each of them": (
        "<table><thead><tr><th rowspan=2>Region<th colspan=2>Men<tr><th>Young<th>Old</thead>"
        "<tr><td>North<td>11<td>12</table>",
        ["row | Region: North; Men Young: 11; Men Old: 12. |"],
    ),
    "a value over several columns has all their names": (
        "<table><tr><th>Kind<th>2023<th>2024<tr><td>Annual<td colspan=2>15</table>",
        ["row | Kind: Annual; 2023, 2024: 15. |"],
    ),
    "cells marked as row headers name the row": (
        "<table><tr><th>Capital<td>Oslo<tr><th scope=row>Area<td>385,207</table>",
        ["row | Capital: Oslo. |", "row | Area: 385,207. |"],
    ),
    "a wide row names the rows below it": (
        "<table><tr><th>Kind<th>Days<tr><th colspan=2>Europe<tr><td>Annual<td>25</table>",
        ["row | Europe |", "row | Europe: Kind: Annual; Days: 25. |"],
    ),
    "a header in the middle begins another table": (
        "<table><tr><th>Kind<th>Days<tr><td>Annual<td>15<tr><th>Grade<th>Pay<tr><td>A<td>9</table>",
        ["row | Kind: Annual; Days: 15. |", "row | Grade: A; Pay: 9. |"],
    ),
    "a span that is no number is one": (
        "<table><tr><th>Kind<th>Days<tr><td colspan=x>Annual<td rowspan=0>15</table>",
        ["row | Kind: Annual; Days: 15. |"],
    ),
}


@pytest.mark.parametrize(("source", "wanted"), TABLES.values(), ids=TABLES.keys())
def test_html_tables(source: str, wanted: list[str]) -> None:
    assert shown(read(f"<html><body>{source}".encode(), "x.html")) == wanted
