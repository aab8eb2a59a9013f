"""The hand-written pairs: each gets its verdict, and the promises about them hold."""

from pathlib import Path

import pytest
import yaml
from tests.judge.reading import verdict_on

Pair = dict[str, str]
PAIRS: list[Pair] = yaml.safe_load(
    (Path(__file__).parent / "claim_evidence_pairs.yaml").read_text("utf-8")
)
CHANGED_NUMBERS = ("number", "date", "unit", "currency", "percent", "range", "comparison")
KINDS = {
    "verbatim", "paraphrase", "number", "date", "unit", "currency", "percent", "range",
    "comparison", "negation", "antonym", "modality", "quantifier", "entity", "role", "unrelated",
    "partial", "condition", "table", "list",
}  # fmt: skip


def judged(pairs: list[Pair]) -> list[tuple[str, str]]:
    """Return for each pair the verdict that it should get, and the one it gets."""
    return [(pair["expected"], verdict_on(pair["claim"], pair["evidence"])[0]) for pair in pairs]


def test_the_pairs_are_many_and_of_all_kinds() -> None:
    assert len(PAIRS) >= 150
    assert {pair["kind"] for pair in PAIRS} == KINDS
    assert len({pair["id"] for pair in PAIRS}) == len(PAIRS)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair["id"])
def test_pair(pair: Pair) -> None:
    verdict, reading = verdict_on(pair["claim"], pair["evidence"])
    assert verdict == pair["expected"], reading.notes


def test_no_changed_number_is_ever_called_supported() -> None:
    changed = [
        pair for pair in PAIRS
        if pair["kind"] in CHANGED_NUMBERS and pair["expected"] != "supported"
    ]  # fmt: skip
    assert changed
    assert "supported" not in [verdict for _, verdict in judged(changed)]


def test_changed_numbers_dates_and_negations_are_told_from_what_is_not_found() -> None:
    kinds = (*CHANGED_NUMBERS, "negation")
    changed = [
        pair for pair in PAIRS if pair["kind"] in kinds and pair["expected"] == "contradicted"
    ]
    found = [verdict for _, verdict in judged(changed)]
    assert found.count("contradicted") >= 0.85 * len(found)


def test_nine_in_ten_pairs_are_right() -> None:
    pairs = judged(PAIRS)
    assert sum(wanted == got for wanted, got in pairs) >= 0.9 * len(pairs)
