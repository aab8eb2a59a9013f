"""From rows to the decision: formulas, defects of the reference, laws of merging."""

import random
from array import array
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.gates.making import DROP, REFUSED, counts, gold, profile, trace

from affidavit.base.canonical import jcs
from affidavit.base.errors import AffidavitError
from affidavit.decision.comparison import Change, compare_outcomes
from affidavit.decision.counts import MAX_LISTED, Listing, Tally
from affidavit.decision.report import Report, ReportInput
from affidavit.gates.rag_counts import RagCounts, count_profiles, outcome_of
from affidavit.gates.rag_report import RagPolicy, item_groups, make_offender, rag_report
from affidavit.gates.rag_rows import GoldItem, TraceRow, qid_of
from affidavit.gates.rag_scoring import (
    LastTraces,
    RagScorer,
    TraceScoring,
    counts_from_runs,
    gold_set,
    items_from_runs,
    merge_traces,
    score_traces,
)

FREE = {"constraints": DROP}
WRONG = {"claim": "It depends.", "citations": ["p1#2"]}
MISCITED = {"citations": ["p1#1"]}


def answerable(qid: str, **changes: object) -> GoldItem:
    return gold(qid=qid, **{**FREE, **changes})


def unanswerable(qid: str) -> GoldItem:
    return gold(qid=qid, answerable=False, gold_claim_substr=[], gold_citations=[], **FREE)


A, B, C, U, V = (
    answerable("a"),
    answerable("b"),
    answerable("c"),
    unanswerable("u"),
    unanswerable("v"),
)


def figures(items: list[GoldItem], runs: list[TraceRow]) -> dict[str, str]:
    """Return each figure as "hits/measured" and "+n" for what was not measured."""
    return {
        name: f"{measure.rate.numerator}/{measure.rate.denominator}"
        + (f"+{measure.not_measured}" if measure.not_measured else "")
        for name, measure in counts(items, runs).measures().items()
        if measure.rate is not None
    }


METRICS = {
    "precision: right answers of shipped ones": (
        [A, B],
        [trace(qid="a"), trace(WRONG, qid="b")],
        {"precision": "1/2"},
    ),
    "precision: an answer to what has none counts in S": (
        [A, U],
        [trace(qid="a"), trace(qid="u")],
        {"precision": "1/2"},
    ),
    "precision: refusals are not in S": (
        [A, B],
        [trace(qid="a"), trace(REFUSED, qid="b")],
        {"precision": "1/1"},
    ),
    "precision needs K where there are constraints": (
        [gold(qid="a")],
        [trace({"constraints_echo": []}, qid="a")],
        {"precision": "0/1", "chr": "1/1", "scu": "0/1", "scu_violations": "1/1"},
    ),
    "nothing shipped: precision and CHR are not measured, never 1": (
        [A],
        [trace(REFUSED, qid="a")],
        {"precision": "0/0", "chr": "0/0"},
    ),
    "CHR counts every shipped answer, as the formula says": (
        [A, B, U],
        [trace(qid="a"), trace(MISCITED, qid="b"), trace(qid="u")],
        {"chr": "1/3"},
    ),
    "CHR counts a hit of an unanswerable item too": (
        [gold(qid="x", answerable=False, **FREE)],
        [trace(qid="x")],
        {"chr": "1/1", "precision": "0/1"},
    ),
    "under-refusal: answered of unanswerable": (
        [A, U, V],
        [trace(qid="a"), trace(qid="u"), trace(REFUSED, qid="v")],
        {"under_refusal": "1/2"},
    ),
    "no unanswerable item: under-refusal is not measured, never 0": (
        [A],
        [trace(qid="a")],
        {"under_refusal": "0/0"},
    ),
    "over-refusal: refused of answerable": (
        [A, B, U],
        [trace(qid="a"), trace(REFUSED, qid="b"), trace(REFUSED, qid="u")],
        {"over_refusal": "1/2"},
    ),
    "no answerable item: over-refusal and recall are not measured": (
        [U],
        [trace(REFUSED, qid="u")],
        {"over_refusal": "0/0", "recall_at_k": "0/0", "chr_at_k": "0/0"},
    ),
    "recall counts refused items too": (
        [A, B],
        [trace(qid="a"), trace(REFUSED, qid="b", retrieved_ids=["x"])],
        {"recall_at_k": "1/2", "chr_at_k": "1/2"},
    ),
    "recall: an item without gold citations is not measured, never a hit": (
        [A, answerable("b", gold_citations=[])],
        [trace(qid="a"), trace(qid="b")],
        {"recall_at_k": "1/1+1", "chr_at_k": "1/1+1", "chr": "1/1+1", "precision": "1/1+1"},
    ),
    "a gold item without a trace is not measured, never an answer": (
        [A, B, U],
        [trace(qid="a")],
        {
            "precision": "1/1+2",
            "chr": "1/1+2",
            "under_refusal": "0/0+1",
            "over_refusal": "0/1+1",
            "recall_at_k": "1/1+1",
        },
    ),
    "a trace without an answer has retrieved all the same": (
        [A],
        [trace(qid="a", answer_json=None)],
        {"precision": "0/0+1", "over_refusal": "0/0+1", "recall_at_k": "1/1"},
    ),
    "a refusal in another case is one": (
        [U],
        [trace({"claim": "NOT IN CONTEXT"}, qid="u")],
        {"under_refusal": "0/1"},
    ),
    "SCU speaks of shipped answers with constraints": (
        [gold(qid="a"), gold(qid="b"), B, gold(qid="d")],
        [trace(qid="a"), trace(REFUSED, qid="b"), trace(qid="c")],
        {"scu": "1/1+1", "scu_violations": "0/1+1"},
    ),
    "the last trace of a qid wins": (
        [A],
        [trace(WRONG, qid="a"), trace(qid="a")],
        {"precision": "1/1"},
    ),
}


