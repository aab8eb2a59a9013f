"""Time stamps by an authority made with `openssl ts`: what holds, what is refused."""

import re
import subprocess
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.seal.authority import (
    NONCE,
    POLICY,
    Authority,
    found_authority,
    token_info,
    with_certificate,
    with_status,
    without_signers,
)

from affidavit.base.errors import AffidavitError
from affidavit.seal.crypto import certificate_from_der, der_element
from affidavit.seal.rfc3161 import (
    TimeStamp,
    TimeStampTrust,
    check_token,
    require_imprint,
    roots_from,
    time_stamp_request,
    token_from_file,
    token_from_response,
)

DIGEST = "ab" * 32
OTHER_DIGEST = "cd" * 32


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return found_authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def token(authority: Authority) -> bytes:
    return authority.token(DIGEST)


def check(authority: Authority, token: bytes, digest: str = DIGEST, **trust: str) -> TimeStamp:
    """Check a token as a verifier does who trusts the authority's root, now."""
    later = authority.now + timedelta(minutes=1)
    return check_token(token, digest, TimeStampTrust(authority.roots, **trust), later)


def test_a_token_holds(authority: Authority, token: bytes) -> None:
    stamp = check(authority, token, policy=POLICY, signer=authority.signer)
    assert stamp.signer == authority.signer
    assert abs(stamp.made_at - authority.now) < timedelta(minutes=1)
    # The authority says how exact its clock is; the latest moment it can mean is what counts.
    assert stamp.latest_at - stamp.made_at == timedelta(seconds=1.5001)


def test_an_authority_need_not_say_how_exact_it_is(authority: Authority) -> None:
    answer = authority.answer_to(time_stamp_request(DIGEST, NONCE), accuracy="")
    stamp = check(authority, token_from_response(answer, DIGEST, NONCE))
    assert stamp.latest_at == stamp.made_at


