"""A receipt that a real time stamp authority (`openssl ts`) has anchored, verified."""

from datetime import datetime, timedelta

import pytest
from tests.seal.authority import Authority, found_authority
from tests.seal.samples import BODY, FLAT_KEYS, KEY, anchored, keys_of

from affidavit.base.exits import Exit
from affidavit.base.json_values import JsonValue
from affidavit.base.timestamps import timestamp_text
from affidavit.seal.keys import KeyRegistry
from affidavit.seal.receipts import (
    ReceiptTrust,
    ReceiptVerification,
    anchor_member,
    canonical_forms,
    evidence_step,
    receipt_from,
    replay_step,
    seal_receipt,
    verify_receipt,
)
from affidavit.seal.rfc3161 import TimeStampTrust

MINUTE = timedelta(minutes=1)
ID = KEY.public.id


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return found_authority(tmp_path_factory.mktemp("authority"))


def receipt_of(moment: datetime) -> dict[str, JsonValue]:
    return seal_receipt({**BODY, "generated_at": timestamp_text(moment)}, KEY)


@pytest.fixture(scope="module")
def receipt(authority: Authority) -> dict[str, JsonValue]:
    bare = receipt_of(authority.now)
    return anchored(bare, authority.token(canonical_forms(bare).anchor_digest))


def verify(value: JsonValue, trust: ReceiptTrust, at: datetime) -> ReceiptVerification:
    replayed = (evidence_step(0, [], []), replay_step([]))
    return verify_receipt(receipt_from(value), trust, at, replayed)


def first_line(verification: ReceiptVerification) -> tuple[str, str | None]:
    step = verification.steps[0]
    return step.status.value, step.fault.name if step.fault else None


def test_it_holds(authority: Authority, receipt: dict[str, JsonValue]) -> None:
    trust = ReceiptTrust(FLAT_KEYS, TimeStampTrust(authority.roots), stamp_required=True)
    verification = verify(receipt, trust, authority.now + MINUTE)
    assert verification.exit is Exit.YES
    assert first_line(verification) == ("passed", None)
    assert "CN=Sample TSA stamped it at" in verification.steps[0].detail


def test_without_roots_its_time_is_not_proved(
    authority: Authority, receipt: dict[str, JsonValue]
) -> None:
    verification = verify(receipt, ReceiptTrust(FLAT_KEYS), authority.now + MINUTE)
    assert verification.exit is Exit.YES
    assert first_line(verification) == ("skipped", None)
    wanted = verify(receipt, ReceiptTrust(FLAT_KEYS, stamp_required=True), authority.now + MINUTE)
    assert wanted.exit is Exit.UNKNOWN
    assert first_line(wanted) == ("not_checked", "tst.untrusted")


def test_a_token_of_another_receipt(authority: Authority, receipt: dict[str, JsonValue]) -> None:
    # The digest beside the token is made to fit; only the token itself tells.
    other = receipt_of(authority.now - MINUTE)
    moved = anchored(other, authority.token(canonical_forms(receipt).anchor_digest))
    for trust in (
        ReceiptTrust(FLAT_KEYS),
        ReceiptTrust(FLAT_KEYS, TimeStampTrust(authority.roots)),
    ):
        verification = verify(moved, trust, authority.now + MINUTE)
        assert first_line(verification) == ("failed", "tst.imprint")
        assert verification.exit is Exit.TAMPERED


def test_another_root(authority: Authority, receipt: dict[str, JsonValue]) -> None:
    trust = ReceiptTrust(FLAT_KEYS, TimeStampTrust((authority.folder / "other.pem").read_bytes()))
    verification = verify(receipt, trust, authority.now + MINUTE)
    assert first_line(verification) == ("failed", "tst.untrusted")
    assert verification.exit is Exit.NO


def test_a_receipt_that_is_younger_than_its_stamp(authority: Authority) -> None:
    bare = receipt_of(authority.now + 10 * MINUTE)
    value = anchored(bare, authority.token(canonical_forms(bare).anchor_digest))
    trust = ReceiptTrust(FLAT_KEYS, TimeStampTrust(authority.roots))
    verification = verify(value, trust, authority.now + 20 * MINUTE)
    assert first_line(verification) == ("failed", "receipt.time")


def test_a_stamp_saves_what_was_signed_before_the_compromise(
    authority: Authority, receipt: dict[str, JsonValue]
) -> None:
    made = authority.now - MINUTE
    later = authority.now + 5 * MINUTE
    roots = TimeStampTrust(authority.roots)
    new = KeyRegistry().with_new(KEY.public, made)
    after = new.with_compromised(ID, authority.now + 2 * MINUTE, "leaked", later)
    before = new.with_compromised(ID, made, "leaked", later)
    assert verify(receipt, ReceiptTrust(keys_of(after), roots), later).exit is Exit.YES
    assert verify(receipt, ReceiptTrust(keys_of(before), roots), later).exit is Exit.NO
    # The same receipt, and the stamp is there, but nobody said whose stamps count.
    assert verify(receipt, ReceiptTrust(keys_of(after)), later).exit is Exit.NO


def test_the_anchor_can_be_taken_off_and_then_proves_nothing(
    authority: Authority, receipt: dict[str, JsonValue]
) -> None:
    bare = {name: member for name, member in receipt.items() if name != "anchor"}
    trust = ReceiptTrust(FLAT_KEYS, TimeStampTrust(authority.roots), stamp_required=True)
    verification = verify(bare, trust, authority.now + MINUTE)
    assert first_line(verification) == ("not_checked", "tst.missing")
    assert verification.exit is Exit.UNKNOWN


def test_an_anchor_says_what_it_is() -> None:
    assert anchor_member("ab" * 32) == {"status": "self_anchor", "digest_sha256": "ab" * 32}
    assert anchor_member("ab" * 32, b"\xff")["status"] == "rfc3161"