@pytest.mark.parametrize(("items", "runs", "wanted"), METRICS.values(), ids=METRICS.keys())
def test_metric(items: list[GoldItem], runs: list[TraceRow], wanted: dict[str, str]) -> None:
    found = figures(items, runs)
    assert {name: found[name] for name in wanted} == wanted


def report(items: list[GoldItem], runs: list[TraceRow], *gates: str, **policy: Any) -> Report:
    return rag_report(counts(items, runs), RagPolicy(gates, **policy), {})


GOOD = [answerable(f"g{n}") for n in range(20)], [trace(qid=f"g{n}") for n in range(20)]
SOUND = ([*GOOD[0], U], [*GOOD[1], trace(REFUSED, qid="u")])

DECISIONS = {
    "all gates pass": (*SOUND, {}, "ship", ()),
    "no unanswerable item: its gate cannot be told": (
        *GOOD,
        {},
        "inconclusive",
        ("under_refusal was not",),
    ),
    "an answer to the one unanswerable item": (
        SOUND[0],
        [*GOOD[1], trace(qid="u")],
        {},
        "no_ship",
        ("under_refusal is 1 (1 of 1)",),
    ),
    "one trace is missing": (
        [*SOUND[0], B],
        SOUND[1],
        {},
        "inconclusive",
        ("1 of 22 gold items have no trace",),
    ),
    "one trace is missing, and that is allowed": (
        [*SOUND[0], B],
        SOUND[1],
        {"allow_missing": True},
        "ship",
        (),
    ),
    "one trace holds no answer": (
        [*SOUND[0], B],
        [*SOUND[1], trace(qid="b", answer_json=None)],
        {},
        "inconclusive",
        ("1 of 22 gold items have no answer",),
    ),
    "an empty gold set": (
        [],
        [trace()],
        {},
        "inconclusive",
        ("precision was not", "the gold set is empty"),
    ),
    "no traces": (
        *((SOUND[0], [])),
        {},
        "inconclusive",
        ("precision was not", "there are no traces"),
    ),
    "no overlap": (
        SOUND[0],
        [trace(qid="z")],
        {"allow_missing": True},
        "inconclusive",
        ("precision was not", "no trace has a qid of the gold set"),
    ),
    "SCU is enforced, and nothing has constraints": (
        *SOUND,
        {"scu_enforced": True},
        "inconclusive",
        ("scu_violations was not",),
    ),
    "SCU is used because a gold item has constraints": (
        [*SOUND[0], gold(qid="k")],
        [*SOUND[1], trace({"constraints_echo": ["other"]}, qid="k")],
        {},
        "no_ship",
        ("scu_violations is 1 (1 of 1)",),
    ),
}


@pytest.mark.parametrize(
    ("items", "runs", "policy", "decision", "reasons"), DECISIONS.values(), ids=DECISIONS.keys()
)
def test_decision(
    items: list[GoldItem],
    runs: list[TraceRow],
    policy: dict[str, bool],
    decision: str,
    reasons: tuple[str, ...],
) -> None:
    made = report(items, runs, **policy)
    assert made.decision == decision
    for reason in reasons:
        assert any(said.startswith(reason) for said in made.reasons), made.reasons
    assert bool(made.reasons) is (decision != "ship")


