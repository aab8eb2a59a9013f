"""Research runs against golden queries: the four figures, matching, SYSTEM_ERROR."""

import copy
from typing import Any

import pytest

from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit
from affidavit.decision.report import ReportInput, system_error_report
from affidavit.gates.research import (
    OUTPUT_READER,
    PROBLEM_LISTINGS,
    STEP_READER,
    GoldenQuery,
    ResearchRun,
    golden_queries,
    match_query,
    research_report,
    run_counts,
)

EVIDENCE = {
    "evidence_id": "e1",
    "chunk_id": "c1",
    "source_id": "s1",
    "quote": "as it is written",
    "span": {"start": 0, "end": 16},
}
CLAIM = {"claim_id": "k1", "status": "verified", "statement": "x", "evidence_refs": ["e1"]}
RESULT: dict[str, Any] = {
    "schema_version": 1,
    "run_id": "r1",
    "objective": "find x",
    "stop_reason": "OBJECTIVE_ACHIEVED",
    "claims": [CLAIM],
    "evidence": [EVIDENCE],
}
QUERY = {"objective": "find  x", "required_evidence_ids": ["e1"], "evidence_sufficient": True}
HOPELESS = {"objective": "find y", "required_evidence_ids": [], "evidence_sufficient": False}
ABSTAINED = {"objective": "find y", "stop_reason": "NO_EVIDENCE", "claims": [], "evidence": []}


def query(**changes: object) -> GoldenQuery:
    return golden_queries([{**QUERY, **changes}])[0]


def run(
    changes: dict[str, Any] | None = None, events: str = "1 2", manifests: str = "1 2"
) -> ResearchRun:
    def steps(text: str) -> tuple[Any, ...]:
        return tuple(STEP_READER.from_value({"step_id": int(word)}) for word in text.split())

    output = OUTPUT_READER.from_value({**copy.deepcopy(RESULT), **(changes or {})})
    return ResearchRun(output, steps(events), steps(manifests))


def evidence(**changes: object) -> dict[str, object]:
    return {"evidence": [{**EVIDENCE, **changes}]}


FIGURES = {
    "a verified claim with a complete record": (run(), "evidence_coverage_rate", (1, 0)),
    "a reference as an object": (
        run({"claims": [{**CLAIM, "evidence_refs": [{"evidence_id": "e1", "chunk_id": "c"}]}]}),
        "evidence_coverage_rate",
        (1, 0),
    ),
    "without a reference": (
        run({"claims": [{**CLAIM, "evidence_refs": []}]}),
        "evidence_coverage_rate",
        (0, 1),
    ),
    "a reference to nothing": (
        run({"claims": [{**CLAIM, "evidence_refs": ["e9"]}]}),
        "evidence_coverage_rate",
        (0, 1),
    ),
    "a record without a quote": (run(evidence(quote=" ")), "evidence_coverage_rate", (0, 1)),
    "a record without a span": (run(evidence(span=None)), "evidence_coverage_rate", (0, 1)),
    "a span that is empty": (
        run(evidence(span={"start": 3, "end": 3})),
        "evidence_coverage_rate",
        (0, 1),
    ),
    "a record without a source": (run(evidence(source_id=None)), "evidence_coverage_rate", (0, 1)),
    "a claim that is not verified is not counted": (
        run({"claims": [{**CLAIM, "status": "candidate"}]}),
        "evidence_coverage_rate",
        (0, 0),
    ),
    "a required record is there": (run(), "golden_recall", (1, 0)),
    "a required record is missing": (run({"evidence": []}), "golden_recall", (0, 1)),
    "an incomplete record is missing": (run(evidence(quote="")), "golden_recall", (0, 1)),
    "every step has its manifest": (run(), "manifest_integrity", (2, 0)),
    "a step without": (run(manifests="2"), "manifest_integrity", (1, 1)),
    "steps are distinct": (run(events="1 1 1 2", manifests="1"), "manifest_integrity", (1, 1)),
    "a manifest of no step does not count": (
        run(events="1", manifests="1 7"),
        "manifest_integrity",
        (1, 0),
    ),
    "no events: not measured": (run(events=""), "manifest_integrity", (0, 0)),
    "with enough evidence nothing is said of abstaining": (run(), "abstention_accuracy", (0, 0)),
}


@pytest.mark.parametrize(("made", "name", "wanted"), FIGURES.values(), ids=FIGURES.keys())
def test_figure(made: ResearchRun, name: str, wanted: tuple[int, int]) -> None:
    tally = run_counts(made, query()).tallies[name]
    assert (tally.hits, tally.misses) == wanted


