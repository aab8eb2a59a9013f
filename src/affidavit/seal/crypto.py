"""Ed25519 (RFC 8032), PEM private keys, X.509 certificates, base64, and the DER that we need.

This is the only module that imports `cryptography`. X.509 and PEM are imported where they are used,
because most receipts need neither. Which keys and certificates to trust is decided by the callers.
"""

from base64 import b64decode, b64encode, urlsafe_b64encode
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from msgspec import Struct

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


# The check of a new key takes some milliseconds.
@lru_cache(maxsize=4096)
def is_weak_key(public_key: bytes) -> bool:
    """Return whether a public key is rejected, whatever it signed.

    With a point of small order anybody can make a signature that holds for every message, and
    `cryptography` accepts such points. With a point of mixed order (a good one plus one of small
    order) verifiers disagree on some signatures. A non-canonical encoding is a second name for one
    key. A wrong length is weak, too, so that no input makes the library raise.
    """
    if len(public_key) != KEY_BYTES:
        return True
    height = int.from_bytes(public_key, "little") & (2**255 - 1)
    if height >= _PRIME or height in _SMALL_ORDER_Y:
        return True
    point = _point_at(height, public_key[31] >> 7)
    return point is None or _multiplied(_ORDER, point) != _NEUTRAL


# Points of the curve as (X, Y, Z, T) with x = X/Z, y = Y/Z and xy = T/Z (RFC 8032, section 5.1.4).
# Only public keys are computed with, so the time that it takes tells nothing.
_Point: TypeAlias = tuple[int, int, int, int]
_ORDER: Final = 2**252 + 27742317777372353535851937790883648493
_D: Final = -121665 * pow(121666, -1, _PRIME) % _PRIME
_ROOT_OF_MINUS_1: Final = pow(2, (_PRIME - 1) // 4, _PRIME)
_NEUTRAL: Final = (0, 1)


def _point_at(height: int, sign: int) -> _Point | None:
    """Return the point with this y coordinate (section 5.1.3), or None if there is none."""
    square = (height * height - 1) * pow(_D * height * height + 1, -1, _PRIME) % _PRIME
    x = pow(square, (_PRIME + 3) // 8, _PRIME)
    if (x * x - square) % _PRIME:
        x = x * _ROOT_OF_MINUS_1 % _PRIME
    if (x * x - square) % _PRIME:
        return None
    x = x if x & 1 == sign else _PRIME - x
    return x, height, 1, x * height % _PRIME


def _multiplied(scalar: int, point: _Point) -> tuple[int, int]:
    """Return a multiple of a point, as x and y."""
    total: _Point = (0, 1, 1, 0)
    for bit in bin(scalar)[2:]:
        total = _added(total, total)
        if bit == "1":
            total = _added(total, point)
    x, y, z, _ = total
    inverse = pow(z, -1, _PRIME)
    return x * inverse % _PRIME, y * inverse % _PRIME


def _added(first: _Point, second: _Point) -> _Point:
    x1, y1, z1, t1 = first
    x2, y2, z2, t2 = second
    a, b = (y1 - x1) * (y2 - x2) % _PRIME, (y1 + x1) * (y2 + x2) % _PRIME
    c, d = 2 * t1 * t2 * _D % _PRIME, 2 * z1 * z2 % _PRIME
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _PRIME, g * h % _PRIME, f * g % _PRIME, e * h % _PRIME


# The SubjectPublicKeyInfo of every Ed25519 key (RFC 8410, section 4), up to the raw key.
_SPKI_PREFIX: Final = bytes.fromhex("302a300506032b6570032100")


def spki_from_raw(public_key: bytes) -> bytes:
    """Return a raw public key as SubjectPublicKeyInfo in DER."""
    return _SPKI_PREFIX + public_key


def public_key_from_pem(pem: bytes) -> bytes | str:
    """Return the raw public key of a PEM file, or the name of another kind of key.

    Raises ValueError if it is no public key in PEM.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(pem)
    except UnsupportedAlgorithm:
        return "an algorithm that is not known here"
    if isinstance(key, Ed25519PublicKey):
        return key.public_bytes_raw()
    return type(key).__name__.removesuffix("PublicKey").lstrip("_")


_TO_STANDARD: Final = bytes.maketrans(b"-_+/", b"+/**")


def to_base64url(data: bytes) -> str:
    """Return base64url (RFC 4648, section 5) with padding, as in keys and signatures."""
    return urlsafe_b64encode(data).decode()


def find_base64url(text: str) -> bytes | None:
    """Decode base64url, padded or not; None if it is malformed."""
    padded = text if text.endswith("=") else text + "=" * (-len(text) % 4)
    return _decode_base64(padded.encode(errors="replace").translate(_TO_STANDARD))


def is_signed_by_jwk(
    jwk: Mapping[str, object], algorithm: str, signature: bytes, message: bytes
) -> bool:
    """Return whether a signature holds under a public key in JSON: RFC 7515 and RFC 7518.

    Only RS256 with at least 2048 bits and ES256 are known. The key decides about the algorithm, and
    what a token says must agree with it.
    """
    from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils
    from cryptography.hazmat.primitives.hashes import SHA256

    if jwk.get("use", "sig") != "sig" or jwk.get("alg", algorithm) != algorithm:
        return False
    try:
        if algorithm == "RS256" and jwk.get("kty") == "RSA":
            modulus, exponent = _jwk_number(jwk, "n"), _jwk_number(jwk, "e")
            if modulus.bit_length() < _LEAST_RSA_BITS:
                return False
            key = rsa.RSAPublicNumbers(exponent, modulus).public_key()
            key.verify(signature, message, padding.PKCS1v15(), SHA256())
            return True
        if algorithm == "ES256" and jwk.get("crv") == "P-256" and len(signature) == 64:
            x, y = _jwk_number(jwk, "x"), _jwk_number(jwk, "y")
            point = ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key()
            halves = (int.from_bytes(signature[at : at + 32]) for at in (0, 32))
            point.verify(utils.encode_dss_signature(*halves), message, ec.ECDSA(SHA256()))
            return True
    except (InvalidSignature, ValueError):
        return False
    return False


_LEAST_RSA_BITS: Final = 2048


def _jwk_number(jwk: Mapping[str, object], name: str) -> int:
    return int.from_bytes(find_base64url(str(jwk.get(name, ""))) or b"")


def to_base64(data: bytes) -> str:
    """Return standard base64 (RFC 4648, section 4) with padding."""
    return b64encode(data).decode()


def find_base64(text: str) -> bytes | None:
    """Decode standard base64; None if it is malformed."""
    return _decode_base64(text.encode(errors="replace"))


def _decode_base64(standard: bytes) -> bytes | None:
    try:
        data = b64decode(standard, validate=True)
    except ValueError:  # binascii.Error is one.
        return None
    return data if b64encode(data) == standard else None


INTEGER, OCTET_STRING, NULL, OBJECT_ID, SEQUENCE, SET = 0x02, 0x04, 0x05, 0x06, 0x30, 0x31
TRUE: Final = bytes.fromhex("0101ff")


class DerElement(Struct, frozen=True):
    """One element: its tag, its content, and all of its bytes."""

    tag: int
    content: bytes
    whole: bytes

    @property
    def members(self) -> "tuple[DerElement, ...]":
        """The elements in its content."""
        return tuple(der_elements(self.content))


def der_element(tag: int, *parts: bytes) -> bytes:
    """Return an element with the concatenated parts as its content."""
    content = b"".join(parts)
    size = len(content)
    if size < 0x80:
        return bytes([tag, size]) + content
    digits = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(digits)]) + digits + content


def der_integer(number: int) -> bytes:
    """Return a non-negative integer."""
    return der_element(INTEGER, number.to_bytes(number.bit_length() // 8 + 1, "big"))


def der_object_id(dotted: str) -> bytes:
    """Return an object identifier, given as `2.16.840`."""
    first, second, *rest = map(int, dotted.split("."))
    content = b"".join(_base_128(number) for number in (first * 40 + second, *rest))
    return der_element(OBJECT_ID, content)


def _base_128(number: int) -> bytes:
    digits = [number & 0x7F]
    while number := number >> 7:
        digits.append(number & 0x7F | 0x80)
    return bytes(reversed(digits))


def der_elements(data: bytes) -> Iterator[DerElement]:
    """Yield the elements of data that a strict parser has already accepted as DER."""
    at = 0
    while at < len(data):
        start, size = at, data[at + 1]
        at += 2
        if size & 0x80:
            digits = size & 0x7F
            size = int.from_bytes(data[at : at + digits], "big")
            at += digits
        content = data[at : at + size]
        at += size
        yield DerElement(data[start], content, data[start:at])