def test_skipped_lines_are_a_doubt_unless_missing_ones_are_allowed() -> None:
    made = counts(*SOUND)
    given = {"trace": ReportInput(path="t.jsonl", digest="sha256:0", rows=21, skipped=2)}
    doubted = rag_report(made, RagPolicy(), given)
    assert doubted.decision == "inconclusive"
    assert doubted.reasons == ("lines that were not rows and were skipped: 2",)
    allowed = rag_report(made, RagPolicy(allow_missing=True), given)
    assert (allowed.decision, allowed.warnings) == ("ship", doubted.reasons)


def test_the_report_that_machines_rely_on() -> None:
    items, runs = [A, U], [trace(WRONG, qid="a"), trace(REFUSED, qid="u"), trace(qid="z")]
    made = counts(items, runs)
    scorer = RagScorer()
    offender = make_offender(A, runs[0], scorer.score(A, runs[0]), line=1)
    wire = rag_report(
        made,
        RagPolicy(),
        {
            "gold": ReportInput(path="gold.jsonl", digest="sha256:1", rows=2),
            "trace": ReportInput(path="trace.jsonl", digest="sha256:2", rows=3),
        },
        offenders=[offender],
        items=[("u", scorer.score(U, runs[1])), ("a", scorer.score(A, runs[0]))],
        comparison=compare_outcomes({"a": True}, {"a": False}),
    ).to_builtins()
    assert jcs(wire)
    assert wire["schema_version"] == "affidavit-gate/1"
    assert wire["decision"] == "no_ship"
    assert wire["inputs"]["gold"] == {
        "path": "gold.jsonl",
        "digest": "sha256:1",
        "rows": 2,
        "skipped": 0,
    }
    assert wire["inputs"]["trace"]["places"] == {"a": {"file": "trace.jsonl", "line": 1}}
    assert {*wire["metrics"]} >= {
        "precision",
        "chr",
        "under_refusal",
        "over_refusal",
        "scu_violations",
        "recall_at_k",
        "chr_at_k",
    }
    assert wire["metrics"]["precision"]["value"] == 0
    assert wire["metrics"]["scu_violations"] == {
        "value": None,
        "numerator": 0,
        "denominator": 0,
        "ci95": None,
        "not_measured": 0,
        "bounds": None,
    }
    assert [(gate["metric"], gate["status"]) for gate in wire["gates"]] == [
        ("precision", "fail"),
        ("chr", "pass"),
        ("under_refusal", "pass"),
        ("over_refusal", "pass"),
    ]
    (shown,) = wire["offenders"]
    assert shown["failed"] == ["C"]
    assert shown["retrieved_ids"] == ["p1#1", "p1#2", "p2#1"]
    assert shown["citations"] == ["p1#2"]
    assert wire["listings"]["traces_without_gold"] == {"total": 1, "first": ["z"]}
    assert wire["warnings"] == ["traces whose qid is not in the gold set: 1"]
    assert wire["items"] == [
        {"outcome": "fail", "C": "fail", "H": "pass", "qids": ["a"]},
        {"outcome": "pass", "qids": ["u"]},
    ]
    assert wire["comparison"]["change"] == "cannot_tell"
    assert [step["metrics"] for step in wire["next_steps"]] == [["precision"]]
    assert wire["counts"]["duplicates"] == 0


def test_an_item_shows_k_where_there_are_constraints() -> None:
    (made,) = item_groups([("a", profile(gold(), trace({"constraints_echo": []})))])
    assert made == {
        **{"outcome": "fail", "C": "pass", "H": "pass", "K": "fail"},
        "qids": ["a"],
    }


def test_tallies_add_up() -> None:
    assert Tally(1, 2, 3, 4) + Tally(10, 20, 30, 40) == Tally(11, 22, 33, 44)


def test_near_misses_and_duplicates_are_warned_of() -> None:
    near = "It is not in context, so no."
    runs = [trace(qid="a"), trace({"claim": near}, qid="a"), trace({"claim": "Unknown."}, qid="b")]
    made = report([A, answerable("b")], runs)
    assert made.warnings == (
        "traces that gave way to a later one of the same qid: 1",
        "answers that hold 'not in context' but are not exactly it, so they are no refusals: 1",
        "answers that refuse in other words, which count as refusals unless --refusal-mode is"
        " exact: 1",
    )
    assert made.listings["near_refusals"].first == ("a",)
    assert made.listings["refused_in_words"].first == ("b",)


