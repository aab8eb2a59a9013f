"""Answering: requests, verdicts, and receipts that always verify."""

import time
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from tests.app.answer_contexts import ConstantFeed, answer_context
from tests.checks.builders import AT, PYTHON, RESULT
from tests.seal.samples import FLAT_KEYS, KEY

from affidavit.app.answer import (
    AnswerRequest,
    answer_request,
    exit_for_receipt,
    request_from_wire,
    with_self_anchor,
)
from affidavit.app.verify import replay_receipt, verify_steps
from affidavit.base.canonical import sorted_compact
from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit
from affidavit.base.strict_json import decode
from affidavit.seal.receipts import ReceiptTrust, receipt_from

NOW = datetime.fromisoformat(AT)
TRUST = ReceiptTrust(FLAT_KEYS)


def test_a_bare_list_and_an_object_are_the_same_request() -> None:
    assert request_from_wire([PYTHON]) == request_from_wire({"checks": [PYTHON]})
    assert request_from_wire({"checks": [PYTHON], "deadline_ms": 7}).deadline_ms == 7
    assert request_from_wire({"question": "why"}) == AnswerRequest((), "why")


REFUSED: dict[str, tuple[Any, str, str | None]] = {
    "a number": (5, "AF306", "checks"),
    "nothing to check": ([], "AF305", "checks"),
    "neither checks nor question": ({}, "AF370", None),
    "both": ({"checks": [PYTHON], "question": "why"}, "AF370", None),
    "a member that is not known": ({"checks": [PYTHON], "dedline": 1}, "AF370", None),
    "a deadline that is a text": ({"checks": [PYTHON], "deadline_ms": "1"}, "AF370", "deadline_ms"),
    "a deadline that is a truth": (
        {"checks": [PYTHON], "deadline_ms": True},
        "AF370",
        "deadline_ms",
    ),
    "no time": ({"checks": [PYTHON], "deadline_ms": 0}, "AF355", "deadline_ms"),
    "more than a minute": ({"question": "why", "deadline_ms": 60_001}, "AF355", "deadline_ms"),
    "a question that is a list": ({"question": ["why"]}, "AF370", "question"),
    "an operator that is not known": (
        [{**PYTHON, "expect": {"op": "like", "value": "3"}}],
        "AF302",
        "checks[0].expect.op",
    ),
}


