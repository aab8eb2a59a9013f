"""What other tools' files bring along: summed up exactly, said, and never part of a decision."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affidavit.decision.counts import Listing
from affidavit.gates.rag_counts import RagCounts
from affidavit.gates.rag_report import (
    ImportedExtras,
    ImportedScore,
    ImportedScores,
    RagPolicy,
    rag_report,
)


def summed(rows: Iterable[Mapping[str, ImportedScore]]) -> ImportedScores:
    scores = ImportedScores()
    for row in rows:
        scores.add("ragas", row)
    return scores


SUMS: dict[str, tuple[list[ImportedScore], dict[str, Any]]] = {
    "figures": ([0.5, 1, 0.25], {"n": 3, "mean": 0.583333, "min": 0.25, "max": 1.0}),
    "a yes is one and a no is none": ([True, False, True], {"n": 3, "mean": 0.666667, "max": 1.0}),
    "what was not measured is counted, and is no 0": (
        [None, 0.5],
        {"n": 1, "mean": 0.5, "not_measured": 1},
    ),
    "labels have no mean": (["C", "I"], {"n": 0, "mean": None, "min": None, "labels": 2}),
    "a mean that is lost by adding one after the other": (
        [1e16, 1.0, -1e16],
        {"mean": 0.333333, "min": -1e16},
    ),
    "the smallest figure that there is": ([5e-324, 5e-324], {"mean": 0.0, "n": 2}),
}


@pytest.mark.parametrize(("scores", "expected"), SUMS.values(), ids=SUMS.keys())
def test_sum(scores: list[ImportedScore], expected: dict[str, Any]) -> None:
    found = summed([{"s": score} for score in scores]).sums["ragas.s"].figures()
    assert {name: getattr(found, name) for name in expected} == expected


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=40), st.randoms())
def test_the_mean_is_exact_and_no_order_changes_it(values: list[float], random: Any) -> None:
    turned = random.sample(values, len(values))
    one, other = (summed([{"s": value} for value in each]) for each in (values, turned))
    assert one == other
    mean = one.sums["ragas.s"].mean
    assert mean is not None
    assert math.isclose(mean * len(values), math.fsum(values), rel_tol=1e-15, abs_tol=1e-300)


@given(st.permutations([f"s{n:03}" for n in range(103)]))
def test_of_very_many_names_the_first_are_kept_in_any_order(names: list[str]) -> None:
    scores = summed([{name: 1.0} for name in names] * 2)
    assert sorted(scores.sums) == [f"ragas.s{n:03}" for n in range(100)]
    assert {each.n for each in scores.sums.values()} == {2}
    assert scores.summary().endswith("ragas.s009 1 (n 2), 90 more and further names")


SAID: dict[str, tuple[dict[str, ImportedScore], str]] = {
    "nothing": ({}, ""),
    "by name": ({"b": 1.0, "a": 0.12345}, "ragas.a 0.123 (n 1), ragas.b 1 (n 1)"),
    "labels": ({"a": "C"}, "labels only"),
    "a figure and one that failed": ({"a": 0.5, "b": None}, "ragas.a 0.5 (n 1)"),
}


@pytest.mark.parametrize(("scores", "said"), SAID.values(), ids=SAID.keys())
def test_said(scores: dict[str, ImportedScore], said: str) -> None:
    assert summed([scores]).summary() == said


def test_a_report_has_them_beside_the_decision() -> None:
    brought = ImportedExtras(summed([{"faithfulness": 0.0}]), Listing(2, ("a", "b")))
    plain = rag_report(RagCounts(), RagPolicy(), {}).to_builtins()
    wire = rag_report(RagCounts(), RagPolicy(), {}, extras=brought).to_builtins()
    assert (wire["decision"], wire["gates"]) == (plain["decision"], plain["gates"])
    assert (plain["details"], plain["warnings"]) == ({}, [])
    details: Any = wire["details"]
    assert details["other_scores"]["ragas.faithfulness"]["mean"] == 0
    assert wire["warnings"] == [
        "scores that the file brings: ragas.faithfulness 0 (n 1); not used for the decision, unless"
        " a gate names them",
        "gold items that have their question in common, so traces that are known by it alone"
        " belong to none of them: 2",
    ]
    listings: Any = wire["listings"]
    assert listings["same_question"] == {"total": 2, "first": ["a", "b"]}
