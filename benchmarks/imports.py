"""What it costs to import rows with contexts, beside decoding the same file to Python values.

A row has a question, an answer with a mark, a reference, five contexts of 150 words and the one of
them that is relevant, and two scores: the columns of Ragas. The contexts are retrieved from a
corpus of 5,000 passages.
"""

import csv
import gzip
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

import pyarrow
from pyarrow import ipc, parquet

from affidavit.importers import read_rows
from benchmarks.figure import Figure, best_cpu_seconds
from benchmarks.gate_rows import chance, words

CORPUS = 5_000
BATCH = 1_000


def measure(quick: bool = False) -> list[Figure]:
    """Measure every container."""
    count = 2_000 if quick else 100_000
    with tempfile.TemporaryDirectory() as folder:
        files = _write(Path(folder), count)
        return [_figure(path, count, 5 if quick else 3) for path in files]


def _figure(path: Path, count: int, rounds: int) -> Figure:
    decode = DECODE[path.suffix]

    def read() -> None:
        assert sum(1 for _ in read_rows(path)) == count

    decoding, reading = best_cpu_seconds(rounds, lambda: decode(path), read)
    each = [seconds / count * 1e6 for seconds in (reading, decoding)]
    return Figure(
        name=f"import {count:,} rows with contexts, {''.join(path.suffixes)}",
        target="at most 4x the decoding alone",
        ratio=reading / decoding,
        better="lower",
        limit=4,
        detail="{:.1f} us a row, decoding {:.1f} us".format(*each),
    )


def _json_lines(path: Path) -> None:
    with path.open("rb") as lines:
        for line in lines:
            json.loads(line)


def _packed_lines(path: Path) -> None:
    with gzip.open(path) as lines:
        for line in lines:
            json.loads(line)


def _json(path: Path) -> None:
    json.loads(path.read_bytes())


def _csv(path: Path) -> None:
    csv.field_size_limit(1 << 30)
    with path.open(encoding="utf-8", newline="") as table:
        for _ in csv.reader(table):
            pass


def _parquet(path: Path) -> None:
    for batch in parquet.ParquetFile(path).iter_batches(BATCH):
        batch.to_pylist()


def _arrow(path: Path) -> None:
    with ipc.open_file(path) as opened:
        for number in range(opened.num_record_batches):
            opened.get_batch(number).to_pylist()


DECODE: dict[str, Callable[[Path], None]] = {
    ".jsonl": _json_lines,
    ".gz": _packed_lines,
    ".json": _json,
    ".csv": _csv,
    ".parquet": _parquet,
    ".arrow": _arrow,
}


def rows(count: int) -> Iterator[dict[str, object]]:
    """Yield rows, always the same ones."""
    corpus = [words(150, "passage", number).capitalize() + "." for number in range(CORPUS)]
    for number in range(count):
        contexts = [corpus[chance("found", number, rank) % CORPUS] for rank in range(5)]
        yield {
            "user_input": f"{words(9, 'question', number)} in case {number}?",
            "retrieved_contexts": contexts,
            "reference_contexts": [contexts[number % 5]],
            "response": f"{words(20, 'answer', number)} [{number % 5 + 1}].",
            "reference": words(6, "reference", number) + ".",
            "faithfulness": chance("faithful", number) % 1000 / 1000,
            "answer_relevancy": chance("relevant", number) % 1000 / 1000,
        }


def _write(folder: Path, count: int) -> list[Path]:
    lines, packed, document, table, columns, arrow = (
        folder / f"rows{ending}"
        for ending in (".jsonl", ".jsonl.gz", ".json", ".csv", ".parquet", ".arrow")
    )
    with lines.open("w", encoding="utf-8") as plain, gzip.open(packed, "wt", 1) as small:
        for row in rows(count):
            line = json.dumps(row) + "\n"
            plain.write(line)
            small.write(line)
    with document.open("w", encoding="utf-8") as whole:
        for number, row in enumerate(rows(count)):
            whole.write(("," if number else "[") + json.dumps(row))
        whole.write("]")
    with table.open("w", encoding="utf-8", newline="") as cells:
        writer = csv.writer(cells)
        for number, row in enumerate(rows(count)):
            if not number:
                writer.writerow(row)
            writer.writerow(row.values())
    schema = pyarrow.Table.from_pylist(list(rows(1))).schema
    with (
        parquet.ParquetWriter(columns, schema) as by_column,
        ipc.new_file(arrow, schema) as batches,
    ):
        for some in _batches(rows(count)):
            batch = pyarrow.RecordBatch.from_pylist(some, schema)
            by_column.write_batch(batch)
            batches.write_batch(batch)
    return [lines, packed, document, table, columns, arrow]


def _batches(found: Iterable[dict[str, object]]) -> Iterator[list[dict[str, object]]]:
    left = iter(found)
    while some := list(islice(left, BATCH)):
        yield some
