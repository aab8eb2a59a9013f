"""Selects where work runs: in processes of this machine, or on Spark."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from affidavit.engine.local import LocalRunner, Runner

ENGINES: Final = ("local", "spark")


@contextmanager
def runner_on(engine: str, master: str, jobs: int) -> Iterator[Runner]:
    """Yield what runs work on an engine; `jobs` is for this machine, `master` for Spark."""
    if engine != "spark":
        yield LocalRunner(jobs)
        return
    from affidavit.engine.spark import spark_session
    from affidavit.engine.spark_runner import SparkRunner

    with spark_session(master) as spark:
        yield SparkRunner(spark)