@pytest.mark.parametrize(("wire", "code", "field"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(wire: Any, code: str, field: str | None) -> None:
    with pytest.raises(AffidavitError) as refused:
        request_from_wire(wire, "checks.json")
    error = refused.value
    assert (error.fault.code, error.where.file, error.where.field) == (code, "checks.json", field)


def asked(*checks: Any, **feeds: ConstantFeed) -> dict[str, Any]:
    given = feeds or {"software_version": ConstantFeed(RESULT)}
    return answer_request(request_from_wire(list(checks), None), answer_context(**given), KEY)


OTHER = {**PYTHON, "expect": {"op": "semver_lt", "value": "3"}}
SPEC: dict[str, tuple[dict[str, Any], str, float, Exit]] = {
    "a check that holds is supported": (asked(PYTHON), "supported", 0.8, Exit.YES),
    "what does not is contradicted": (asked(OTHER), "contradicted", 0.8, Exit.NO),
    "what asserts nothing is evidenced": (
        asked({**PYTHON, "observe": True}),
        "evidenced",
        0.8,
        Exit.YES,
    ),
    "a silent source is insufficient": (
        asked(PYTHON, software_version=ConstantFeed(None)),
        "insufficient_evidence",
        0.0,
        Exit.UNKNOWN,
    ),
    "an unknown tool is insufficient": (
        asked({**PYTHON, "tool": "oracle"}),
        "insufficient_evidence",
        0.0,
        Exit.UNKNOWN,
    ),
    "a question is looked up": (
        answer_request(
            AnswerRequest((), "What is the latest version of Python?"),
            answer_context(software_version=ConstantFeed(RESULT)),
            KEY,
        ),
        "evidenced",
        0.8,
        Exit.YES,
    ),
    "a statement is adjudicated": (
        answer_request(
            AnswerRequest((), "The latest version of Python is 3.9"),
            answer_context(software_version=ConstantFeed(RESULT)),
            KEY,
        ),
        "contradicted",
        0.8,
        Exit.NO,
    ),
    "what no route matches is refused": (
        answer_request(AnswerRequest((), "Who made it?"), answer_context(), KEY),
        "outside_evidence_coverage",
        0.0,
        Exit.UNKNOWN,
    ),
}


@pytest.mark.parametrize(
    ("receipt", "verdict", "confidence", "end"), SPEC.values(), ids=SPEC.keys()
)
def test_answers(receipt: dict[str, Any], verdict: str, confidence: float, end: Exit) -> None:
    assert (receipt["verdict"], receipt["confidence"]) == (verdict, confidence)
    assert exit_for_receipt(receipt) is end
    assert verify_steps(receipt_from(receipt), TRUST, NOW).exit is Exit.YES


def test_a_refusal_has_the_coverage_and_queries_nothing() -> None:
    feed = ConstantFeed(RESULT)
    receipt: dict[str, Any] = answer_request(
        AnswerRequest((), "Who made it?"), answer_context(software_version=feed), KEY
    )
    assert receipt["coverage"]["families"][0]["tool"] == "software_version"
    assert receipt["unrouted"] == ["Who made it?"]
    assert "checks" not in receipt
    assert feed.asked == []


def test_a_hanging_source_is_abandoned_and_the_others_count() -> None:
    request = request_from_wire(
        {"checks": [OTHER, {**PYTHON, "id": "slow", "tool": "slow"}], "deadline_ms": 200}
    )
    begun = time.monotonic()
    receipt: dict[str, Any] = answer_request(
        request,
        answer_context(
            software_version=ConstantFeed(RESULT), slow=ConstantFeed(RESULT, hangs=True)
        ),
        KEY,
    )
    assert time.monotonic() - begun < 3
    assert [check["verdict"] for check in receipt["checks"]] == [
        "contradicted",
        "evidence_unavailable",
    ]
    assert (receipt["verdict"], receipt["degraded"]) == ("contradicted", True)
    assert verify_steps(receipt_from(receipt), TRUST, NOW).exit is Exit.YES


values = some.one_of(
    some.none(),
    some.booleans(),
    some.integers(-(2**53) + 1, 2**53 - 1),
    some.floats(allow_nan=False, allow_infinity=False),
    some.text(some.characters(codec="utf-8"), max_size=12),
)
expectations = some.one_of(
    some.builds(
        lambda op, value: {"op": op, "value": value},
        some.sampled_from(("eq", "ne", "lt", "gte", "contains", "semver_prefix", "starts_with")),
        values,
    ),
    some.sampled_from(({"op": "exists"}, {"op": "not_exists", "path": "results.7"})),
)


@some.composite
def requests(draw: some.DrawFn) -> list[dict[str, Any]]:
    """Checks with any outcome: known, failing and unknown tools, and missing arguments."""
    checks = []
    for number in range(draw(some.integers(1, 22))):
        check: dict[str, Any] = {
            "id": f"c{number}",
            "tool": draw(some.sampled_from(("software_version", "silent", "unknown"))),
            "args": draw(some.sampled_from(({"product": "python"}, {"product": "é"}, {}))),
            "required": draw(some.booleans()),
            "observe": draw(some.booleans()),
        }
        if draw(some.booleans()):
            check["expect"] = draw(some.lists(expectations, min_size=1, max_size=3))
        checks.append(check)
    return checks


@given(requests(), values)
def test_a_fresh_receipt_always_verifies_and_replays(checks: list[Any], seen: Any) -> None:
    feeds = {
        "software_version": ConstantFeed({"results": [{"latest_version": seen}]}),
        "silent": ConstantFeed(None),
    }
    receipt = with_self_anchor(
        answer_request(request_from_wire(checks), answer_context(**feeds), KEY)
    )
    again = receipt_from(decode(sorted_compact(receipt)))
    assert verify_steps(again, TRUST, NOW).exit is Exit.YES
    assert replay_receipt(again).exit is Exit.YES


@given(requests(), some.randoms(use_true_random=False))
def test_the_order_of_checks_does_not_matter(checks: list[Any], chance: Any) -> None:
    def made(ordered: list[Any]) -> tuple[Any, ...]:
        receipt: dict[str, Any] = asked(
            *ordered, software_version=ConstantFeed(RESULT), silent=ConstantFeed(None)
        )
        verdicts = {
            check["id"]: (check["verdict"], check["explain"]) for check in receipt["checks"]
        }
        return receipt["verdict"], receipt["confidence"], receipt["degraded"], verdicts

    few = checks[:20]  # Which checks are over the cap does depend on their order.
    assert made(chance.sample(few, len(few))) == made(few)
