"""Two runs, item by item."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from affidavit.base.errors import AffidavitError
from affidavit.decision.comparison import compare_outcomes, comparison_doubts, regression_reasons
from affidavit.decision.report import system_error_report
from affidavit.gates import metrics
from affidavit.gates.comparison import outcomes_from_report
from affidavit.gates.metrics import advice_for


def outcomes(text: str) -> dict[str, bool | None]:
    """Return items from a text of + (right), - (wrong), ? (not measured) and blanks (no item)."""
    marks = {"+": True, "-": False, "?": None}
    return {f"i{n:03}": marks[mark] for n, mark in enumerate(text) if mark in marks}


COMPARED = {
    "six the same way, none the other": ("------", "++++++", "improved"),
    "six became wrong": ("++++++", "------", "regressed"),
    "four are too few": ("++++", "----", "cannot_tell"),
    "five are enough, because the test for worse is one-sided": ("+++++", "-----", "regressed"),
    "five are too few for better": ("-----+", "+++++-", "cannot_tell"),
    "as many each way": ("+-" * 20, "-+" * 20, "cannot_tell"),
    "nothing changed": ("++--", "++--", "held"),
    "too few became right, but none wrong": ("--+", "+++", "held"),
    "none became wrong, but one that was right is not measured now": ("++-", "+?-", "cannot_tell"),
    "none became wrong, but one that was right is gone": ("++-", "+ -", "cannot_tell"),
    "one that was wrong is gone": ("++-", "++ ", "held"),
    "better, whatever the lost one had been": ("-" * 9 + "+", "+" * 9 + "?", "improved"),
    "better, unless the lost ones had become wrong": ("------++", "++++++??", "cannot_tell"),
    "worse, and more is lost": ("+++++++", "------?", "regressed"),
    "no item in common": ("  ++", "++  ", "cannot_tell"),
    "nothing measured in both": ("??+", "++?", "cannot_tell"),
}


@pytest.mark.parametrize(("before", "now", "change"), COMPARED.values(), ids=COMPARED.keys())
def test_compared(before: str, now: str, change: str) -> None:
    assert compare_outcomes(outcomes(before), outcomes(now)).change == change


OPEN = {
    "no item in common": ("  ++", "++  ", True),
    "nothing measured in both": ("??", "++", True),
    "nothing at all": ("", "", True),
    "flips that may be chance are measured": ("+++++", "-----", False),
    "worse is worse": ("+" * 6, "-" * 6, False),
    "as good": ("++-", "++-", False),
    "one lost item cannot make it worse": ("+" * 20, "+" * 19 + "?", False),
    "six lost items can": ("+" * 20, "+" * 14 + "?" * 6, True),
    "six that are gone can": ("+" * 20, "+" * 14, True),
    "six that were wrong cannot": ("+" * 14 + "-" * 6, "+" * 14 + "?" * 6, False),
    "nor if as many were mended": ("-" * 6 + "+" * 6, "+" * 6 + "?" * 6, False),
}


@pytest.mark.parametrize(("before", "now", "is_open"), OPEN.values(), ids=OPEN.keys())
def test_whether_it_is_open_if_a_run_is_worse(before: str, now: str, is_open: bool) -> None:
    made = compare_outcomes(outcomes(before), outcomes(now))
    assert made.is_open is is_open
    assert bool(comparison_doubts(made)) is is_open
    assert comparison_doubts(None) == ()


def test_what_flipped_and_what_was_not_compared() -> None:
    compared = compare_outcomes(outcomes("+-+?+ "), outcomes("-+++ +"))
    made = msgspec.json.decode(msgspec.json.encode(compared))
    assert made["broken"] == {"total": 1, "first": ["i000"]}
    assert made["mended"] == {"total": 1, "first": ["i001"]}
    assert (made["compared"], made["not_measured"]) == (3, 1)
    assert (made["only_before"], made["only_now"]) == (1, 1)
    assert made["lost"] == {"total": 1, "first": ["i004"]}
    assert made["why"] == (
        "of 3 items 1 became right and 1 wrong (p = 1.0), and 1 that were right were not measured"
        " now: chance alone does as much in 1 of 20 runs or more"
    )


def test_the_reasons_of_nothing() -> None:
    assert compare_outcomes({}, {}).why == "no item was measured in both runs"
    same = compare_outcomes(outcomes("+-"), outcomes("+-"))
    assert same.why == "none of 2 items became wrong, and 0 became right"
    gone = compare_outcomes(outcomes("+-"), outcomes("?-"))
    assert gone.why == (
        "of 1 items 0 became right and 0 wrong (p = 1.0), and 1 that were right were not measured"
        " now"
    )
    certain = compare_outcomes(outcomes("+" * 40), outcomes("-" * 40))
    assert certain.why.startswith("of 40 items 0 became right and 40 wrong (p < 0.0001): chance")
    assert regression_reasons(same) == regression_reasons(None) == ()
    assert regression_reasons(compare_outcomes(outcomes("+" * 6), outcomes("-" * 6)))[0].startswith(
        "worse than"
    )


def test_the_p_value_of_a_table_is_that_of_the_reason() -> None:
    worse = compare_outcomes(outcomes("+" * 5), outcomes("-" * 5))
    assert (worse.deciding_p, worse.p_value) == (0.03125, 0.0625)
    better = compare_outcomes(outcomes("-" * 5), outcomes("+" * 5))
    assert better.deciding_p == better.p_value == 0.0625


@given(st.text("+-? ", max_size=40), st.text("+-? ", max_size=40))
def test_the_other_way_round_is_the_opposite(before: str, now: str) -> None:
    there, back = (
        compare_outcomes(outcomes(before), outcomes(now)),
        compare_outcomes(outcomes(now), outcomes(before)),
    )
    assert there.change != "improved" or back.change == "regressed"
    assert there.change != "held" or not there.broken.total
    assert (back.p_value, back.broken) == (there.p_value, there.mended)


REPORT = {
    "schema_version": "affidavit-gate/1",
    "kind": "rag",
    "items": [
        {"outcome": "pass", "C": "pass", "qids": ["a"]},
        {"outcome": "fail", "qids": ["b"]},
        {"outcome": "not_measured", "qids": ["c"]},
    ],
}


def test_the_outcomes_of_a_report() -> None:
    assert outcomes_from_report(REPORT, "rag") == {"a": True, "b": False, "c": None}


def test_a_report_of_all_gates_holds_that_of_each() -> None:
    whole = {"schema_version": "affidavit-gate/1", "kind": "all", "parts": {"rag": REPORT}}
    assert outcomes_from_report(whole, "rag") == outcomes_from_report(REPORT, "rag")


BAD = {
    "another schema": ({**REPORT, "schema_version": "affidavit-gate/2"}, "schema_version"),
    "without items": ({"schema_version": "affidavit-gate/1", "kind": "rag"}, "items"),
    "an outcome that is none": (
        {**REPORT, "items": [{"qids": ["a"], "outcome": "ok"}]},
        "items[0].outcome",
    ),
    "of another gate": ({**REPORT, "kind": "latency"}, "kind"),
    "of another gate, which has no items": (
        {"schema_version": "affidavit-gate/1", "kind": "latency"},
        "kind",
    ),
    "of all gates, but without this one": ({**REPORT, "kind": "all", "parts": {}}, "kind"),
    "of all gates, with parts that are none": ({**REPORT, "kind": "all", "parts": 1}, "kind"),
    "of all gates, under the name of another": (
        {**REPORT, "kind": "all", "parts": {"rag": {**REPORT, "kind": "latency"}}},
        "kind",
    ),
    "of no gate": ({**REPORT, "kind": 1}, "kind"),
    "not an object": ([], None),
}


@pytest.mark.parametrize(("value", "field"), BAD.values(), ids=BAD.keys())
def test_no_baseline(value: object, field: str | None) -> None:
    with pytest.raises(AffidavitError) as caught:
        outcomes_from_report(value, "rag", "old.json")
    assert caught.value.fault.code == "AF417"
    assert (caught.value.where.file, caught.value.where.field) == ("old.json", field)
    report = system_error_report("rag", caught.value)
    assert (report.decision, report.stop_reason) == ("inconclusive", "SYSTEM_ERROR")


ADVISED = {
    "precision and CHR together": ({"precision", "chr"}, ["pattern_rag_semantic_drift"]),
    "precision alone": ({"precision"}, ["pattern_rag_semantic_drift"]),
    "CHR alone": ({"chr"}, ["pattern_rag_semantic_drift"]),
    "under-refusal": ({"under_refusal"}, [None]),
    "over-refusal and SCU": (
        {"scu_violations", "over_refusal"},
        [None, "pattern_symbolic_constraint_unlock"],
    ),
    "flips": ({"stable"}, ["pattern_vectorstore_fragmentation"]),
    "nothing failed": (set(), []),
    "both and another": ({"precision", "chr", "recall_at_k"}, ["pattern_rag_semantic_drift", None]),
}


@pytest.mark.parametrize(("failed", "patterns"), ADVISED.values(), ids=ADVISED.keys())
def test_what_to_do_next(failed: set[str], patterns: list[str | None]) -> None:
    assert [advice.pattern for advice in advice_for(failed)] == patterns


MISSING = {
    "nothing is open": (set(), {"citations_not_measured"}, 0),
    "what is open has another cause": ({"under_refusal"}, {"citations_not_measured"}, 0),
    "nothing is listed": ({"chr"}, set(), 0),
    "citations": ({"chr"}, {"citations_not_measured", "containment_not_measured"}, 1),
    "citations and texts": (
        {"precision", "chr"},
        {"citations_not_measured", "containment_not_measured", "recall_not_measured"},
        2,
    ),
    "retrieval": ({"recall_at_k"}, {"recall_not_measured"}, 1),
}


@pytest.mark.parametrize(("unsure", "listed", "count"), MISSING.values(), ids=MISSING.keys())
def test_what_to_do_about_what_was_not_measured(
    unsure: set[str], listed: set[str], count: int
) -> None:
    assert len(advice_for((), unsure, listed)) == count


def test_every_metric_has_its_advice() -> None:
    for known in metrics.METRICS_BY_KIND.values():
        for name in known:
            assert [advice.metrics for advice in advice_for({name})] == [(name,)]
