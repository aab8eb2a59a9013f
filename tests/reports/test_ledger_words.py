"""How values of the ledger are said to people."""

import pytest
from tests.ledger.examples import located_reading
from tests.ledger.small_ledgers import ledger

from affidavit.decision.decision import GateStatus, status_words
from affidavit.ledger.gates import LEDGER_METRICS
from affidavit.reports import ledger_wording as words


def test_nothing_measured_is_a_dash_never_zero() -> None:
    assert words.format_percent(None) == "–"
    assert words.format_percent(0.754) == "75%"


def test_a_citation_can_be_pasted() -> None:
    assert words.format_citation(located_reading()) == "doc_a.pdf, Page 1 [cite:00000000]"
    quotation = '"a sentence" (doc_a.pdf, Page 1) [cite:00000000]'
    assert words.format_quotation(located_reading()) == quotation


def test_a_gate_is_printed_in_its_own_unit() -> None:
    gates = ("coverage>=0.855@95", "unsupported=off", "critical=off", "weak=off")
    rows = list(words.gate_rows(ledger("minor: A full 0.9", gates)))
    assert [(row.wanted, row.measured) for row in rows] == [
        (">= 85.5% @95", "not measured"),
        ("<= 10%", "0%"),
        ("<= 0", "0"),
    ]


def test_a_failing_share_never_looks_like_its_threshold() -> None:
    minor = " \u2016 ".join(["minor: A full 0.9"] * 17 + ["minor:"] * 2)
    rows = list(words.gate_rows(ledger(f"material: A full 0.9 \u2016 {minor}")))
    assert ("<= 10%", "11%") in [(row.wanted, row.measured) for row in rows]


def test_a_gate_without_its_claims_says_so() -> None:
    rows = list(words.gate_rows(ledger("material: A full 0.9")))
    (empty,) = (row for row in rows if row.description == "Minor claims unsupported")
    assert (empty.measured, empty.result) == ("–", "Nothing to measure")


def test_every_value_has_its_words() -> None:
    assert set(words.LEDGER_METRIC_DESCRIPTIONS) == set(LEDGER_METRICS)
    assert words.title_case("not_found") == "Not Found"


# The status of a gate, its figure, and the words in every table.
STATUS_WORDS = {
    "a gate that holds": (GateStatus.PASSED, 1.0, "pass"),
    "a gate that fails": (GateStatus.FAILED, 0.0, "fail"),
    "nothing was measured": (GateStatus.OPEN, None, "not measured"),
    "a figure stands beside it": (GateStatus.OPEN, 0.5, "could not tell"),
    "there is no such claim": (GateStatus.EMPTY, None, "nothing to measure"),
}


@pytest.mark.parametrize(("status", "value", "wanted"), STATUS_WORDS.values(), ids=STATUS_WORDS)
def test_a_measured_gate_is_never_called_not_measured(
    status: GateStatus, value: float | None, wanted: str
) -> None:
    assert status_words(status, value) == wanted
