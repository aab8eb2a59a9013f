"""The gates of a ledger: rules G1 to G6 of docs/ledger.md."""

import pytest
from tests.ledger.examples import ledger_of
from tests.ledger.small_ledgers import ledger

from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit
from affidavit.decision.decision import Decision, GateStatus
from affidavit.ledger.gates import (
    DEFAULT_GATES,
    Gate,
    Metric,
    gates_with,
    parse_gate,
)

HOLDS = {
    "at least, equal": ("coverage>=0.5", 0.5, True),
    "more than, equal": ("coverage>0.5", 0.5, False),
    "more than, more": ("coverage>0.5", 0.6, True),
    "at least, less": ("coverage>=0.5", 0.4, False),
    "at most, equal": ("unsupported<=0.5", 0.5, True),
    "less than, equal": ("unsupported<0.5", 0.5, False),
    "at most, more": ("unsupported<=0.5", 0.6, False),
    "at most, less": ("unsupported<=0.5", 0.4, True),
}


@pytest.mark.parametrize(("text", "value", "wanted"), HOLDS.values(), ids=HOLDS.keys())
def test_a_gate_holds(text: str, value: float, wanted: bool) -> None:
    gate = parse_gate(text)[1]
    assert gate is not None
    assert gate.holds(value) is wanted


READ = {
    "spaces": (" coverage >= 0.9 ", Gate(Metric.COVERAGE, ">=", 0.9)),
    "the summary's name": ("evidence_coverage>=0.9", Gate(Metric.COVERAGE, ">=", 0.9)),
    "a short name": ("critical<=2", Gate(Metric.CRITICAL_UNSUPPORTED, "<=", 2)),
    "off": ("coverage=off", None),
    "minus nothing is nothing": ("contradictions<=-0", Gate(Metric.CONTRADICTIONS, "<=", 0)),
}


@pytest.mark.parametrize(("text", "wanted"), READ.values(), ids=READ.keys())
def test_parse_gate(text: str, wanted: Gate | None) -> None:
    assert parse_gate(text)[1] == wanted


@pytest.mark.parametrize("gate", DEFAULT_GATES, ids=str)
def test_a_gate_is_read_as_it_is_written(gate: Gate) -> None:
    assert parse_gate(str(gate)) == (gate.metric, gate)


REFUSED = {
    "no operator": ("coverage", "AF232"),
    "no number": ("coverage>=", "AF232"),
    "words for a number": ("coverage>=high", "AF232"),
    "equality": ("coverage=0.9", "AF232"),
    "an unknown metric": ("speed>=1", "AF233.*coverage, unsupported"),
    "the wrong way round": ("coverage<=0.9", "AF234.*coverage>="),
    "the wrong way round, counts": ("contradictions>=1", "AF234.*contradictions<="),
    "over one": ("coverage>=85", "AF235.*from 0 to 1"),
    "below nothing": ("coverage>=-1", "AF235"),
    "endless": ("contradictions<=inf", "AF232"),
    "too many digits": ("contradictions<=1e999", "AF235.*whole number"),
    "a number as programs write it": ("contradictions<=1_000", "AF232"),
    "digits of another script": ("contradictions<=٣", "AF232"),
    "not a number": ("coverage>=nan", "AF232"),
    "half a claim": ("contradictions<=0.5", "AF235.*whole number"),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_a_gate_is_refused(text: str, message: str) -> None:
    with pytest.raises(AffidavitError, match=message):
        parse_gate(text)


LONG = "9" * 100_000
TOO_LONG = {
    "no gate": f"coverage>={LONG}x",
    "a number": f"coverage>={LONG}",
    "in the wrong direction": f"coverage<={LONG}",
    "a name": f"{'x' * 100_000}>=1",
}


@pytest.mark.parametrize("text", TOO_LONG.values(), ids=TOO_LONG.keys())
def test_what_is_refused_is_quoted_in_a_line(text: str) -> None:
    with pytest.raises(AffidavitError) as caught:
        parse_gate(text)
    assert len(str(caught.value)) < 400


def test_a_gate_replaces_that_of_its_metric_and_keeps_its_place() -> None:
    gates = gates_with(["unsupported<=0.1", "coverage=off", "supported>=0.5"])
    assert [str(gate) for gate in gates] == [
        "unsupported<=0.1",
        "critical_unsupported<=0",
        "contradictions<=0",
        "supported>=0.5",
    ]


def test_a_metric_set_twice_is_an_error() -> None:
    with pytest.raises(AffidavitError, match=r"AF236.*critical_unsupported"):
        gates_with(["critical<=1", "critical_unsupported=off"])


def test_reasons_name_the_claims() -> None:
    report = ledger("critical: \u2016 minor: A against 0.9").gates
    assert report.exit is Exit.NO
    assert report.reasons == (
        "coverage is 0, but coverage>=0.85 is asked: clm_001",
        "unsupported is 1, but unsupported<=0.05 is asked: clm_001",
        "critical_unsupported is 1, but critical_unsupported<=0 is asked: clm_001",
        "contradictions is 1, but contradictions<=0 is asked: clm_002",
    )


def test_what_was_not_measured_is_said() -> None:
    report = ledger("minor: A full 0.9").gates
    assert report.exit is Exit.UNKNOWN
    assert report.results[0].status is GateStatus.OPEN
    assert report.reasons[0] == "coverage was not measured, so coverage>=0.85 cannot be decided"


def test_no_claims_measure_nothing() -> None:
    report = ledger("", ("unresolved_citations<=0",)).gates
    assert {result.status for result in report.results} == {GateStatus.OPEN}
    assert report.decision is Decision.INCONCLUSIVE


def test_ship_says_so() -> None:
    report = ledger("critical: A full 0.9").gates
    assert (report.decision, report.exit, report.reasons) == (Decision.SHIP, Exit.YES, ())
    assert report.results[0].reason == "coverage is 1, as coverage>=0.85 asks"


def test_other_metrics() -> None:
    results = ledger(
        "material: A full 0.9 \u2016 material: A partial 0.9", ("supported>=0.6",)
    ).gates
    assert results.reasons == ("supported is 0.5, but supported>=0.6 is asked: clm_002",)
    cites = ledger_of("Leave is paid [7] [cite:zz].", {})
    counted = gates_with(["unresolved_citations<=0"], ())
    from affidavit.ledger.adjudication import gate_measures
    from affidavit.ledger.gates import decide

    report = decide(counted, gate_measures(cites.entries, cites.findings))
    assert report.reasons == (
        "unresolved_citations is 2, but unresolved_citations<=0 is asked: clm_001",
    )
