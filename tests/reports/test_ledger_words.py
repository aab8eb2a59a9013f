"""How values of the ledger are said to people."""

from tests.ledger.examples import exhibit

from affidavit.ledger.gates import Gate, Metric
from affidavit.reports import ledger_wording as words


def test_nothing_measured_is_a_dash_never_zero() -> None:
    assert words.format_percent(None) == "–"
    assert words.format_percent(0.754) == "75%"


def test_a_citation_can_be_pasted() -> None:
    assert words.format_citation(exhibit()) == "doc_a.pdf, Page 1 [cite:00000000]"
    assert words.format_quotation(exhibit()) == '"a sentence" (doc_a.pdf, Page 1) [cite:00000000]'


def test_a_gate_is_said_in_its_own_unit() -> None:
    assert words.format_gate_threshold(Gate(Metric.COVERAGE, ">=", 0.85)) == ">= 85%"
    assert words.format_gate_threshold(Gate(Metric.CONTRADICTIONS, "<=", 0)) == "<= 0"
    assert words.format_measure(Metric.COVERAGE, None) == "not measured"


def test_every_value_has_its_words() -> None:
    assert set(words.LEDGER_METRIC_DESCRIPTIONS) == set(Metric)
    assert words.title_case("not_found") == "Not Found"
