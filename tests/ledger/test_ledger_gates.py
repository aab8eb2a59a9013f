"""The gates of a ledger: rules G1 to G6 of docs/ledger.md."""

import pytest
from tests.ledger.examples import ledger_of
from tests.ledger.small_ledgers import ledger

from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit
from affidavit.decision.decision import Decision, GateStatus
from affidavit.decision.evaluation import decide
from affidavit.ledger.adjudication import gate_measures
from affidavit.ledger.gates import DEFAULT_GATES, override_ledger_gates, stored_gate


@pytest.mark.parametrize("gate", [str(gate) for gate in DEFAULT_GATES])
def test_a_gate_is_read_as_it_is_written(gate: str) -> None:
    assert str(stored_gate(gate)) == gate


def test_a_stored_gate_that_is_off_is_refused() -> None:
    with pytest.raises(AffidavitError, match="a gate that is off has a result"):
        stored_gate("coverage=off")


def test_a_gate_replaces_that_of_its_metric_and_keeps_its_place() -> None:
    gates = override_ledger_gates(["unsupported<=0.1", "coverage=off", "supported>=0.5"])
    assert [str(gate) for gate in gates] == [
        "unsupported<=0.1",
        "minor_unsupported<=0.1",
        "weak<=0.35",
        "critical_unsupported<=0",
        "contradictions<=0",
        "supported>=0.5",
    ]


def test_a_metric_set_twice_is_an_error() -> None:
    with pytest.raises(AffidavitError, match=r"AF404.*critical_unsupported"):
        override_ledger_gates(["critical<=1", "critical_unsupported=off"])


def test_reasons_name_the_claims() -> None:
    report = ledger("critical: \u2016 minor: A against 0.9").gates
    assert report.exit is Exit.NO
    assert report.reasons == (
        "coverage is 0, but coverage>=0.85 is asked: clm_001",
        "unsupported is 1, but unsupported<=0 is asked: clm_001",
        "minor_unsupported is 1, but minor_unsupported<=0.1 is asked: clm_002",
        "weak is 1, but weak<=0.35 is asked: clm_001, clm_002",
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
    assert {result.status for result in report.results} == {GateStatus.OPEN, GateStatus.EMPTY}
    assert report.decision is Decision.INCONCLUSIVE


def test_a_class_without_claims_is_shown_and_stops_nothing() -> None:
    report = ledger("critical: A full 0.9").gates
    (empty,) = (result for result in report.results if result.status is GateStatus.EMPTY)
    assert (empty.gate, empty.value) == ("minor_unsupported<=0.1", None)
    said = "minor_unsupported<=0.1 has nothing to measure, because the answer has no minor claim"
    assert empty.reason == said
    assert (report.decision, report.reasons) == (Decision.SHIP, ())
    others = (f"{gate.key}=off" for gate in DEFAULT_GATES if gate.key != "minor_unsupported")
    alone = ledger("critical: A full 0.9", tuple(others)).gates
    assert (alone.decision, alone.reasons) == (Decision.INCONCLUSIVE, (said,))


def test_ship_says_so() -> None:
    report = ledger("critical: A full 0.9").gates
    assert (report.decision, report.exit, report.reasons) == (Decision.SHIP, Exit.YES, ())
    assert report.results[0].reason == "coverage is 1, as coverage>=0.85 asks"


def test_other_metrics() -> None:
    results = ledger(
        "material: A full 0.9 \u2016 material: A partial 0.9", ("supported>=0.6", "weak=off")
    ).gates
    assert results.reasons == ("supported is 0.5, but supported>=0.6 is asked: clm_002",)
    cites = ledger_of("Leave is paid [7] [cite:zz].", {})
    counted = override_ledger_gates(["unresolved_citations<=0"], ())
    report = decide(counted, gate_measures(cites.entries, cites.findings))
    assert report.reasons == (
        "unresolved_citations is 2, but unresolved_citations<=0 is asked: clm_001",
    )


def test_a_share_can_be_asked_for_with_confidence() -> None:
    report = ledger("material: A full 0.9", ("coverage>=0.85@95",)).gates
    assert report.decision is Decision.INCONCLUSIVE
    assert report.results[0].gate == "coverage>=0.85@95"
    assert report.reasons == (
        "coverage is 1, but its interval reaches to 0.2065: too few items for coverage>=0.85@95"
        " (22 would do at this rate)",
    )


def test_without_gates_nothing_is_decided() -> None:
    off = tuple(f"{gate.key}=off" for gate in DEFAULT_GATES)
    report = ledger("material: A full 0.9", off).gates
    assert (report.decision, report.results) == (Decision.INCONCLUSIVE, ())
