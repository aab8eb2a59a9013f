"""Groundedness: rows as counts, the figures over them, and which rows a report names."""

from collections.abc import Iterable

import pytest

from affidavit.base.statistics import Rate, design_effect, wilson
from affidavit.decision.evaluation import Measure
from affidavit.gates import groundedness
from affidavit.gates.groundedness import Groundedness, GroundedRow, RowCounts
from affidavit.gates.metrics import GROUNDEDNESS_METRICS
from affidavit.gates.rag_counts import AnswerState, RagCounts
from affidavit.gates.rag_report import RagPolicy, item_groups, rag_report
from affidavit.gates.report import ClaimVerdict, PlacedOffender, RagDetails, RagOffender

S, R, NONE = AnswerState.SHIPPED, AnswerState.REFUSED, AnswerState.SILENT
GOOD = RowCounts(S, has_contexts=True, is_grounded=True, supported=3)
BAD = RowCounts(S, has_contexts=True, is_grounded=False, supported=1, contradicted=1, not_found=1)


def judged(*rows: RowCounts, asked: str = "") -> Groundedness:
    """Return rows that each ask another question, or one question for each letter of `asked`."""
    found = Groundedness()
    for number, row in enumerate(rows):
        question = asked[number] if asked else str(number)
        found.add(GroundedRow(f"q{number}", question, row), None)
    return found


def offender(name: str, *claims: ClaimVerdict) -> PlacedOffender:
    return PlacedOffender(RagOffender(qid=name, why="not_grounded", claims=claims), 1, "rows.csv")


def counted(measure: Measure) -> tuple[int, int, int]:
    assert measure.rate is not None
    return measure.rate.numerator, measure.rate.denominator, measure.not_measured


FIGURES = {
    "supported claims of those judged": ("groundedness", [GOOD, BAD], (4, 6, 0)),
    "a weak claim is not supported": (
        "groundedness",
        [RowCounts(S, has_contexts=True, supported=1, weak=1)],
        (1, 2, 0),
    ),
    "contradicted claims": ("contradicted", [GOOD, BAD], (1, 6, 0)),
    "contradicted and not found": ("unsupported", [GOOD, BAD], (2, 6, 0)),
    "claims that were not judged": (
        "groundedness",
        [GOOD, RowCounts(S, unread=2)],
        (3, 3, 2),
    ),
    "no answer is not measured": ("groundedness", [GOOD, RowCounts(NONE)], (3, 3, 1)),
    "an answer without a claim is not measured": (
        "contradicted",
        [GOOD, RowCounts(S, has_contexts=True)],
        (0, 3, 1),
    ),
    "a refusal has no claims": ("groundedness", [GOOD, RowCounts(R)], (3, 3, 0)),
    "right citations": (
        "citation_precision",
        [GOOD._replace(citations=4, right_citations=3)],
        (3, 4, 0),
    ),
    "supported claims that are cited": (
        "citation_recall",
        [GOOD._replace(has_citations=True, cited_claims=2), GOOD],
        (2, 3, 0),
    ),
    "contexts that were used": (
        "context_precision",
        [GOOD._replace(contexts=5, used_contexts=2)],
        (2, 5, 0),
    ),
    "claims of the reference": (
        "context_recall",
        [GOOD._replace(reference_claims=2, found_reference_claims=1)],
        (1, 2, 0),
    ),
    "answers that are about their question": (
        "relevance",
        [
            GOOD._replace(is_relevant=True),
            GOOD._replace(is_relevant=False),
            GOOD,
            RowCounts(R),
            RowCounts(NONE),
        ],
        (1, 2, 2),
    ),
    "refusals": ("refusals", [GOOD, RowCounts(R), RowCounts(NONE)], (1, 2, 1)),
}


@pytest.mark.parametrize(("name", "rows", "wanted"), FIGURES.values(), ids=FIGURES.keys())
def test_figures(name: str, rows: list[RowCounts], wanted: tuple[int, int, int]) -> None:
    assert counted(judged(*rows).measures()[name]) == wanted
    assert counted(judged(*rows[::-1]).measures()[name]) == wanted


def test_every_metric_has_a_figure() -> None:
    assert judged(GOOD).measures().keys() == GROUNDEDNESS_METRICS.keys()


def test_the_interval_is_clustered_by_question() -> None:
    measure = judged(GOOD, BAD, asked="aa").measures()["groundedness"]
    rate = Rate(4, 6)
    effect = design_effect(rate, [rate])
    assert effect > 1
    assert measure.ci95 == wilson(rate, design_effect=effect)
    apart = judged(GOOD, BAD).measures()["groundedness"]
    assert apart.ci95 == wilson(rate, design_effect=design_effect(rate, [Rate(3, 3), Rate(1, 3)]))


