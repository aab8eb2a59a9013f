import struct
import warnings
import zipfile
from io import BytesIO

import pytest
from lxml import etree
from tests.documents.making import STRICT, W, docx_of, paragraph, read, refused, row, shown, zip_of

from affidavit.documents.docx import DocxNumbering
from affidavit.documents.model import DocumentLimits

NUMBERING = f"""<w:numbering xmlns:w="{W}">
<w:abstractNum w:abstractNumId="0">
  <w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/><w:lvlText w:val="%1"/></w:lvl>
  <w:lvl w:ilvl="1"><w:numFmt w:val="decimal"/><w:lvlText w:val="%1.%2"/></w:lvl>
  <w:lvl w:ilvl="2"><w:start w:val="3"/>
    <w:numFmt w:val="lowerLetter"/><w:lvlText w:val="(%3)"/></w:lvl>
  <w:lvl w:ilvl="3"><w:numFmt w:val="upperRoman"/><w:lvlText w:val="%4."/></w:lvl>
  <w:lvl w:ilvl="4"><w:numFmt w:val="none"/><w:lvlText w:val=""/></w:lvl>
  <w:lvl w:ilvl="5"><w:numFmt w:val="decimalZero"/><w:lvlText w:val="%6"/></w:lvl>
  <w:lvl><w:numFmt w:val="decimal"/></w:lvl>
</w:abstractNum>
<w:abstractNum w:abstractNumId="1">
  <w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>
<w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>
<w:num w:numId="3"><w:abstractNumId w:val="0"/>
  <w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride>
  <w:lvlOverride w:ilvl="8"><w:startOverride w:val="7"/></w:lvlOverride>
  <w:lvlOverride><w:startOverride w:val="7"/></w:lvlOverride></w:num>
<w:num w:numId="4"/>
</w:numbering>"""


def listed(number: int, level: int = 0) -> str:
    return f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>'


def table(*rows: str, properties: str = "") -> str:
    return f"<w:tbl><w:tblPr>{properties}</w:tblPr>{''.join(rows)}</w:tbl>"


