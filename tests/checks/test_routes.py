"""route/1: the table is read strictly, and a question is matched word by word."""

import time
from copy import deepcopy
from typing import Any

import pytest
from tests.checks.builders import ROUTES, table

from affidavit.base.canonical import sorted_compact
from affidavit.base.digest import sha256_hex
from affidavit.base.errors import AffidavitError
from affidavit.base.validation import join_field
from affidavit.checks.routes import (
    compile_question,
    match_pattern,
    parse_pattern,
    routes_from_wire,
    words_of,
)

ROW: dict[str, Any] = ROUTES["routes"][0]


def of(*rows: Any, **others: Any) -> dict[str, Any]:
    return {"version": "route/1", "routes": list(rows), **others}


REFUSED: dict[str, tuple[Any, str, str | None, str]] = {
    "no table": ([], "AF310", None, "object"),
    "another version": ({"version": "route/2", "routes": []}, "AF310", "version", "route/2"),
    "no routes": ({"version": "route/1"}, "AF310", "routes", "missing"),
    "an unknown field": (of({**ROW, "regex": "x"}), "AF310", "routes[0]", "regex"),
    "neither question nor statement": (
        of({"id": "r", "tool": "t"}),
        "AF310",
        "routes[0]",
        "neither",
    ),
    "an id twice": (of(ROW, ROW), "AF311", "routes[1].id", "software.version"),
    "a broken slot": (of({**ROW, "ask": ["of {product"]}), "AF312", "routes[0].ask[0]", "neither"),
    "a slot within a word": (
        of({**ROW, "ask": ["v{product}"]}),
        "AF312",
        "routes[0].ask[0]",
        "slot",
    ),
    "a slot twice": (
        of({**ROW, "ask": ["a {product} b {product}"]}),
        "AF312",
        "routes[0].ask[0]",
        "twice",
    ),
    "slots side by side": (
        of({**ROW, "say": ["of {product} {value}"]}),
        "AF312",
        "routes[0].say[0]",
        "between",
    ),
    "only a slot": (of({**ROW, "ask": ["{product} ?"]}), "AF312", "routes[0].ask[0]", "anything"),
    "no words": (of({**ROW, "ask": ["?"]}), "AF312", "routes[0].ask[0]", "anything"),
    "a slot that nothing uses": (
        of({**ROW, "ask": ["a {product} of {who}"]}),
        "AF312",
        "routes[0].ask[0]",
        "{who}",
    ),
    "a slot that is missing": (
        of({**ROW, "ask": ["a b"]}),
        "AF312",
        "routes[0].ask[0]",
        "{product}",
    ),
    "a value in a question": (
        of({**ROW, "ask": ["is {product} at {value}"]}),
        "AF312",
        "routes[0].ask[0]",
        "nothing uses",
    ),
    "an operator that is none": (of({**ROW, "op": "like"}), "AF313", "routes[0].op", "like"),
    "an operator that takes a list": (of({**ROW, "op": "in"}), "AF313", "routes[0].op", "list"),
    "a tolerance that is not needed": (of({**ROW, "tol": 1}), "AF313", "routes[0].op", "tol"),
    "a path that is none": (of({**ROW, "path": "a..b"}), "AF313", "routes[0].op", "empty step"),
    "a number that is none": (
        of(ROW, not_covered=[float("inf")]),
        "AF025",
        "not_covered[0]",
        "inf",
    ),
}


@pytest.mark.parametrize(("wire", "code", "field", "said"), REFUSED.values(), ids=REFUSED)
def test_refused(wire: Any, code: str, field: str | None, said: str) -> None:
    with pytest.raises(AffidavitError) as raised:
        routes_from_wire(wire)
    error = raised.value
    assert (error.fault.code, error.where.field) == (code, field)
    assert said in error.message
    assert error.next_step


def test_the_digest_pins_the_table() -> None:
    assert table().sha256 == sha256_hex(sorted_compact(ROUTES))
    other = deepcopy(ROUTES)
    other["routes"][0]["op"] = "semver_prefix"
    assert routes_from_wire(other).sha256 != table().sha256


