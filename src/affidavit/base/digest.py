"""Digests: SHA-256 over exact bytes, and the short ids derived from them."""

import hashlib
import re
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.faults.input import DIGEST_MALFORMED
from affidavit.base.text import excerpt

_DIGEST: Final = re.compile(r"sha256:([0-9a-f]{64})")

# White space as in JavaScript (ECMA-262: WhiteSpace and LineTerminator), in which the chunk hash is
# specified. Python's \s lacks U+FEFF, which many files start with, and also matches U+0085 and
# U+001C to U+001F.
_WHITE_SPACE: Final = re.compile(
    "[\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]+"
)
# White space in only one of JavaScript and Python.
_SPACE_IN_ONE_LANGUAGE: Final = "\x1c\x1d\x1e\x1f\x85\ufeff"
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def sha256_hex(data: bytes) -> str:
    """Return the SHA-256 of the bytes as 64 lower-case hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def digest_of(data: bytes) -> str:
    """Return the digest of the bytes as documents write it: `sha256:<hex>`."""
    return f"sha256:{sha256_hex(data)}"


def hex_from_digest(text: str) -> str:
    """Return the hexadecimal digits of a `sha256:<hex>` text.

    A digest has one spelling: upper case, other algorithms and extra spaces are refused.
    """
    match = _DIGEST.fullmatch(text)
    if match is None:
        raise AffidavitError(DIGEST_MALFORMED, text=excerpt(text))
    return match[1]


def content_id(prefix: str, canonical: bytes) -> str:
    """Return an id of canonical bytes: the prefix, `_`, and the first 16 digits of their SHA-256.

    It is for people. Collisions of 64 bits can be constructed, so verification compares the whole
    digest.
    """
    return f"{prefix}_{sha256_hex(canonical)[:16]}"


def chunk_digest(text: str) -> str:
    """Return the 64 hexadecimal digits of which `chunk_hash` is the beginning.

    It distinguishes two chunks with the same hash.
    """
    lowered = text.lower()
    if lowered.isascii():  # Most texts; twice as fast as what follows, with the same result.
        plain = lowered.encode()
        is_spaced = "  " in lowered or "\n" in lowered or "\t" in lowered
        if is_spaced or "\r" in lowered or "\v" in lowered or "\f" in lowered:
            plain = b" ".join(plain.split())  # At the white space of JavaScript, unlike `str`.
        return hashlib.sha256(plain.strip(b" ")).hexdigest()
    if any(letter in lowered for letter in _SPACE_IN_ONE_LANGUAGE):
        collapsed = _WHITE_SPACE.sub(" ", lowered).strip(" ")
    else:
        collapsed = " ".join(lowered.split())  # The same result, ten times faster.
    try:
        return sha256_hex(collapsed.encode())
    except UnicodeEncodeError:
        # A lone surrogate has no UTF-8 form; JavaScript hashes U+FFFD instead.
        return sha256_hex(_SURROGATE.sub("\ufffd", collapsed).encode())


def chunk_hash(text: str) -> str:
    """Return the eight digits by which a citation refers to a chunk of a document.

    Origin: evidence-ledger.md, section 5.2: lower case, each run of white space to one space, trim,
    SHA-256 of the UTF-8, first 8 digits. Case and white space follow JavaScript, so implementations
    in it give the same hash. Not covered: capital letters that are newer than Python's Unicode
    tables.
    """
    return chunk_digest(text)[:8]
