"""The few calls of Spark that the engine makes, over lists cut into two parts.

Whether Spark itself does the same is seen by interop/spark.sh, which has a real one.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from pathlib import Path
from types import SimpleNamespace
from typing import Any


class StandIn:
    """A collection in two parts."""

    def __init__(self, rows: Iterable[Any]) -> None:
        self.rows = list(rows)

    def _parts(self) -> Iterator[list[Any]]:
        half = len(self.rows) // 2
        yield self.rows[half:]
        yield self.rows[:half]

    def flatMap(self, each: Callable[[Any], Iterable[Any]]) -> "StandIn":
        return StandIn(made for row in self.rows for made in each(row))

    def filter(self, holds: Callable[[Any], bool]) -> "StandIn":
        return StandIn(row for row in self.rows if holds(row))

    def mapPartitions(self, each: Callable[[Iterable[Any]], Iterable[Any]]) -> "StandIn":
        return StandIn(made for part in self._parts() for made in each(iter(part)))

    def reduceByKey(self, merge: Callable[[Any, Any], Any]) -> "StandIn":
        found: dict[Any, Any] = {}
        for key, value in reversed(self.rows):
            found[key] = merge(found[key], value) if key in found else value
        return StandIn(found.items())

    def fullOuterJoin(self, other: "StandIn") -> "StandIn":
        mine, theirs = dict(self.rows), dict(other.rows)
        return StandIn((key, (mine.get(key), theirs.get(key))) for key in {**mine, **theirs})

    def treeReduce(self, merge: Callable[[Any, Any], Any]) -> Any:
        return reduce(merge, self.rows)

    def takeOrdered(self, count: int, key: Callable[[Any], Any]) -> list[Any]:
        return sorted(self.rows, key=key)[:count]

    def persist(self) -> "StandIn":
        return self

    def collect(self) -> list[Any]:
        return self.rows

    def count(self) -> int:
        return len(self.rows)


class StandInSession:
    """A session that runs Python functions over Arrow tables in this process."""

    def __init__(self, master: str = "local[2]") -> None:
        self.added: list[Path] = []
        self.waves: list[int] = []
        self.sparkContext = SimpleNamespace(
            master=master,
            defaultParallelism=2,
            addFile=lambda name: self.added.append(Path(name)),
        )

    def createDataFrame(self, table: Any) -> "StandInFrame":
        self.waves.append(table.num_rows)
        return StandInFrame(table)


class StandInFrame:
    """A table in two partitions, which workers get as Arrow batches."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def mapInArrow(self, work: Callable[[Iterable[Any]], Iterable[Any]], _: str) -> "StandInFrame":
        import pyarrow

        half = max(self._table.num_rows // 2, 1)
        made = []
        for start in range(0, self._table.num_rows, half):
            batches = self._table.slice(start, half).to_batches()
            # A worker has its own copy of the work.
            made += pickle.loads(pickle.dumps(work))(iter(batches))  # noqa: S301 - ours
        return StandInFrame(pyarrow.Table.from_batches(made))

    def toArrow(self) -> Any:
        return self._table