BODIES = {
    "headings by style, title apart": (
        paragraph("Rules", "T")
        + paragraph("Leave", "H1")
        + paragraph("Annual", "Mine")
        + paragraph("Text."),
        ["heading1 Rules", "heading1 Leave", "heading2 Annual", "paragraph Text."],
    ),
    "a heading by its own outline level": (
        paragraph("Pay", extra='<w:outlineLvl w:val="2"/>'),
        ["heading3 Pay"],
    ),
    "level nine is body text": (
        paragraph("Pay", "H1", '<w:outlineLvl w:val="9"/>'),
        ["paragraph Pay"],
    ),
    "styles that lead in a circle, or nowhere, or to letters": (
        paragraph("a", "Loop") + paragraph("b", "Missing") + paragraph("c", "C"),
        ["paragraph a", "paragraph b", "paragraph c"],
    ),
    "numbers that Word prints but does not store": (
        paragraph("Leave", "H1", listed(1))
        + paragraph("Annual", "H2", listed(1, 1))
        + paragraph("Sick", "H2", listed(1, 1))
        + paragraph("Pay", "H1", listed(1))
        + paragraph("Salary", "H2", listed(1, 1)),
        [
            "heading1 1 Leave",
            "heading2 1.1 Annual",
            "heading2 1.2 Sick",
            "heading1 2 Pay",
            "heading2 2.1 Salary",
        ],
    ),
    "letters, roman numbers, bullets and none": (
        paragraph("a", extra=listed(1, 2))
        + paragraph("b", extra=listed(1, 2))
        + paragraph("c", extra=listed(1, 3))
        + paragraph("d", extra=listed(2))
        + paragraph("e", extra=listed(1, 4))
        + paragraph("f", extra=listed(1, 5))
        + paragraph("g", extra=listed(0))
        + paragraph("h", extra=listed(99)),
        [
            "item2 (c) a",
            "item2 (d) b",
            "item3 I. c",
            "item - d",
            "paragraph e",
            "item5 01 f",
            "paragraph g",
            "paragraph h",
        ],
    ),
    "a list that starts elsewhere": (
        paragraph("a", extra=listed(3)) + paragraph("b", extra=listed(3)),
        ["item 7 a", "item 8 b"],
    ),
    "a bulleted heading has no bullet": (paragraph("Leave", "H1", listed(2)), ["heading1 Leave"]),
    "lines of contents are kept apart": (paragraph("Leave 3", "Toc"), ["contents Leave 3"]),
    "rows carry their header": (
        table(row("Kind", "Days", header=True), row("Annual", "15"), row("Sick", "")),
        ["row | Kind: Annual; Days: 15. |", "row | Kind: Sick. |"],
    ),
    "a first row that is styled as header": (
        table(row("Kind", "Days"), row("Annual", "15"), properties='<w:tblLook w:val="04A0"/>'),
        ["row | Kind: Annual; Days: 15. |"],
    ),
    "the newer way to say so": (
        table(row("Kind", "Days"), row("Annual", "15"), properties='<w:tblLook w:firstRow="1"/>'),
        ["row | Kind: Annual; Days: 15. |"],
    ),
    "a table without header": (
        table(row("Annual", "15"), row("Sick", "30"), properties='<w:tblLook w:val="zz"/>'),
        ["row | Annual: 15. |", "row | Sick: 30. |"],
    ),
    "a table of one column is text": (
        table(row("One"), row("Two")),
        ["paragraph One", "paragraph Two"],
    ),
    "a table of a header alone still says it": (
        table(row("Kind", "Days", header=True)),
        ["row | Kind: Days. |"],
    ),
    "merged cells repeat what stands above, spans keep their columns": (
        table(
            row("Kind", "Who", "Days", header=True),
            '<w:tr><w:tc><w:tcPr><w:vMerge w:val="restart"/></w:tcPr>'
            f"{paragraph('Annual')}</w:tc><w:tc>{paragraph('all')}</w:tc><w:tc>{paragraph('15')}</w:tc></w:tr>",
            "<w:tr><w:tc><w:tcPr><w:vMerge/></w:tcPr><w:p/></w:tc>"
            f"<w:tc>{paragraph('young')}</w:tc><w:tc>{paragraph('20')}</w:tc></w:tr>",
            '<w:tr><w:tc><w:tcPr><w:gridSpan w:val="2"/></w:tcPr>'
            f"{paragraph('Total')}</w:tc><w:tc>{paragraph('35')}</w:tc></w:tr>",
        ),
        [
            "row | Kind: Annual; Who: all; Days: 15. |",
            "row | Kind: Annual; Who: young; Days: 20. |",
            "row | Kind, Who: Total; Days: 35. |",
        ],
    ),
    "deleted and hidden text is not in the document, inserted text is": (
        "<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
        "<w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom>"
        "<w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r>"
        '<w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t>seen </w:t></w:r>'
        "<w:ins><w:r><w:t>new</w:t></w:r></w:ins></w:p>",
        ["paragraph seen new"],
    ),
    "tabs, breaks and hyphens": (
        "<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:noBreakHyphen/>"
        "<w:t>d</w:t></w:r></w:p>",
        ["paragraph a b c-d"],
    ),
    "content controls are opened": (
        f"<w:sdt><w:sdtContent>{paragraph('in')}</w:sdtContent></w:sdt><w:bookmarkStart/>",
        ["paragraph in"],
    ),
    "a text box follows its paragraph, its fallback does not": (
        "<w:p><w:r><w:t>outer</w:t><w:pict><w:txbxContent>"
        + paragraph("boxed")
        + "</w:txbxContent></w:pict></w:r><mc:Fallback xmlns:mc='m'><w:txbxContent>"
        + paragraph("again")
        + "</w:txbxContent></mc:Fallback></w:p>",
        ["paragraph outer", "paragraph boxed"],
    ),
    "an empty paragraph is none": ("<w:p/>" + paragraph("a"), ["paragraph a"]),
}


@pytest.mark.parametrize(("body", "wanted"), BODIES.values(), ids=BODIES.keys())
def test_blocks(body: str, wanted: list[str]) -> None:
    assert shown(read(docx_of(body, word__numbering=NUMBERING), "x.docx")) == wanted


def test_the_strict_namespace_is_the_same_format() -> None:
    assert shown(read(docx_of(paragraph("Leave", "H1"), STRICT), "x.docx")) == ["heading1 Leave"]


def test_notes_title_and_dates() -> None:
    core = (
        "<c><title>Leave Rules</title><created>2024-01-02T03:04:05Z</created>"
        "<modified>2025-06-07T08:09:10Z</modified></c>"
    )
    notes = (
        f'<w:footnotes xmlns:w="{W}"><w:footnote w:type="separator">{paragraph("---")}</w:footnote>'
        f"<w:footnote>{paragraph('A note.')}</w:footnote></w:footnotes>"
    )
    found = read(docx_of(paragraph("Body."), docProps__core=core, word__footnotes=notes), "x.docx")
    assert shown(found) == ["paragraph Body.", "note A note."]
    assert (found.document.title, found.document.date, found.document.page_count) == (
        "Leave Rules",
        "2025-06-07",
        None,
    )


def test_without_a_stated_title_the_title_style_gives_one() -> None:
    assert read(docx_of(paragraph("Rules", "T")), "x.docx").document.title == "Rules"


def test_the_main_part_may_have_another_name() -> None:
    relations = (
        '<R><x Type="other" Target="a"/>'
        '<x Type="http://a/officeDocument" Target="/word/d2.xml"/></R>'
    )
    main = f'<w:document xmlns:w="{W}"><w:body>{paragraph("Here.")}</w:body></w:document>'
    data = zip_of({"_rels/.rels": relations, "word/d2.xml": main})
    assert shown(read(data, "x.docx")) == ["paragraph Here."]


