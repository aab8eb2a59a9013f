"""docs/gates.md is the specification: every example of its tables is run here."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from tests.gates import making
from tests.rule_tables import examples_in, page_named, require_test

from affidavit.base.errors import AffidavitError
from affidavit.base.strict_json import decode
from affidavit.decision.comparison import compare_outcomes
from affidavit.decision.counts import Tally
from affidavit.decision.evaluation import decide, measure_from_tally
from affidavit.decision.gate import override_gates
from affidavit.gates import metrics
from affidavit.gates.agreement import PAIR_READER, arbitrate
from affidavit.gates.constraints import Locks
from affidavit.gates.latency import LATENCY_READER as LATENCIES
from affidavit.gates.metrics import RAG_GATES
from affidavit.gates.rag_counts import AnswerState, ItemProfile, count_profiles
from affidavit.gates.rag_rows import gold_from_value, trace_from_line, trace_from_value
from affidavit.gates.research import OUTPUT_READER
from affidavit.gates.stability import JITTERS, run_outcome
from affidavit.gates.stability import STABILITY_READER as RUNS

PAGE = page_named("gates.md")


def value_of(cell: str) -> Any:
    return decode(cell.encode())


def refusal(read: Callable[[], object]) -> str:
    try:
        return str(read())
    except AffidavitError as error:
        return " ".join(filter(None, (error.fault.code, error.where.field)))


def check_row(line: str, wanted: str) -> None:
    assert refusal(lambda: (trace_from_line(line.encode()), "read")[1]) == wanted


def check_score(gold: str, trace: str, wanted: str) -> None:
    item = gold_from_value({**making.GOLD, **value_of(gold)})
    changes = value_of(trace)
    run = None
    if changes is not None:
        outside = {name: changes.pop(name) for name in ("retrieved_ids",) if name in changes}
        answer = {**making.ANSWER, **changes}
        run = trace_from_value({**making.TRACE, **outside, "answer_json": answer})
    made = making.profile(item, run)
    signs = {True: "+", False: "-", None: "?"}
    checks = (signs[held] for held in (made.contains, made.cites, made.keeps))
    assert " ".join((made.answer_state, *checks)) == wanted


def check_contradiction(lock: str, claim: str, wanted: str) -> None:
    assert (Locks().contradiction([lock], claim) or "none") == wanted


ITEMS = {
    "+": (AnswerState.SHIPPED, True, True),
    "-": (AnswerState.SHIPPED, False, True),
    "h": (AnswerState.SHIPPED, True, False),
    "?": (AnswerState.SHIPPED, None, True),
    "r": (AnswerState.REFUSED, None, None),
    "m": (AnswerState.MISSING, None, None),
}


def check_figure(items: str, name: str, wanted: str) -> None:
    made = []
    for kind, became in map(tuple, items.split()):
        seen, contains, cites = ITEMS[became]
        if kind == "u" and seen is AnswerState.SHIPPED:
            contains, cites = None, False
        found = None if kind == "u" or seen is AnswerState.MISSING else True
        made.append(
            ItemProfile(
                answer_state=seen,
                answerable=kind == "a",
                contains=contains,
                cites=cites,
                recalls=found,
                reachable=found,
            )
        )
    measure = count_profiles((f"q{n}", item) for n, item in enumerate(made)).measures()[name]
    assert measure.rate is not None
    unmeasured = f"+{measure.not_measured}" if measure.not_measured else ""
    assert f"{measure.rate.numerator}/{measure.rate.denominator}{unmeasured}" == wanted


def check_spelling(text: str, wanted: str) -> None:
    made = refusal(
        lambda: " ".join(map(str, override_gates([text], RAG_GATES, metrics.RAG_METRICS)))
    )
    assert made == wanted


def check_gate(text: str, counts: str, wanted: str) -> None:
    (gate,) = override_gates([text], (), metrics.RAG_METRICS)
    measure = measure_from_tally(gate.metric, Tally(*map(int, counts.split())))
    assert decide([gate], {gate.key: measure}).results[0].status == wanted


def check_comparison(before: str, now: str, wanted: str) -> None:
    marks = {"+": True, "-": False, "?": None}
    runs = ({str(n): marks[mark] for n, mark in enumerate(text)} for text in (before, now))
    assert compare_outcomes(*runs).change == wanted


CHECKS: dict[str, Callable[..., None]] = {
    "R": check_row,
    "C": check_score,
    "K": check_contradiction,
    "M": check_figure,
    "G": check_spelling,
    "D": check_gate,
    "B": check_comparison,
    "L": partial(require_test, "gates"),
    "A": partial(require_test, "gates"),
    "S": partial(require_test, "gates"),
    "E": partial(require_test, "gates"),
}
ROWS = examples_in(PAGE)


@pytest.mark.parametrize(("name", "cells"), ROWS.items(), ids=ROWS.keys())
def test_the_example_of(name: str, cells: tuple[str, ...]) -> None:
    CHECKS[name[0]](*cells)


def test_every_kind_of_rule_has_examples() -> None:
    assert {name[0] for name in ROWS} == set(CHECKS)


def test_the_examples_in_blocks_are_read() -> None:
    blocks = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    gold, trace, latency, pair, run, output = map(value_of, blocks)
    made = making.profile(gold_from_value(gold), trace_from_value(trace))
    assert (made.contains, made.cites, made.keeps) == (True, True, True)
    assert LATENCIES.from_value(latency).config == "small"
    assert arbitrate(PAIR_READER.from_value(pair)) == ("REJECT", "auditor_veto")
    assert run_outcome(gold_from_value(gold), RUNS.from_value(run)) is True
    assert OUTPUT_READER.from_value(output).evidence[0].counts


def test_the_jitters_are_listed() -> None:
    listed = re.findall(r"^\| `(\w+)` \|", PAGE.partition("| jitter |")[2], re.MULTILINE)
    assert listed[: len(JITTERS)] == [*JITTERS]
