"""Base64 with one accepted spelling per value, and the subset of DER (X.690) that we need.

The base64 decoder of the standard library skips unknown letters and ignores the unused bits of the
last one, so many texts would mean the same signature. Here a text must be what encoding its value
gives back.
"""

from base64 import b64decode, b64encode, urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_TO_STANDARD: Final = bytes.maketrans(b"-_+/", b"+/**")


def to_base64url(data: bytes) -> str:
    """Return base64url (RFC 4648, section 5) with padding, as in keys and signatures."""
    return urlsafe_b64encode(data).decode()


def find_base64url(text: str) -> bytes | None:
    """Decode base64url, padded or not; None if it is malformed."""
    padded = text if text.endswith("=") else text + "=" * (-len(text) % 4)
    return _decode_base64(padded.encode(errors="replace").translate(_TO_STANDARD))


def to_base64(data: bytes) -> str:
    """Return standard base64 (RFC 4648, section 4) with padding."""
    return b64encode(data).decode()


def find_base64(text: str) -> bytes | None:
    """Decode standard base64; None if it is malformed."""
    return _decode_base64(text.encode(errors="replace"))


def _decode_base64(standard: bytes) -> bytes | None:
    try:
        data = b64decode(standard, validate=True)
    except ValueError:  # binascii.Error is one.
        return None
    return data if b64encode(data) == standard else None


INTEGER, OCTET_STRING, NULL, OBJECT_ID, SEQUENCE, SET = 0x02, 0x04, 0x05, 0x06, 0x30, 0x31
TRUE: Final = bytes.fromhex("0101ff")


@dataclass(frozen=True, slots=True)
class DerElement:
    """One element: its tag, its content, and all of its bytes."""

    tag: int
    content: bytes
    whole: bytes

    @property
    def members(self) -> "tuple[DerElement, ...]":
        """The elements in its content."""
        return tuple(der_elements(self.content))


def der_element(tag: int, *parts: bytes) -> bytes:
    """Return an element with the concatenated parts as its content."""
    content = b"".join(parts)
    size = len(content)
    if size < 0x80:
        return bytes([tag, size]) + content
    digits = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(digits)]) + digits + content


def der_integer(number: int) -> bytes:
    """Return a non-negative integer."""
    return der_element(INTEGER, number.to_bytes(number.bit_length() // 8 + 1, "big"))


def der_object_id(dotted: str) -> bytes:
    """Return an object identifier, given as `2.16.840`."""
    first, second, *rest = map(int, dotted.split("."))
    content = b"".join(_base_128(number) for number in (first * 40 + second, *rest))
    return der_element(OBJECT_ID, content)


def _base_128(number: int) -> bytes:
    digits = [number & 0x7F]
    while number := number >> 7:
        digits.append(number & 0x7F | 0x80)
    return bytes(reversed(digits))


def der_elements(data: bytes) -> Iterator[DerElement]:
    """Yield the elements of data that a strict parser has already accepted as DER."""
    at = 0
    while at < len(data):
        start, size = at, data[at + 1]
        at += 2
        if size & 0x80:
            digits = size & 0x7F
            size = int.from_bytes(data[at : at + digits], "big")
            at += digits
        content = data[at : at + size]
        at += size
        yield DerElement(data[start], content, data[start:at])
