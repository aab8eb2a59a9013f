"""Signatures under public keys in JSON, as providers of sign-in publish them."""

from base64 import urlsafe_b64encode

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils
from cryptography.hazmat.primitives.hashes import SHA256

from affidavit.seal.crypto import is_signed_by_jwk

MESSAGE = b"header.claims"


def number(value: int) -> str:
    data = value.to_bytes((value.bit_length() + 7) // 8)
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def rsa_signed(bits: int) -> tuple[dict[str, object], bytes]:
    key = rsa.generate_private_key(65537, bits)
    public = key.public_key().public_numbers()
    jwk: dict[str, object] = {"kty": "RSA", "n": number(public.n), "e": number(public.e)}
    return jwk, key.sign(MESSAGE, padding.PKCS1v15(), SHA256())


def ec_signed() -> tuple[dict[str, object], bytes]:
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_numbers()
    r, s = utils.decode_dss_signature(key.sign(MESSAGE, ec.ECDSA(SHA256())))
    jwk: dict[str, object] = {"crv": "P-256", "x": number(public.x), "y": number(public.y)}
    return jwk, r.to_bytes(32) + s.to_bytes(32)


RSA, RSA_SIGNATURE = rsa_signed(2048)
SHORT, SHORT_SIGNATURE = rsa_signed(1024)
POINT, POINT_SIGNATURE = ec_signed()
CASES = {
    "RS256": (RSA, "RS256", RSA_SIGNATURE, True),
    "ES256": (POINT, "ES256", POINT_SIGNATURE, True),
    "a key that is too short": (SHORT, "RS256", SHORT_SIGNATURE, False),
    "a key that is there to encrypt": ({**RSA, "use": "enc"}, "RS256", RSA_SIGNATURE, False),
    "a key of another algorithm": ({**RSA, "alg": "PS256"}, "RS256", RSA_SIGNATURE, False),
    "another key": (rsa_signed(2048)[0], "RS256", RSA_SIGNATURE, False),
    "a changed signature": (POINT, "ES256", POINT_SIGNATURE[:-1] + b"\0\0", False),
    "no point of the curve": ({**POINT, "x": "AQ"}, "ES256", POINT_SIGNATURE, False),
    "no algorithm": (RSA, "none", b"", False),
    "a shared secret": (RSA, "HS256", RSA_SIGNATURE, False),
}


@pytest.mark.parametrize(
    ("jwk", "algorithm", "signature", "holds"), CASES.values(), ids=CASES.keys()
)
def test_a_signature_under_a_key_in_json(
    jwk: dict[str, object], algorithm: str, signature: bytes, holds: bool
) -> None:
    assert is_signed_by_jwk(jwk, algorithm, signature, MESSAGE) is holds
