"""Times of observation, slots, results, and the user's own functions."""

import math
import sys
from pathlib import Path

import pytest
from tests.tools.feed_server import ASKED_AT, SOURCE, request

from affidavit.base.json_values import JsonValue
from affidavit.tools.feed import FailureReason, SourceFailedError, SourceRequest, require_json
from affidavit.tools.observation_time import (
    ObservationTime,
    ObservedAt,
    TimeUnit,
    find_http_date,
    find_source_timestamp,
)
from affidavit.tools.python_feed import PythonFeed
from affidavit.tools.settings import fill_arguments, find_placeholder_problem

R, S, M = TimeUnit.RFC3339, TimeUnit.SECONDS, TimeUnit.MILLISECONDS
TIMES: dict[str, tuple[JsonValue, TimeUnit, str | None]] = {
    "as it should be": ("2026-01-31T14:30:00Z", R, "2026-01-31T14:30:00Z"),
    "another zone": ("2026-01-31T14:30:00+02:00", R, "2026-01-31T12:30:00Z"),
    "small letters": ("2026-01-31t14:30:00z", R, "2026-01-31T14:30:00Z"),
    "decimals": ("2026-01-31T14:30:00.250Z", R, "2026-01-31T14:30:00.250000Z"),
    "more of them than are kept": (
        "2026-01-31T14:30:00.1234569Z",
        R,
        "2026-01-31T14:30:00.123456Z",
    ),
    "without a zone it is any time": ("2026-01-31T14:30:00", R, None),
    "a date is not a time": ("2026-01-31", R, None),
    "a day that is none": ("2026-02-30T00:00:00Z", R, None),
    "before all calendars": ("0001-01-01T00:00:00+23:00", R, None),
    "a number where a text is meant": (1_769_869_800, R, None),
    "seconds": (1_769_869_800, S, "2026-01-31T14:30:00Z"),
    "milliseconds": (1_769_869_800_500, M, "2026-01-31T14:30:00.500000Z"),
    "a text where a number is meant": ("1769869800", S, None),
    "true is not a number": (True, S, None),
    "beyond all calendars": (1e18, S, None),
    "not a number": (math.nan, S, None),
    "null": (None, R, None),
}


@pytest.mark.parametrize(("value", "unit", "wanted"), TIMES.values(), ids=TIMES.keys())
def test_times_of_sources(value: JsonValue, unit: TimeUnit, wanted: str | None) -> None:
    assert find_source_timestamp(value, unit) == wanted


@pytest.mark.parametrize("value", [None, "", "soon", "Sat, 31 Jan 2026 14:30:00 -0000"])
def test_headers_without_a_time(value: str | None) -> None:
    assert find_http_date(value) is None


RAW: JsonValue = {"at": "2026-01-30T00:00:00Z"}
RULE = {
    "the time of change by itself": (ObservationTime(), "2026-01-29T00:00:00Z"),
    "the path alone counts": (ObservationTime(observed_at_path="at"), "2026-01-30T00:00:00Z"),
    "also if nothing is there": (ObservationTime(observed_at_path="x"), None),
    "the time of the request only if configured": (ObservationTime(ObservedAt.ASKED), ASKED_AT),
    "the time of the answer": (ObservationTime(ObservedAt.ANSWERED), None),
    "no time": (ObservationTime(ObservedAt.NONE), None),
}


@pytest.mark.parametrize(("timing", "wanted"), RULE.values(), ids=RULE.keys())
def test_observation_times_follow_the_rules(timing: ObservationTime, wanted: str | None) -> None:
    assert timing.moment(RAW, ASKED_AT, modified="2026-01-29T00:00:00Z") == wanted


FILLED: dict[str, tuple[JsonValue, JsonValue]] = {
    "one slot is the value itself": ("{n}", 5),
    "within a text it is its text": ("n={n}, {c}", "n=5, x"),
    "within an object": ({"a": ["{l}", 1]}, {"a": [[1], 1]}),
    "no slot": ("plain", "plain"),
}


@pytest.mark.parametrize(("setting", "wanted"), FILLED.values(), ids=FILLED.keys())
def test_slots(setting: JsonValue, wanted: JsonValue) -> None:
    assert fill_arguments(setting, {"n": 5, "c": "x", "l": [1]}) == wanted


def test_slots_that_cannot_be_filled() -> None:
    for setting in ("{x}", "a{l}"):
        with pytest.raises(SourceFailedError, match=r"^argument: the argument"):
            fill_arguments(setting, {"l": [1]})
    assert "is not among required_args" in (find_placeholder_problem("{x}", ("y",)) or "")
    assert "is no slot" in (find_placeholder_problem(["{a b}"], ("a b",)) or "")
    assert find_placeholder_problem({"k": "{y}"}, ("y",)) is None


@pytest.mark.parametrize("value", [math.nan, {1: 2}, {1, 2}, b"x", 2**60, "\ud800"])
def test_values_without_a_json_form_are_refused(value: object) -> None:
    with pytest.raises(SourceFailedError, match=r"^malformed: "):
        require_json(value, 1000)


def own(call: str) -> PythonFeed:
    return PythonFeed(SOURCE, call, ObservationTime(ObservedAt.ASKED), 100)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    text = (
        "def twice(n): return {'n': 2 * n}\n"
        "def bad(): raise ValueError('the password is hunter2')\n"
        "def large(): return 'x' * 1000\n"
        "def odd(): return {1, 2}\n"
        "number = 5\n"
    )
    (tmp_path / "own_source_for_test.py").write_text(text, "utf-8")
    (tmp_path / "own_broken_for_test.py").write_text("raise SystemError('hunter2')", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_source_for_test", raising=False)
    return "own_source_for_test"


def test_a_python_function_is_called(module: str) -> None:
    reply = own(f"{module}:twice").ask({"n": 4}, request())
    assert reply.raw == {"n": 8}
    assert reply.observed_at == ASKED_AT


FAILING = {
    "it raises, and its text is not shown": ("own_source_for_test:bad", {}, "raised ValueError"),
    "it gets what it does not take": ("own_source_for_test:bad", {"x": 1}, "raised TypeError"),
    "it is not there": ("own_source_for_test:nothing", {}, "has no function nothing"),
    "it is not a function": ("own_source_for_test:number", {}, "has no function number"),
    "no module": ("no_such_module_here:x", {}, "cannot be imported (ModuleNotFoundError)"),
    "a module that fails": ("own_broken_for_test:x", {}, "cannot be imported (SystemError)"),
    "too much": ("own_source_for_test:large", {}, "too-large: "),
    "no JSON": ("own_source_for_test:odd", {}, "malformed: "),
}


@pytest.mark.parametrize(("call", "args", "wanted"), FAILING.values(), ids=FAILING.keys())
def test_a_function_that_fails(
    call: str, args: dict[str, JsonValue], wanted: str, module: str
) -> None:
    with pytest.raises(SourceFailedError) as failure:
        own(call).ask(args, request())
    assert wanted in str(failure.value)
    assert "hunter2" not in str(failure.value)


def test_a_request_past_its_deadline_is_late() -> None:
    over = SourceRequest(ASKED_AT, 0.0)
    with pytest.raises(SourceFailedError) as failure:
        over.seconds_left()
    assert failure.value.reason is FailureReason.LATE
    over.abandon()
    ended: list[int] = []
    over.on_abandon(lambda: ended.append(1))
    assert ended == [1]
