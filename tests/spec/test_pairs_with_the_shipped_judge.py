"""The promises about the hand-written pairs, kept by the judge in three layers that ships."""

from functools import cache

import pytest
from tests.judge.encoder_weights import shipped_or_skip
from tests.judge.reading import chunk_of
from tests.spec.test_claim_evidence_pairs import CHANGED_NUMBERS, PAIRS, Pair

from affidavit.judge.standard.judge import StandardJudge
from affidavit.ledger.adjudication import locate_reading
from affidavit.ledger.rules import DEFAULT_RULES
from affidavit.ledger.verdict import assign_verdict


@pytest.fixture(autouse=True)
def _weights() -> None:
    shipped_or_skip()


@cache
def verdicts() -> tuple[tuple[str, str, str], ...]:
    """Return kind, expected and found verdict of every pair."""
    return tuple((pair["kind"], pair["expected"], verdict_on(pair)) for pair in PAIRS)


def verdict_on(pair: Pair) -> str:
    chunk = chunk_of(pair["evidence"])
    (reading,) = StandardJudge().read(pair["claim"], [chunk])
    located = locate_reading(reading, chunk, "doc.txt")
    return str(assign_verdict((located,), DEFAULT_RULES.verdict).verdict)


def test_5_in_6_pairs_are_right() -> None:
    wrong = [(kind, wanted, got) for kind, wanted, got in verdicts() if wanted != got]
    assert len(wrong) <= len(PAIRS) / 6, wrong


def test_no_pair_that_is_contradicted_is_called_supported() -> None:
    assert ("contradicted", "supported") not in {(wanted, got) for _, wanted, got in verdicts()}


def test_no_changed_number_is_ever_called_supported() -> None:
    changed = [
        got for kind, wanted, got in verdicts() if kind in CHANGED_NUMBERS and wanted != "supported"
    ]
    assert changed
    assert "supported" not in changed


@pytest.mark.parametrize("kind", ["number", "date", "negation"])
def test_contradicted_and_not_found_are_told_apart(kind: str) -> None:
    found = [got for each, wanted, got in verdicts() if each == kind and wanted == "contradicted"]
    assert found.count("contradicted") >= 0.85 * len(found)
