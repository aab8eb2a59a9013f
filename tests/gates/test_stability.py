"""The same question again and again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.gates.making import DROP, gold

from affidavit.base.errors import AffidavitError
from affidavit.decision.comparison import compare_outcomes
from affidavit.decision.counts import listing_of
from affidavit.decision.report import ReportInput
from affidavit.gates.rag_rows import GoldItem
from affidavit.gates.stability import (
    JITTERS,
    STABILITY_READER,
    StabilityCounts,
    StabilityRun,
    apply_jitter,
    edit_distance,
    jitter_run_id,
    normalise_text,
    normalised_distance,
    question_stability,
    run_outcome,
    stability_counts,
    stability_report,
)

GOLD = gold(qid="a", constraints=DROP)
LOCKED = gold(qid="a")
NONE = gold(qid="u", answerable=False, gold_claim_substr=[], gold_citations=[], constraints=DROP)
RIGHT = "X rejects null keys."
REFUSAL = "not in context"


def run(
    claim: str = RIGHT, *cited: str, seed: int = 0, jitter: str = "none", **more: object
) -> StabilityRun:
    citations = [] if claim == REFUSAL else [*(cited or ["p1#2"])]
    return STABILITY_READER.from_value(
        {
            "qid": "a",
            "seed": seed,
            "jitter": jitter,
            "retrieved_ids": ["p1#1", "p1#2"],
            "answer_json": {"claim": claim, "citations": citations, **more},
        }
    )


SAME = [run(), run()]
FIGURES = {
    "every run holds the claim": (GOLD, SAME, "acr", 1.0),
    "half of them": (GOLD, [run(), run("It depends.")], "acr", 0.5),
    "punctuation, case and spaces do not count": (GOLD, [run("x  REJECTS, null-keys")], "acr", 0.0),
    "punctuation beside the words does not": (GOLD, [run("x  REJECTS, null keys!")], "acr", 1.0),
    "no usable substring: not measured": (gold(gold_claim_substr=["nul"]), SAME, "acr", None),
    "a substring of punctuation only is none": (
        gold(gold_claim_substr=["....."]),
        SAME,
        "acr",
        None,
    ),
    "every run cites the gold passage": (GOLD, SAME, "cghc", 1.0),
    "one cites another": (GOLD, [run(), run(RIGHT, "p1#1")], "cghc", 0.5),
    "the citations are the same": (GOLD, SAME, "css", 1.0),
    "one of two is shared": (GOLD, [run(), run(RIGHT, "p1#2", "p1#1")], "css", 0.5),
    "no citation at all: not measured, never 1": (GOLD, [run(REFUSAL)], "css", None),
    "the answers are the same": (GOLD, SAME, "ned50", 0.0),
    "the median distance of all pairs": (
        GOLD,
        [run("abcd"), run("abcd"), run("abxd")],
        "ned50",
        0.25,
    ),
    "refusals are left out": (GOLD, [run(), run(), run(REFUSAL)], "ned50", 0.0),
    "one answer has no pair: not measured, never 0": (GOLD, [run()], "ned50", None),
    "refused in most runs": (GOLD, [run(), run(REFUSAL), run(REFUSAL)], "rcr", 2 / 3),
    "constraints echoed in every run": (
        LOCKED,
        [run(constraints_echo=[RIGHT])] * 2,
        "scu_cons",
        True,
    ),
    "lost in one": (LOCKED, [run(constraints_echo=[RIGHT]), run()], "scu_cons", False),
    "no constraints": (GOLD, SAME, "scu_cons", None),
}


@pytest.mark.parametrize(("item", "runs", "name", "wanted"), FIGURES.values(), ids=FIGURES.keys())
def test_figure(item: GoldItem, runs: list[StabilityRun], name: str, wanted: float | None) -> None:
    assert getattr(question_stability(item, runs), name) == wanted


OUTCOMES = {
    "stable": (GOLD, SAME, True, []),
    "unstable answers": (
        GOLD,
        [run(), run("It depends on the version in use")],
        False,
        ["acr", "ned50"],
    ),
    "unstable citations": (GOLD, [run(), run(RIGHT, "p1#1")], False, ["cghc", "css"]),
    "a lost constraint": (LOCKED, SAME, False, ["scu_cons"]),
    "one run alone cannot tell": (GOLD, [run()], None, []),
    "no runs cannot tell": (GOLD, [], None, []),
    "unanswerable and refused every time": (NONE, [run(REFUSAL)] * 3, True, []),
    "unanswerable and answered every time does not pass": (NONE, SAME, False, ["refused_always"]),
    "unanswerable and answered once in a hundred does not pass": (
        NONE,
        [run(REFUSAL)] * 99 + [run()],
        False,
        ["refused_always"],
    ),
    "unanswerable and refused once says nothing of the next run": (NONE, [run(REFUSAL)], None, []),
    "unanswerable and answered once does not pass": (NONE, [run()], False, ["refused_always"]),
    "unanswerable without runs": (NONE, [], None, []),
}


NO_ANSWER = STABILITY_READER.from_value(
    {"qid": "a", "answer_json": None, "seed": 9, "fault": "HTTP 500"}
)
WRONG = run("It depends.", "p1#1")
OUTCOMES |= {
    "a run without an answer is no agreement": (GOLD, [*SAME, NO_ANSWER], None, []),
    "nor a refusal": (NONE, [run(REFUSAL), NO_ANSWER], None, []),
    "an answer among refusals fails whatever the silent run had said": (
        NONE,
        [run(), NO_ANSWER],
        False,
        ["refused_always"],
    ),
    "no answer at all cannot tell": (GOLD, [NO_ANSWER], None, []),
    "enough right answers hold whatever one of forty had said": (
        GOLD,
        [*(run() for _ in range(39)), NO_ANSWER],
        None,
        [],
    ),
    "wrong answers fail whatever the silent run had said": (
        GOLD,
        [run(), WRONG, NO_ANSWER],
        False,
        ["acr", "cghc", "css"],
    ),
    "a lost constraint stays lost": (LOCKED, [run(), run(), NO_ANSWER], False, ["scu_cons"]),
}


@pytest.mark.parametrize(
    ("item", "runs", "wanted", "failed"), OUTCOMES.values(), ids=OUTCOMES.keys()
)
def test_outcome(
    item: GoldItem, runs: list[StabilityRun], wanted: bool | None, failed: list[str]
) -> None:
    made = question_stability(item, runs)
    assert made.outcome is wanted
    assert list(made.figures().failed) == failed


def test_the_report_and_the_heat_map() -> None:
    steady, first = stability_counts(GOLD, [run(seed=0), run(seed=1, jitter="ws")])
    other = gold(qid="b", constraints=DROP)
    shaky, second = stability_counts(other, [run(seed=0), run("no", seed=1, jitter="ws")])
    none, third = stability_counts(NONE, [])
    whole = first + second + third
    made = stability_report(
        whole,
        [none, shaky, steady],
        {"runs": ReportInput(path="s.jsonl", digest=None, rows=4)},
        strays=listing_of(["z"]),
        duplicates=2,
    )
    wire = made.to_builtins()
    assert wire["decision"] == "no_ship"
    assert wire["metrics"]["stable"]["numerator"] == 1
    assert wire["metrics"]["stable"]["not_measured"] == 1
    assert wire["details"]["by_run"] == [
        {"seed": 0, "jitter": "none", "right": 2, "wrong": 0, "not_measured": 0},
        {"seed": 1, "jitter": "ws", "right": 1, "wrong": 1, "not_measured": 0},
    ]
    assert [shown["qid"] for shown in wire["offenders"]] == ["b"]
    assert [(group["outcome"], group["qids"]) for group in wire["items"]] == [
        ("fail", ["b"]),
        ("not_measured", ["u"]),
        ("pass", ["a"]),
    ]
    assert wire["warnings"] == [
        "qids of runs that are not in the gold set: 1",
        "runs that gave way to a later one of the same seed and jitter: 2",
    ]
    assert [step["pattern"] for step in wire["next_steps"]] == ["pattern_vectorstore_fragmentation"]
    missing = stability_report(first + third, [steady, none], {})
    assert missing.decision == "inconclusive"
    allowed = stability_report(first + third, [steady, none], {}, allow_missing=True)
    assert allowed.decision == "ship"
    assert allowed.warnings == ("gold items without a run: 1",)
    worse = compare_outcomes({f"q{n}": True for n in range(6)}, {f"q{n}": False for n in range(6)})
    fallen = stability_report(first, [steady], {}, comparison=worse)
    assert fallen.decision == "no_ship"
    nothing = stability_report(StabilityCounts(), [], {}, allow_missing=True)
    assert nothing.reasons[0] == "the gold set is empty"
    strangers = stability_report(third, [none], {}, overrides=["stable=off"], allow_missing=True)
    assert strangers.reasons[-1] == "no run has a qid of the gold set"
    assert first + StabilityCounts() == first
    assert third + second + first == whole


def test_what_a_silent_run_leaves_open() -> None:
    made = question_stability(GOLD, [*(run() for _ in range(39)), NO_ANSWER])
    assert dict(made.checks) == {"acr": True, "cghc": True, "css": None, "ned50": None}
    assert (made.runs, made.no_answer, made.acr, made.rcr) == (40, 1, 1.0, 1.0)


def test_runs_without_an_answer_are_listed() -> None:
    figures, counted = stability_counts(GOLD, [*SAME, NO_ANSWER])
    wire = stability_report(counted, [figures], {}).to_builtins()
    assert wire["decision"] == "inconclusive"
    assert wire["listings"]["runs_without_answer"] == {"total": 1, "first": ["a#seed=9;j=none"]}
    assert wire["warnings"] == ["runs without an answer, which are no refusal and no agreement: 1"]
    assert wire["details"]["questions"][0]["no_answer"] == 1


def test_the_outcome_of_a_run() -> None:
    assert run_outcome(GOLD, NO_ANSWER) is None
    assert run_outcome(GOLD, run()) is True
    assert run_outcome(GOLD, run(REFUSAL)) is False
    assert run_outcome(NONE, run(REFUSAL)) is True
    assert run_outcome(gold(gold_claim_substr=[]), run()) is None


JITTERED = {
    "none leaves it": ("none", "Explain  x ,y", "Explain  x ,y"),
    "spaces around commas and colons": ("ws", "a ,b :c  d", "a, b: c d"),
    "a space before the question mark": ("punct", "Is it so?", "Is it so ?"),
    "a question mark is added": ("punct", "Is it so", "Is it so ?"),
    "not behind a full stop": ("punct", "Tell me.", "Tell me."),
    "dashes": ("punct", "a\u2014b \u2013 c!", "a-b - c!"),
    "synonyms in any case": (
        "syn",
        "Explain and LIST the lists",
        "describe and enumerate the lists",
    ),
    "phrases swapped": (
        "order",
        "Answer with citations in one sentence",
        "Answer in one sentence with citations",
    ),
    "one phrase alone stays": ("order", "Answer with citations", "Answer with citations"),
}


@pytest.mark.parametrize(("name", "question", "wanted"), JITTERED.values(), ids=JITTERED.keys())
def test_jitter(name: str, question: str, wanted: str) -> None:
    assert apply_jitter(question, name) == wanted


def test_the_names_of_jitters_and_runs() -> None:
    assert [*JITTERS] == ["none", "ws", "punct", "syn", "order"]
    assert jitter_run_id("A1", 3, "ws") == "A1#seed=3;j=ws"
    with pytest.raises(AffidavitError) as caught:
        apply_jitter("x", "typo")
    assert caught.value.fault.code == "AF418"


@given(st.text(max_size=60), st.sampled_from(["ws", "syn"]))
def test_a_jitter_twice_is_a_jitter_once(question: str, name: str) -> None:
    once = apply_jitter(question, name)
    assert apply_jitter(once, name) == once


def slow_distance(first: str, second: str) -> int:
    row: list[int] = [*range(len(second) + 1)]
    for at, letter in enumerate(first, 1):
        before, row = row, [at]
        for place, other in enumerate(second):
            row.append(
                min(before[place] + (letter != other), before[place + 1] + 1, row[place] + 1)
            )
    return row[-1]


@given(st.text("abc", max_size=12), st.text("abc", max_size=12))
def test_the_distance_is_levenshteins(first: str, second: str) -> None:
    assert edit_distance(first, second) == slow_distance(first, second)
    assert normalised_distance(first, second) == normalised_distance(second, first)
    assert (normalised_distance(first, second) == 0) is (first == second)


def test_plain_text() -> None:
    assert normalise_text("  A-b,  C!\n") == "ab c"


def test_a_row_that_is_no_run() -> None:
    with pytest.raises(AffidavitError) as caught:
        STABILITY_READER.from_value({"qid": "a", "answer_json": {"claim": "c"}, "seed": "0"}, 9)
    assert (caught.value.fault.code, caught.value.where.field) == ("AF413", "seed")
