"""How values of the ledger are said to people."""

from tests.ledger.examples import located_reading
from tests.ledger.small_ledgers import ledger

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
    gates = ("coverage>=0.85@95", "unsupported=off", "critical=off")
    rows = list(words.gate_rows(ledger("minor: A full 0.9", gates)))
    assert [(row.wanted, row.measured) for row in rows] == [
        (">= 85% @95", "not measured"),
        ("<= 0", "0"),
    ]


def test_every_value_has_its_words() -> None:
    assert set(words.LEDGER_METRIC_DESCRIPTIONS) == set(LEDGER_METRICS)
    assert words.title_case("not_found") == "Not Found"
