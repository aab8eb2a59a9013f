"""Verifying many receipts: every byte counts, none is dropped, the worst outcome decides."""

import copy
import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as some
from tests.app.answer_contexts import ConstantFeed, answer_context
from tests.checks.builders import AT, PYTHON, RESULT, ROUTES
from tests.seal.samples import FLAT_KEYS, KEY

from affidavit.app.answer import AnswerRequest, answer_request, request_from_wire, with_self_anchor
from affidavit.app.verify import (
    ReceiptInput,
    ReceiptVerifier,
    VerifiedReceipt,
    files_in,
    receipt_inputs_from,
    receipt_inputs_in,
    replay_receipt,
)
from affidavit.base.canonical import sorted_compact
from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit
from affidavit.base.strict_json import decode
from affidavit.checks.routes import routes_from_wire
from affidavit.seal.keys import TrustedKeys
from affidavit.seal.receipts import ReceiptTrust, receipt_from, seal_receipt
from affidavit.seal.verification import UnreadableInput, VerifiedInput

NOW = datetime.fromisoformat(AT)
VERIFIER = ReceiptVerifier(ReceiptTrust(FLAT_KEYS), NOW)


def fresh(**request: Any) -> dict[str, Any]:
    wire = request or {"checks": [PYTHON]}
    feeds = {"software_version": ConstantFeed(RESULT)}
    return with_self_anchor(answer_request(request_from_wire(wire), answer_context(**feeds), KEY))


RECEIPT = fresh()
FILE = json.dumps(RECEIPT, indent=1).encode()
CANONICAL = sorted_compact(RECEIPT)


def outcome_of(raw: bytes) -> VerifiedReceipt | UnreadableInput:
    (outcome,) = VERIFIER.verify(ReceiptInput("a.json", None, raw))
    return outcome


def test_the_unchanged_receipt_verifies() -> None:
    outcome = outcome_of(FILE)
    assert isinstance(outcome, VerifiedInput)
    assert (outcome.exit, outcome.verification.problem) == (Exit.YES, None)
    assert outcome.verification.said.verdict == "supported"


def changed_value(raw: bytes) -> bool:
    """Whether the bytes still decode, to a different value."""
    try:
        return sorted_compact(decode(raw)) != CANONICAL
    except AffidavitError:
        return True


@given(some.integers(0, len(FILE) - 1), some.binary(max_size=1), some.booleans())
def test_any_one_byte_change_that_changes_the_value_fails(
    place: int, byte: bytes, inserts: bool
) -> None:
    changed = FILE[:place] + byte + FILE[place if inserts else place + 1 :]
    assume(changed != FILE and changed_value(changed))
    assert outcome_of(changed).exit is not Exit.YES


@given(some.integers(0, len(FILE) - 1), some.integers(0, 7))
def test_any_flipped_bit_that_changes_the_value_fails(place: int, bit: int) -> None:
    changed = FILE[:place] + bytes([FILE[place] ^ 1 << bit]) + FILE[place + 1 :]
    assume(changed_value(changed))
    assert outcome_of(changed).exit is not Exit.YES


def resealed(change: Callable[[dict[str, Any]], object]) -> bytes:
    """The receipt, changed and signed again with the key."""
    body = copy.deepcopy(RECEIPT)
    for member in ("receipt_id", "signature", "anchor"):
        del body[member]
    change(body)
    return json.dumps(seal_receipt(body, KEY)).encode()


def after(change: Callable[[dict[str, Any]], object]) -> bytes:
    """The receipt, changed without the key."""
    receipt = copy.deepcopy(RECEIPT)
    change(receipt)
    return json.dumps(receipt).encode()


WRONG: dict[str, tuple[bytes, Exit, str | None]] = {
    "a verdict that does not follow": (
        resealed(lambda body: body.update(verdict="contradicted")),
        Exit.TAMPERED,
        "AF328",
    ),
    "a citation of nothing": (
        resealed(lambda body: body["checks"][0].update(evidence=["sha256:" + "0" * 64])),
        Exit.TAMPERED,
        "AF326",
    ),
    "an id of another receipt": (
        after(lambda receipt: receipt.update(receipt_id="ans_0123456789abcdef")),
        Exit.TAMPERED,
        "AF324",
    ),
    "an anchor of another receipt": (
        after(lambda receipt: receipt["anchor"].update(digest_sha256="0" * 64)),
        Exit.TAMPERED,
        "AF324",
    ),
    "no schema that is known": (
        after(lambda receipt: receipt.update(schema="x")),
        Exit.UNKNOWN,
        None,
    ),
    "no JSON": (b"{", Exit.INPUT, None),
}


