"""Which fault hits which call, and what the faults of content do."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affidavit.base.errors import AffidavitError
from affidavit.base.json_values import JsonValue
from affidavit.soak.fault_plan import (
    FaultKind,
    FaultLevel,
    FaultPlan,
    ServiceKind,
    emptied,
    fault_levels_from,
    garbled,
    reordered,
    stale_lines,
    truncated,
)
from affidavit.soak.policy import SoakCounts
from affidavit.soak.surface import SurfaceReport, surface_cell, weakest

RESET, LATENCY = FaultKind.RESET, FaultKind.LATENCY


def test_levels_are_read() -> None:
    assert fault_levels_from(["latency=0.2,reset=0.1", "stale=1e0".replace("1e0", "0.5")]) == (
        FaultLevel(LATENCY, 0.2),
        FaultLevel(RESET, 0.1),
        FaultLevel(FaultKind.STALE, 0.5),
    )
    assert fault_levels_from([]) == ()


WRONG = {
    "no level": ("latency", "AF766"),
    "more than every call": ("latency=1.5", "AF766"),
    "a negative level": ("latency=-1", "AF766"),
    "an unknown kind": ("latncy=0.1", "AF767"),
    "a kind twice": ("reset=0.1,reset=0.2", "AF768"),
    "more than every call together": ("reset=0.6,latency=0.6", "AF769"),
}


@pytest.mark.parametrize(("text", "code"), WRONG.values(), ids=WRONG.keys())
def test_levels_that_mean_nothing(text: str, code: str) -> None:
    with pytest.raises(AffidavitError, match=code):
        fault_levels_from([text])


def plan_with(*levels: tuple[FaultKind, float], seed: int = 1, trial: int = 1) -> FaultPlan:
    return FaultPlan(tuple(FaultLevel(*each) for each in levels), seed, trial)


def drawn(plan: FaultPlan, calls: int = 2000) -> list[FaultKind | None]:
    return [plan.draw(ServiceKind.HTTP, "API", "GET /", number) for number in range(calls)]


def test_the_same_seed_injects_the_same_faults_at_the_same_points() -> None:
    assert drawn(plan_with((RESET, 0.3))) == drawn(plan_with((RESET, 0.3)))
    assert drawn(plan_with((RESET, 0.3))) != drawn(plan_with((RESET, 0.3), seed=2))
    assert drawn(plan_with((RESET, 0.3))) != drawn(plan_with((RESET, 0.3), trial=2))


def test_a_level_is_the_share_of_calls() -> None:
    found = drawn(plan_with((RESET, 0.3), (LATENCY, 0.1)), 20_000)
    assert found.count(RESET) / 20_000 == pytest.approx(0.3, abs=0.01)
    assert found.count(LATENCY) / 20_000 == pytest.approx(0.1, abs=0.01)
    assert set(drawn(plan_with((RESET, 1.0)))) == {RESET}
    assert set(drawn(plan_with((RESET, 0.0)))) == {None}


def test_a_fault_at_a_level_is_also_one_at_a_higher_level() -> None:
    """So that along a row of a surface only the level changes."""
    low, high = drawn(plan_with((RESET, 0.2))), drawn(plan_with((RESET, 0.4)))
    assert all(after is RESET for before, after in zip(low, high, strict=True) if before)


def test_a_file_has_no_latency() -> None:
    plan = plan_with((LATENCY, 0.5), (FaultKind.TRUNCATED, 0.5))
    found = {plan.draw(ServiceKind.FILE, "DATA", "read", number) for number in range(200)}
    assert found == {None, FaultKind.TRUNCATED}


BODY = json.dumps({"results": [{"id": at} for at in range(9)], "vector": [1, 2, 3]}).encode()


def test_faults_of_content_change_the_content() -> None:
    assert truncated(BODY) == BODY[: len(BODY) // 2]
    assert garbled(BODY, 3) != BODY
    assert len(garbled(BODY, 3)) == len(BODY)
    assert garbled(b"", 3) == b""
    assert stale_lines(b"a\nb\nc\nd\n") == b"a\nb\n"


@given(st.binary(min_size=1, max_size=200), st.integers(0, 2**64 - 1))
def test_garbling_changes_something_and_can_be_undone(body: bytes, word: int) -> None:
    assert garbled(body, word) != body
    assert garbled(garbled(body, word), word) == body


@given(
    st.lists(st.text(max_size=2), min_size=2, max_size=9, unique=True), st.integers(0, 2**64 - 1)
)
def test_reordering_puts_another_one_first_and_loses_none(texts: list[str], word: int) -> None:
    found = reordered({"results": list(texts)}, word)
    assert isinstance(found, dict)
    after = found["results"]
    assert isinstance(after, list)
    assert after[0] != texts[0]
    assert sorted(map(str, after)) == sorted(texts)


def test_vectors_and_single_results_stay() -> None:
    value: JsonValue = {"vector": [3, 1, 2], "one": ["x"], "mixed": ["x", 1], "text": "abc"}
    assert reordered(value, 5) == value


EMPTIED = {
    "an object": ({"a": 1}, {}),
    "a list": ([1], []),
    "a text": ("x", ""),
    "a number": (7, None),
}


@pytest.mark.parametrize(("value", "wanted"), EMPTIED.values(), ids=EMPTIED.keys())
def test_an_emptied_result(value: object, wanted: object) -> None:
    assert emptied(value) == wanted


def test_the_weakest_cell_is_measured() -> None:
    cells = (
        surface_cell(RESET, 0.1, SoakCounts(9, 1), 3),
        surface_cell(RESET, 0.5, SoakCounts(1, 9), 20),
        surface_cell(LATENCY, 0.1, SoakCounts(0, 0, 10), 0),
    )
    assert weakest(cells) == cells[1]
    assert weakest(cells[2:]) is None
    assert (cells[2].pass_rate, cells[2].ci95) == (None, None)
    report = SurfaceReport(
        tool_version="0",
        target="./agent",
        seed=1,
        iterations=10,
        packs=("exit-status@1.0.0",),
        levels=(0.1, 0.5),
        kinds=(RESET, LATENCY),
        cells=cells,
    )
    assert report.cell(RESET, 0.5) == cells[1]
    assert report.has_judged
