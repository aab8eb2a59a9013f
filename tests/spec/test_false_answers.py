"""Answers made only of false claims about real documents do not ship, however many claims."""

import json
from pathlib import Path
from typing import Any

import pytest

import affidavit
from affidavit.decision.decision import Decision

FOLDER = Path(__file__).parent / "real_claims"
CLAIMS: list[dict[str, Any]] = [
    json.loads(line) for line in (FOLDER / "claims.jsonl").read_text("utf-8").splitlines()
]
DOCUMENTS = (
    "django-security-policies.rst",
    "fastify-long-term-support.md",
    "pep-0257.rst",
    "postgresql-numeric-types.html",
    "sqlite-limits.html",
)


@pytest.mark.parametrize("document", DOCUMENTS)
@pytest.mark.parametrize("top_k", [1, 3, 8, 20])
def test_an_answer_of_false_claims_does_not_ship(document: str, top_k: int) -> None:
    false = [
        row["claim"]
        for row in CLAIMS
        if row["document"] == document and row["label"] in ("refuted", "absent")
    ]
    ledger = affidavit.check(
        " ".join(false[:6]), FOLDER / "documents" / document, top_k=top_k, at="2026-11-01"
    )
    assert len(ledger.entries) >= 5
    assert ledger.gates.decision is Decision.NO_SHIP
