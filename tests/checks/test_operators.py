"""Every operator of answer-eval.md, section 2, row by row, and cases between the rows."""

from typing import Any

import msgspec
import pytest
from tests.checks.builders import AT, EARLIER, only_result, outcome

from affidavit.base.json_values import JsonValue
from affidavit.checks.operators import ExpectationOutcome, find_equal
from affidavit.checks.values import display_value, find_number, scalar_text

H, F, N = ExpectationOutcome.HELD, ExpectationOutcome.FAILED, ExpectationOutcome.NOT_EVALUABLE
HUGE = 9_007_199_254_740_991

SPEC: dict[str, tuple[Any, str, Any, ExpectationOutcome]] = {
    # eq, ne
    "numbers are compared by value": (1, "eq", 1.0, H),
    "a tenth is a tenth": (0.1, "eq", 0.1, H),
    "no silent rounding": (0.30000000000000004, "eq", 0.3, F),
    "the largest integers are not rounded to doubles": (HUGE, "eq", HUGE - 1, F),
    "minus zero is zero": (-0.0, "eq", 0, H),
    "3.10 is not 3.1": ("3.10", "eq", "3.1", F),
    "3.10 differs from 3.1": ("3.10", "ne", "3.1", H),
    "texts are trimmed": ("\t 5 \n", "eq", "5", H),
    "but not within": ("a  b", "eq", "a b", F),
    "upper case counts": ("Stable", "eq", "stable", F),
    "two spellings of a letter are two": ("caf\u00e9", "eq", "cafe\u0301", F),
    "true is not one": (True, "eq", 1, F),
    "one is not true": (1, "eq", True, F),
    "false is not zero": (False, "eq", 0, F),
    "true is true": (True, "eq", True, H),
    "true differs from one": (True, "ne", 1, H),
    "a number has its JSON text": (5, "eq", "5", H),
    "its spelling counts": (5, "eq", "5.0", F),
    "1e3 is a text": ("1e3", "eq", 1000, F),
    "blank texts are equal when trimmed": ("  ", "eq", "", H),
    "the empty text is a value": ("", "eq", "x", F),
    "null is null": (None, "eq", None, H),
    "something is not null": ("x", "eq", None, F),
    "something differs from null": ("x", "ne", None, H),
    "null cannot be compared with a text": (None, "ne", "x", N),
    "null is not the word": (None, "eq", "null", N),
    "a list is not a single value": ([1], "eq", 1, N),
    "an object is not a single value": ({"a": 1}, "ne", 1, N),
    "a list cannot be expected": (1, "eq", [1], N),
    "an object cannot be expected of null": (None, "ne", {}, N),
    # lt, lte, gt, gte
    "less": (9, "lt", 10, H),
    "not less than itself": (10, "lt", 10, F),
    "less or equal": (10, "lte", 10, H),
    "greater": (10.5, "gt", 10, H),
    "greater or equal": ("10", "gte", 10.0, H),
    "texts of digits are numbers, not words": ("10", "gt", "9", H),
    "negative texts": ("-2.50", "lt", "-2.4", H),
    "twenty digits in a text are kept": ("10000000000000000001", "gt", "10000000000000000000", H),
    "an exponent in a text": ("1e3", "gt", 5, N),
    "white space in a text": (" 5 ", "gt", 4, N),
    "a line break at the end of a text": ("5\n", "gt", 4, N),
    "a sign plus": ("+5", "gt", 4, N),
    "no digit before the point": (".5", "lt", 4, N),
    "no digit after the point": ("5.", "lt", 6, N),
    "other digits than 0 to 9": ("\u0665", "gt", 4, N),
    "grouped digits": ("1,200", "gt", 4, N),
    "nan is a text like any other": ("NaN", "lt", 4, N),
    "a boolean is not a number": (True, "gte", 1, N),
    "null is not a number": (None, "lt", 1, N),
    "an expected text that is not a number": (5, "lt", "soon", N),
    "an expected truth value": (5, "lt", True, N),
    "more digits than anyone measures": ("9" * 1001, "gt", 1, N),
    "as many as are read": ("9" * 1000, "gt", 1, H),
    # between
    "the lower bound is in": (5, "between", [5, 7], H),
    "the upper bound is in": ("7.0", "between", [5, 7], H),
    "above": (7.01, "between", [5, 7], F),
    "a bound that is not a number": (5, "between", ["low", 7], N),
    "the other bound": (5, "between", [1, None], N),
    "no number between": ("x", "between", [1, 2], N),
    "upside down": (5, "between", [7, 5], N),
    # in
    "a member by value": (1, "in", [2, 1.0], H),
    "no member by text": ("3.10", "in", ["3.1", "3.2"], F),
    "null among the members": (None, "in", ["x", None], H),
    "null and no null among them": (None, "in", ["x"], N),
    "a list is not a member": ([1], "in", [1], N),
    # contains, starts_with, ends_with
    "a part": ("not stable", "contains", "stable", H),
    "letter for letter": ("Stable", "contains", "stable", F),
    "no pattern": ("abc", "contains", "a.c", F),
    "not trimmed": ("ab", "contains", " a", F),
    "a part of a number's JSON text": (3.14, "contains", ".1", H),
    "a number as a part": ("15 days", "contains", 15, H),
    "a part of true": (True, "contains", "ru", H),
    "the empty part": ("abc", "contains", "", N),
    "a member of a list": (["a", 1], "contains", 1.0, H),
    "true is not a member if 1 is": ([1], "contains", True, F),
    "the empty text as a member": (["a", ""], "contains", "", H),
    "null in a list is not the text": (["a", None], "contains", "b", F),
    "an empty list": ([], "contains", "a", F),
    "a list in a list": ([["a"]], "contains", ["a"], N),
    "an object has keys, not parts": ({"a": 1}, "contains", "a", N),
    "null has no parts": (None, "contains", "a", N),
    "null is not a part": ("null", "contains", None, N),
    "a start": ("3.13.1", "starts_with", "3.1", H),
    "no start": ("Python", "starts_with", "python", F),
    "the empty start": ("x", "starts_with", "", N),
    "a list has no start": (["a"], "starts_with", "a", N),
    "an end": ("v3.13", "ends_with", "3.13", H),
    "no end": ("v3.13 ", "ends_with", "3.13", F),
    "the empty end": ("", "ends_with", "", N),
    # semver
    "the same version": ("3.13.1", "semver_eq", "3.13.1", H),
    "padded parts": ("3.013", "semver_eq", "3.13", H),
    "3.10 is not version 3.1": ("3.10", "semver_eq", "3.1", F),
    "every part counts": ("3.13", "semver_eq", "3.13.0", F),
    "later by number": ("3.10", "semver_gte", "3.9", H),
    "the same is not earlier": ("3.13", "semver_lt", "3.13", F),
    "earlier": ("3.9.18", "semver_lt", "3.10", H),
    "shorter is earlier": ("3.13", "semver_lt", "3.13.0", H),
    "a prefix": ("3.13.1", "semver_prefix", "3.13", H),
    "3.1 is not a prefix of 3.13": ("3.13", "semver_prefix", "3.1", F),
    "longer than what it should start": ("3", "semver_prefix", "3.13", F),
    "one whole number is a version": (14, "semver_gte", "13.9", H),
    "a release candidate": ("3.14.0rc1", "semver_gte", "3.13", N),
    "a leading v": ("v3.13", "semver_eq", "3.13", N),
    "an expected leading v": ("3.13", "semver_eq", "v3.13", N),
    "an empty part": ("3..1", "semver_gte", "3", N),
    "an empty version": ("", "semver_gte", "3", N),
    "a version with white space": (" 3.13", "semver_eq", "3.13", N),
    "a version as a number has lost its zeros": (3.1, "semver_eq", "3.10", N),
    "an expected version as a number": ("3.10", "semver_eq", 3.1, N),
    "a negative version": (-3, "semver_gte", "1", N),
    "true is not a version": (True, "semver_gte", "1", N),
    "a version of a thousand digits": ("1" * 1001, "semver_gte", "1", N),
}