@pytest.mark.parametrize(("raw", "end", "code"), WRONG.values(), ids=WRONG.keys())
def test_errors_name_the_field(raw: bytes, end: Exit, code: str | None) -> None:
    outcome = outcome_of(raw)
    assert outcome.exit is end
    assert outcome.as_wire()["exit"] == int(end)
    assert outcome.as_wire()["valid"] is False
    if isinstance(outcome, VerifiedInput):
        assert outcome.verification.problem is not None
        assert outcome.verification.problem.code == code


def test_an_unknown_key_is_inconclusive_because_of_the_signature_step() -> None:
    (outcome,) = ReceiptVerifier(ReceiptTrust(TrustedKeys({}, {})), NOW).verify(
        ReceiptInput("a", None, FILE)
    )
    assert isinstance(outcome, VerifiedInput)
    assert outcome.exit is Exit.UNKNOWN
    assert outcome.verification.problem is not None
    assert (outcome.verification.problem.name, outcome.verification.problem.code) == (
        "signature",
        "AF334",
    )


def test_receipts_of_folders_and_lines_in_order(tmp_path: Path) -> None:
    (tmp_path / "b.json").write_bytes(FILE)
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.JSONL").write_bytes(CANONICAL + b"\n\n \r\n" + CANONICAL)
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "c.json").write_bytes(b"{}")
    (tmp_path / "notes.txt").write_bytes(b"no receipt")
    subjects = list(receipt_inputs_in(files_in([tmp_path, tmp_path / "b.json"])))
    assert [Path(subject.name).name for subject in subjects] == [
        "b.json",
        "a.JSONL:1",
        "a.JSONL:4",
        "b.json",
    ]
    assert {outcome.exit for outcome in VERIFIER(subjects)} == {Exit.YES}


def test_a_pipe_has_one_document_or_one_per_line() -> None:
    assert [subject.line for subject in receipt_inputs_from(FILE, "in")] == [None]
    assert [subject.line for subject in receipt_inputs_from(CANONICAL, "in")] == [None]
    lines = CANONICAL + b"\n\n" + CANONICAL + b"\n"
    assert [subject.line for subject in receipt_inputs_from(lines, "in")] == [1, 3]


def test_a_bad_line_is_named_by_its_own_number() -> None:
    (outcome,) = VERIFIER.verify(ReceiptInput("all.jsonl", 7, b'{"schema": "answer/v1"}'))
    assert isinstance(outcome, UnreadableInput)
    assert (outcome.error.where.file, outcome.error.where.line) == ("all.jsonl", 7)


def test_a_line_beyond_the_limit_is_refused_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("affidavit.app.verify._MAX_BYTES", 10)
    path = tmp_path / "long.jsonl"
    path.write_bytes(CANONICAL)
    with pytest.raises(AffidavitError) as refused:
        list(receipt_inputs_in([path]))
    assert (refused.value.where.file, refused.value.where.line) == (str(path), 1)


def test_several_processes_give_the_same_results_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    subjects = [
        ReceiptInput("a", number, raw) for number, raw in enumerate((FILE, b"{", CANONICAL))
    ]
    monkeypatch.setattr("affidavit.app.verify._RECEIPTS_PER_TASK", 2)
    assert [outcome.as_wire() for outcome in VERIFIER.verify_all(subjects, 2)] == [
        outcome.as_wire() for outcome in VERIFIER(subjects)
    ]


def test_a_replay_shows_recomputed_beside_signed_results() -> None:
    done = replay_receipt(receipt_from(decode(resealed(lambda body: body.update(confidence=0.95)))))
    assert done.exit is Exit.TAMPERED
    assert [row.is_same for row in done.rows] == [True, False]
    assert (done.rows[-1].signed.confidence, done.rows[-1].recomputed.confidence) == (0.95, 0.8)
    assert [difference.path for difference in done.differences] == ["confidence"]


def test_a_receipt_of_another_shape_does_not_replay() -> None:
    done = replay_receipt(receipt_from(decode(resealed(lambda body: body.pop("checks")))))
    assert (done.rows, done.exit) == ((), Exit.UNKNOWN)


def test_a_question_is_replayed_with_the_table_that_routed_it() -> None:
    table = routes_from_wire(ROUTES)
    asked = {"question": "latest version of Python"}
    receipt = receipt_from(fresh(**asked))
    assert replay_receipt(receipt, table).exit is Exit.YES
    assert replay_receipt(receipt_from(RECEIPT), table).exit is Exit.YES
    other = routes_from_wire({**ROUTES, "not_covered": []})
    with pytest.raises(AffidavitError) as refused:
        replay_receipt(receipt, other)
    assert refused.value.fault.code == "AF374"


def test_a_refusal_has_one_row() -> None:
    refusal = answer_request(AnswerRequest((), "Why?"), answer_context(), KEY)
    (row,) = replay_receipt(receipt_from(refusal)).rows
    assert (row.signed.verdict, row.is_same) == ("outside_evidence_coverage", True)
