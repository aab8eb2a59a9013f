"""Steps 1 to 3 of a verification, and what all five come to."""

import json
import pickle
from datetime import timedelta

import msgspec
import pytest
from tests.seal.samples import (
    DAY,
    FLAT_KEYS,
    KEY,
    MADE,
    NOW,
    OTHER_KEY,
    TRUST,
    anchored,
    keys_of,
    sealed,
)

from affidavit.base.canonical import sorted_compact
from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit
from affidavit.base.json_values import JsonValue
from affidavit.base.strict_json import decode
from affidavit.seal.keys import KeyRegistry, TrustedKeys
from affidavit.seal.receipts import (
    ReceiptTrust,
    ReceiptVerification,
    evidence_step,
    exit_of_steps,
    passed,
    receipt_from,
    receipt_from_bytes,
    replay_step,
    seal_receipt,
    verify_receipt,
)
from affidavit.seal.verification import StepStatus, VerificationStep

FLAT_TRUST = ReceiptTrust(FLAT_KEYS)
LAST_STEPS = (evidence_step(1, [], []), replay_step([]))


def verify(value: JsonValue, trust: ReceiptTrust = TRUST) -> ReceiptVerification:
    return verify_receipt(receipt_from(value), trust, NOW, LAST_STEPS)


def lines(verification: ReceiptVerification) -> list[tuple[int, str, str, str | None]]:
    return [
        (step.number, step.name, step.status.value, step.fault.name if step.fault else None)
        for step in verification.steps
    ]


def test_a_receipt_that_holds() -> None:
    verification = verify(anchored(sealed()))
    assert lines(verification) == [
        (1, "anchor", "passed", None),
        (2, "receipt_id", "passed", None),
        (3, "signature", "passed", None),
        (3, "key_lifecycle", "passed", None),
        (4, "evidence", "passed", None),
        (5, "replay", "passed", None),
    ]
    assert verification.exit is Exit.YES
    assert verification.valid
    assert verification.key_id == KEY.public.id


def test_each_line_says_something_and_crosses_to_machines() -> None:
    verification = verify(sealed(), FLAT_TRUST)
    wire = msgspec.to_builtins(verification)
    assert json.loads(json.dumps(wire)) == json.loads(msgspec.json.encode(verification))
    assert all(step.detail for step in verification.steps)
    assert pickle.loads(pickle.dumps(verification)) == verification  # noqa: S301 - our own bytes


def tampered(**changes: JsonValue) -> dict[str, JsonValue]:
    return {**anchored(sealed()), **changes}


def with_block(**changes: JsonValue) -> dict[str, JsonValue]:
    receipt = sealed()
    block = receipt["signature"]
    assert isinstance(block, dict)
    return {**receipt, "signature": {**block, **changes}}


def with_signature(text: str) -> dict[str, JsonValue]:
    return with_block(sig=text)


def raw_signature() -> str:
    block = sealed()["signature"]
    assert isinstance(block, dict)
    return str(block["sig"])


