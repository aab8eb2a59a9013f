"""Detects the media type and the text encoding of a document from its bytes."""

import codecs
import re
from enum import StrEnum
from pathlib import PurePath
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults
from affidavit.documents.model import ReaderWarning

_BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CHARSET: Final = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([\w-]{1,40})", re.I)
_CHARSET_SEARCH_BYTES: Final = 4096


def has_byte_order_mark(data: bytes) -> bool:
    """Tell whether the bytes begin with a byte order mark."""
    return data.startswith(tuple(mark for mark, _ in _BYTE_ORDER_MARKS))


def decode_text(data: bytes) -> tuple[str, tuple[ReaderWarning, ...]]:
    """Return the text and a warning if the encoding had to be guessed.

    Windows-1252 is the encoding of old Western programs and decodes every byte. A byte without a
    character becomes the control character of Latin-1, which the readers remove.
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return _decode(data, encoding), ()
    try:
        return data.decode("utf-8"), ()
    except UnicodeDecodeError:
        text = "".join(_CP1252[byte] for byte in data)
        return text, (ReaderWarning(faults.ENCODING_GUESSED),)


def decode_html(data: bytes) -> tuple[str, tuple[ReaderWarning, ...]]:
    """Return the text of an HTML file, which may name its encoding in its head."""
    declared = _CHARSET.search(data, 0, _CHARSET_SEARCH_BYTES)
    if has_byte_order_mark(data) or declared is None:
        return decode_text(data)
    try:
        return data.decode(codecs.lookup(declared[1].decode("ascii")).name), ()
    except (LookupError, UnicodeError):
        return decode_text(data)


def _decode(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeError:
        reason = f"its bytes are not the {encoding.removesuffix('-sig').upper()} that it announces"
        raise AffidavitError(faults.DOCUMENT_CORRUPT, reason=reason) from None


_CP1252: Final = tuple(
    bytes([byte]).decode("cp1252", errors="ignore") or chr(byte) for byte in range(256)
)


# What kind of document some bytes are: the content decides, the name is only compared with it.


class MediaType(StrEnum):
    """The kinds that can be read."""

    PDF = "application/pdf"
    DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    HTML = "text/html"
    MARKDOWN = "text/markdown"
    PLAIN = "text/plain"


MEDIA_TYPE_NAMES: Final = {
    MediaType.PDF: "PDF",
    MediaType.DOCX: "DOCX",
    MediaType.HTML: "HTML",
    MediaType.MARKDOWN: "Markdown",
    MediaType.PLAIN: "plain text",
}
EXTENSIONS: Final = {
    ".pdf": MediaType.PDF,
    ".docx": MediaType.DOCX,
    ".docm": MediaType.DOCX,
    ".html": MediaType.HTML,
    ".htm": MediaType.HTML,
    ".xhtml": MediaType.HTML,
    ".md": MediaType.MARKDOWN,
    ".markdown": MediaType.MARKDOWN,
    ".txt": MediaType.PLAIN,
    ".text": MediaType.PLAIN,
    ".rst": MediaType.PLAIN,
    ".log": MediaType.PLAIN,
}
_UNSUPPORTED_SIGNATURES: Final = (
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"{\\rtf", "RTF"),
    (b"\x1f\x8b", "gzip"),
    (b"7z\xbc\xaf", "7-Zip"),
    (b"%!PS", "PostScript"),
    (b"SQLite format 3\0", "a SQLite database"),
)
_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_PACKAGE: Final = "EncryptedPackage".encode("utf-16-le")
_HTML_START: Final = re.compile(
    rb"\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b",
    re.I | re.S,
)
_DETECTION_BYTES: Final = 4096
_CONTROL: Final = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def extension_of(filename: str) -> str:
    """Return the ending of a file's name in lower case, with its dot."""
    return PurePath(filename).suffix.lower()


def detect_media_type(data: bytes, filename: str, *, named: bool = False) -> MediaType:
    """Return what the content is; raise what a finding needs if it cannot be read.

    Text has no mark of its own, so there the name has a say: a name that promises text is
    believed, no ending at all is plain text, and another ending is a kind that we do not know,
    unless the user named this very file (`named`).
    """
    promised = EXTENSIONS.get(extension_of(filename))
    if not data:
        raise AffidavitError(faults.DOCUMENT_EMPTY)
    found = _by_signature(data) or _by_text(data)
    if found is None:
        raise _refusal(data, promised)
    if found is MediaType.PLAIN:
        return _text_type(promised, filename, named=named)
    return found


def _text_type(promised: MediaType | None, filename: str, *, named: bool) -> MediaType:
    if promised in {MediaType.PLAIN, MediaType.MARKDOWN, MediaType.HTML}:
        return MediaType(promised)
    if promised is None and extension_of(filename) and not named:
        kind = f"text with the ending {extension_of(filename)}"
        raise AffidavitError(faults.DOCUMENT_UNKNOWN, kind=kind)
    return MediaType.PLAIN


def _by_signature(data: bytes) -> MediaType | None:
    # ISO 32000-1, annex H: readers accept the mark anywhere in the first 1,024 bytes.
    if b"%PDF-" in data[:1024]:
        return MediaType.PDF
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        is_word = b"word/" in data or b"wordprocessingml" in data
        if is_word:
            return MediaType.DOCX
        raise AffidavitError(faults.DOCUMENT_UNKNOWN, kind="a zip archive without a Word document")
    if data.startswith(_OLE):
        if _ENCRYPTED_PACKAGE in data:
            raise AffidavitError(faults.DOCUMENT_ENCRYPTED)
        raise AffidavitError(faults.DOCUMENT_UNKNOWN, kind="the Office format of before 2007")
    return None


def _by_text(data: bytes) -> MediaType | None:
    head = data[:_DETECTION_BYTES]
    if has_byte_order_mark(data):
        wide = not data.startswith(codecs.BOM_UTF8)
        head = head.replace(b"\0", b"") if wide else head.removeprefix(codecs.BOM_UTF8)
    elif b"\0" in data or len(_CONTROL.findall(head)) * 20 > len(head):
        return None
    if any(data.startswith(mark) for mark, _ in _UNSUPPORTED_SIGNATURES):
        return None
    return MediaType.HTML if _HTML_START.match(head.lstrip(b"\xff\xfe")) else MediaType.PLAIN


def _refusal(data: bytes, promised: MediaType | None) -> AffidavitError:
    kind = next((name for mark, name in _UNSUPPORTED_SIGNATURES if data.startswith(mark)), None)
    if kind is None and promised is not None:
        reason = f"its content is not {MEDIA_TYPE_NAMES[promised]}"
        return AffidavitError(faults.DOCUMENT_CORRUPT, reason=reason)
    return AffidavitError(faults.DOCUMENT_UNKNOWN, kind=kind or "binary data")
