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
from affidavit.gates import metrics
from affidavit.gates.agreement import PAIRS, arbitrated
from affidavit.gates.comparison import compare
from affidavit.gates.decision import measure_of, rule_on
from affidavit.gates.jitters import JITTERS
from affidavit.gates.latency import ROWS as LATENCIES
from affidavit.gates.rag_counting import counts_of
from affidavit.gates.rag_profiles import Profile, Seen
from affidavit.gates.rag_rows import gold_from_value, trace_from_line, trace_from_value
from affidavit.gates.research_rows import OUTPUT
from affidavit.gates.scu import Locks
from affidavit.gates.stability import ROWS as RUNS
from affidavit.gates.stability import run_outcome
from affidavit.gates.tally import Tally
from affidavit.gates.thresholds import RAG_GATES, gates_with

PAGE = page_named("gates.md")


def value_of(cell: str) -> Any:
    return decode(cell.encode())


def refusal(read: Callable[[], str]) -> str:
    try:
        return read()
    except AffidavitError as error:
        return " ".join(filter(None, (error.fault.code, error.where.field)))


def check_row(line: str, wanted: str) -> None:
    assert refusal(lambda: "read" if trace_from_line(line.encode()) else "") == wanted


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
    assert " ".join((made.seen, *checks)) == wanted


def check_contradiction(lock: str, claim: str, wanted: str) -> None:
    assert (Locks().contradiction([lock], claim) or "none") == wanted


ITEMS = {
    "+": (Seen.SHIPPED, True, True),
    "-": (Seen.SHIPPED, False, True),
    "h": (Seen.SHIPPED, True, False),
    "?": (Seen.SHIPPED, None, True),
    "r": (Seen.REFUSED, None, None),
    "m": (Seen.MISSING, None, None),
}


def check_figure(items: str, name: str, wanted: str) -> None:
    made = []
    for kind, became in items.split():
        seen, contains, cites = ITEMS[became]
        if kind == "u" and seen is Seen.SHIPPED:
            contains, cites = None, False
        found = None if kind == "u" or seen is Seen.MISSING else True
        made.append(Profile(seen, kind == "a", contains, cites, recalls=found, reachable=found))
    measure = counts_of((f"q{n}", item) for n, item in enumerate(made)).measures()[name]
    assert measure.rate is not None
    unmeasured = f"+{measure.not_measured}" if measure.not_measured else ""
    assert f"{measure.rate.numerator}/{measure.rate.denominator}{unmeasured}" == wanted


def check_spelling(text: str, wanted: str) -> None:
    made = refusal(lambda: " ".join(map(str, gates_with([text], RAG_GATES, metrics.RAG))))
    assert made == wanted


def check_gate(text: str, counts: str, wanted: str) -> None:
    (gate,) = gates_with([text], (), metrics.RAG)
    measure = measure_of(gate.metric, Tally(*map(int, counts.split())))
    assert rule_on([gate], {gate.key: measure}).results[0].status == wanted


def check_comparison(before: str, now: str, wanted: str) -> None:
    marks = {"+": True, "-": False, "?": None}
    runs = ({str(n): marks[mark] for n, mark in enumerate(text)} for text in (before, now))
    assert compare(*runs).change == wanted


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
    assert arbitrated(PAIRS.from_value(pair)) == ("REJECT", "auditor_veto")
    assert run_outcome(gold_from_value(gold), RUNS.from_value(run)) is True
    assert OUTPUT.from_value(output).evidence[0].counts


def test_the_jitters_are_listed() -> None:
    listed = re.findall(r"^\| `(\w+)` \|", PAGE.partition("| jitter |")[2], re.MULTILINE)
    assert listed[: len(JITTERS)] == [*JITTERS]
