"""docs/checks.md is the specification: every example of its tables is run here."""

import re
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
import yaml
from tests.checks import builders
from tests.rule_tables import examples_in, page_named, require_test

from affidavit.base.errors import AffidavitError
from affidavit.base.json_values import JsonValue
from affidavit.base.strict_json import decode
from affidavit.base.timestamps import parse_nanoseconds
from affidavit.checks.check import (
    Check,
    CheckVerdict,
    check_from_wire,
    checks_from_wire,
    compose,
    evaluate,
)
from affidavit.checks.facts import (
    Evidence,
    EvidenceSource,
    SourceAnswer,
    SourceFailure,
    Tolerance,
    Tool,
    fact_from_answers,
)
from affidavit.checks.operators import OPERATORS
from affidavit.checks.routes import (
    compile_question,
    match_pattern,
    parse_pattern,
    routes_from_wire,
    words_of,
)
from affidavit.checks.values import find_number, look_up_path

PAGE = page_named("checks.md")
SOURCE = re.compile(r"(\w+)(?:/(\w+))? (?:failed|(.+) (none|-?\d+))")


def value_of(cell: str) -> Any:
    return decode(cell.encode())


def check_unit(wire: str, wanted: str) -> None:
    assert refusal(lambda: checks_from_wire(value_of(f"[{wire}]"))) == wanted


def refusal(read: Callable[[], object]) -> str:
    try:
        read()
    except AffidavitError as error:
        return f"{error.fault.code} {error.where.field}"
    return "read"


def check_path(evidence: str, path: str, wanted: str) -> None:
    look = look_up_path(value_of(evidence), path)
    assert look.reason == wanted if not look.found else look.value == value_of(wanted)


def check_number(value: str, wanted: str) -> None:
    found = find_number(value_of(value))
    assert ("none" if found is None else str(found)) == wanted


def check_operator(evidence: str, expectation: str, wanted: str) -> None:
    observed_at = value_of(evidence) if "fresh_within_s" in expectation else builders.EARLIER
    result = builders.outcome(value_of(evidence), value_of(expectation), observed_at)
    assert builders.only_result(result).outcome == wanted


def check_verdict(wire: str, wanted: str) -> None:
    tools = {
        name: Tool(name=name, required_args=("city",), value_path="n", max_age_s=60)
        for name in ("t", "silent")
    }
    check = check_from_wire({"id": "c", "args": {"city": "Ulm"}, **value_of(wire)}, "c")
    made = builders.fact({"n": 5, "nothing": None}, tools["t"], check.args)
    evidence = {"c": made} if check.tool == "t" else {}
    (result,) = evaluate([check], tools, evidence, builders.AT)
    assert result.verdict == wanted
    assert result.explain


def check_composite(results: str, wanted: str) -> None:
    weighed: list[Any] = []
    for text in results.split(", "):
        words = text.removeprefix("optional ").split()
        weighed.append(
            SimpleNamespace(
                verdict=CheckVerdict(words[0]),
                required=not text.startswith("optional "),
                confidence=float(words[1]) if words[1:] else None,
            )
        )
    made = compose(weighed)
    said = f"{made.verdict} {made.confidence}{' degraded' if made.degraded else ''}"
    assert said == wanted


def check_fact(sources: str, wanted: str) -> None:
    made = fact_from_answers(
        Tool(name="t", max_age_s=60, tolerance=Tolerance(abs=1)),
        {},
        [source_of(text) for text in sources.split(", ")],
        builders.AT,
        signed=True,
    )
    assert said_of(made) == wanted


def source_of(text: str) -> SourceAnswer | SourceFailure:
    match = SOURCE.fullmatch(text)
    assert match
    name, part, value, age = match.groups()
    operator = None if name.islower() else name
    source = EvidenceSource(f"{name}{part or ''}", name, "file", operator=operator)
    if value is None:
        return SourceFailure(source, "no connection")
    return SourceAnswer(source, value_of(value), None if age == "none" else before(int(age)))


def before(seconds: int) -> str:
    late = 14 * 3600 + 30 * 60 - seconds
    text = f"2026-01-31T{late // 3600:02}:{late // 60 % 60:02}:{late % 60:02}Z"
    assert parse_nanoseconds(builders.AT) - parse_nanoseconds(text) == seconds * 10**9
    return text


def said_of(made: object) -> str:
    if not isinstance(made, Evidence):
        return "unavailable"
    block = made.fact.verification
    marks = [
        *(["verified"] if block.verified else []),
        *(["conflict"] if block.signals.conflict else []),
    ]
    return " ".join((str(block.confidence), *marks))


def check_pattern(pattern: str, text: str, wanted: str) -> None:
    made = parse_pattern(pattern)
    assert not isinstance(made, str)
    found = match_pattern(made, words_of(text))
    said = None if found is None else ", ".join(f"{name}={took}" for name, took in found.items())
    assert (said or "none") == wanted


def check_question(question: str, wanted: str) -> None:
    compiled = compile_question(builders.table(), question)
    if compiled is None:
        assert wanted == "refused"
    else:
        assert [*map(msgspec.to_builtins, compiled.checks)] == [value_of(wanted)]


def check_route(wire: str, wanted: str) -> None:
    table: JsonValue = {"version": "route/1", "routes": [value_of(wire)]}
    assert refusal(lambda: routes_from_wire(table)) == wanted


CHECKS: dict[str, Callable[..., None]] = {
    "U": check_unit,
    "P": check_path,
    "N": check_number,
    "O": check_operator,
    "E": check_verdict,
    "C": check_composite,
    "F": check_fact,
    "B": partial(require_test, "checks"),
    "R": partial(require_test, "checks"),
    "T": check_pattern,
}
SPECIAL: dict[str, Callable[..., None]] = {
    **dict.fromkeys(
        (f"F{number}" for number in (*range(13, 18), 19, 20, 21)), partial(require_test, "checks")
    ),
    **dict.fromkeys(("T8", "T9", "T10", "T11", "T18"), check_question),
    **dict.fromkeys((f"T{number}" for number in range(12, 18)), check_route),
}
ROWS = examples_in(PAGE)


@pytest.mark.parametrize(("name", "cells"), ROWS.items(), ids=ROWS.keys())
def test_an_example_of_the_page(name: str, cells: tuple[str, ...]) -> None:
    SPECIAL.get(name, CHECKS[name[0]])(*cells)


def test_every_kind_of_rule_has_examples() -> None:
    assert {name[0] for name in ROWS} == set(CHECKS)


def test_every_operator_has_a_row() -> None:
    shown = {value_of(cells[1])["op"] for name, cells in ROWS.items() if name[0] == "O"}
    assert shown == set(OPERATORS)


def test_the_fields_of_the_page_are_those_of_a_check() -> None:
    section = PAGE.split("## The check unit")[1].split("An expectation has")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == [*Check.__struct_fields__]


def test_the_examples_in_blocks_are_read() -> None:
    (unit,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert checks_from_wire([value_of(unit)]) == builders.checks(builders.PYTHON)
    (routes,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert routes_from_wire(yaml.safe_load(routes)) == builders.table()
