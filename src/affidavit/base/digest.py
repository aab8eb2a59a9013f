"""Digests: SHA-256 over exact bytes, and the short names that are made from them."""

import hashlib
import re
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.faults.input import DIGEST_MALFORMED
from affidavit.base.text import excerpt

_DIGEST: Final = re.compile(r"sha256:([0-9a-f]{64})")

# What \s and trim mean in JavaScript (ECMA-262: WhiteSpace and LineTerminator), in which the rule
# of the chunk hash is written. Python's own \s leaves out U+FEFF, which stands at the start of many
# files, and has U+0085 and U+001C to U+001F besides.
_WHITE_SPACE: Final = re.compile(
    "[\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]+"
)
# What is white space to JavaScript and not to Python, or the other way round.
_SPACE_IN_ONE_LANGUAGE: Final = "\x1c\x1d\x1e\x1f\x85\ufeff"
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def sha256_hex(data: bytes) -> str:
    """Return the SHA-256 of the bytes as 64 lower-case hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def digest_of(data: bytes) -> str:
    """Return the digest of the bytes as it stands in documents: `sha256:<hex>`."""
    return f"sha256:{sha256_hex(data)}"


def hex_from_digest(text: str) -> str:
    """Return the hexadecimal digits of a `sha256:<hex>` text.

    One digest has one spelling: upper case, other algorithms and stray spaces are refused.
    """
    match = _DIGEST.fullmatch(text)
    if match is None:
        raise AffidavitError(DIGEST_MALFORMED, text=excerpt(text))
    return match[1]


def content_id(prefix: str, canonical: bytes) -> str:
    """Return a name for canonical bytes: the prefix, `_`, and the first 16 digits of their SHA-256.

    It is short enough to be read out, and too short to bind: 64 bits can be made to collide, so
    what must hold compares the whole digest.
    """
    return f"{prefix}_{sha256_hex(canonical)[:16]}"


def chunk_digest(text: str) -> str:
    """Return the whole digest that `chunk_hash` is the start of, as 64 hexadecimal digits.

    Two chunks may share a hash, and are told apart by this.
    """
    lowered = text.lower()
    if any(letter in lowered for letter in _SPACE_IN_ONE_LANGUAGE):
        collapsed = _WHITE_SPACE.sub(" ", lowered).strip(" ")
    else:
        collapsed = " ".join(lowered.split())  # The same, at a tenth of the cost.
    try:
        return sha256_hex(collapsed.encode())
    except UnicodeEncodeError:
        # Half of a surrogate pair has no UTF-8 form; JavaScript hashes U+FFFD in its place.
        return sha256_hex(_SURROGATE.sub("\ufffd", collapsed).encode())


def chunk_hash(text: str) -> str:
    """Return the eight digits by which a citation names a chunk of a document.

    Origin: section 5.2 of the evidence ledger's document: lower case, each run of white space to
    one space, trim, SHA-256 of the UTF-8, first 8 digits. Lower case and white space are Unicode's
    as JavaScript has them, so that its implementations give the same hash. Not covered: a capital
    letter that is younger than the Unicode tables of the Python that runs this stays as it is.
    """
    return chunk_digest(text)[:8]
