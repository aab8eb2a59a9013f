"""Ed25519 (RFC 8032), PEM private keys and X.509 certificates.

This is the only module that imports `cryptography`. X.509 and PEM are imported where they are used,
because most receipts need neither. Which keys and certificates to trust is decided by the callers.
"""

from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

if TYPE_CHECKING:
    from cryptography import x509

KEY_BYTES: Final = 32

_PRIME: Final = 2**255 - 19
# The y coordinates of the eight points whose order divides 8; the points of order 8 share two.
_SMALL_ORDER_Y: Final = frozenset(
    {
        0,
        1,
        _PRIME - 1,
        0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7,
        0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826,
    }
)

Certificate: TypeAlias = "x509.Certificate"


class WrongPassphraseError(Exception):
    """A private key is encrypted, and the passphrase is wrong or missing."""


def public_key_of_seed(seed: bytes) -> bytes:
    """Return the raw public key of a 32-byte private seed."""
    return Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()


def sign(seed: bytes, message: bytes) -> bytes:
    """Return the 64-byte signature; it is deterministic."""
    return _signer(seed).sign(message)


# Loading the key costs half as much as a signature, and a service signs with one key.
@lru_cache(maxsize=1)
def _signer(seed: bytes) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(seed)


@lru_cache(maxsize=64)
def _public_key(public_key: bytes) -> Ed25519PublicKey:
    # Loading a key costs a tenth of a verification, and many receipts have the same key.
    return Ed25519PublicKey.from_public_bytes(public_key)


def verifies(public_key: bytes, signature: bytes, message: bytes) -> bool:
    """Return whether a signature holds by RFC 8032; under a weak key it may hold for anything."""
    try:
        _public_key(public_key).verify(signature, message)
    except InvalidSignature:
        return False
    return True


def seed_from_pem(pem: bytes, passphrase: bytes | None) -> bytes | str:
    """Return the seed of a private key in PKCS#8, or the name of another kind of key.

    Raises ValueError if it is no private key in PEM.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(pem, passphrase)
    except TypeError:  # Encrypted without a passphrase, or the other way round.
        if passphrase is None:
            raise WrongPassphraseError from None
        return seed_from_pem(pem, None)
    except UnsupportedAlgorithm:
        return "an algorithm that is not known here"
    except ValueError:
        if b"ENCRYPTED" in pem and passphrase is not None:
            raise WrongPassphraseError from None
        raise
    if isinstance(key, Ed25519PrivateKey):
        return key.private_bytes_raw()
    return type(key).__name__.removesuffix("PrivateKey").lstrip("_")


def aes_256_cbc(key: bytes, iv: bytes, data: bytes) -> bytes:
    """Return the encrypted data, with the PKCS#7 padding that PBES2 (RFC 8018) requires."""
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES
    from cryptography.hazmat.primitives.ciphers.modes import CBC

    missing = 16 - len(data) % 16
    encryptor = Cipher(AES(key), CBC(iv)).encryptor()
    return encryptor.update(data + bytes([missing]) * missing) + encryptor.finalize()


def certificates_from_pem(pem: bytes) -> tuple[Certificate, ...]:
    """Return the certificates of a PEM file; raise ValueError without a readable one."""
    from cryptography import x509

    return tuple(x509.load_pem_x509_certificates(pem))


def certificate_from_der(der: bytes) -> Certificate:
    """Return a certificate; raise ValueError if its names or times cannot be read."""
    from cryptography import x509

    try:
        certificate = x509.load_der_x509_certificate(der)
        # The library parses names and times on access, and may raise only then.
        _ = certificate.issuer, certificate.subject
        _ = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    except x509.InvalidVersion:
        raise ValueError("a certificate of an unknown version") from None
    return certificate


def time_stamp_purpose_problem(certificate: Certificate) -> str | None:
    """Return why a certificate is not for time stamps alone (RFC 3161, section 2.3), or None."""
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    try:
        found = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage)
    except x509.ExtensionNotFound:
        return "it names no purpose"
    except (ValueError, x509.DuplicateExtension, x509.UnsupportedGeneralNameType):
        return "its extensions cannot be read"
    if list(found.value) != [ExtendedKeyUsageOID.TIME_STAMPING]:
        return "it has another purpose"
    return None if found.critical else "its purpose is not marked critical"


def is_valid_at(certificate: Certificate, time: datetime) -> bool:
    """Return whether a time is within the validity of a certificate, both ends included."""
    return certificate.not_valid_before_utc <= time <= certificate.not_valid_after_utc


def is_valid_signature(public_key: bytes, signature: bytes, message: bytes) -> bool:
    """Return whether a signature holds; under a weak key none does.

    Not covered: whether anybody trusts the key.
    """
    return not is_weak_key(public_key) and verifies(public_key, signature, message)


@lru_cache(maxsize=64)
def is_weak_key(public_key: bytes) -> bool:
    """Return whether a public key is rejected, whatever it signed.

    With a point of small order anybody can make a signature that holds for every message, and
    `cryptography` accepts such points. A non-canonical encoding is a second name for one key. A
    wrong length is weak, too, so that no input makes the library raise.
    """
    if len(public_key) != KEY_BYTES:
        return True
    height = int.from_bytes(public_key, "little") & (2**255 - 1)
    return height >= _PRIME or height in _SMALL_ORDER_Y