A, R, S, K = "anchor", "receipt_id", "signature", "key_lifecycle"
FAILS: dict[str, tuple[dict[str, JsonValue], ReceiptTrust, set[tuple[str, str, str]], Exit]] = {
    "a changed verdict": (
        tampered(verdict="contradicted"),
        TRUST,
        {
            (A, "failed", "digest.mismatch"),
            (R, "failed", "receipt.id"),
            (S, "failed", "receipt.signature"),
        },
        Exit.TAMPERED,
    ),
    "one more member": (
        {**sealed(), "more": 1},
        TRUST,
        {(R, "failed", "receipt.id"), (S, "failed", "receipt.signature")},
        Exit.TAMPERED,
    ),
    "another id": (
        {**sealed(), "receipt_id": "ans_0000000000000000"},
        TRUST,
        {(R, "failed", "receipt.id"), (S, "failed", "receipt.signature")},
        Exit.TAMPERED,
    ),
    "another digest in the anchor": (
        {**anchored(sealed()), "anchor": {"status": "self_anchor", "digest_sha256": "0" * 64}},
        TRUST,
        {(A, "failed", "digest.mismatch")},
        Exit.TAMPERED,
    ),
    "made in the future": (
        sealed(generated_at="2026-01-03T03:04:11Z"),
        TRUST,
        {(A, "not_checked", "receipt.time")},
        Exit.UNKNOWN,
    ),
    "an anchor of another kind": (
        {**sealed(), "anchor": {"status": "chain", "block": 7}},
        TRUST,
        {(A, "not_checked", "anchor.unknown")},
        Exit.UNKNOWN,
    ),
    "another algorithm": (
        with_block(alg="ES256"),
        TRUST,
        {(S, "failed", "signature.algorithm")},
        Exit.TAMPERED,
    ),
    "no algorithm": (
        with_block(alg=None),
        ReceiptTrust(TrustedKeys({}, {})),
        {(S, "failed", "signature.algorithm")},
        Exit.TAMPERED,
    ),
    "another canonical form": (
        with_block(canonicalization="jcs"),
        TRUST,
        {(S, "failed", "signature.algorithm")},
        Exit.TAMPERED,
    ),
    "signed by a key that nobody trusts": (
        seal_receipt({"schema": "answer/v1", "generated_at": "2026-01-02T03:04:05Z"}, OTHER_KEY),
        TRUST,
        {(S, "not_checked", "key.untrusted")},
        Exit.UNKNOWN,
    ),
    "no keys at all": (
        sealed(),
        ReceiptTrust(TrustedKeys({}, {})),
        {(S, "not_checked", "key.untrusted")},
        Exit.UNKNOWN,
    ),
    "a signature that is too short": (
        with_signature(raw_signature()[:82] + "=="),
        TRUST,
        {(S, "failed", "receipt.signature")},
        Exit.TAMPERED,
    ),
    "a signature in the other alphabet": (
        with_signature(raw_signature().replace("-", "+").replace("_", "/") + "+"),
        TRUST,
        {(S, "failed", "receipt.signature")},
        Exit.TAMPERED,
    ),
    "a time stamp is asked for and there is none": (
        sealed(),
        ReceiptTrust(TRUST.keys, stamp_required=True),
        {(A, "not_checked", "tst.missing")},
        Exit.UNKNOWN,
    ),
    "a time stamp is asked for and there is a self anchor": (
        anchored(sealed()),
        ReceiptTrust(TRUST.keys, stamp_required=True),
        {(A, "not_checked", "tst.missing")},
        Exit.UNKNOWN,
    ),
}


@pytest.mark.parametrize(("value", "trust", "wrong", "exit"), FAILS.values(), ids=FAILS.keys())
def test_a_receipt_that_does_not_hold(
    value: dict[str, JsonValue], trust: ReceiptTrust, wrong: set[tuple[str, str, str]], exit: Exit
) -> None:
    verification = verify(value, trust)
    found = {(name, status, fault) for _, name, status, fault in lines(verification) if fault}
    assert found == wrong
    assert verification.exit is exit


HOLDS: dict[str, tuple[dict[str, JsonValue], ReceiptTrust]] = {
    "without an anchor": (sealed(), TRUST),
    "without a registry": (sealed(), FLAT_TRUST),
    "a signature without padding": (with_signature(raw_signature().rstrip("=")), TRUST),
    "a remark of the public issuer": (with_block(ephemeral_key=False), TRUST),
    "clocks that differ a little": (sealed(generated_at="2026-01-03T03:04:10Z"), TRUST),
}


@pytest.mark.parametrize(("value", "trust"), HOLDS.values(), ids=HOLDS.keys())
def test_what_is_as_good(value: dict[str, JsonValue], trust: ReceiptTrust) -> None:
    assert verify(value, trust).exit is Exit.YES


def test_what_is_skipped_says_so() -> None:
    statuses = {name: status for _, name, status, _ in lines(verify(sealed(), FLAT_TRUST))}
    assert statuses[A] == statuses[K] == "skipped"


def test_without_steps_4_and_5_it_is_no_yes() -> None:
    assert verify_receipt(receipt_from(anchored(sealed())), TRUST, NOW, ()).exit is Exit.UNKNOWN
    assert exit_of_steps(()) is Exit.UNKNOWN


LATER_STEPS: dict[str, tuple[VerificationStep, str, str, Exit]] = {
    "a citation of nothing": (
        evidence_step(2, ["ab"], ["cd"]),
        "receipt.closure",
        "ab",
        Exit.TAMPERED,
    ),
    "evidence that was swapped": (
        evidence_step(2, [], ["cd"]),
        "receipt.evidence_digest",
        "cd",
        Exit.TAMPERED,
    ),
    "a verdict that does not follow": (
        replay_step(["check py: supported, not contradicted"]),
        "receipt.replay",
        "check py",
        Exit.TAMPERED,
    ),
    "many differences": (
        replay_step([f"check {number}" for number in range(7)]),
        "receipt.replay",
        "check 4; and 2 more",
        Exit.TAMPERED,
    ),
}


