"""Work on Spark: the order of results, errors, waves, and files that workers need."""

import os
from pathlib import Path
from typing import Any

import pytest
from tests.engine.standin_rdd import StandInSession

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults.input import FILE_MISSING
from affidavit.engine import spark_runner
from affidavit.engine.spark import is_local, reason_of
from affidavit.engine.spark_runner import SparkRunner

WAVE = 16


@pytest.fixture(autouse=True)
def _errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark is not installed here, so its exceptions are another one."""
    monkeypatch.setattr(spark_runner, "spark_errors", lambda: (RuntimeError,))


def square(number: int) -> int:
    return number * number


def refuse_three(number: int) -> int:
    if number == 3:
        raise AffidavitError(FILE_MISSING, Where("three"))
    return number


def fail(number: int) -> int:
    raise RuntimeError(f"File 'x.py', line 1\nValueError: {number} is unexpected\n\n at java.Task")


@pytest.mark.parametrize("count", [0, 1, WAVE, WAVE + 1, 5 * WAVE + 3])
def test_results_come_in_the_order_of_the_items(count: int) -> None:
    session: Any = StandInSession()
    assert [*SparkRunner(session)(square, iter(range(count)))] == [n * n for n in range(count)]
    assert sum(session.waves) == count
    assert all(rows <= WAVE for rows in session.waves)


def test_a_wave_ends_when_its_items_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_runner, "_WAVE_BYTES", 1000)
    session: Any = StandInSession()
    assert [*SparkRunner(session)(len, ["x" * 600] * 4)] == [600] * 4
    assert session.waves == [2, 2]


def test_an_error_of_ours_is_raised_here_after_the_results_before_it() -> None:
    session: Any = StandInSession()
    results = SparkRunner(session)(refuse_three, range(9))
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(AffidavitError, match="three"):
        next(results)


def test_what_spark_cannot_do_is_one_line_with_the_reason() -> None:
    session: Any = StandInSession()
    with pytest.raises(AffidavitError) as raised:
        [*SparkRunner(session)(fail, [7])]
    assert raised.value.fault.code == "AF455"
    assert "(ValueError: 7 is unexpected)" in str(raised.value)


REASONS = {
    "the last error of a traceback": (
        "Traceback\nKeyError: 'a'\n\nTypeError: b\n at java",
        "TypeError: b",
    ),
    "a message without one": ("Connection refused\nat java", "Connection refused"),
    "no message": ("", "RuntimeError"),
}


@pytest.mark.parametrize(("message", "reason"), REASONS.values(), ids=REASONS.keys())
def test_the_reason_of_an_error(message: str, reason: str) -> None:
    assert reason_of(RuntimeError(message)) == reason


MASTERS = {
    "local": True,
    "local[2]": True,
    "local-cluster[2,1,1024]": False,
    "spark://host:7077": False,
}


@pytest.mark.parametrize(("master", "wanted"), MASTERS.items(), ids=MASTERS.keys())
def test_workers_of_other_machines_get_a_copy_of_a_file(master: str, wanted: bool) -> None:
    session: Any = StandInSession(master)
    file = Path(os.sep) / "here" / "readings.sqlite"
    assert is_local(master) is wanted
    assert SparkRunner(session).share(file) == (file if wanted else Path("readings.sqlite"))
    assert session.added == ([] if wanted else [file])
