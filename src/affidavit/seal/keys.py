"""Public and signing keys by their derived ids, and private keys as PKCS#8 PEM files."""

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from affidavit.base.digest import sha256_hex
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import receipts as faults
from affidavit.base.text import excerpt
from affidavit.seal import crypto
from affidavit.seal.encodings import (
    OCTET_STRING,
    SEQUENCE,
    der_element,
    der_integer,
    der_object_id,
    find_base64url,
    to_base64url,
)

# Keys by their ids. An id is derived from the key, so it is recomputed and never believed.
#
# Origin: answer-eval, section 5, and the key documents of Dynamic Feed: `<prefix>-ed25519-` and the
# first 12 hexadecimal digits of the SHA-256 of the raw public key. 48 bits name a key and do not
# bind it: two keys with one id can be made, so a set of keys refuses the second.

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
    if len(raw) != crypto.KEY_BYTES:
        problem = f"an Ed25519 key has {crypto.KEY_BYTES} bytes, not {len(raw)}"
        raise AffidavitError(faults.KEY_FORMAT, problem=problem)
    if crypto.is_weak_key(raw):
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
    raw = crypto.public_key_of_seed(seed)
    return SigningKey(PublicKey(key_id_of(prefix, raw), raw), seed)


def keys_by_id(keys: Iterable[PublicKey]) -> Mapping[str, PublicKey]:
    """Return the keys by id; two different keys with one id are refused."""
    found: dict[str, PublicKey] = {}
    for key in keys:
        if found.setdefault(key.id, key) != key:
            raise AffidavitError(faults.KEY_DUPLICATE_ID, key_id=key.id)
    return found


# Private keys as files: PKCS#8 in PEM (RFC 5958, RFC 8410), plain or under a passphrase.
#
# Encryption is PBES2 with scrypt (RFC 7914) and AES-256-CBC. `cryptography` itself would derive the
# key with 2,048 rounds of PBKDF2, which a graphics card tries millions of times a second. OpenSSL
# reads both: `openssl pkey -in KEY.pem -noout -text`.

SALT_BYTES: Final = 16
IV_BYTES: Final = 16

# The most that OpenSSL reads (it stops at 32 MiB), with p raised to what OWASP's password storage
# cheat sheet asks for at this n: 17 MB and a quarter of a second for each try.
_COST_N, _BLOCK_R, _PARALLEL_P = 2**14, 8, 5

_ED25519: Final = der_object_id("1.3.101.112")
_PBES2: Final = der_object_id("1.2.840.113549.1.5.13")
_SCRYPT: Final = der_object_id("1.3.6.1.4.1.11591.4.11")
_AES_256_CBC: Final = der_object_id("2.16.840.1.101.3.4.1.42")


def plain_pem(seed: bytes) -> bytes:
    """Return a seed as a private key that anybody can read who can read the file."""
    return _pem("PRIVATE KEY", _private_key_info(seed))


def encrypted_pem(seed: bytes, passphrase: str, salt: bytes, start: bytes) -> bytes:
    """Return a seed as a private key under a passphrase; salt and start come from chance."""
    key = hashlib.scrypt(
        _passphrase_bytes(passphrase),
        salt=salt,
        n=_COST_N,
        r=_BLOCK_R,
        p=_PARALLEL_P,
        maxmem=64 * 1024 * 1024,
        dklen=32,
    )
    derivation = der_element(
        SEQUENCE,
        der_element(OCTET_STRING, salt),
        der_integer(_COST_N),
        der_integer(_BLOCK_R),
        der_integer(_PARALLEL_P),
    )
    scheme = der_element(
        SEQUENCE,
        der_element(SEQUENCE, _SCRYPT, derivation),
        der_element(SEQUENCE, _AES_256_CBC, der_element(OCTET_STRING, start)),
    )
    sealed = crypto.aes_256_cbc(key, start, _private_key_info(seed))
    info = der_element(
        SEQUENCE, der_element(SEQUENCE, _PBES2, scheme), der_element(OCTET_STRING, sealed)
    )
    return _pem("ENCRYPTED PRIVATE KEY", info)


def is_encrypted(pem: bytes) -> bool:
    """Say whether a key file needs a passphrase."""
    return pem.lstrip().startswith(b"-----BEGIN ENCRYPTED PRIVATE KEY-----")


def seed_from(pem: bytes, passphrase: str | None) -> bytes:
    """Return the seed of a key file. No error repeats anything of the file or the passphrase."""
    secret = None if passphrase is None else _passphrase_bytes(passphrase)
    try:
        found = crypto.seed_from_pem(pem, secret)
    except crypto.WrongPassphraseError:
        given = "the private key is encrypted, and this is not its passphrase"
        missing = "the private key is encrypted, and no passphrase was given"
        problem = missing if passphrase is None else given
        raise AffidavitError(faults.KEY_PASSPHRASE, problem=problem) from None
    except ValueError:
        problem = "it is not a private key in PEM (PKCS#8)"
        raise AffidavitError(faults.KEY_FORMAT, problem=problem) from None
    if isinstance(found, str):
        raise AffidavitError(faults.KEY_ALGORITHM, found=found)
    return found


def _passphrase_bytes(passphrase: str) -> bytes:
    # What the environment holds need not be text; its bytes count, as they do to OpenSSL.
    return passphrase.encode("utf-8", "surrogateescape")


def _private_key_info(seed: bytes) -> bytes:
    algorithm = der_element(SEQUENCE, _ED25519)
    return der_element(
        SEQUENCE,
        der_integer(0),
        algorithm,
        der_element(OCTET_STRING, der_element(OCTET_STRING, seed)),
    )


def _pem(label: str, der: bytes) -> bytes:
    text = b64encode(der)
    lines = [text[at : at + 64] for at in range(0, len(text), 64)]
    return b"\n".join(
        (f"-----BEGIN {label}-----".encode(), *lines, f"-----END {label}-----".encode(), b"")
    )
