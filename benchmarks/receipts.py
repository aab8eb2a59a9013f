"""Verifying a receipt beside a bare Ed25519 verification and the public verifier; 20 checks."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from dynamicfeed_verify import verify as public_verify

from affidavit.app.verify import verify_steps
from affidavit.base.exits import Exit
from affidavit.base.timestamps import find_timestamp
from affidavit.checks.check import Check, CheckResult, checks_from_wire, evaluate
from affidavit.checks.facts import (
    Evidence,
    EvidenceSource,
    EvidenceUnavailable,
    SourceAnswer,
    Tool,
    fact_from_answers,
)
from affidavit.checks.receipt import ReceiptContext, answer_body
from affidavit.seal.keys import signing_key_from, trusted_keys_from
from affidavit.seal.receipts import ReceiptTrust, canonical_forms, receipt_from_bytes, seal_receipt
from benchmarks.figure import Figure, best_cpu_seconds

AT = "2026-01-31T14:30:00Z"
KEY = signing_key_from(bytes(range(32)))
TOOL = Tool(
    name="leave_days",
    required_args=("kind",),
    value_path="results.0.days",
    unit="days",
    licence="CC0-1.0",
    max_age_s=86_400,
)
TOOLS = {TOOL.name: TOOL}
SOURCES = (
    EvidenceSource("hr", "hr.example", "file", "leave.json"),
    EvidenceSource("pay", "pay.example", "file"),
)
CHECKS_IN_4_KB = 2
REPEATED = 50


def measure(quick: bool = False) -> list[Figure]:
    """Measure one receipt of 4 KB, all five steps with replay; and the verdicts of 20 checks."""
    rounds = 20 if quick else 60
    return [*verifying(rounds), evaluating(rounds)]


def verifying(rounds: int) -> list[Figure]:
    """Compare a whole verification, from the file's bytes on, with what checks only a signature."""
    receipt = sealed(CHECKS_IN_4_KB)
    raw = json.dumps(receipt, separators=(",", ":")).encode()
    trust = ReceiptTrust(trusted_keys_from([{KEY.public.id: KEY.public.text}]))
    made = find_timestamp(AT)
    assert made is not None
    now = made + timedelta(days=1)
    read = receipt_from_bytes(raw)
    signed, signature = canonical_forms(receipt).signed, read.signature.raw
    assert signature is not None
    bare_key = Ed25519PublicKey.from_public_bytes(KEY.public.raw)

    def ours() -> Exit:
        return verify_steps(receipt_from_bytes(raw), trust, now).exit

    def bare() -> None:
        bare_key.verify(signature, signed)

    def public() -> dict[str, Any]:
        answer: dict[str, Any] = public_verify(
            json.loads(raw), jwks={KEY.public.id: KEY.public.text}
        )
        return answer

    assert ours() is Exit.YES
    assert public()["ok"] is True
    works = map(repeated, (ours, bare, public))
    mine, bare_time, theirs = (each / REPEATED for each in best_cpu_seconds(rounds, *works))
    return [
        Figure(
            "verify one receipt of 4 KB",
            "at most 2x a bare Ed25519 verification",
            mine / bare_time,
            "lower",
            2,
            f"{len(raw)} bytes: {mine * 1e6:.0f} us, bare {bare_time * 1e6:.0f} us",
        ),
        Figure(
            "verify one receipt of 4 KB",
            "not slower than dynamicfeed-verify 1.0.2",
            mine / theirs,
            "lower",
            1,
            f"{mine * 1e6:.0f} us, theirs {theirs * 1e6:.0f} us for the signature alone",
        ),
    ]


def evaluating(rounds: int) -> Figure:
    """Measure the verdicts of 20 checks, with their evidence in hand."""
    asked = checks(20)
    evidence = {check.id: fact_for(check) for check in asked}

    def work() -> tuple[CheckResult, ...]:
        return evaluate(asked, TOOLS, evidence, AT)

    assert {result.verdict.value for result in work()} == {"supported"}
    (seconds,) = (each / REPEATED for each in best_cpu_seconds(rounds, repeated(work)))
    detail = f"{seconds * 1e6:.0f} us, one expectation each"
    return Figure(
        "evaluate 20 checks, seconds", "under 0.0003 s CPU", seconds, "lower", 3e-4, detail
    )


def repeated(work: Callable[[], object]) -> Callable[[], None]:
    """Return the work done many times, since the clock of a process is coarse."""

    def many() -> None:
        for _ in range(REPEATED):
            work()

    return many


def checks(count: int) -> tuple[Check, ...]:
    """Return some checks that hold, each of arguments of its own."""
    return checks_from_wire(
        [
            {
                "id": f"leave-{number}",
                "tool": TOOL.name,
                "args": {"kind": f"annual-{number}"},
                "expect": {"path": "results.0.days", "op": "gte", "value": 10},
            }
            for number in range(count)
        ]
    )


def fact_for(check: Check) -> Evidence | EvidenceUnavailable:
    """Return what two sources say."""
    raw = {"results": [{**check.args, "days": 15, "since": "2024-01-01", "by": "collective"}]}
    answers = [SourceAnswer(source, raw, AT) for source in SOURCES]
    return fact_from_answers(TOOL, check.args, answers, AT, signed=True)


def sealed(count: int) -> dict[str, Any]:
    """Return a signed receipt with some checks."""
    asked = checks(count)
    evidence = {check.id: fact_for(check) for check in asked}
    results = evaluate(asked, TOOLS, evidence, AT)
    return seal_receipt(
        answer_body(
            results, evidence.values(), TOOLS, ReceiptContext(issuer="leave.example", at=AT)
        ),
        KEY,
    )
