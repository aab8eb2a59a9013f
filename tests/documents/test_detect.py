import pytest
from tests.documents.making import blank_pdf, docx_of, paragraph, pdf_of, read, refused, zip_of

PDF, DOCX = pdf_of("Some text."), docx_of(paragraph("Some text."))

READ = {
    "a PDF": (PDF, "a.pdf", "application/pdf", []),
    "a PDF behind other bytes": (b"\n" * 100 + PDF, "a.pdf", "application/pdf", []),
    "a PDF by another name": (PDF, "a.docx", "application/pdf", ["AF201"]),
    "a PDF of no known ending": (PDF, "a.bin", "application/pdf", ["AF201"]),
    "a PDF without ending": (PDF, "a", "application/pdf", ["AF201"]),
    "a DOCX by another name": (DOCX, "a.pdf", "application/vnd.openxmlformats", ["AF201"]),
    "HTML by another name": (b"<!DOCTYPE html><p>a", "a.txt", "text/html", ["AF201"]),
    "HTML of a program": (
        b"<?xml version='1.0'?>\n<!-- c -->\n<html><p>a",
        "a.xhtml",
        "text/html",
        [],
    ),
    "a piece of HTML": (b"<p>a</p>", "a.html", "text/html", []),
    "wide HTML": ("<html><p>a".encode("utf-16"), "a.html", "text/html", []),
    "text where a PDF was promised": (b"just text", "a.pdf", "text/plain", ["AF201"]),
    "Markdown": (b"# a", "a.MD", "text/markdown", []),
    "plain text": (b"a", "a.txt", "text/plain", []),
    "a note without ending": (b"a", "README", "text/plain", []),
    "text with a few odd bytes": (b"a\x0cb" * 50, "a.txt", "text/plain", []),
}


@pytest.mark.parametrize(("data", "name", "kind", "codes"), READ.values(), ids=READ.keys())
def test_read(data: bytes, name: str, kind: str, codes: list[str]) -> None:
    found = read(data, name)
    assert found.document.media_type.startswith(kind)
    assert [item.code for item in found.findings] == codes
    assert all(item.read and item.file == name for item in found.findings)


REFUSED = {
    "nothing": (b"", "a.pdf", "AF204", "no text"),
    "white space": (b" \n\t", "a.txt", "AF204", "no text"),
    "a page without text": (blank_pdf(), "a.pdf", "AF204", "no text"),
    "a picture": (b"\x89PNG\r\n\x1a\n\0\0", "a.png", "AF200", "a PNG picture"),
    "RTF": (b"{\\rtf1 text}", "a.doc", "AF200", "RTF"),
    "a spreadsheet": (zip_of({"xl/workbook.xml": "<x/>"}), "a.xlsx", "AF200", "zip archive"),
    "old Word": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 9, "a.doc", "AF200", "before 2007"),
    "an encrypted DOCX": (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"),
        "a.docx",
        "AF202",
        "encrypted",
    ),
    "noise that promises a PDF": (b"\0\1\2\3" * 20, "a.pdf", "AF203", "its content is not PDF"),
    "noise": (b"\0\1\2\3" * 20, "a.dat", "AF200", "binary data"),
    "control characters": (bytes(range(1, 9)) * 20, "a.dat", "AF200", "binary data"),
    "text of a kind that we do not know": (b"a,b", "a.csv", "AF200", "text with the ending .csv"),
}


@pytest.mark.parametrize(("data", "name", "code", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(data: bytes, name: str, code: str, message: str) -> None:
    found = refused(data, name)
    assert (found.code, found.file, found.read) == (code, name, False)
    assert message in found.message
    assert str(found).startswith(f"{code}: {name}: ")


def test_a_file_that_the_user_named_is_text_if_it_can_be() -> None:
    from affidavit.documents.model import DocumentLimits, ReadDocument
    from affidavit.documents.reading import read_document

    found = read_document(b"a,b", "a.csv", DocumentLimits(), named=True)
    assert isinstance(found, ReadDocument)
    assert [item.code for item in found.findings] == ["AF201"]


def test_what_a_library_did_not_foresee_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    from affidavit.documents import plain_text

    def broken(data: bytes) -> tuple[str, tuple[()]]:
        raise RecursionError(len(data))

    monkeypatch.setattr(plain_text, "decode_text", broken)
    found = refused(b"text", "a.txt")
    assert (found.code, "RecursionError" in found.message) == ("AF203", True)