@pytest.mark.parametrize(("raw", "op", "value", "wanted"), SPEC.values(), ids=SPEC.keys())
def test_the_operator(
    raw: JsonValue, op: str, value: JsonValue, wanted: ExpectationOutcome
) -> None:
    result = outcome(raw, {"op": op, "value": value})
    assert only_result(result).outcome is wanted, result.explain


WITHIN: dict[str, tuple[Any, str, Any, Any, ExpectationOutcome]] = {
    "exactly the tolerance, though not in binary": (1.1, "abs_within", 1.0, 0.1, H),
    "a hair more": (1.1000000000000001, "abs_within", "1.0999999999999", 0, F),
    "below": ("4.5", "abs_within", 5, 0.5, H),
    "no tolerance": (5, "abs_within", 5.0, 0, H),
    "no number": ("five", "abs_within", 5, 1, N),
    "no number expected": (5, "abs_within", None, 1, N),
    "the largest integers": (HUGE, "abs_within", HUGE - 1, 0.5, F),
    "ten per cent": (110, "pct_within", 100, 10, H),
    "ten per cent and a bit": (110.01, "pct_within", 100, 10, F),
    "a third, exactly": (4, "pct_within", 3, 33.33333333333333, F),
    "per cent of a negative number": (-11, "pct_within", -10, 10, H),
    "nothing of zero": (0, "pct_within", 0, 10, N),
    "nothing of minus zero": (1, "pct_within", -0.0, 1000, N),
    "no percentage of a text": ("x", "pct_within", 1, 1, N),
}


