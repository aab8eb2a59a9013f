"""Build the sample documents from their texts in tools/samples, with the same bytes every time.

    python -m tools.make_samples [--check]

`--check` writes nothing and exits with 1 if a document differs.
"""

import sys
import zipfile
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parent.parent
TEXTS = ROOT / "tools" / "samples"
SOURCES = ROOT / "samples" / "leave" / "sources"
# Dates in the files are those of the invented documents, never the day of the build.
PDF_SECONDS = 1_756_684_800  # 2025-09-01T00:00:00Z
DOCX_MEMBER_DATE = (2026, 3, 3, 0, 0, 0)
DOCX_DATE = "2026-03-03T09:00:00Z"

_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_WORD_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml"
_STYLES = {"title": "Title", "h1": "Heading1", "h2": "Heading2", "item": "ListBullet"}


def main(arguments: Sequence[str]) -> int:
    """Write the documents, or compare them."""
    wrong = []
    for name, data in documents().items():
        path = SOURCES / name
        if "--check" not in arguments:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        elif not path.exists() or path.read_bytes() != data:
            wrong.append(name)
    for name in wrong:
        print(f"{name} differs from the generated file; run python -m tools.make_samples")
    return 1 if wrong else 0


def documents() -> dict[str, bytes]:
    """Return the sample documents by name."""
    return {
        "HR_Policy.pdf": pdf_bytes(TEXTS / "HR_Policy.typ"),
        "Leave_Guidelines.docx": docx_bytes((TEXTS / "Leave_Guidelines.txt").read_text("utf-8")),
    }


def pdf_bytes(source: Path) -> bytes:
    """Set a PDF with the fonts of typst, so that the fonts of the machine do not matter."""
    import typst

    data = typst.compile(str(source), format="pdf", ignore_system_fonts=True, timestamp=PDF_SECONDS)
    assert isinstance(data, bytes)
    return data


def docx_bytes(text: str) -> bytes:
    """Build a DOCX from lines of a kind and its text."""
    parts = {
        "[Content_Types].xml": _content_types(),
        "_rels/.rels": _relationships(
            (f"{_OFFICE}/officeDocument", "word/document.xml"),
            (f"{_PACKAGE}/relationships/metadata/core-properties", "docProps/core.xml"),
        ),
        "docProps/core.xml": _core(),
        "word/_rels/document.xml.rels": _relationships(
            (f"{_OFFICE}/styles", "styles.xml"), (f"{_OFFICE}/numbering", "numbering.xml")
        ),
        "word/document.xml": f'{_XML}<w:document xmlns:w="{_W}"><w:body>'
        f"{''.join(_blocks(text.splitlines()))}</w:body></w:document>",
        "word/numbering.xml": _numbering(),
        "word/styles.xml": _styles(),
    }
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            member = zipfile.ZipInfo(name, DOCX_MEMBER_DATE)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.create_system = 0
            archive.writestr(member, content)
    return buffer.getvalue()


def _blocks(lines: Sequence[str]) -> Iterator[str]:
    rows: list[str] = []
    for line in (*lines, ""):
        kind, _, text = line.partition(" ")
        if kind == "row":
            rows.append(text)
            continue
        if rows:
            yield _table(rows)
            rows = []
        if text:
            yield _paragraph(text, _STYLES.get(kind))


def _paragraph(text: str, style: str | None = None) -> str:
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    run = f'<w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r>'
    return f"<w:p>{properties}{run}</w:p>"


def _table(rows: Sequence[str]) -> str:
    built = []
    for index, row in enumerate(rows):
        header = "<w:trPr><w:tblHeader/></w:trPr>" if index == 0 else ""
        cells = (f"<w:tc>{_paragraph(cell.strip())}</w:tc>" for cell in row.split("|"))
        built.append(f"<w:tr>{header}{''.join(cells)}</w:tr>")
    return f"<w:tbl><w:tblPr/><w:tblGrid/>{''.join(built)}</w:tbl>"


def _styles() -> str:
    def style(name: str, title: str, extra: str) -> str:
        head = f'<w:style w:type="paragraph" w:styleId="{name}"><w:name w:val="{title}"/>'
        return f"{head}<w:pPr>{extra}</w:pPr></w:style>"

    def numbered(number: int, level: int) -> str:
        return f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>'

    return (
        f'{_XML}<w:styles xmlns:w="{_W}">'
        + style("Title", "Title", "")
        + style("Heading1", "heading 1", numbered(1, 0) + '<w:outlineLvl w:val="0"/>')
        + style("Heading2", "heading 2", numbered(1, 1) + '<w:outlineLvl w:val="1"/>')
        + style("ListBullet", "List Bullet", numbered(2, 0))
        + "</w:styles>"
    )


def _numbering() -> str:
    def level(index: int, form: str, text: str) -> str:
        return (
            f'<w:lvl w:ilvl="{index}"><w:start w:val="1"/><w:numFmt w:val="{form}"/>'
            f'<w:lvlText w:val="{text}"/></w:lvl>'
        )

    headings = level(0, "decimal", "%1") + level(1, "decimal", "%1.%2")
    return (
        f'{_XML}<w:numbering xmlns:w="{_W}">'
        f'<w:abstractNum w:abstractNumId="0">{headings}</w:abstractNum>'
        f'<w:abstractNum w:abstractNumId="1">{level(0, "bullet", "&#8226;")}</w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
        '<w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num></w:numbering>'
    )


def _core() -> str:
    terms = "http://purl.org/dc/terms/"
    schema = "http://www.w3.org/2001/XMLSchema-instance"
    return (
        f'{_XML}<cp:coreProperties xmlns:cp="{_PACKAGE}/metadata/core-properties"'
        ' xmlns:dc="http://purl.org/dc/elements/1.1/"'
        f' xmlns:dcterms="{terms}" xmlns:xsi="{schema}">'
        "<dc:title>Leave Guidelines</dc:title><dc:creator>Personnel Office</dc:creator>"
        f'<dcterms:created xsi:type="dcterms:W3CDTF">{DOCX_DATE}</dcterms:created>'
        f'<dcterms:modified xsi:type="dcterms:W3CDTF">{DOCX_DATE}</dcterms:modified>'
        "</cp:coreProperties>"
    )


def _relationships(*targets: tuple[str, str]) -> str:
    items = "".join(
        f'<Relationship Id="rId{index}" Type="{kind}" Target="{target}"/>'
        for index, (kind, target) in enumerate(targets, start=1)
    )
    return f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships">{items}</Relationships>'


def _content_types() -> str:
    overrides = {
        "/word/document.xml": f"{_WORD_TYPE}.document.main+xml",
        "/word/styles.xml": f"{_WORD_TYPE}.styles+xml",
        "/word/numbering.xml": f"{_WORD_TYPE}.numbering+xml",
        "/docProps/core.xml": "application/vnd.openxmlformats-package.core-properties+xml",
    }
    items = "".join(
        f'<Override PartName="{name}" ContentType="{kind}"/>' for name, kind in overrides.items()
    )
    relations = "application/vnd.openxmlformats-package.relationships+xml"
    return (
        f'{_XML}<Types xmlns="{_PACKAGE}/content-types">'
        f'<Default Extension="rels" ContentType="{relations}"/>'
        f'<Default Extension="xml" ContentType="application/xml"/>{items}</Types>'
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