def test_a_later_row_of_one_name_replaces_an_earlier_one() -> None:
    found = Groundedness()
    found.add(GroundedRow("q", "q", BAD), offender("q"))
    found.add(GroundedRow("q", "q", GOOD), None)
    assert found.outcomes() == {"q": True}
    assert found.worst == ()
    assert found.counts()["ungrounded"] == 0


def test_the_worst_rows_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groundedness, "MAX_OFFENDERS", 2)
    found = Groundedness()
    for number in range(6):
        row = BAD._replace(contradicted=number)
        found.add(GroundedRow(f"q{number}", f"q{number}", row), offender(f"q{number}"))
    assert [each.offender.qid for each in found.worst] == ["q5", "q4"]
    assert len(found.offenders) <= 4
    assert found.counts()["ungrounded"] == 6


CLAIM = ClaimVerdict("It has four wheels.", "not_found", "It has three wheels.", "context 1", "why")


def test_claims_are_kept_for_comparisons_only_if_asked() -> None:
    row = GroundedRow("q", "q", BAD, (CLAIM,))
    kept, left_out = Groundedness(keeps_claims=True), Groundedness()
    for found in (kept, left_out):
        found.add(row, None)
    assert kept.claims() == {"q": (CLAIM,)}
    assert left_out.claims() == {}


def reasons(found: Groundedness | None, *gates: str) -> tuple[str, ...]:
    return rag_report(RagCounts(), RagPolicy(gates), {}, groundedness=found).reasons


def test_without_a_gold_set_the_gates_are_those_of_groundedness() -> None:
    report = rag_report(RagCounts(), RagPolicy(), {}, groundedness=judged(GOOD))
    assert [str(gate.gate) for gate in report.gates] == ["groundedness>=0.8", "contradicted<=0.02"]
    assert report.decision == "ship"
    assert "precision" not in report.metrics
    assert "traces_without_gold" not in report.listings


def test_without_contexts_a_gold_set_is_needed() -> None:
    assert reasons(None)[0] == "the gold set is empty"


def test_gates_of_the_user_change_the_defaults() -> None:
    assert reasons(judged(BAD), "groundedness=off", "contradicted=off", "unsupported<=0.7") == ()
    (reason,) = reasons(judged(GOOD), "precision>=0.5")
    assert reason.startswith("precision was not measured")


def warned(rows: Iterable[RowCounts], left_out: int = 0) -> str:
    found = judged(*rows)
    found.left_out = left_out
    return " ".join(rag_report(RagCounts(), RagPolicy(), {}, groundedness=found).warnings)


def test_what_was_not_judged_is_said() -> None:
    assert warned([GOOD]) == ""
    assert "the sample leaves out, which only widens the intervals: 7" in warned([GOOD], 7)
    said = warned([GOOD, RowCounts(S, unread=2)])
    assert "--map contexts=NAME): 1" in said
    assert "claims that were not judged" in said
    assert said.endswith(": 2")


def test_a_wrong_answer_has_its_claims_and_ungrounded_answers_follow() -> None:
    found = Groundedness()
    for name in ("a", "b"):
        found.add(GroundedRow(name, name, BAD), offender(name, CLAIM))
    wrong = [
        PlacedOffender(RagOffender(qid=qid, why="wrong_answer"), 3, "x.csv") for qid in ("b", "c")
    ]
    report = rag_report(RagCounts(), RagPolicy(), {}, offenders=wrong, groundedness=found)
    assert [(each.qid, each.why, len(each.claims)) for each in report.offenders] == [
        ("b", "wrong_answer", 1),
        ("c", "wrong_answer", 0),
        ("a", "not_grounded", 1),
    ]


def test_items_have_the_outcome_of_their_contexts() -> None:
    found = judged(GOOD, BAD, RowCounts(S, unread=1))
    assert item_groups((), found) == (
        {"outcome": "fail", "G": "fail", "qids": ["q1"]},
        {"outcome": "not_measured", "G": "not_measured", "qids": ["q2"]},
        {"outcome": "pass", "G": "pass", "qids": ["q0"]},
    )


def test_settings_and_claims_are_in_the_report() -> None:
    found = Groundedness(keeps_claims=True, settings={"judge": "lexical 1"})
    found.add(GroundedRow("q", "q", BAD, (CLAIM,)), None)
    report = rag_report(RagCounts(), RagPolicy(), {}, items=(), groundedness=found)
    assert report.settings["judge"] == "lexical 1"
    assert report.details == RagDetails(claims={"q": (CLAIM,)})
    assert rag_report(RagCounts(), RagPolicy(), {}, groundedness=found).details == RagDetails()
