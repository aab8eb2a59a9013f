"""Work over local processes."""

import os
import time
from collections.abc import Generator, Iterator

import pytest

from affidavit.engine.local import run_in_order


def slow_first(number: int) -> tuple[int, int]:
    time.sleep(0.2 if number == 0 else 0)
    return number, os.getpid()


def refuse_three(number: int) -> int:
    if number == 3:
        raise ValueError("three")
    return number


def test_one_job_stays_in_this_process() -> None:
    assert list(run_in_order(slow_first, range(3), 1)) == [(n, os.getpid()) for n in range(3)]


def test_results_come_in_the_order_of_the_items() -> None:
    results = list(run_in_order(slow_first, range(20), 2))
    assert [number for number, _ in results] == list(range(20))
    assert os.getpid() not in {process for _, process in results}


def test_what_the_work_raises_is_raised_here() -> None:
    results = run_in_order(refuse_three, range(20), 2)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="three"):
        next(results)


def test_items_are_taken_as_they_are_needed() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(100):
            taken.append(number)
            yield number

    results = run_in_order(refuse_three, items(), 2)
    next(results)
    assert isinstance(results, Generator)
    results.close()
    assert len(taken) <= 9
