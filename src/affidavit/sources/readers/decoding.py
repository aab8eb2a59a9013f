"""From bytes to text: a byte order mark decides, then UTF-8, then Windows-1252 with a warning."""

import codecs
import re
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults
from affidavit.sources.findings import Warned

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CHARSET: Final = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([\w-]{1,40})", re.I)
_HEAD_BYTES: Final = 4096


def has_byte_order_mark(data: bytes) -> bool:
    """Tell whether the bytes begin by saying how they are encoded."""
    return data.startswith(tuple(mark for mark, _ in _MARKS))


def decode_text(data: bytes) -> tuple[str, tuple[Warned, ...]]:
    """Return the text and a warning if the encoding had to be guessed.

    Windows-1252 is what old Western programs wrote, and it can name every byte; where it has no
    letter for one, Latin-1's control character stands, which the readers leave out.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _decode(data, encoding), ()
    try:
        return data.decode("utf-8"), ()
    except UnicodeDecodeError:
        text = "".join(_CP1252[byte] for byte in data)
        return text, (Warned(faults.ENCODING_GUESSED),)


def decode_html(data: bytes) -> tuple[str, tuple[Warned, ...]]:
    """Return the text of an HTML file, which may name its encoding in its head."""
    declared = _CHARSET.search(data, 0, _HEAD_BYTES)
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
