"""Base64 with one spelling per value: what does not come back letter for letter is refused.

The standard library skips letters it does not know and ignores the unused bits of the last one, so
that many texts would mean the same signature.
"""

import binascii
from base64 import b64decode, b64encode, urlsafe_b64encode
from typing import Final

_TO_STANDARD: Final = str.maketrans("-_", "+/", "+/")


def to_base64url(data: bytes) -> str:
    """Return the bytes in the alphabet of RFC 4648, section 5, padded, as keys and signatures."""
    return urlsafe_b64encode(data).decode()


def find_base64url(text: str) -> bytes | None:
    """Return what a text in that alphabet means, padded or not; None if it is none."""
    padded = text if text.endswith("=") else text + "=" * (-len(text) % 4)
    data = _decoded(padded.translate(_TO_STANDARD))
    return data if data is not None and to_base64url(data) == padded else None


def to_base64(data: bytes) -> str:
    """Return the bytes in the standard alphabet (section 4), padded, as `base64 -d` reads it."""
    return b64encode(data).decode()


def find_base64(text: str) -> bytes | None:
    """Return what a text in the standard alphabet means; None if it is not its one spelling."""
    data = _decoded(text)
    return data if data is not None and to_base64(data) == text else None


def _decoded(text: str) -> bytes | None:
    try:
        return b64decode(text, validate=True)
    except (binascii.Error, ValueError):  # ValueError: letters that are not ASCII.
        return None
