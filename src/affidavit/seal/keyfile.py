"""Private keys as files: PKCS#8 in PEM (RFC 5958, RFC 8410), plain or under a passphrase.

Encryption is PBES2 with scrypt (RFC 7914) and AES-256-CBC. `cryptography` itself would derive the
key with 2,048 rounds of PBKDF2, which a graphics card tries millions of times a second. OpenSSL
reads both: `openssl pkey -in KEY.pem -noout -text`.
"""

import hashlib
from base64 import b64encode
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import receipts as faults
from affidavit.seal import primitives
from affidavit.seal.der import OCTETS, SEQUENCE, element, integer, object_id

SALT_BYTES: Final = 16
START_BYTES: Final = 16

# The most that OpenSSL reads (it stops at 32 MiB), with p raised to what OWASP's password storage
# cheat sheet asks for at this n: 17 MB and a quarter of a second for each try.
_COST_N, _BLOCK_R, _PARALLEL_P = 2**14, 8, 5

_ED25519: Final = object_id("1.3.101.112")
_PBES2: Final = object_id("1.2.840.113549.1.5.13")
_SCRYPT: Final = object_id("1.3.6.1.4.1.11591.4.11")
_AES_256_CBC: Final = object_id("2.16.840.1.101.3.4.1.42")


def plain_pem(seed: bytes) -> bytes:
    """Return a seed as a private key that anybody can read who can read the file."""
    return _pem("PRIVATE KEY", _private_key_info(seed))


def encrypted_pem(seed: bytes, passphrase: str, salt: bytes, start: bytes) -> bytes:
    """Return a seed as a private key under a passphrase; salt and start come from chance."""
    key = hashlib.scrypt(
        _secret_bytes(passphrase),
        salt=salt,
        n=_COST_N,
        r=_BLOCK_R,
        p=_PARALLEL_P,
        maxmem=64 * 1024 * 1024,
        dklen=32,
    )
    derivation = element(
        SEQUENCE,
        element(OCTETS, salt),
        integer(_COST_N),
        integer(_BLOCK_R),
        integer(_PARALLEL_P),
    )
    scheme = element(
        SEQUENCE,
        element(SEQUENCE, _SCRYPT, derivation),
        element(SEQUENCE, _AES_256_CBC, element(OCTETS, start)),
    )
    sealed = primitives.aes_256_cbc(key, start, _private_key_info(seed))
    info = element(SEQUENCE, element(SEQUENCE, _PBES2, scheme), element(OCTETS, sealed))
    return _pem("ENCRYPTED PRIVATE KEY", info)


def is_encrypted(pem: bytes) -> bool:
    """Say whether a key file needs a passphrase."""
    return pem.lstrip().startswith(b"-----BEGIN ENCRYPTED PRIVATE KEY-----")


def seed_from(pem: bytes, passphrase: str | None) -> bytes:
    """Return the seed of a key file. No error repeats anything of the file or the passphrase."""
    secret = None if passphrase is None else _secret_bytes(passphrase)
    try:
        found = primitives.seed_from_pem(pem, secret)
    except primitives.WrongPassphrase:
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


def _secret_bytes(passphrase: str) -> bytes:
    # What the environment holds need not be text; its bytes count, as they do to OpenSSL.
    return passphrase.encode("utf-8", "surrogateescape")


def _private_key_info(seed: bytes) -> bytes:
    algorithm = element(SEQUENCE, _ED25519)
    return element(SEQUENCE, integer(0), algorithm, element(OCTETS, element(OCTETS, seed)))


def _pem(label: str, der: bytes) -> bytes:
    text = b64encode(der)
    lines = [text[at : at + 64] for at in range(0, len(text), 64)]
    return b"\n".join(
        (f"-----BEGIN {label}-----".encode(), *lines, f"-----END {label}-----".encode(), b"")
    )