@pytest.mark.parametrize(("raw", "op", "value", "tol", "wanted"), WITHIN.values(), ids=WITHIN)
def test_within(
    raw: JsonValue, op: str, value: JsonValue, tol: JsonValue, wanted: ExpectationOutcome
) -> None:
    result = outcome(raw, {"op": op, "value": value, "tol": tol})
    assert only_result(result).outcome is wanted, result.explain


PRESENCE: dict[str, tuple[Any, str, str | None, ExpectationOutcome]] = {
    "there": ({"a": [0]}, "exists", "a.0", H),
    "there, and null": ({"a": None}, "exists", "a", H),
    "not there": ({"a": 1}, "exists", "b", F),
    "absent": ({"a": 1}, "not_exists", "b", H),
    "not absent": ({"a": 1}, "not_exists", "a", F),
    "absent below what is absent": ({}, "not_exists", "a.b.c", H),
    "absent below a single value": ({"a": 1}, "not_exists", "a.b", H),
    "a key with a dot is not absent": ({"a.b": 1}, "not_exists", "a.b", N),
    "not there either": ({"x": {"a.b": {"c": 1}}}, "exists", "x.a.b.c", N),
    "a dotted key elsewhere changes nothing": ({"a.b": 1}, "not_exists", "c", H),
    "a key of a list is neither absent": ({"a": [{"b": 1}]}, "not_exists", "a.b", N),
    "nor there": ({"a": [{"b": 1}]}, "exists", "a.b", N),
    "absent beyond the end of a list": ({"a": [{"b": 1}]}, "not_exists", "a.1.b", H),
    "the primary value is there": (5, "exists", None, H),
}


@pytest.mark.parametrize(("raw", "op", "path", "wanted"), PRESENCE.values(), ids=PRESENCE)
def test_presence(raw: JsonValue, op: str, path: str | None, wanted: ExpectationOutcome) -> None:
    result = outcome(raw, {"op": op} if path is None else {"op": op, "path": path})
    assert only_result(result).outcome is wanted, result.explain


FRESH: dict[str, tuple[Any, Any, ExpectationOutcome, str]] = {
    "just in time": ("2026-01-31T14:29:00Z", 60, H, ""),
    "a nanosecond late": ("2026-01-31T14:28:59.999999999Z", 60, F, "STALE"),
    "parts of a second allowed": ("2026-01-31T14:29:59.5Z", 0.5, H, ""),
    "years late": ("2019-01-01T00:00:00Z", 86400, F, "STALE"),
    "now": (AT, 0, H, ""),
    "a clock that is a little ahead": ("2026-01-31T14:30:05Z", 0, H, ""),
    "a clock that is more ahead": ("2026-01-31T14:30:05.001Z", 10_000, F, "FUTURE"),
    "next year": ("2027-01-31T14:30:00Z", 10**9, F, "FUTURE"),
    "an offset instead of Z": ("2026-01-31T14:29:00+00:00", 60, H, ""),
    "an offset to the east": ("2026-01-31T16:29:00+02:00", 60, H, ""),
    "an offset that is none": ("2026-01-31T14:29:00+24:00", 60, N, "not a time"),
    "a small z": ("2026-01-31t14:29:00z", 60, N, "not a time"),
    "no zone": ("2026-01-31T14:29:00", 60, N, "not a time"),
    "a day that is none": ("2026-02-30T00:00:00Z", 60, N, "not a time"),
    "an hour that is none": ("2026-01-31T24:00:00Z", 60, N, "not a time"),
    "a leap second": ("2016-12-31T23:59:60Z", 60, N, "not a time"),
    "ten decimals": ("2026-01-31T14:29:00.0123456789Z", 60, N, "not a time"),
    "a number": (1769869800, 60, N, "a number"),
    "null": (None, 60, N, "null"),
}


@pytest.mark.parametrize(("time", "seconds", "wanted", "said"), FRESH.values(), ids=FRESH)
def test_freshness(time: JsonValue, seconds: float, wanted: ExpectationOutcome, said: str) -> None:
    by_path = {"op": "fresh_within_s", "path": "at", "value": seconds}
    result = outcome({"at": time}, by_path)
    assert only_result(result).outcome is wanted, result.explain
    assert said in result.explain


