"""Compressed files, Arrow and saved data sets have the rows of the plain file, read once."""

import bz2
import gzip
import lzma
import shutil
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pytest
from pyarrow import ipc
from tests.importers.imported import json_bytes, lines, refusal, rows_from

from affidavit.base.errors import AffidavitError
from affidavit.importers.reader import detect, read_rows
from affidavit.importers.tool_format import PassageIds, ToolName

FILES = Path(__file__).parent / "files"
ROWS: list[dict[str, object]] = [
    {"user_input": f"q{number}", "response": "x", "contexts": ["c"]} for number in range(3)
]


def zstandard(data: bytes) -> bytes:
    packed: bytes = pyarrow.compress(data, codec="zstd", asbytes=True)
    return packed


PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "Zstandard": zstandard,
}


def arrow(rows: list[dict[str, object]], *, is_stream: bool, batch: int = 1000) -> bytes:
    table = pyarrow.Table.from_pylist(rows)
    sink = pyarrow.BufferOutputStream()
    with (ipc.new_stream if is_stream else ipc.new_file)(sink, table.schema) as writer:
        writer.write_table(table, batch)
    written: bytes = sink.getvalue().to_pybytes()
    return written


@pytest.mark.parametrize("pack", PACK.values(), ids=PACK.keys())
@pytest.mark.parametrize(
    "name", ["ragas.csv", "ragas.jsonl", "ragas_result.json", "gen_ai.jsonl", "promptfoo.json"]
)
def test_a_compressed_file_has_the_same_rows(
    name: str, pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    packed = pack((FILES / name).read_bytes())
    assert rows_from(tmp_path, packed) == list(read_rows(FILES / name))
    assert detect(tmp_path / "file") is detect(FILES / name)


def test_our_own_rows_may_be_compressed(tmp_path: Path) -> None:
    data = lines({"qid": "a", "answerable": True}, {"qid": "b", "answerable": False})
    rows = rows_from(tmp_path, gzip.compress(data))
    assert [row.gold for row in rows] == [
        {"qid": "a", "answerable": True},
        {"qid": "b", "answerable": False},
    ]
    assert detect(tmp_path / "file") is ToolName.NATIVE_ROWS


@pytest.mark.parametrize("is_stream", [False, True], ids=["file", "stream"])
def test_arrow_has_the_same_rows(is_stream: bool, tmp_path: Path) -> None:
    wanted = rows_from(tmp_path, json_bytes(ROWS))
    assert rows_from(tmp_path, arrow(ROWS, is_stream=is_stream)) == wanted
    assert rows_from(tmp_path, gzip.compress(arrow(ROWS, is_stream=True))) == wanted
    refused = refusal(tmp_path, gzip.compress(arrow(ROWS, is_stream=False)))
    assert "Arrow compressed with gzip" in refused.message


def test_without_pyarrow_zstandard_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = zstandard(json_bytes(ROWS))
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    assert "affidavit[parquet]" in refusal(tmp_path, packed).next_step


def test_a_folder_has_the_rows_of_its_files_in_their_order(tmp_path: Path) -> None:
    rows = list(read_rows(FILES / "huggingface"))
    assert [row.position for row in rows] == [1, 2, 3, 4]
    wanted = list(read_rows(FILES / "huggingface.parquet"))
    assert [row.trace for row in rows] == [row.trace for row in wanted]
    shutil.copytree(FILES / "huggingface", tmp_path / "all" / "train")
    (tmp_path / "all" / "dataset_dict.json").write_bytes(b'{"splits": ["train"]}')
    assert [row.trace for row in read_rows(tmp_path / "all")] == [row.trace for row in wanted]


def test_folders_that_cannot_be_read(tmp_path: Path) -> None:
    dataset, state = tmp_path / "dataset_dict.json", tmp_path / "state.json"
    for path, data, code in (
        (dataset, b'{"splits": ["train", "test"]}', "AF295"),
        (dataset, b'{"splits": 1}', "AF423"),
        (dataset, b'{"splits": ["train"]}', "AF296"),
        (state, b'{"_data_files": [{"filename": "../none.arrow"}]}', "AF010"),
    ):
        path.write_bytes(data)
        with pytest.raises(AffidavitError) as caught:
            list(read_rows(tmp_path))
        assert caught.value.fault.code == code
        assert str(tmp_path) in str(caught.value.where.file)
        path.unlink()


@pytest.mark.parametrize("kind", ["arrow", "jsonl.gz", "csv.xz"])
def test_memory_does_not_grow_with_the_rows(kind: str, tmp_path: Path) -> None:
    def peak(count: int) -> int:
        rows: list[dict[str, object]] = [
            {"user_input": f"q{n}", "response": "x"} for n in range(count)
        ]
        table = "user_input,response\n" + "".join(f"q{n},x\n" for n in range(count))
        path = tmp_path / "file"
        path.write_bytes(
            arrow(rows, is_stream=True, batch=count)
            if kind == "arrow"
            else gzip.compress(lines(*rows))
            if kind == "jsonl.gz"
            else lzma.compress(table.encode())
        )
        tracemalloc.start()
        assert sum(1 for _ in read_rows(path)) == count
        reached = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return reached

    peak(10)  # What is imported on the way is not the rows' memory.
    assert peak(9000) < 2 * peak(3000)


def test_few_texts_are_kept_to_find_their_ids(tmp_path: Path) -> None:
    ids = PassageIds()
    long = "x" * (PassageIds.LONGEST + 1)
    rows = rows_from(tmp_path, lines(*({**row, "contexts": ["c", long]} for row in ROWS)))
    assert len({str(row.trace and row.trace["retrieved_ids"]) for row in rows}) == 1
    kept = ids.of(rows[0].chunks)
    assert kept == (rows[0].trace or {})["retrieved_ids"]
    assert list(ids._kept) == ["c"]


def test_times_in_nanoseconds_are_no_error(tmp_path: Path) -> None:
    row = b'[{"user_input": "q", "start_unix_nano": 1794991271027860531, "m": NaN}]'
    assert rows_from(tmp_path, row)[0].scores["m"] is None
    assert refusal(tmp_path, row.replace(b"_unix_nano", b"")).fault.code == "AF025"