def test_openssl_reads_our_request(tmp_path: Path, authority: Authority) -> None:
    path = tmp_path / "query.tsq"
    path.write_bytes(time_stamp_request(DIGEST, NONCE, POLICY))
    text = subprocess.run(
        ["openssl", "ts", "-query", "-in", str(path), "-text"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "Hash Algorithm: sha256" in text
    assert f"Nonce: 0x{NONCE:X}" in text
    assert "Certificate required: yes" in text
    assert POLICY in text or "tsa_policy1" in text
    assert "ab ab ab" in text


def test_openssl_verifies_the_token_by_itself(authority: Authority, token: bytes) -> None:
    (authority.folder / "kept.der").write_bytes(token)
    authority.openssl(
        *("ts", "-verify", "-digest", DIGEST, "-in", "kept.der", "-token_in"),
        *("-CAfile", "root.pem"),
    )


def fault_of(call: Callable[[], object]) -> str:
    """Return the name of the fault that a call raises."""
    with pytest.raises(AffidavitError) as caught:
        call()
    return caught.value.fault.name


def test_a_token_of_something_else(authority: Authority, token: bytes) -> None:
    assert fault_of(lambda: check(authority, token, OTHER_DIGEST)) == "tst.imprint"
    assert fault_of(lambda: require_imprint(token, OTHER_DIGEST)) == "tst.imprint"
    require_imprint(token, DIGEST)


def test_a_root_that_only_has_the_same_name(authority: Authority, token: bytes) -> None:
    trust = TimeStampTrust((authority.folder / "other.pem").read_bytes())
    assert fault_of(lambda: check_token(token, DIGEST, trust, authority.now)) == "tst.untrusted"


def test_a_root_that_was_not_valid(authority: Authority, token: bytes) -> None:
    trust = TimeStampTrust((authority.folder / "past.pem").read_bytes())
    assert fault_of(lambda: check_token(token, DIGEST, trust, authority.now)) == "tst.time"


def test_several_roots_in_one_file(authority: Authority, token: bytes) -> None:
    other = (authority.folder / "other.pem").read_bytes()
    trust = TimeStampTrust(other + authority.roots)
    assert check_token(token, DIGEST, trust, authority.now).signer == authority.signer


@pytest.mark.parametrize("pem", [b"", b"no certificate", b"-----BEGIN CERTIFICATE-----\nAA=="])
def test_a_file_without_roots(pem: bytes) -> None:
    assert fault_of(lambda: roots_from(pem)) == "key.format"


PURPOSES = {"no purpose": "plain", "another purpose beside": "two", "not critical": "lax"}


@pytest.mark.parametrize("signer", PURPOSES.values(), ids=PURPOSES.keys())
def test_a_certificate_that_is_not_for_time_stamps(authority: Authority, signer: str) -> None:
    token = authority.token_by_other_purpose(DIGEST, signer)
    assert fault_of(lambda: check(authority, token)) == "tst.eku"


def test_the_same_signed_for_time_stamps_holds(authority: Authority) -> None:
    check(authority, authority.token_by_other_purpose(DIGEST, "tsa"))


def test_a_certificate_that_had_expired(authority: Authority) -> None:
    token = authority.token(DIGEST, signer="expired")
    assert fault_of(lambda: check(authority, token)) == "tst.time"


def test_a_time_stamp_from_the_future(authority: Authority, token: bytes) -> None:
    trust, early = TimeStampTrust(authority.roots), authority.now - timedelta(minutes=1)
    assert fault_of(lambda: check_token(token, DIGEST, trust, early)) == "tst.time"


def test_an_answer_to_another_request(authority: Authority) -> None:
    answer = authority.answer(DIGEST)
    assert fault_of(lambda: token_from_response(answer, DIGEST, NONCE + 1)) == "tst.nonce"
    assert fault_of(lambda: token_from_response(answer, OTHER_DIGEST, NONCE)) == "tst.imprint"


def test_another_policy_or_signer(authority: Authority, token: bytes) -> None:
    assert fault_of(lambda: check(authority, token, policy="1.2.3.4.9")) == "tst.policy"
    assert fault_of(lambda: check(authority, token, signer="CN=TSA")) == "tst.signer"


def test_injected_certificates_change_nothing(authority: Authority, token: bytes) -> None:
    # GHSA-3xxc-pwj6-jgrj: a verifier that pins a name must not find it in a stray certificate.
    injected = with_certificate(token, (authority.folder / "spoofed.pem").read_bytes())
    assert check(authority, injected).signer == authority.signer
    assert fault_of(lambda: check(authority, injected, signer="CN=Spoofed TSA")) == "tst.signer"


def test_a_token_without_its_certificate(authority: Authority, token: bytes) -> None:
    bare = authority.signed(token_info(token), "tsa", "-nocerts")
    assert fault_of(lambda: check(authority, bare)) == "tst.signer"


def test_a_token_that_nobody_or_two_signed(authority: Authority, token: bytes) -> None:
    assert fault_of(lambda: check(authority, without_signers(token))) == "tst.signer"
    twice = authority.signed(token_info(token), "tsa", "-signer", "plain.pem", "-inkey", "tsa.key")
    assert fault_of(lambda: check(authority, twice)) in {"tst.signer", "tst.encoding"}


ENCODINGS: dict[str, Callable[[bytes], bytes]] = {
    "a rejection that carries a token": lambda answer: with_status(answer, 2),
    "granted with changes": lambda answer: with_status(answer, 1),
    "a trailing byte": lambda answer: answer + b"\0",
    "a length in BER": lambda answer: b"\x30\x83\x00" + answer[2:],
    "cut short": lambda answer: answer[:-1],
    "nothing": lambda _: b"",
    "a page of HTML": lambda _: b"<html>not found</html>",
    "a status and no token": lambda _: bytes.fromhex("30053003020100"),
}


@pytest.mark.parametrize("change", ENCODINGS.values(), ids=ENCODINGS.keys())
def test_other_encodings(authority: Authority, change: Callable[[bytes], bytes]) -> None:
    answer = change(authority.answer(DIGEST))
    assert fault_of(lambda: token_from_response(answer, DIGEST, NONCE)) == "tst.encoding"


def test_a_version_that_the_library_passes_over(authority: Authority, token: bytes) -> None:
    at = token.index(b"\x02\x01\x03")
    changed = token[: at + 2] + b"\x01" + token[at + 3 :]
    assert fault_of(lambda: check(authority, changed)) == "tst.encoding"


# What stands in the token, what to put in its last place there, and the fault.
SPOTS = {
    "another name for the signature": ("06082a8648ce3d040302", "06082a8648ce3d040303", "tst.hash"),
    "a certificate of no version": ("a003020102", "a003020105", "tst.encoding"),
    "purposes that cannot be read": ("300a06082b0601", "310a06082b0601", "tst.eku"),
}


@pytest.mark.parametrize(("found", "put", "name"), SPOTS.values(), ids=SPOTS.keys())
def test_a_spot_that_is_changed(
    authority: Authority, token: bytes, found: str, put: str, name: str
) -> None:
    before, _, after = token.rpartition(bytes.fromhex(found))
    assert before
    changed = before + bytes.fromhex(put) + after
    assert fault_of(lambda: check(authority, changed)) == name


def test_a_certificate_of_a_version_that_is_not(authority: Authority) -> None:
    der = bytes.fromhex("a003020102")
    root = x509.load_pem_x509_certificate(authority.roots)
    whole = root.public_bytes(serialization.Encoding.DER)
    with pytest.raises(ValueError, match="unknown version"):
        certificate_from_der(whole.replace(der, bytes.fromhex("a003020105"), 1))


def test_a_refusal_says_why(authority: Authority) -> None:
    request = bytearray(time_stamp_request(DIGEST, NONCE))
    at = request.index(bytes.fromhex("0609608648016503040201"))
    request[at + 10] = 3  # SHA-512, over which this authority makes no stamps.
    answer = authority.answer_to(bytes(request))
    with pytest.raises(AffidavitError, match=r"status 2, .*algorithm"):
        token_from_response(answer, DIGEST, NONCE)


def test_a_stamp_over_sha1(authority: Authority) -> None:
    (authority.folder / "text").write_bytes(b"text")
    authority.openssl("ts", "-query", "-data", "text", "-sha1", "-cert", "-out", "old.tsq")
    answer = authority.answer_to((authority.folder / "old.tsq").read_bytes())
    nonce = int(re.findall(r"0x([0-9A-F]+)", answer_text(authority))[-1], 16)
    assert fault_of(lambda: token_from_response(answer, DIGEST, nonce)) == "tst.hash"


def answer_text(authority: Authority) -> str:
    """Return what openssl reads in the last answer."""
    return subprocess.run(
        ["openssl", "ts", "-reply", "-in", "answer.tsr", "-text"],
        cwd=authority.folder,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_any_changed_byte_is_refused_by_code(
    authority: Authority, token: bytes, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(token) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != token[at]))
    changed = token[:at] + bytes([byte]) + token[at + 1 :]
    assert fault_of(lambda: check(authority, changed)).startswith("tst.")


def test_long_elements_have_long_lengths() -> None:
    assert der_element(4, bytes(127))[:2] == b"\x04\x7f"
    assert der_element(4, bytes(128))[:3] == b"\x04\x81\x80"
    assert der_element(4, bytes(65536))[:5] == b"\x04\x83\x01\x00\x00"


def test_the_token_of_a_file(authority: Authority, token: bytes) -> None:
    answer = authority.answer_to(time_stamp_request(DIGEST, NONCE), with_chain=True)
    chained = token_from_file(answer)
    assert token_from_file(chained) == chained == token_from_response(answer, DIGEST, NONCE)
    require_imprint(chained, DIGEST)
    # A token that is refused for another reason than its encoding is not read as a response.
    assert fault_of(lambda: token_from_file(without_signers(token))) == "tst.signer"
    assert fault_of(lambda: token_from_file(b"text")) == "tst.encoding"
