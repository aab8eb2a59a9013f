"""Small real documents for the tests of the readers, built on the spot."""

import hashlib
import zipfile
from io import BytesIO
from pathlib import Path

import pypdfium2
import typst

from affidavit.documents.model import DocumentFinding, DocumentLimits, ParsedDocument, ReadDocument
from affidavit.documents.reading import read_document

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main"
SEED_SENTENCE = "All permanent employees shall receive 15 days of paid annual leave."


def pdf_of(markup: str) -> bytes:
    """Set typst markup as a PDF."""
    data = typst.compile(markup.encode(), format="pdf", ignore_system_fonts=True)
    assert isinstance(data, bytes)
    return data


def picture_pdf(pages: int = 1, *, text: str = "") -> bytes:
    """A PDF of scanned pages: an image on each and no text; `text` goes on one more page."""
    pdf = pypdfium2.PdfDocument.new()
    for _ in range(pages):
        page = pdf.new_page(200, 200)
        image = pypdfium2.PdfImage.new(pdf)
        image.set_bitmap(pypdfium2.PdfBitmap.new_native(8, 8, 4))
        image.set_matrix(pypdfium2.PdfMatrix().scale(150, 150))
        page.insert_obj(image)
        page.gen_content()
    if text:
        pdf.import_pages(pypdfium2.PdfDocument(pdf_of(text)))
    buffer = BytesIO()
    pdf.save(buffer)
    return buffer.getvalue()


def blank_pdf() -> bytes:
    pdf = pypdfium2.PdfDocument.new()
    pdf.new_page(200, 200)
    buffer = BytesIO()
    pdf.save(buffer)
    return buffer.getvalue()


def encrypted_pdf() -> bytes:
    """A PDF that needs a password: the standard handler, revision 2 (ISO 32000-1, 7.6)."""
    padding = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")
    owner = _rc4(_md5(b"owner" + padding[:27])[:5], (b"secret" + padding)[:32])
    file_id = b"0123456789abcdef"
    base = (b"secret" + padding)[:32] + owner + (-4 & 0xFFFFFFFF).to_bytes(4, "little") + file_id
    user = _rc4(_md5(base)[:5], padding)
    parts = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] >>",
        b"<< /Filter /Standard /V 1 /R 2 /P -4 /O <%b> /U <%b> >>"
        % (owner.hex().encode(), user.hex().encode()),
    ]
    body, places = b"%PDF-1.4\n", []
    for number, part in enumerate(parts, start=1):
        places.append(len(body))
        body += b"%d 0 obj\n%b\nendobj\n" % (number, part)
    table = b"xref\n0 5\n0000000000 65535 f \n" + b"".join(
        b"%010d 00000 n \n" % at for at in places
    )
    trailer = b"trailer << /Size 5 /Root 1 0 R /Encrypt 4 0 R /ID [<%b> <%b>] >>" % (
        file_id.hex().encode(),
        file_id.hex().encode(),
    )
    return body + table + trailer + b"\nstartxref\n%d\n%%%%EOF\n" % len(body)


def _md5(data: bytes) -> bytes:
    return hashlib.new("md5", data, usedforsecurity=False).digest()


def _rc4(key: bytes, data: bytes) -> bytes:
    state, j = list(range(256)), 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    out, i, j = bytearray(), 0, 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(out)


def paragraph(text: str, style: str = "", extra: str = "") -> str:
    chosen = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{chosen}{extra}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def row(*cells: str, header: bool = False) -> str:
    mark = "<w:trPr><w:tblHeader/></w:trPr>" if header else ""
    return f"<w:tr>{mark}{''.join(f'<w:tc>{paragraph(cell)}</w:tc>' for cell in cells)}</w:tr>"


def style(name: str, title: str, based_on: str = "", kind: str = "paragraph") -> str:
    base = f'<w:basedOn w:val="{based_on}"/>' if based_on else ""
    head = f'<w:style w:type="{kind}" w:styleId="{name}">'
    return f'{head}<w:name w:val="{title}"/>{base}</w:style>'


STYLES = (
    f'<w:styles xmlns:w="{W}">'
    + style("T", "Title")
    + style("H1", "heading 1")
    + style("H2", "heading 2")
    + style("Mine", "Mine", based_on="H2")
    + style("Toc", "toc 1")
    + style("Loop", "Loop", based_on="Loop")
    + style("C", "heading 3", kind="character")
    + "</w:styles>"
)


def docx_of(body: str, namespace: str = W, **parts: str) -> bytes:
    """A DOCX of a body and further parts: `word__footnotes` is `word/footnotes.xml`."""
    opening = f'<w:document xmlns:w="{namespace}">'
    files: dict[str, str | bytes] = {
        "[Content_Types].xml": "<Types/>",
        "word/document.xml": f"{opening}<w:body>{body}</w:body></w:document>",
        "word/styles.xml": STYLES.replace(W, namespace),
    }
    for name, content in parts.items():
        files[name.replace("__", "/") + ".xml"] = content
    return zip_of(files)


def zip_of(files: dict[str, str | bytes]) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def shown(parsed: ParsedDocument | ReadDocument) -> list[str]:
    """What the blocks hold, each behind its kind and level: `heading1 Leave`."""
    return [
        f"{block.kind}{block.level or ''} {parsed.text[block.start : block.end]}"
        for block in parsed.blocks
    ]


def read(data: bytes, filename: str, limits: DocumentLimits | None = None) -> ReadDocument:
    found = read_document(data, filename, limits or DocumentLimits())
    assert isinstance(found, ReadDocument), found
    return found


def refused(
    data: bytes, filename: str, limits: DocumentLimits | None = None, *, named: bool = False
) -> DocumentFinding:
    found = read_document(data, filename, limits or DocumentLimits(), named=named)
    assert isinstance(found, DocumentFinding), found
    return found


def write_all(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder
