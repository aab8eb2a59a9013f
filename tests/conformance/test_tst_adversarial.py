"""The hostile constructions of the layer `tst`, made with `openssl`."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from tests.conformance.adversarial_table import cases, expected
from tests.seal.authority import (
    NONCE,
    POLICY,
    Authority,
    found_authority,
    with_certificate,
    with_status,
)
from tests.seal.samples import FLAT_KEYS, sealed

from affidavit.base.errors import AffidavitError
from affidavit.seal.crypto import der_elements
from affidavit.seal.receipts import ReceiptTrust, receipt_from, verify_receipt
from affidavit.seal.rfc3161 import TimeStampTrust, check_token, token_from_response

DIGEST, OTHER = "ab" * 32, "cd" * 32
MINUTE = timedelta(minutes=1)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return found_authority(tmp_path_factory.mktemp("authority"))


def check(authority: Authority, token: bytes, at: timedelta = MINUTE, **trust: str) -> object:
    return check_token(token, DIGEST, TimeStampTrust(authority.roots, **trust), authority.now + at)


def answered(authority: Authority, answer: bytes, nonce: int = NONCE) -> object:
    return check(authority, token_from_response(answer, DIGEST, nonce))


def by_own_authority(authority: Authority) -> object:
    roots = TimeStampTrust((authority.folder / "other.pem").read_bytes())
    return check_token(authority.token(DIGEST), DIGEST, roots, authority.now + MINUTE)


def injected(authority: Authority) -> object:
    spoofed = (authority.folder / "spoofed.pem").read_bytes()
    token = with_certificate(authority.token(DIGEST), spoofed)
    return check(authority, token, signer="CN=Spoofed TSA")


def over_sha1(authority: Authority) -> object:
    (authority.folder / "text").write_bytes(b"text")
    authority.openssl("ts", "-query", "-data", "text", "-sha1", "-cert", "-out", "old.tsq")
    answer = authority.answer_to((authority.folder / "old.tsq").read_bytes())
    (whole,) = der_elements(answer)
    return check(authority, whole.members[1].whole)


def stripped(authority: Authority) -> object:
    trust = ReceiptTrust(FLAT_KEYS, TimeStampTrust(authority.roots), stamp_required=True)
    (step, *_) = verify_receipt(receipt_from(sealed()), trust, authority.now, ()).steps
    assert step.fault is not None
    raise AffidavitError(step.fault)


CONSTRUCTIONS: dict[str, list[Callable[[Authority], object]]] = {
    "ADV-062": [lambda tsa: check(tsa, tsa.token(OTHER))],
    "ADV-063": [by_own_authority],
    "ADV-064": [
        lambda tsa: check(tsa, tsa.token_by_other_purpose(DIGEST, "plain")),
        lambda tsa: check(tsa, tsa.token_by_other_purpose(DIGEST, "two")),
        lambda tsa: check(tsa, tsa.token_by_other_purpose(DIGEST, "lax")),
    ],
    "ADV-065": [injected],
    "ADV-066": [
        lambda tsa: check(tsa, tsa.token(DIGEST, signer="expired")),
        lambda tsa: check(tsa, tsa.token(DIGEST), at=-10 * MINUTE),
    ],
    "ADV-067": [
        lambda tsa: answered(tsa, tsa.answer(DIGEST), NONCE + 1),
        lambda tsa: check(tsa, tsa.token(DIGEST), policy=f"{POLICY}.9"),
    ],
    "ADV-068": [
        lambda tsa: answered(tsa, with_status(tsa.answer(DIGEST), 2)),
        lambda tsa: answered(tsa, tsa.answer(DIGEST) + b"\0"),
        lambda tsa: check(tsa, tsa.token(DIGEST) + b"\0"),
        lambda tsa: answered(tsa, b"\x30\x83\x00" + tsa.answer(DIGEST)[2:]),
    ],
    "ADV-069": [over_sha1],
    "ADV-070": [stripped],
}


@pytest.mark.parametrize("case", CONSTRUCTIONS)
def test_adversarial_time_stamps(case: str, authority: Authority) -> None:
    names = set()
    for construction in CONSTRUCTIONS[case]:
        with pytest.raises(AffidavitError) as caught:
            construction(authority)
        names.add(caught.value.fault.name)
    assert names == expected(case)


def test_every_case_of_the_layer_is_built() -> None:
    assert set(CONSTRUCTIONS) == cases("tst")


def test_the_control_is_accepted(authority: Authority) -> None:
    assert answered(authority, authority.answer(DIGEST))
    assert check(authority, authority.token(DIGEST), policy=POLICY, signer=authority.signer)