def test_a_regression_refuses_the_ship() -> None:
    before = {f"g{n}": True for n in range(20)}
    worse = compare_outcomes(before, dict.fromkeys(before, False))
    assert worse.change is Change.REGRESSED
    made = counts(*SOUND)
    asked = rag_report(made, RagPolicy(), {}, comparison=worse, fail_on_regression=True)
    assert asked.decision == "no_ship"
    assert asked.reasons[0].startswith("worse than the baseline: of 20 items")
    assert rag_report(made, RagPolicy(), {}, comparison=worse).decision == "ship"
    same = compare_outcomes(before, before)
    for other in (same, None):
        kept = rag_report(made, RagPolicy(), {}, comparison=other, fail_on_regression=True)
        assert kept.decision == "ship"


def test_the_worst_offenders_go_first() -> None:
    items = [
        *(answerable(f"r{n}") for n in range(9)),
        answerable("w1"),
        gold(qid="w3"),
        answerable("w2"),
        U,
        A,
    ]
    runs = [
        *(trace(REFUSED, qid=f"r{n}") for n in range(9)),
        trace(WRONG, qid="w1"),
        trace({"claim": "It allows null keys", "citations": []}, qid="w3"),
        trace({"claim": "No idea", "citations": []}, qid="w2"),
        trace(qid="u"),
        trace(qid="a"),
    ]
    ranked = [rank[2] for rank in counts(items, runs).offenders]
    assert ranked == ["u", "w3", "w2", "w1", *(f"r{n}" for n in range(9))]


OFFENDERS = {
    "refused": (A, trace(REFUSED, qid="a"), "refused_answerable", (), ()),
    "wrong": (A, trace(MISCITED, qid="a"), "wrong_answer", ("H",), ()),
    "wrong, and one check not measured": (
        answerable("a", gold_claim_substr=[]),
        trace(MISCITED, qid="a"),
        "wrong_answer",
        ("H",),
        ("C",),
    ),
    "answered without an answer": (U, trace(qid="u"), "answered_unanswerable", ("H",), ()),
    "no answer, no lists": (
        answerable("a", gold_citations=DROP),
        trace(qid="a", answer_json=None, retrieved_ids=DROP),
        "wrong_answer",
        (),
        (),
    ),
}


@pytest.mark.parametrize(
    ("item", "run", "why", "failed", "unknown"), OFFENDERS.values(), ids=OFFENDERS.keys()
)
def test_offender(item: GoldItem, run: TraceRow, why: str, failed: object, unknown: object) -> None:
    made = make_offender(item, run, profile(item, run), line=7)
    found = made.offender
    assert (found.why, found.failed, found.not_measured, made.line) == (why, failed, unknown, 7)


# The laws: whatever the order and the parts, the same counts, to the last digit.

CLAIMS = ("X rejects null keys.", "It allows null keys", "not in context", "Not in context", "?")
golds = st.builds(
    gold,
    answerable=st.booleans(),
    gold_claim_substr=st.sampled_from([["rejects null keys"], [], ["nul"]]),
    gold_citations=st.sampled_from([["p1#2"], [], ["p1#1", "p9"]]),
    constraints=st.sampled_from([None, ["X rejects null keys."]]),
)
traces = st.builds(
    trace,
    st.fixed_dictionaries(
        {
            "claim": st.sampled_from(CLAIMS),
            "citations": st.sampled_from([[], ["p1#2"], ["p1#1"], ["p7"]]),
        }
    ),
    qid=st.integers(0, 30),
)
SCORER = RagScorer()


@st.composite
def gold_sets(draw: st.DrawFn) -> dict[str, GoldItem]:
    items = draw(st.lists(golds, max_size=25))
    named = ((f"{n}", item) for n, item in enumerate(items))
    return {
        qid: gold(**{f: getattr(item, f) for f in item.__struct_fields__} | {"qid": qid})
        for qid, item in named
    }


def test_what_a_later_part_lacks_is_that_of_the_one_before() -> None:
    first = LastTraces(array("q", [1, 2, 0]), array("H", [5, 6, 0]), 2)
    later = LastTraces(array("q", [0, 1, 0]), array("H", [0, 8, 0]), 1)
    wanted = LastTraces(array("q", [1, 3, 0]), array("H", [5, 8, 0]), 3)
    assert merge_traces([(0, LastTraces()), (0, first), (2, later)]) == wanted