ABSTENTIONS = {
    "stopped for want of evidence": ({"stop_reason": "NO_EVIDENCE", "claims": []}, 1),
    "stopped so, but verified a claim": ({"stop_reason": "NO_EVIDENCE"}, 0),
    "claimed success": ({"claims": []}, 0),
    "fell over": ({"stop_reason": "SYSTEM_ERROR", "claims": []}, 0),
    "a candidate is no verified claim": (
        {"stop_reason": "NO_EVIDENCE", "claims": [{**CLAIM, "status": "candidate"}]},
        1,
    ),
}


@pytest.mark.parametrize(("changes", "wanted"), ABSTENTIONS.values(), ids=ABSTENTIONS.keys())
def test_abstention(changes: dict[str, Any], wanted: int) -> None:
    tally = run_counts(run(changes), query(evidence_sufficient=False)).tallies[
        "abstention_accuracy"
    ]
    assert (tally.hits, tally.misses) == (wanted, 1 - wanted)


def test_a_row_of_another_run_is_not_of_this_one() -> None:
    mine, other = (STEP_READER.from_value({"step_id": 1, "run_id": name}) for name in ("r1", "r2"))
    counted = run_counts(ResearchRun(run().output, (mine,), (other,)), None).tallies[
        "manifest_integrity"
    ]
    assert (counted.hits, counted.misses) == (0, 1)


MATCHES = {
    "by the objective, white space collapsed": ({}, {}, True),
    "by golden_id": ({"golden_id": "g", "objective": "other"}, {"golden_id": "g"}, True),
    "golden_id goes before the objective": ({"golden_id": "h"}, {"golden_id": "g"}, False),
    "another objective": ({"objective": "find z"}, {}, False),
}


@pytest.mark.parametrize(("output", "golden", "wanted"), MATCHES.values(), ids=MATCHES.keys())
def test_matching(output: dict[str, Any], golden: dict[str, Any], wanted: bool) -> None:
    found = match_query(run(output).output, [query(objective="q"), query(**golden)])
    assert (found is not None) is wanted


QUERIES = golden_queries([QUERY, HOPELESS])
GOOD = [run(), run({**ABSTAINED, "run_id": "r2"})]

DECISIONS = {
    "all gates pass": (GOOD, {}, "ship", None),
    "a query has no run": (GOOD[:1], {}, "inconclusive", "1 of 2 golden queries have no run"),
    "no runs": ([], {}, "inconclusive", "2 of 2 golden queries have no run"),
    "a manifest is missing": (
        [run(manifests="1"), GOOD[1]],
        {},
        "no_ship",
        "manifest_integrity is 0.75 (3 of 4)",
    ),
    "a run that should have abstained": (
        [GOOD[0], run({**ABSTAINED, "stop_reason": "BUDGET_EXCEEDED", "run_id": "r2"})],
        {},
        "no_ship",
        "abstention_accuracy is 0 (0 of 1)",
    ),
    "missing queries allowed, and the gate off": (
        GOOD[:1],
        {"allow_missing": True, "overrides": ["abstention_accuracy=off"]},
        "ship",
        None,
    ),
}


@pytest.mark.parametrize(
    ("runs", "options", "decision", "reason"), DECISIONS.values(), ids=DECISIONS.keys()
)
def test_decision(
    runs: list[ResearchRun], options: dict[str, Any], decision: str, reason: str | None
) -> None:
    made = research_report(QUERIES, runs, {}, **options)
    assert made.decision == decision
    assert reason is None or made.reasons[0].startswith(reason)


def test_recall_is_micro_and_each_run_stands_beside_it() -> None:
    many = golden_queries(
        [
            {**QUERY, "required_evidence_ids": ["e1", "e2", "e3", "e1"]},
            {
                **HOPELESS,
                "golden_id": "y",
                "required_evidence_ids": ["e1"],
                "evidence_sufficient": True,
            },
        ]
    )
    stray = run({"run_id": "r0", "objective": "nobody asked", "claims": []}, "", "")
    made = research_report(
        many, [run({"objective": "find y", "run_id": "r2"}), run(), stray], {}, allow_missing=True
    )
    wire = made.to_builtins()
    assert wire["metrics"]["golden_recall"]["numerator"] == 2
    assert wire["metrics"]["golden_recall"]["denominator"] == 4
    each = {row["run_id"]: row for row in wire["details"]["runs"]}
    assert each["r1"]["metrics"]["golden_recall"]["value"] == 0.333333
    assert (each["r2"]["query"], each["r0"]["query"]) == ("y", None)
    assert wire["warnings"] == ["runs that no golden query asks for: 1"]
    assert {qid: group["outcome"] for group in wire["items"] for qid in group["qids"]} == {
        "r0": "not_measured",
        "r1": "fail",
        "r2": "pass",
    }
    assert wire["items"][0] == {
        "outcome": "fail",
        "evidence_coverage_rate": "pass",
        "golden_recall": "fail",
        "manifest_integrity": "pass",
        "qids": ["r1"],
    }