def test_without_a_path_freshness_reads_the_time_of_observation() -> None:
    expect = {"op": "fresh_within_s", "value": 60}
    assert only_result(outcome("x", expect, EARLIER)).outcome is H
    assert "the time of observation" in outcome("x", expect, EARLIER).explain
    missing = outcome("x", expect, None)
    assert only_result(missing).outcome is N
    assert "states no time" in missing.explain


EXPLAINED: dict[str, tuple[Any, Any, str]] = {
    "what was seen and expected": (
        "3.12",
        {"op": "semver_gte", "value": "3.13"},
        'the primary value: saw "3.12"; semver_gte "3.13" fails',
    ),
    "versions as texts": (
        "3.10",
        {"op": "eq", "value": "3.1"},
        'saw "3.10"; eq "3.1" fails (texts are compared letter by letter; semver_eq',
    ),
    "versions as texts, under ne": ("v1.2", {"op": "ne", "value": "x"}, "semver_eq"),
    "a version that is only expected": ("x", {"op": "eq", "value": "3.1"}, "semver_eq"),
    "a number and a text": (5, {"op": "eq", "value": "5.0"}, "are compared as texts"),
    "keys that are there": (
        {"b": 1, "a": 2},
        {"op": "eq", "path": "c", "value": 1},
        'saw nothing; eq 1 cannot be evaluated (the result has no key "c", but the keys "a", "b")',
    ),
    "an object with nothing in it": ({}, {"op": "lt", "path": "c", "value": 1}, "but no keys"),
    "many keys": (
        {f"k{number:02}": 0 for number in range(30)},
        {"op": "exists", "path": "c"},
        '"k19" and 10 more',
    ),
    "a dotted key beside": (
        {"x.y": 1},
        {"op": "exists", "path": "c"},
        "a key that holds a dot cannot be addressed",
    ),
    "zeros at the end": ("3.0", {"op": "semver_eq", "value": "3"}, "zeros at the end only"),
    "nothing to be near to": (
        {"a": 1},
        {"op": "pct_within", "path": "b", "value": 9, "tol": 1},
        'pct_within 9 tol 1 cannot be evaluated (the result has no key "b"',
    ),
    "a tolerance": (
        5,
        {"op": "abs_within", "value": 9, "tol": 0.5},
        "saw 5; abs_within 9 tol 0.5 fails",
    ),
    "a list that is expected": (5, {"op": "in", "value": [1, "5.", None]}, 'in [1, "5.", null]'),
    "a long list that is expected": (0, {"op": "in", "value": [*range(1, 20)]}, "8, …]"),
    "a list that was seen": ([1, 2], {"op": "eq", "value": 1}, "saw a list of 2"),
    "an object that was seen": (
        {"a": 1},
        {"op": "eq", "value": 1},
        'saw an object with the key "a"',
    ),
    "line breaks do not reach the terminal": ("a\nb", {"op": "eq", "value": 1}, r'saw "a\nb"'),
    "a long text is cut": ("x" * 200, {"op": "eq", "value": 1}, "x…"),
    "which bound is wrong": (1, {"op": "between", "value": [0, "b"]}, 'a bound is a text ("b")'),
    "all of several": (
        5,
        [{"op": "eq", "value": 5}, {"op": "lt", "value": 4}],
        "saw 5; eq 5 holds; the primary value: saw 5; lt 4 fails",
    ),
}


@pytest.mark.parametrize(("raw", "expect", "said"), EXPLAINED.values(), ids=EXPLAINED)
def test_the_explanation_names(raw: JsonValue, expect: Any, said: str) -> None:
    assert said in outcome(raw, expect).explain


def test_an_observed_scalar_is_echoed() -> None:
    def echoed(raw: JsonValue) -> object:
        return only_result(outcome(raw, {"op": "exists"})).observed

    assert echoed(5) == 5
    assert echoed(None) is None
    assert echoed("x" * 500) == "x" * 500
    assert echoed("x" * 501) is msgspec.UNSET
    assert echoed([5]) is msgspec.UNSET


@pytest.mark.parametrize("number", [10**4000, -(10**400), 2**53 + 1])
def test_equality_itself_has_no_limit_on_integers(number: int) -> None:
    assert find_equal(number, number) is True
    assert find_equal(number, number + 1) is False
    assert find_number(number) == number


def test_texts_of_values() -> None:
    values: list[JsonValue] = [None, True, False, 1, 1.0, -0.0, 1e22, "x"]
    assert [*map(scalar_text, values)] == [
        "null",
        "true",
        "false",
        "1",
        "1.0",
        "-0.0",
        "1e+22",
        "x",
    ]
    assert [*map(display_value, values[:2])] == ["null", "true"]
