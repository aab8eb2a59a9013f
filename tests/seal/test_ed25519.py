"""Ed25519 against the vectors of RFC 8032, and the keys that are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affidavit.seal.crypto import is_valid_signature, is_weak_key, public_key_of_seed, sign

# RFC 8032, section 7.1: tests 1 to 3.
VECTORS = {
    "an empty message": (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
        "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    "one byte": (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    "two bytes": (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
        "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
}


@pytest.mark.parametrize(("seed", "public", "message", "signature"), VECTORS.values(), ids=VECTORS)
def test_vectors(seed: str, public: str, message: str, signature: str) -> None:
    secret, text = bytes.fromhex(seed), bytes.fromhex(message)
    assert public_key_of_seed(secret).hex() == public
    assert sign(secret, text).hex() == signature
    assert is_valid_signature(bytes.fromhex(public), bytes.fromhex(signature), text)


SEED = bytes(range(32))
KEY = public_key_of_seed(SEED)


@given(st.binary(max_size=64), st.data())
def test_one_changed_bit_is_enough(message: bytes, data: st.DataObject) -> None:
    signed = bytearray(sign(SEED, message) + message)
    bit = data.draw(st.integers(0, len(signed) * 8 - 1))
    signed[bit // 8] ^= 1 << bit % 8
    assert is_valid_signature(KEY, sign(SEED, message), message)
    assert not is_valid_signature(KEY, bytes(signed[:64]), bytes(signed[64:]))


@given(st.binary(max_size=80), st.binary(max_size=80), st.binary(max_size=8))
def test_no_bytes_make_it_raise(key: bytes, signature: bytes, message: bytes) -> None:
    assert not is_valid_signature(key, signature, message)


PRIME = 2**255 - 19


def is_on_curve_of_small_order(height: int) -> bool:
    """Say whether a point with this height (y) has an order that divides 8.

    The curve, y^2 - x^2 = 1 + d x^2 y^2, gives x^2; doubling gives (y^2 + x^2) / (2 - y^2 + x^2)
    as the next height. After three doublings such a point is the neutral one, whose height is 1.
    """
    d = -121665 * pow(121666, -1, PRIME) % PRIME
    for _ in range(3):
        square = height * height % PRIME
        x_square = (square - 1) * pow(d * square + 1, -1, PRIME) % PRIME
        height = (square + x_square) * pow(2 + x_square - square, -1, PRIME) % PRIME
    return height == 1


# Every encoding of a small-order point, canonical or not: 14 in all.
HEIGHTS = (
    0,
    1,
    PRIME - 1,
    0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7,
    0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826,
    PRIME,
    PRIME + 1,
)
SIGN = 1 << 255


@pytest.mark.parametrize("height", HEIGHTS[:5])
def test_the_table_holds_points_of_small_order(height: int) -> None:
    assert is_on_curve_of_small_order(height)


@pytest.mark.parametrize("sign_bit", [0, SIGN], ids=["even", "odd"])
@pytest.mark.parametrize("height", HEIGHTS)
def test_a_key_of_small_order_is_refused(height: int, sign_bit: int) -> None:
    assert is_weak_key((height | sign_bit).to_bytes(32, "little"))


def test_a_forged_signature_under_the_neutral_key_is_refused() -> None:
    # `cryptography` itself accepts this one for every message.
    neutral = (1).to_bytes(32, "little")
    assert not is_valid_signature(neutral, neutral + bytes(32), b"any message")


REFUSED = {
    "a height above the prime": (PRIME + 2).to_bytes(32, "little"),
    "the greatest height": b"\xff" * 32,
    "too short": KEY[:31],
    "too long": KEY + b"\0",
    "nothing": b"",
}


@pytest.mark.parametrize("key", REFUSED.values(), ids=REFUSED.keys())
def test_other_keys_that_are_refused(key: bytes) -> None:
    assert is_weak_key(key)


def test_a_good_key_is_not_weak() -> None:
    assert not is_weak_key(KEY)
    assert not is_on_curve_of_small_order(int.from_bytes(KEY, "little") & (SIGN - 1))


# The key of the seed 00 01 .. 1f plus each point whose order divides 8, except the neutral one.
MIXED_ORDER = (
    "38fd00c26d1ce27e6f4b55b15fbebffae98052f763b21625375d037af012b0a7",
    "3cab429de7751d7c22e78010173ce0a1d89120f7c4b300ee362a3007a938bbbf",
    "62d5a653bcdb4ced227281ab7f0f2d1eebed4fb114b1aead9758cf56aeebd493",
    "8b2a59ac4324b312dd8d7e5480f0d2e11412b04eeb4e515268a730a951142b6c",
    "b154bd62188ae283dd187fefe8c31f5e276edf083b4cff11c9d5cff856c74440",
    "b502ff3d92e31d8190b4aa4ea0414005167fad089c4de9dac8a2fc850fed4f58",
    "ea5ef8400c31ef41e28f22e718b43f66981b29cf645af2a0e223799bedaace47",
)


@pytest.mark.parametrize("key", MIXED_ORDER)
def test_keys_of_mixed_order_are_weak(key: str) -> None:
    """Verifiers disagree on some signatures of such a key."""
    assert is_weak_key(bytes.fromhex(key))


def test_what_is_no_point_is_weak() -> None:
    assert is_weak_key((2).to_bytes(32, "little"))
    assert not is_weak_key(public_key_of_seed(bytes(range(32))))
