"""Private keys as files: PKCS#8 in PEM (RFC 5958, RFC 8410), plain or encrypted.

Encryption is PBES2 with scrypt (RFC 7914) and AES-256-CBC. `cryptography` would derive the key with
2,048 rounds of PBKDF2, which a graphics card tries millions of times a second. OpenSSL reads both:
`openssl pkey -in KEY.pem -noout -text`.
"""

import hashlib
from base64 import b64encode
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import receipts as faults
from affidavit.seal import crypto
from affidavit.seal.encodings import OCTET_STRING, SEQUENCE, der_element, der_integer, der_object_id

SALT_BYTES: Final = 16
IV_BYTES: Final = 16

# The most that OpenSSL reads (it stops at 32 MiB), with p raised to the recommendation of OWASP's
# password storage cheat sheet for this n: 17 MB and a quarter of a second for each try.
_COST_N, _BLOCK_R, _PARALLEL_P = 2**14, 8, 5

_ED25519: Final = der_object_id("1.3.101.112")
_PBES2: Final = der_object_id("1.2.840.113549.1.5.13")
_SCRYPT: Final = der_object_id("1.3.6.1.4.1.11591.4.11")
_AES_256_CBC: Final = der_object_id("2.16.840.1.101.3.4.1.42")


def plain_pem(seed: bytes) -> bytes:
    """Return a seed as an unencrypted private key."""
    return _pem("PRIVATE KEY", _private_key_info(seed))


def encrypted_pem(seed: bytes, passphrase: str, *, salt: bytes, iv: bytes) -> bytes:
    """Return a seed as an encrypted private key; salt and iv come from a secure random source."""
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
        *map(der_integer, (_COST_N, _BLOCK_R, _PARALLEL_P)),
    )
    scheme = der_element(
        SEQUENCE,
        der_element(SEQUENCE, _SCRYPT, derivation),
        der_element(SEQUENCE, _AES_256_CBC, der_element(OCTET_STRING, iv)),
    )
    encrypted = crypto.aes_256_cbc(key, iv, _private_key_info(seed))
    info = der_element(
        SEQUENCE, der_element(SEQUENCE, _PBES2, scheme), der_element(OCTET_STRING, encrypted)
    )
    return _pem("ENCRYPTED PRIVATE KEY", info)


def is_encrypted(pem: bytes) -> bool:
    """Return whether a key file needs a passphrase."""
    return pem.lstrip().startswith(b"-----BEGIN ENCRYPTED PRIVATE KEY-----")


def seed_from(pem: bytes, passphrase: str | None) -> bytes:
    """Return the seed of a key file. No error quotes the file or the passphrase."""
    secret = None if passphrase is None else _passphrase_bytes(passphrase)
    try:
        found = crypto.seed_from_pem(pem, secret)
    except crypto.WrongPassphraseError:
        reason = "no passphrase was given" if passphrase is None else "this is not its passphrase"
        problem = f"the private key is encrypted, and {reason}"
        raise AffidavitError(faults.KEY_PASSPHRASE, problem=problem) from None
    except ValueError:
        problem = "it is not a private key in PEM (PKCS#8)"
        raise AffidavitError(faults.KEY_FORMAT, problem=problem) from None
    if isinstance(found, str):
        raise AffidavitError(faults.KEY_ALGORITHM, found=found)
    return found


def _passphrase_bytes(passphrase: str) -> bytes:
    # An environment variable may hold any bytes. OpenSSL uses them as they are, and so do we.
    return passphrase.encode("utf-8", "surrogateescape")


def _private_key_info(seed: bytes) -> bytes:
    key = der_element(OCTET_STRING, der_element(OCTET_STRING, seed))
    return der_element(SEQUENCE, der_integer(0), der_element(SEQUENCE, _ED25519), key)


def _pem(label: str, der: bytes) -> bytes:
    text = b64encode(der)
    lines = [text[at : at + 64] for at in range(0, len(text), 64)]
    return b"\n".join(
        (f"-----BEGIN {label}-----".encode(), *lines, f"-----END {label}-----".encode(), b"")
    )