LAUGHS = (
    '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'
    f'<w:document xmlns:w="{W}"><w:body><w:p><w:r><w:t>&b;</w:t></w:r></w:p></w:body></w:document>'
)
EXTERNAL = (
    '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]>'
    f'<w:document xmlns:w="{W}"><w:body><w:p><w:r><w:t>&f;</w:t></w:r></w:p></w:body></w:document>'
)
GOOD = docx_of(paragraph("Text."))


def encrypted_member() -> bytes:
    data = bytearray(GOOD)
    at = data.rindex(b"PK\x01\x02")
    struct.pack_into("<H", data, at + 8, 1)
    return bytes(data)


def twice() -> bytes:
    buffer = BytesIO(GOOD)
    with zipfile.ZipFile(buffer, "a") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        archive.writestr("word/document.xml", "<x/>")
    return buffer.getvalue()


REFUSED = {
    "a part that unpacks a thousandfold": (
        docx_of(paragraph("a"), word__media=" " * 3_000_000),
        "AF207",
        "a part that unpacks to more than 400 times its size",
    ),
    "entities that multiply": (docx_of("", word__document=LAUGHS), "AF207", "document type"),
    "entities of another file": (docx_of("", word__document=EXTERNAL), "AF207", "document type"),
    "entities in another encoding": (
        zip_of({"word/document.xml": LAUGHS.encode("utf-16")}),
        "AF207",
        "document type",
    ),
    "a name that climbs out": (
        zip_of({"word/document.xml": "<x/>", "../../evil": "x"}),
        "AF207",
        "leads out",
    ),
    "a name of another drive": (
        zip_of({"word/document.xml": "<x/>", "C:evil": "x"}),
        "AF207",
        "leads out",
    ),
    "a part is encrypted": (encrypted_member(), "AF202", "encrypted"),
    "not well-formed": (docx_of("<w:p>"), "AF203", "not well-formed"),
    "nested without end": (docx_of("<w:p>" * 5000 + "</w:p>" * 5000), "AF203", "not well-formed"),
    "no main part": (zip_of({"word/other.xml": "<x/>"}), "AF203", "is missing"),
    "cut in the middle": (GOOD[: len(GOOD) // 2], "AF203", "zip archive is broken"),
    "bytes of a part were changed": (
        GOOD[:60] + b"\xff\xff\xff\xff" + GOOD[64:],
        "AF20",
        "",
    ),
    "nothing in it": (docx_of(""), "AF204", "no text"),
    "no body": (docx_of("", word__document=f'<w:document xmlns:w="{W}"/>'), "AF204", "no text"),
}


@pytest.mark.parametrize(("data", "code", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(data: bytes, code: str, message: str) -> None:
    found = refused(data, "x.docx")
    assert found.code.startswith(code)
    assert message in found.message


def test_two_parts_of_one_name() -> None:
    assert "two parts of one name" in refused(twice(), "x.docx").message


LIMITS = {
    "members": (DocumentLimits(max_members=2), "more than 2 parts"),
    "all parts together": (
        DocumentLimits(max_unpacked_bytes=100),
        "unpacks to more than 100 bytes",
    ),
    "characters": (DocumentLimits(max_characters=3), "characters of text: more than 3"),
    "blocks": (DocumentLimits(max_blocks=0), "blocks: more than 0"),
    "bytes of the file": (DocumentLimits(max_bytes=10), "bytes: more than 10"),
}


@pytest.mark.parametrize(("limits", "message"), LIMITS.values(), ids=LIMITS.keys())
def test_limits(limits: DocumentLimits, message: str) -> None:
    assert message in refused(GOOD, "x.docx", limits).message


def test_the_whole_archive_has_a_ratio_too() -> None:
    parts = {f"word__p{number}": " " * 1_000_000 for number in range(70)}
    assert "times its size" in refused(docx_of(paragraph("a"), **parts), "x.docx").message


def numbered_from(start: int, form: str) -> DocxNumbering:
    level = (
        f'<w:lvl w:ilvl="0"><w:start w:val="{start}"/><w:numFmt w:val="{form}"/>'
        '<w:lvlText w:val="%1"/></w:lvl>'
    )
    return DocxNumbering(
        etree.fromstring(
            f'<w:n xmlns:w="{W}"><w:abstractNum w:abstractNumId="0">{level}</w:abstractNum>'
            '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:n>'
        )
    )


ROMAN = {1: "i", 4: "iv", 9: "ix", 14: "xiv", 1994: "mcmxciv", 4000: "4000"}


@pytest.mark.parametrize(("start", "wanted"), ROMAN.items())
def test_roman(start: int, wanted: str) -> None:
    assert numbered_from(start, "lowerRoman").label("1", 0) == wanted


def test_letters_go_round() -> None:
    numbering = numbered_from(26, "upperLetter")
    assert [numbering.label("1", 0) for _ in range(3)] == ["Z", "AA", "BB"]


def test_a_level_that_is_not_there_has_no_number() -> None:
    assert numbered_from(1, "decimal").label("1", 9) == ""
    assert DocxNumbering(None).label("1", 0) == ""