UNKNOWN_STEPS: dict[str, VerificationStep] = {
    "rules that are not known": replay_step([], "answer-eval/9"),
    "evidence without a digest": evidence_step(1, [], [], ["first"]),
}


@pytest.mark.parametrize("step", UNKNOWN_STEPS.values(), ids=UNKNOWN_STEPS.keys())
def test_what_cannot_be_replayed_is_no_failure(step: VerificationStep) -> None:
    assert (step.status, step.code) == (StepStatus.NOT_CHECKED, "AF377")
    kept = [passed(other, "") for other in (A, R, S, K, "evidence", "replay") if other != step.name]
    assert exit_of_steps((*kept, step)) is Exit.UNKNOWN


@pytest.mark.parametrize(
    ("step", "name", "said", "exit"), LATER_STEPS.values(), ids=LATER_STEPS.keys()
)
def test_the_steps_that_others_do(step: VerificationStep, name: str, said: str, exit: Exit) -> None:
    assert step.fault is not None
    assert step.fault.name == name
    assert step.status is StepStatus.FAILED
    assert said in step.detail
    kept = [passed(other, "") for other in (A, R, S, K, "evidence", "replay") if other != step.name]
    assert exit_of_steps((*kept, step)) is exit


def test_a_failure_without_a_fault_is_the_gravest() -> None:
    step = VerificationStep(
        number=1, name=A, status=StepStatus.FAILED, code=None, detail="it does not hold"
    )
    assert exit_of_steps((step,)) is Exit.TAMPERED


def test_a_key_that_may_not_be_believed_is_a_no_and_not_tampering() -> None:
    registry = KeyRegistry().with_new(KEY.public, MADE - DAY)
    registry = registry.with_compromised(KEY.public.id, MADE, "leaked", NOW)
    verification = verify(sealed(), ReceiptTrust(keys_of(registry)))
    assert lines(verification)[2:4] == [
        (3, S, "passed", None),
        (3, K, "failed", "key.validity"),
    ]
    assert verification.exit is Exit.NO


WRITTEN = anchored(sealed())
FILES = {
    "canonical": sorted_compact(WRITTEN),
    "pretty-printed": json.dumps(WRITTEN, indent=1, ensure_ascii=False).encode(),
}


def outcome(raw: bytes) -> Exit | str:
    """Return how the verification of a file ends, or the code of why there is none."""
    try:
        receipt = receipt_from_bytes(raw)
        return verify_receipt(receipt, TRUST, NOW, LAST_STEPS).exit
    except AffidavitError as error:
        return error.fault.code


@pytest.mark.parametrize("raw", FILES.values(), ids=FILES.keys())
def test_any_changed_byte_fails_unless_the_value_is_the_same(raw: bytes) -> None:
    assert outcome(raw) is Exit.YES
    same = 0
    for at, byte in enumerate(raw):
        for change in (1, 4, 0x10, 0x20, 0x2A, 0x80):
            changed = raw[:at] + bytes([byte ^ change]) + raw[at + 1 :]
            if outcome(changed) is Exit.YES:
                # White space for white space, or another letter of an escape.
                assert sorted_compact(decode(changed)) == sorted_compact(WRITTEN)
                same += 1
    assert (same > 0) == (b"\n" in raw or b"\\u" in raw)


def test_white_space_and_order_are_no_part_of_the_value() -> None:
    turned = dict(reversed(WRITTEN.items()))
    assert outcome(b" " + json.dumps(turned, indent=4).encode() + b"\n\n") is Exit.YES


def test_a_member_that_stands_twice_is_refused() -> None:
    assert outcome(sorted_compact(WRITTEN)[:-1] + b',"zulu":null}') == "AF024"


def test_a_stamp_in_time_of_the_clock_difference() -> None:
    early = KeyRegistry().with_new(KEY.public, MADE + timedelta(seconds=1))
    verification = verify(sealed(), ReceiptTrust(keys_of(early)))
    assert verification.exit is Exit.NO
    assert "was made later" in verification.steps[3].detail
