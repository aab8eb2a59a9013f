"""The check unit is read strictly: errors name the check and the field."""

from typing import Any

import pytest
from tests.checks.builders import PYTHON, checks

from affidavit.base.errors import AffidavitError
from affidavit.checks.check import checks_from_wire

GOOD: dict[str, Any] = {"id": "a", "tool": "t"}


def expecting(**expect: Any) -> list[Any]:
    return [{**GOOD, "expect": expect}]


REFUSED: dict[str, tuple[Any, str, str, str]] = {
    "an object instead of a list": ({"checks": []}, "AF306", "checks", "an object, not a list"),
    "nothing": ([], "AF305", "checks", "no check"),
    "a check that is a text": (["py"], "AF300", "checks[0]", "number 1"),
    "no tool": ([{"id": "a"}], "AF300", "checks[0].tool", "'a' is not valid"),
    "an id that is a number": ([{**GOOD, "id": 1}], "AF300", "checks[0].id", "number 1"),
    "an id with a space": ([{**GOOD, "id": "a b"}], "AF300", "checks[0].id", "number 1"),
    "an id with a line break": ([{**GOOD, "id": "a\n"}], "AF300", "checks[0].id", "number 1"),
    "an id that is too long": ([{**GOOD, "id": "a" * 65}], "AF300", "checks[0].id", "number 1"),
    "an empty tool": ([{**GOOD, "tool": ""}], "AF300", "checks[0].tool", "'a'"),
    "arguments in a list": ([{**GOOD, "args": []}], "AF300", "checks[0].args", "'a'"),
    "a key that is not text": ([{**GOOD, "args": {1: 2}}], "AF042", "checks[0].args", "as a key"),
    "a number that is none": (
        [{**GOOD, "args": {"x": float("nan")}}],
        "AF025",
        "checks[0].args.x",
        "nan",
    ),
    "an integer beyond 2^53": (
        [GOOD, {**GOOD, "id": "b", "expect": {"op": "eq", "value": 2**53}}],
        "AF025",
        "checks[1].expect.value",
        "54 bits",
    ),
    "required as a text": ([{**GOOD, "required": "yes"}], "AF300", "checks[0].required", "bool"),
    "an unknown field of an expectation": (
        expecting(op="eq", vale=1),
        "AF300",
        "checks[0].expect",
        "vale",
    ),
    "no operator": (expecting(value=1), "AF300", "checks[0].expect.op", "missing"),
    "an unknown operator": (
        expecting(op="equals", value=1),
        "AF302",
        "checks[0].expect.op",
        "equals",
    ),
    "a null expectation": ([{**GOOD, "expect": None}], "AF300", "checks[0].expect", "null"),
    "nine expectations": (
        [{**GOOD, "expect": [{"op": "exists"}] * 9}],
        "AF307",
        "checks[0].expect",
        "9 expectations",
    ),
    "eq without a value": (expecting(op="eq"), "AF303", "checks[0].expect.value", "`value`"),
    "eq with a tolerance": (
        expecting(op="eq", value=1, tol=1),
        "AF303",
        "checks[0].expect.tol",
        "",
    ),
    "exists with a value": (
        expecting(op="exists", value=None),
        "AF303",
        "checks[0].expect.value",
        "",
    ),
    "a range of one": (
        expecting(op="between", value=[1]),
        "AF303",
        "checks[0].expect.value",
        "two",
    ),
    "a range that is none": (
        expecting(op="between", value=5),
        "AF303",
        "checks[0].expect.value",
        "",
    ),
    "in nothing": (expecting(op="in", value=[]), "AF303", "checks[0].expect.value", "one or more"),
    "in a text": (expecting(op="in", value="abc"), "AF303", "checks[0].expect.value", "a list"),
    "in lists": (expecting(op="in", value=[[1]]), "AF303", "checks[0].expect.value", "single"),
    "no tolerance": (expecting(op="abs_within", value=1), "AF303", "checks[0].expect.tol", "`tol`"),
    "no value": (expecting(op="pct_within", tol=1), "AF303", "checks[0].expect.value", ""),
    "value and tolerance in one": (
        expecting(op="abs_within", value={"value": 1, "tol": 1}),
        "AF303",
        "checks[0].expect.value",
        "side by side",
    ),
    "a tolerance as a text": (
        expecting(op="pct_within", value=1, tol="1"),
        "AF303",
        "checks[0].expect.tol",
        "",
    ),
    "a tolerance that is true": (
        expecting(op="pct_within", value=1, tol=True),
        "AF303",
        "checks[0].expect.tol",
        "",
    ),
    "negative seconds": (
        expecting(op="fresh_within_s", value=-1),
        "AF303",
        "checks[0].expect.value",
        "",
    ),
    "seconds as a text": (
        expecting(op="fresh_within_s", value="9"),
        "AF303",
        "checks[0].expect.value",
        "",
    ),
    "an empty path": (expecting(op="exists", path=""), "AF304", "checks[0].expect.path", "omit"),
    "an empty step": (
        expecting(op="exists", path="a..b"),
        "AF304",
        "checks[0].expect.path",
        "empty",
    ),
    "a wildcard": (
        expecting(op="exists", path="a.*"),
        "AF304",
        "checks[0].expect.path",
        "wildcards",
    ),
    "nine steps": (
        expecting(op="exists", path="a.b.c.d.e.f.g.h.i"),
        "AF304",
        "checks[0].expect.path",
        "9 steps",
    ),
    **{
        f"a path of another language: {path}": (
            expecting(op="not_exists", path=path),
            "AF304",
            "checks[0].expect.path",
            said,
        )
        for path, said in {
            "events.-1.error": "has a sign",
            "events.+1.error": "has a sign",
            "events.\N{MINUS SIGN}1": "has a sign",
            "$.events[1].error": "neither a key nor an index",
            "results[0].v": "neither a key nor an index",
            "results.[0].v": "neither a key nor an index",
            "/results/0/v": "neither a key nor an index",
            "results/0/v": "neither a key nor an index",
            "#/results/0": "neither a key nor an index",
            "$": "neither a key nor an index",
            "@.v": "neither a key nor an index",
            "friends.#.first": "neither a key nor an index",
            "events.-": "neither a key nor an index",
            "results?.0.v": "neither a key nor an index",
            "a.b*": "no wildcards",
            "a. b": "neither a key nor an index",
            "a.b\n": "neither a key nor an index",
            "a|b": "neither a key nor an index",
            "a.'b'": "neither a key nor an index",
        }.items()
    },
    "a path that is a book": (
        expecting(op="exists", path="a" * 513),
        "AF304",
        "checks[0].expect.path",
        "513 letters",
    ),
    "the second of several": (
        [{**GOOD, "expect": [{"op": "exists"}, {"op": "exists", "path": "."}]}],
        "AF304",
        "checks[0].expect[1].path",
        "",
    ),
    "an id twice": ([PYTHON, GOOD, PYTHON], "AF301", "checks[2].id", "'py'"),
}


@pytest.mark.parametrize(("wire", "code", "field", "said"), REFUSED.values(), ids=REFUSED)
def test_refused(wire: Any, code: str, field: str, said: str) -> None:
    with pytest.raises(AffidavitError) as raised:
        checks_from_wire(wire, "checks.json")
    error = raised.value
    assert (error.fault.code, error.where.field) == (code, field)
    assert error.where.file == "checks.json"
    assert said in error.message
    assert error.next_step


def test_omitted_fields_have_defaults() -> None:
    (check,) = checks(GOOD)
    assert (check.args, check.expectations, check.observe, check.required) == ({}, (), False, True)
    assert not check.adjudicates


def test_eight_steps_and_eight_expectations_are_allowed() -> None:
    expect = {"op": "exists", "path": "a.b.c.d.e.f.g.h"}
    (check,) = checks({**GOOD, "expect": [expect] * 8})
    assert len(check.expectations) == 8
    assert check.adjudicates


def test_a_check_that_observes_asserts_nothing() -> None:
    (check,) = checks({**PYTHON, "observe": True})
    assert check.expectations
    assert not check.adjudicates
