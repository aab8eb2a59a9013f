"""Ed25519 (RFC 8032) by the library `cryptography`; this is the one module that imports it."""

from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

KEY_BYTES: Final = 32

_PRIME: Final = 2**255 - 19
# The height (y) of each of the eight points whose order divides 8: the order-8 points share two.
_SMALL_ORDER_HEIGHTS: Final = frozenset(
    {
        0,
        1,
        _PRIME - 1,
        0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7,
        0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826,
    }
)


def public_key_from(seed: bytes) -> bytes:
    """Return the 32 bytes of the public key that belongs to a 32-byte private seed."""
    return Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()


def sign(seed: bytes, message: bytes) -> bytes:
    """Return the 64 bytes of the signature; the same seed and message give the same one."""
    return Ed25519PrivateKey.from_private_bytes(seed).sign(message)


def is_valid(public_key: bytes, signature: bytes, message: bytes) -> bool:
    """Say whether a signature holds. Under a weak key nothing does.

    Not covered: whether the key is one that anybody trusts.
    """
    if is_weak(public_key):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except InvalidSignature:
        return False
    return True


def is_weak(public_key: bytes) -> bool:
    """Say whether a public key is refused, whatever it signed.

    A point of small order lets anyone make a signature that holds over every message, and
    `cryptography` accepts it. An encoding that is not canonical is a second name for one key.
    Length is judged here too, so that no input makes the library raise.
    """
    if len(public_key) != KEY_BYTES:
        return True
    height = int.from_bytes(public_key, "little") & (2**255 - 1)
    return height >= _PRIME or height in _SMALL_ORDER_HEIGHTS