def test_a_run_whose_events_were_not_stored_has_steps_that_nobody_knows() -> None:
    unknown = ResearchRun(run().output, None, ())
    made = research_report([query()], [unknown], {})
    assert made.metrics["manifest_integrity"].not_measured == 1
    assert made.decision == "inconclusive"
    one, two = run(), ResearchRun(run({"run_id": "r2"}).output, None, ())
    both = research_report([query()], [one, two], {}, overrides=["abstention_accuracy=off"])
    assert both.decision == "inconclusive"


def test_runs_that_were_skipped_and_runs_that_became_worse() -> None:
    given = {"outputs": ReportInput(path="runs", digest=None, rows=1, skipped=1)}
    off = ["abstention_accuracy=off"]
    made = research_report([query()], [run()], given, overrides=off)
    assert made.reasons == ("runs that could not be read and were skipped: 1",)
    many = [run({"run_id": f"r{n}"}, "1 2", "1") for n in range(6)]
    before = {f"r{n}": True for n in range(6)}
    worse = research_report(
        [query()], many, {}, overrides=[*off, "manifest_integrity=0"], comparison_with=before
    )
    assert worse.decision == "no_ship"
    assert worse.reasons[0].startswith("worse than the baseline: of 6 items")


def test_a_query_without_a_run_is_listed() -> None:
    made = research_report(QUERIES, GOOD[:1], {}, allow_missing=True)
    assert made.listings["queries_without_runs"].first == ("find y",)
    assert made.warnings == ("1 of 2 golden queries have no run",)
    strict = research_report(QUERIES, GOOD[:1], {})
    assert strict.reasons[0] == "1 of 2 golden queries have no run"
    assert strict.metrics["abstention_accuracy"].not_measured == 1


BAD = {
    "not a list": ("x", None),
    "an empty list": ([], None),
    "a field is missing": ([{"objective": "x"}], "[0].required_evidence_ids"),
    "sufficient as a text": ([{**QUERY, "evidence_sufficient": "yes"}], "[0].evidence_sufficient"),
    "two with one objective": ([QUERY, {**QUERY, "objective": "find x"}], "[1]"),
    "two with one id": (
        [{**QUERY, "golden_id": "g"}, {**HOPELESS, "golden_id": "g"}],
        "[1]",
    ),
}


@pytest.mark.parametrize(("value", "field"), BAD.values(), ids=BAD.keys())
def test_malformed_golden_queries_stop_with_system_error(value: object, field: str | None) -> None:
    with pytest.raises(AffidavitError) as caught:
        golden_queries(value, "golden.json")
    error = caught.value
    assert (error.fault.code, error.fault.exit) == ("AF414", Exit.INPUT)
    assert error.where.field == field
    wire = system_error_report("research", error).to_builtins()
    assert wire["stop_reason"] == "SYSTEM_ERROR"
    assert wire["reasons"][0].startswith("SYSTEM_ERROR: ")
    assert wire["error"]["code"] == "AF414"


def test_a_single_golden_query_is_a_list_of_one() -> None:
    assert golden_queries(QUERY) == golden_queries([QUERY])


def test_an_output_that_is_none() -> None:
    with pytest.raises(AffidavitError) as caught:
        run({"claims": [{**CLAIM, "status": "open"}]})
    assert (caught.value.fault.code, caught.value.where.field) == ("AF416", "claims[0].status")


def test_what_is_amiss_is_named_with_its_run() -> None:
    bad = run({"evidence": []}, "1 2 3", "2")
    went_on = run({"run_id": "r2", **ABSTAINED, "stop_reason": "OBJECTIVE_ACHIEVED"})
    listed = research_report(QUERIES, [bad, went_on], {}).to_builtins()["listings"]
    assert isinstance(listed, dict)
    assert {name: listing["first"] for name, listing in listed.items() if listing["total"]} == {
        "claims_without_evidence": ["r1: k1"],
        "evidence_not_found": ["r1: e1"],
        "runs_that_did_not_abstain": ["r2"],
        "steps_without_manifest": ["r1: 1", "r1: 3"],
    }


def test_nothing_is_amiss_in_good_runs() -> None:
    assert not any(
        research_report(QUERIES, GOOD, {}).listings[name].total for name in PROBLEM_LISTINGS
    )