def test_the_first_match_wins() -> None:
    general = {"id": "general", "tool": "t", "ask": ["latest {x}"], "args": {"x": "{x}"}}
    first = compile_question(routes_from_wire(of(general, ROW)), "Latest version of Python?")
    second = compile_question(routes_from_wire(of(ROW, general)), "Latest version of Python?")
    assert first
    assert second
    assert (first.route.route_id, second.route.route_id) == ("general", "software.version")


def test_a_route_may_have_constants_and_a_tolerance() -> None:
    row = {
        "id": "weather.city",
        "tool": "weather",
        "say": ["it is {value} degrees in {city}"],
        "ask": ["how warm is it in {city}"],
        "args": {"city": "{city}", "unit": "celsius", "days": 1},
        "op": "abs_within",
        "tol": 0.5,
    }
    routes = routes_from_wire(of(row))
    said = compile_question(routes, "It is 21.5 degrees in New York.")
    assert said
    assert said.route.form == "declarative"
    (check,) = said.checks
    assert check.args == {"city": "New York", "unit": "celsius", "days": 1}
    (expectation,) = check.expectations
    assert (expectation.op, expectation.value, expectation.tol) == ("abs_within", "21.5", 0.5)
    asked = compile_question(routes, "how warm is it in Ulm")
    assert asked
    assert asked.route.form == "interrogative"
    assert asked.checks[0].observe
    assert asked.checks[0].expectations == ()


def test_a_statement_is_not_swallowed_by_a_question() -> None:
    row = {**ROW, "ask": ["the latest version of {product}"]}
    found = compile_question(routes_from_wire(of(row)), "The latest version of Python is 3.13")
    assert found
    assert found.route.form == "declarative"
    assert found.checks[0].args == {"product": "Python"}


@pytest.mark.parametrize("text", ["", "  ", " ?!. ", "x" * 1001])
def test_empty_and_overlong_questions_are_refused(text: str) -> None:
    with pytest.raises(AffidavitError) as raised:
        compile_question(table(), text)
    assert raised.value.fault.code == "AF314"


MATCHES: dict[str, tuple[str, str, dict[str, str] | None]] = {
    "literals alone": ("is the market open", "Is the market open?", {}),
    "more words than the literals": ("is it open", "is it open now", None),
    "fewer words than the literals": ("is it open", "is it", None),
    "a slot in front": ("{who} won", "Ada Lovelace won!", {"who": "Ada Lovelace"}),
    "nothing in front": ("{who} won", "won", None),
    "nothing behind": ("who is {name}", "who is", None),
    "the last literal ends the text": (
        "{a} is {b} now",
        "it is on is off now",
        {"a": "it", "b": "on is off"},
    ),
    "the literal between is missing": ("from {a} to {b} by train", "from Ulm by train", None),
    "case folds in every language": ("die stra\u00dfe {n}", "Die STRASSE 5", {"n": "5"}),
    "a version keeps its points": ("version {v}", "version 3.13.1.", {"v": "3.13.1"}),
}


@pytest.mark.parametrize(("text", "question", "wanted"), MATCHES.values(), ids=MATCHES)
def test_matching(text: str, question: str, wanted: dict[str, str] | None) -> None:
    pattern = parse_pattern(text)
    assert not isinstance(pattern, str)
    assert match_pattern(pattern, words_of(question)) == wanted


def test_a_hostile_question_costs_nothing() -> None:
    pattern = parse_pattern(" ".join(f"a {{s{number}}} a" for number in range(20)) + " b")
    assert not isinstance(pattern, str)
    start = time.process_time()
    assert match_pattern(pattern, ["a"] * 500) is None
    assert time.process_time() - start < 1


def test_fields_within_fields() -> None:
    assert join_field("checks[1]", "expect", "op") == "checks[1].expect.op"
    assert join_field("checks", "[1]", "") == "checks[1]"
    assert join_field("", "id") == "id"