@given(gold_sets(), st.lists(traces, max_size=30), st.lists(st.integers(0, 30), max_size=3))
def test_parts_that_do_not_know_what_stands_before_them_make_the_whole(
    items: dict[str, GoldItem], runs: list[TraceRow], cuts: list[int]
) -> None:
    ready = gold_set(items, SCORER)
    bounds = [0, *sorted(min(cut, len(runs)) for cut in cuts), len(runs)]
    parts = [
        (start, score_traces(enumerate(runs[start:end], 1), ready, SCORER))
        for start, end in pairwise(bounds)
    ]
    whole = score_traces(enumerate(runs, 1), ready, SCORER)
    assert merge_traces(parts) == whole
    assert merge_traces([(0, merge_traces(parts[:2])), *parts[2:]]) == whole
    for number, qid in enumerate(items):
        lines = [line for line, run in enumerate(runs, 1) if qid_of(run) == qid]
        assert whole.lines[number] == (lines[-1] if lines else 0)
    known = [run for run in runs if qid_of(run) in items]
    made = counts_from_runs(ready, whole)
    assert made.duplicates == len(known) - len({qid_of(run) for run in known})
    assert made.strays.total == len(runs) - len(known)


def test_a_trace_without_a_name_is_told_of_and_passed_over() -> None:
    found: list[AffidavitError] = []
    scoring = TraceScoring({}, SCORER)
    scoring.score([(4, TraceRow(None)), (5, TraceRow(None, qid=""))], "t", found.append)
    assert [str(error.where) for error in found] == ["t, line 4, field qid", "t, line 5, field qid"]
    assert scoring.runs() == LastTraces()


def test_strays_are_counted_and_their_first_names_kept() -> None:
    """However many there are, what is kept of them is bounded."""
    names = [f"s{n:04}" for n in range(3 * MAX_LISTED)] * 2
    runs = score_traces(
        ((line, trace(qid=name)) for line, name in enumerate(reversed(names), 1)),
        {},
        SCORER,
    )
    assert runs.strays.total == 6 * MAX_LISTED
    assert runs.strays.first == tuple(names[:MAX_LISTED])
    made = counts_from_runs({}, runs)
    assert (made.strays, made.duplicates) == (runs.strays, 0)


@given(gold_sets(), st.lists(traces, max_size=30), st.randoms(use_true_random=False))
def test_parts_of_the_items_merge(
    items: dict[str, GoldItem], runs: list[TraceRow], chance: random.Random
) -> None:
    ready = gold_set(items, SCORER)
    found = score_traces(enumerate(runs, 1), ready, SCORER)
    scored = [*items_from_runs(ready, found)]
    whole = count_profiles(scored)
    assert (
        replace(counts_from_runs(ready, found), traces=0, duplicates=0, strays=Listing()) == whole
    )
    chance.shuffle(scored)
    cut, end = sorted((chance.randint(0, len(scored)), chance.randint(0, len(scored))))
    first, second, third = (
        count_profiles(part) for part in (scored[:cut], scored[cut:end], scored[end:])
    )
    assert (first + second) + third == first + (second + third) == third + second + first == whole
    assert whole + RagCounts() == whole
    assert jcs(rag_report(first + second + third, RagPolicy(), {}).to_builtins()) == jcs(
        rag_report(whole, RagPolicy(), {}).to_builtins()
    )


@given(gold_sets(), st.lists(traces, max_size=30))
def test_a_wrong_answer_never_turns_no_into_yes(
    items: dict[str, GoldItem], runs: list[TraceRow]
) -> None:
    ready = gold_set(items, SCORER)
    scored = dict(items_from_runs(ready, score_traces(enumerate(runs, 1), ready, SCORER)))
    worse = count_profiles([*scored.items(), ("more", profile(A, trace(WRONG, qid="a")))])
    before = rag_report(count_profiles(scored.items()), RagPolicy(("over=off", "chr=off")), {})
    after = rag_report(worse, RagPolicy(("over=off", "chr=off")), {})
    assert not (before.decision == "no_ship" and after.decision == "ship")
    assert sum(outcome_of(made) is False for made in scored.values()) >= len(
        count_profiles(scored.items()).offenders
    )


def test_a_listing_is_bounded_and_counts_all() -> None:
    items = [answerable(f"{n:05}") for n in range(MAX_LISTED + 50)]
    listed = counts(items, []).listings["missing_traces"]
    assert (listed.total, len(listed.first), listed.first[0]) == (
        MAX_LISTED + 50,
        MAX_LISTED,
        "00000",
    )
    parts = counts(items[75:], []) + counts(items[:75], [])
    assert parts.listings["missing_traces"] == listed
