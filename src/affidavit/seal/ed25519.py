"""Ed25519 (RFC 8032): signing, verifying, and the public keys that are refused."""

from functools import lru_cache
from typing import Final

from affidavit.seal import primitives
from affidavit.seal.primitives import public_key_from, sign

__all__ = ["KEY_BYTES", "is_valid", "is_weak", "public_key_from", "sign"]

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


def is_valid(public_key: bytes, signature: bytes, message: bytes) -> bool:
    """Say whether a signature holds. Under a weak key nothing does.

    Not covered: whether the key is one that anybody trusts.
    """
    return not is_weak(public_key) and primitives.holds(public_key, signature, message)


@lru_cache(maxsize=64)
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
