"""Ed25519, PEM private keys and X.509 certificates; the one module that imports `cryptography`."""

from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

if TYPE_CHECKING:
    from cryptography import x509
from typing import Final

# The one module that imports `cryptography`: Ed25519, private keys in PEM, certificates.
#
# Nothing here decides anything: what is weak, trusted or allowed is decided by its callers. X.509
# and PEM are imported where they are used, for most receipts need neither.

Certificate: TypeAlias = "x509.Certificate"


class WrongPassphraseError(Exception):
    """A private key is encrypted, and not with this passphrase, or none was given."""


def public_key_of_seed(seed: bytes) -> bytes:
    """Return the 32 bytes of the public key that belongs to a 32-byte private seed."""
    return Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()


def sign(seed: bytes, message: bytes) -> bytes:
    """Return the 64 bytes of the signature; the same seed and message give the same one."""
    return _signer(seed).sign(message)


# A service signs with one key, whose seed it holds anyway; opening it costs half of a signature.
@lru_cache(maxsize=1)
def _signer(seed: bytes) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(seed)


@lru_cache(maxsize=64)
def _public_key(public_key: bytes) -> Ed25519PublicKey:
    # Many receipts are verified under few keys, and opening a key costs a tenth of verifying.
    return Ed25519PublicKey.from_public_bytes(public_key)


def verifies(public_key: bytes, signature: bytes, message: bytes) -> bool:
    """Say whether a signature holds by RFC 8032; under a weak key it may hold for anything."""
    try:
        _public_key(public_key).verify(signature, message)
    except InvalidSignature:
        return False
    return True


def seed_from_pem(pem: bytes, passphrase: bytes | None) -> bytes | str:
    """Return the seed of a private key in PKCS#8, or the name of what kind of key it is instead.

    ValueError: it is no private key in PEM.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(pem, passphrase)
    except TypeError:  # Encrypted, and no passphrase; or the other way round.
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


def aes_256_cbc(key: bytes, start: bytes, data: bytes) -> bytes:
    """Return the data encrypted, padded by PKCS#7 as PBES2 (RFC 8018) asks."""
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES
    from cryptography.hazmat.primitives.ciphers.modes import CBC

    missing = 16 - len(data) % 16
    encryptor = Cipher(AES(key), CBC(start)).encryptor()
    return encryptor.update(data + bytes([missing]) * missing) + encryptor.finalize()


def certificates_from_pem(pem: bytes) -> tuple[Certificate, ...]:
    """Return the certificates of a PEM file. ValueError: one cannot be read, or there is none."""
    from cryptography import x509

    return tuple(x509.load_pem_x509_certificates(pem))


def certificate_from_der(der: bytes) -> Certificate:
    """Return a certificate whose names and times can be read. ValueError: they cannot."""
    from cryptography import x509

    try:
        certificate = x509.load_der_x509_certificate(der)
        # The library reads names and times when it is asked for them, and may raise only then.
        _ = certificate.issuer, certificate.subject
        _ = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    except x509.InvalidVersion:
        raise ValueError("a certificate of an unknown version") from None
    return certificate


def time_stamp_purpose_problem(certificate: Certificate) -> str | None:
    """Return why a certificate is not one for time stamps alone (RFC 3161, section 2.3)."""
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


def is_valid_at(certificate: Certificate, moment: datetime) -> bool:
    """Say whether a moment lies within a certificate's validity, both ends included."""
    return certificate.not_valid_before_utc <= moment <= certificate.not_valid_after_utc


# Ed25519 (RFC 8032): signing, verifying, and the public keys that are refused.

KEY_BYTES: Final = 32

_PRIME: Final = 2**255 - 19
# The height (y) of each of the eight points whose order divides 8: the order-8 points share two.
_SMALL_ORDER_Y: Final = frozenset(
    {
        0,
        1,
        _PRIME - 1,
        0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7,
        0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826,
    }
)


def is_valid_signature(public_key: bytes, signature: bytes, message: bytes) -> bool:
    """Say whether a signature holds. Under a weak key nothing does.

    Not covered: whether the key is one that anybody trusts.
    """
    return not is_weak_key(public_key) and verifies(public_key, signature, message)


@lru_cache(maxsize=64)
def is_weak_key(public_key: bytes) -> bool:
    """Say whether a public key is refused, whatever it signed.

    A point of small order lets anyone make a signature that holds over every message, and
    `cryptography` accepts it. An encoding that is not canonical is a second name for one key.
    Length is judged here too, so that no input makes the library raise.
    """
    if len(public_key) != KEY_BYTES:
        return True
    height = int.from_bytes(public_key, "little") & (2**255 - 1)
    return height >= _PRIME or height in _SMALL_ORDER_Y
