"""Base64 with one spelling per value: what does not come back letter for letter is refused.

The standard library skips letters it does not know and ignores the unused bits of the last one, so
that many texts would mean the same signature.
"""

from base64 import b64decode, b64encode, urlsafe_b64encode
from typing import Final

_TO_STANDARD: Final = bytes.maketrans(b"-_+/", b"+/**")


def to_base64url(data: bytes) -> str:
    """Return the bytes in the alphabet of RFC 4648, section 5, padded, as keys and signatures."""
    return urlsafe_b64encode(data).decode()


def find_base64url(text: str) -> bytes | None:
    """Return what a text in that alphabet means, padded or not; None if it is none."""
    padded = text if text.endswith("=") else text + "=" * (-len(text) % 4)
    return _decoded(padded.encode(errors="replace").translate(_TO_STANDARD))


def to_base64(data: bytes) -> str:
    """Return the bytes in the standard alphabet (section 4), padded, as `base64 -d` reads it."""
    return b64encode(data).decode()


def find_base64(text: str) -> bytes | None:
    """Return what a text in the standard alphabet means; None if it is not its one spelling."""
    return _decoded(text.encode(errors="replace"))


def _decoded(standard: bytes) -> bytes | None:
    try:
        data = b64decode(standard, validate=True)
    except ValueError:  # The error of binascii is one.
        return None
    return data if b64encode(data) == standard else None
