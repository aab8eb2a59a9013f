"""Work that shares something large, over processes: in order, and errors come through."""

import gc
from collections.abc import Generator, Iterator

import pytest

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.engine.local import run_with_shared

SHARED = {"factor": 3}


def times(shared: dict[str, int], item: int) -> int:
    return shared["factor"] * item


def refusing(shared: dict[str, int], item: int) -> int:
    if item == 3:
        raise AffidavitError(faults.GOLD_UNNAMED, Where("t", item))
    return item


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_in_the_order_of_the_items(jobs: int) -> None:
    assert [*run_with_shared(SHARED, times, range(20), jobs)] == [3 * n for n in range(20)]
    assert gc.get_freeze_count() == 0


def test_where_a_process_cannot_be_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    assert [*run_with_shared(SHARED, times, range(3), 2)] == [0, 3, 6]


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_is_raised_when_its_turn_comes(jobs: int) -> None:
    found = run_with_shared(SHARED, refusing, range(9), jobs)
    assert [next(found) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(AffidavitError, match="AF419: t, line 3"):
        next(found)


def test_whoever_needs_no_more_may_leave() -> None:
    found: Iterator[int] = run_with_shared(SHARED, times, range(100), 2)
    assert next(found) == 0
    assert isinstance(found, Generator)
    found.close()
    assert gc.get_freeze_count() == 0
