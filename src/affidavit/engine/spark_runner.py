"""Run work on Spark, with results in the order of the items, as `run_in_order` does here.

The items travel in Arrow batches. They are sent in waves, so that neither the items nor the results
of a run have to fit in memory; the next wave starts before the last one has ended, so no core waits
for the slowest item of a wave. A worker process keeps what it has loaded, so it loads a judge once.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import gates as faults
from affidavit.engine.local import in_order
from affidavit.engine.spark import is_local, reason_of, spark_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Item = TypeVar("Item")
Result = TypeVar("Result")

_COLUMN: Final = "content"
_WAVES_AT_ONCE: Final = 2
_ITEMS_PER_CORE: Final = 8
_WAVE_BYTES: Final = 64 << 20
"""A wave ends at either limit. It is sent inside tasks, none of which may reach 128 MB."""


@dataclass(frozen=True, slots=True)
class SparkRunner:
    """Runs work in the Python workers of a Spark session."""

    spark: "SparkSession"

    def share(self, file: Path) -> Path:
        """Return where the workers find a file: on other machines, a copy in their own folder."""
        if is_local(self.spark.sparkContext.master):
            return file
        self.spark.sparkContext.addFile(str(file))
        return Path(file.name)

    def __call__(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield the result of each item, in order. Exceptions of ours are raised here.

        `work` and the items must be picklable.
        """
        count = self.spark.sparkContext.defaultParallelism * _ITEMS_PER_CORE
        with ThreadPoolExecutor(_WAVES_AT_ONCE) as pool:
            run = partial(_results_of, self.spark, _BatchWork(work))
            for results in in_order(pool, run, _waves(items, count), 1):
                for content in results:
                    yield _result_in(content)


@dataclass(frozen=True, slots=True)
class _BatchWork:
    """Work on the items of Arrow batches, in a worker."""

    work: Callable[[Any], Any]

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow

        for batch in batches:
            for item in batch.column(_COLUMN):
                done = pyarrow.array([self._result_of(item.as_py())], pyarrow.binary())
                yield pyarrow.RecordBatch.from_arrays([done], [_COLUMN])

    def _result_of(self, item: bytes) -> bytes:
        try:
            return pickle.dumps(self.work(pickle.loads(item)))  # noqa: S301 - we wrote it
        except AffidavitError as error:
            return pickle.dumps(error)


def _result_in(content: bytes) -> Any:
    result = pickle.loads(content)  # noqa: S301 - our worker wrote it
    if isinstance(result, AffidavitError):
        raise result
    return result


def _waves(items: Iterable[object], count: int) -> Iterator[list[bytes]]:
    wave: list[bytes] = []
    size = 0
    for item in items:
        wave.append(pickle.dumps(item))
        size += len(wave[-1])
        if len(wave) >= count or size >= _WAVE_BYTES:
            yield wave
            wave, size = [], 0
    if wave:
        yield wave


def _results_of(spark: "SparkSession", work: _BatchWork, wave: list[bytes]) -> list[bytes]:
    import pyarrow

    table = pyarrow.table({_COLUMN: pyarrow.array(wave, pyarrow.binary())})
    try:
        done = spark.createDataFrame(table).mapInArrow(work, f"{_COLUMN} binary").toArrow()
    except spark_errors() as error:
        raise AffidavitError(faults.SPARK_WORK, reason=reason_of(error)) from None
    results: list[bytes] = done.column(_COLUMN).to_pylist()
    return results
