"""Spark: a session, and the rows of files with their line numbers.

The number of a row is its line, counted over all files of an input. Spark does not provide it, so
the lines of every block are counted first. Origin of the columns: the
hidden `_metadata` of Spark's file sources, and `monotonically_increasing_id`, which rises by one
from row to row of a partition; a block is read by one partition.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.faults.input import FILE_MISSING

if TYPE_CHECKING:
    from pyspark.rdd import RDD
    from pyspark.sql import DataFrame, SparkSession

Item = TypeVar("Item")
_PARQUET: Final = ".parquet"
_QUIET_SETTINGS: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.execution.pythonUDF.arrow.enabled": "false",
}


@dataclass(frozen=True, slots=True)
class SparkRow:
    """A row of an input: its number, its location, and its bytes, or its value in Parquet."""

    number: int
    file: str
    line: int
    content: bytes | dict[str, Any]


@dataclass(frozen=True, slots=True)
class _FileBlock:
    """The location of a block: the serial of its first row, and the lines before it."""

    file: str
    first_serial: int
    before: int
    before_in_file: int


@dataclass(frozen=True, slots=True)
class SparkInput:
    """The rows of an input, and the digests of its files."""

    lines: "RDD[SparkRow]"
    digests: tuple[str, ...]


@contextmanager
def spark_session(master: str) -> "Iterator[SparkSession]":
    """Yield a Spark session; local workers use the Python of this process."""
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    if master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        # A local session does not listen on the network.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(master).appName("affidavit")
    for name, value in _QUIET_SETTINGS.items():
        builder = builder.config(name, value)
    try:
        spark = builder.getOrCreate()
    except (PySparkException, OSError, RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise AffidavitError(faults.SPARK_START, reason=reason) from None
    spark.sparkContext.setLogLevel("OFF")
    try:
        yield spark
    finally:
        spark.stop()


def run_on_spark(
    master: str, work: Callable[[Item], bytes], items: Sequence[Item]
) -> Iterator[bytes]:
    """Yield the result of each item, each a task of its own, in the order of the items."""
    if items:
        with spark_session(master) as spark:
            yield from spark.sparkContext.parallelize(items, len(items)).map(work).collect()


def read_input(spark: "SparkSession", names: tuple[str, ...]) -> SparkInput:
    """Return the rows of files that Spark reads, each with its number."""
    frames: list[DataFrame] = []
    digests: list[str] = []
    for index, name in enumerate(names):
        digests += _digests_of(spark, name)
        frames.append(_rows_of(spark, name, index))
    blocks = _blocks_of(frames, names)
    known = spark.sparkContext.broadcast(blocks)
    lines = spark.sparkContext.union(
        [frame.rdd.map(lambda row: _row_from(row, known.value)) for frame in frames]
    )
    return SparkInput(lines, tuple(digests))


def _rows_of(spark: "SparkSession", name: str, index: int) -> "DataFrame":
    """Return the rows of a file with their locations, as raw bytes, because Spark repairs text."""
    from pyspark.sql import functions

    if name.rstrip("/").endswith(_PARQUET):
        frame = spark.read.parquet(name)
        content = functions.struct(*(functions.col(f"`{column}`") for column in frame.columns))
    else:
        frame = spark.read.format("text").option("lineSep", "\n").load(name)
        content = functions.col("value").cast("binary")
    return frame.select(
        functions.lit(index).alias("given"),
        functions.col("_metadata.file_path").alias("file"),
        functions.col("_metadata.file_block_start").alias("block"),
        functions.monotonically_increasing_id().alias("serial"),
        content.alias("content"),
    )


def _blocks_of(
    frames: "list[DataFrame]", names: tuple[str, ...]
) -> dict[tuple[int, str, int], _FileBlock]:
    """Return the locations of the blocks of all files, in the order of the files."""
    from pyspark.sql import functions

    blocks: dict[tuple[int, str, int], _FileBlock] = {}
    before = 0
    for index, frame in enumerate(frames):
        counted = frame.groupBy("file", "block").agg(
            functions.count("*").alias("lines"), functions.min("serial").alias("first")
        )
        rows = sorted(counted.collect(), key=lambda row: (row["file"], row["block"]))
        is_one = len({row["file"] for row in rows}) <= 1
        in_file, last = 0, None
        for row in rows:
            in_file = in_file if row["file"] == last else 0
            last = row["file"]
            shown = names[index] if is_one else last
            blocks[index, last, row["block"]] = _FileBlock(shown, row["first"], before, in_file)
            in_file += row["lines"]
            before += row["lines"]
    return blocks


def _row_from(row: Any, blocks: dict[tuple[int, str, int], _FileBlock]) -> SparkRow:
    block = blocks[row["given"], row["file"], row["block"]]
    own = row["serial"] - block.first_serial + 1
    content = row["content"]
    return SparkRow(
        block.before + own,
        block.file,
        block.before_in_file + own,
        bytes(content)
        if isinstance(content, bytes | bytearray)
        else content.asDict(recursive=True),
    )


def _digests_of(spark: "SparkSession", name: str) -> Iterator[str]:
    """Yield the digests of the files of a path, read through Hadoop's file systems."""
    machine: Any = spark.sparkContext._jvm
    path = machine.org.apache.hadoop.fs.Path(name)
    files = path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
    found = files.globStatus(path) or ()
    if not len(found):
        raise AffidavitError(FILE_MISSING, Where(name))
    inside = [each for status in found for each in _files_in(files, status)]
    for file in sorted(inside, key=str):
        stream = files.open(file)
        try:
            yield f"sha256:{machine.org.apache.commons.codec.digest.DigestUtils.sha256Hex(stream)}"
        finally:
            stream.close()


def _files_in(files: Any, status: Any) -> Iterator[Any]:
    if not status.isDirectory():
        yield status.getPath()
        return
    for each in files.listStatus(status.getPath()):
        # As Spark does: such names are not data.
        if not each.getPath().getName().startswith(("_", ".")):
            yield from _files_in(files, each)
