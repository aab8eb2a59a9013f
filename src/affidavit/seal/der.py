"""DER (X.690), as much of it as requests, tokens and key files need."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

INTEGER, OCTETS, NULL, OBJECT_ID, SEQUENCE, SET = 0x02, 0x04, 0x05, 0x06, 0x30, 0x31
TRUE: Final = bytes.fromhex("0101ff")


@dataclass(frozen=True, slots=True)
class Element:
    """One element: its tag, its content, and itself with both."""

    tag: int
    content: bytes
    whole: bytes

    @property
    def members(self) -> "tuple[Element, ...]":
        """The elements that it consists of."""
        return tuple(elements(self.content))


def element(tag: int, *parts: bytes) -> bytes:
    """Return an element of these parts."""
    content = b"".join(parts)
    size = len(content)
    if size < 0x80:
        return bytes([tag, size]) + content
    digits = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(digits)]) + digits + content


def integer(number: int) -> bytes:
    """Return a number that is not negative."""
    return element(INTEGER, number.to_bytes(number.bit_length() // 8 + 1, "big"))


def object_id(dotted: str) -> bytes:
    """Return an object identifier, written as `2.16.840`."""
    first, second, *rest = map(int, dotted.split("."))
    content = b"".join(_base_128(number) for number in (first * 40 + second, *rest))
    return element(OBJECT_ID, content)


def _base_128(number: int) -> bytes:
    digits = [number & 0x7F]
    while number := number >> 7:
        digits.append(number & 0x7F | 0x80)
    return bytes(reversed(digits))


def elements(data: bytes) -> Iterator[Element]:
    """Yield the elements of data that a strict parser has accepted as DER before."""
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
        yield Element(data[start], content, data[start:at])
