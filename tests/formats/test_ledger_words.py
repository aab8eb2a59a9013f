"""How values of the ledger are said to people."""

from dataclasses import replace

import pytest
from tests.ledger.examples import exhibit

from affidavit.formats import ledger_words as words
from affidavit.ledger.gates import Gate, Metric

PERCENTS = {
    "nothing measured is a dash, never 0%": (None, "–"),
    "a share is rounded to whole percent": (0.754, "75%"),
    "nearly all is not all": (0.999, "99%"),
    "all is all": (1.0, "100%"),
    "hardly any is not none": (0.001, "1%"),
    "none is none": (0.0, "0%"),
}


@pytest.mark.parametrize(("share", "said"), PERCENTS.values(), ids=PERCENTS.keys())
def test_percent(share: float | None, said: str) -> None:
    assert words.percent(share) == said


PLACES = {
    "a page, as section 8.1 shows it": (12, ("4 Leave",), "doc_a.pdf, p.12"),
    "a numbered section where there is no page": (None, ("3 A", "3.2 Notice"), "doc_a.pdf, §3.2"),
    "a section number with a full stop": (None, ("4. Leave",), "doc_a.pdf, §4"),
    "a heading without a number": (None, ("Notice",), "doc_a.pdf, Notice"),
    "a year is no section": (None, ("2024 report",), "doc_a.pdf, 2024 report"),
    "nothing but the file": (None, (), "doc_a.pdf"),
}


@pytest.mark.parametrize(("page", "path", "said"), PLACES.values(), ids=PLACES.keys())
def test_source_short(page: int | None, path: tuple[str, ...], said: str) -> None:
    assert words.source_short(replace(exhibit(), page_number=page, heading_path=path)) == said


LONG = {
    "page and section, as section 8.2 shows them": (
        15,
        ("4 Leave", "4.2 Carry-over"),
        "doc_a.pdf, Page 15, Section 4.2",
    ),
    "a heading without a number stands as it is": (None, ("Notice",), "doc_a.pdf, Notice"),
    "a page alone": (3, (), "doc_a.pdf, Page 3"),
}


@pytest.mark.parametrize(("page", "path", "said"), LONG.values(), ids=LONG.keys())
def test_source_long(page: int | None, path: tuple[str, ...], said: str) -> None:
    made = replace(exhibit(), page_number=page, heading_path=path)
    assert words.source_long(made) == said
    assert words.citation(made) == f"{said} [cite:00000000]"
    assert words.quotation(made) == f'"a sentence" ({said}) [cite:00000000]'


def test_a_gate_is_said_in_its_own_unit() -> None:
    assert words.wanted(Gate(Metric.COVERAGE, ">=", 0.85)) == ">= 85%"
    assert words.wanted(Gate(Metric.CONTRADICTIONS, "<=", 0)) == "<= 0"
    assert words.figure(Metric.COVERAGE, None) == "not measured"


def test_every_value_has_its_words() -> None:
    assert set(words.METRICS) == set(Metric)
    assert words.title_case("not_found") == "Not Found"
