"""Keys by their ids. An id is derived from the key, so it is recomputed and never believed.

Origin: answer-eval, section 5, and the key documents of Dynamic Feed: `<prefix>-ed25519-` and the
first 12 hexadecimal digits of the SHA-256 of the raw public key. 48 bits name a key and do not bind
it: two keys with one id can be made, so a set of keys refuses the second.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from affidavit.base.digest import sha256_hex
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import receipts as faults
from affidavit.base.places import excerpt
from affidavit.seal import ed25519
from affidavit.seal.base64_text import find_base64url, to_base64url

DEFAULT_PREFIX: Final = "af"
SEED_BYTES: Final = 32

_KEY_ID: Final = re.compile(r"([a-z0-9]+(?:-[a-z0-9]+)*)-ed25519-([0-9a-f]{12})")
_PREFIX: Final = re.compile(r"[a-z0-9]{1,16}(?:-[a-z0-9]{1,16}){0,2}")


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public key that is not weak, and the id that was recomputed from it."""

    id: str
    raw: bytes

    @property
    def text(self) -> str:
        """The key as it stands in documents: base64url, padded."""
        return to_base64url(self.raw)

    @property
    def fingerprint(self) -> str:
        """The whole SHA-256 of the raw key, as 64 hexadecimal digits."""
        return sha256_hex(self.raw)


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key. Its seed is not shown when the key is printed or stands in a traceback."""

    public: PublicKey
    seed: bytes = field(repr=False)


def key_id_of(prefix: str, raw: bytes) -> str:
    """Return the id of a raw public key."""
    return f"{prefix}-ed25519-{sha256_hex(raw)[:12]}"


def is_key_id(text: str) -> bool:
    """Say whether a text has the form of an id."""
    return _KEY_ID.fullmatch(text) is not None


def public_key_named(key_id: str, raw: bytes) -> PublicKey:
    """Return a key of a document; one that is weak or has another id is refused."""
    match = _KEY_ID.fullmatch(key_id)
    if match is None:
        problem = f"{excerpt(key_id)!r} is not the id of a key"
        raise AffidavitError(faults.KEY_FORMAT, problem=problem)
    if len(raw) != ed25519.KEY_BYTES:
        problem = f"an Ed25519 key has {ed25519.KEY_BYTES} bytes, not {len(raw)}"
        raise AffidavitError(faults.KEY_FORMAT, problem=problem)
    if ed25519.is_weak(raw):
        raise AffidavitError(faults.KEY_WEAK)
    found = key_id_of(match[1], raw)
    if found != key_id:
        raise AffidavitError(faults.KEY_ID_MISMATCH, key_id=key_id, found=found)
    return PublicKey(key_id, raw)


def public_key_from_text(key_id: str, text: object) -> PublicKey:
    """Return a key of a document that writes it in base64url."""
    raw = find_base64url(text) if isinstance(text, str) else None
    if raw is None:
        raise AffidavitError(faults.KEY_FORMAT, problem="a public key stands there in base64url")
    return public_key_named(key_id, raw)


def signing_key_from(seed: bytes, prefix: str = DEFAULT_PREFIX) -> SigningKey:
    """Return the key of a 32-byte seed, which the caller drew from a secure random source."""
    if _PREFIX.fullmatch(prefix) is None:
        problem = f"the prefix {excerpt(prefix)!r} is not lower-case letters, digits and hyphens"
        raise AffidavitError(faults.KEY_FORMAT, problem=problem)
    raw = ed25519.public_key_from(seed)
    return SigningKey(PublicKey(key_id_of(prefix, raw), raw), seed)


def keys_by_id(keys: Iterable[PublicKey]) -> Mapping[str, PublicKey]:
    """Return the keys by id; two different keys with one id are refused."""
    found: dict[str, PublicKey] = {}
    for key in keys:
        if found.setdefault(key.id, key) != key:
            raise AffidavitError(faults.KEY_DUPLICATE_ID, key_id=key.id)
    return found
