"""Spark: a session, and the rows of files with their line numbers.

The number of a row is its line, counted over all files of an input. Spark does not provide it, so
the lines of every block are counted first. Origin of the columns: the
hidden `_metadata` of Spark's file sources, and `monotonically_increasing_id`, which rises by one
from row to row of a partition; a block is read by one partition.
"""

import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar
from zipfile import ZipFile

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.faults.input import FILE_MISSING
from affidavit.base.strict_json import decode

if TYPE_CHECKING:
    from pyspark.rdd import RDD
    from pyspark.sql import DataFrame, SparkSession

Item = TypeVar("Item")
_PARQUET: Final = ".parquet"
_HEAD_BYTES: Final = 1 << 16
_RAISED: Final = re.compile(r"[A-Za-z_.]+(Error|Exception)\b")
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
    from pyspark.sql import SparkSession

    if is_local(master):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        # A local session does not listen on the network.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(master).appName("affidavit")
    for name, value in _QUIET_SETTINGS.items():
        builder = builder.config(name, value)
    try:
        spark = builder.getOrCreate()
    except spark_errors() as error:
        raise AffidavitError(faults.SPARK_START, reason=reason_of(error)) from None
    spark.sparkContext.setLogLevel("OFF")
    # An executor fetches the packages when its first task starts, so they stay until the end.
    with tempfile.TemporaryDirectory(prefix="affidavit-") as beside:
        try:
            if not is_local(master):
                _ship_packages(spark, Path(beside))
            yield spark
        finally:
            spark.stop()


def is_local(master: str) -> bool:
    """Tell whether the workers of a master run in this installation."""
    return master == "local" or master.startswith("local[")


def spark_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that the calls of Spark raise."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return PySparkException, Py4JError, OSError, RuntimeError, ValueError


def reason_of(error: Exception) -> str:
    """Return the last line of a worker's traceback, or the start of the message."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    raised = [line for line in lines if _RAISED.match(line)]
    return " ".join((raised[-1:] or lines[:1] or [type(error).__name__])[0].split())[:200]


def _ship_packages(spark: "SparkSession", beside: Path) -> None:
    """Send this package and the weights of the judge, if installed, to every executor once.

    Workers then run the same code as this process. They import it from the folder of the session's
    files, which Spark puts before the installed packages.
    """
    folders = [Path(__file__).parent.parent]
    if weights := find_spec("affidavit_encoder"):
        folders += map(Path, weights.submodule_search_locations or ())
    for folder in folders:
        archive = beside / f"{folder.name}.zip"
        with ZipFile(archive, "w") as packed:
            for file in sorted(folder.rglob("*")):
                if file.is_file() and "__pycache__" not in file.parts:
                    packed.write(file, file.relative_to(folder))
        spark.sparkContext.addArchive(f"{archive}#{folder.name}")


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
    files, inside = _files_of(spark, name)
    for file in inside:
        stream = files.open(file)
        try:
            yield f"sha256:{machine.org.apache.commons.codec.digest.DigestUtils.sha256Hex(stream)}"
        finally:
            stream.close()


def members_of(spark: "SparkSession", name: str) -> frozenset[str]:
    """Return the member names of the first row of a path; none if it is not a JSON object."""
    if name.rstrip("/").endswith(_PARQUET):
        return frozenset(spark.read.parquet(name).columns)
    first_line = _head_of(spark, name).strip().partition(b"\n")[0]
    try:
        row = decode(first_line)
    except AffidavitError:
        return frozenset()
    return frozenset(row) if isinstance(row, dict) else frozenset()


def _head_of(spark: "SparkSession", name: str) -> bytes:
    files, inside = _files_of(spark, name)
    stream = files.open(inside[0])
    try:
        return bytes(stream.readNBytes(_HEAD_BYTES))
    finally:
        stream.close()


@contextmanager
def copied_files(spark: "SparkSession", names: Iterable[str]) -> Iterator[dict[str, str]]:
    """Yield the files of some paths, each with a copy on this machine."""
    with tempfile.TemporaryDirectory(prefix="affidavit-") as folder:
        copies: dict[str, str] = {}
        for name in names:
            files, inside = _files_of(spark, name)
            for file in inside:
                # The ending of a name tells what is in the file.
                copy = Path(folder) / str(len(copies)) / str(file.getName())
                files.copyToLocalFile(False, file, _path(spark, copy.as_uri()), True)
                copies[name if len(inside) == 1 else str(file.toString())] = str(copy)
        yield copies


def _path(spark: "SparkSession", name: str) -> Any:
    machine: Any = spark.sparkContext._jvm
    return machine.org.apache.hadoop.fs.Path(name)


def _files_of(spark: "SparkSession", name: str) -> tuple[Any, list[Any]]:
    """Return the file system of a path, and its files in the order of their names."""
    path = _path(spark, name)
    files = path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
    found = files.globStatus(path) or ()
    inside = [each for status in found for each in _files_in(files, status)]
    if not inside:
        raise AffidavitError(FILE_MISSING, Where(name))
    return files, sorted(inside, key=str)


def _files_in(files: Any, status: Any) -> Iterator[Any]:
    if not status.isDirectory():
        yield status.getPath()
        return
    for each in files.listStatus(status.getPath()):
        # As Spark does: such names are not data.
        if not each.getPath().getName().startswith(("_", ".")):
            yield from _files_in(files, each)
