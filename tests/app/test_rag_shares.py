"""A large gold set is evaluated shard by shard, and the report has the same bytes."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.cli.test_gate_rag_command import answer, good, item, lines, many

from affidavit.app import gate_inputs, gate_rag_inputs, gate_rag_shards
from affidavit.app.gate_rag import RagPlan, gate_rag
from affidavit.app.gate_rag_shards import ShardPiece, shard_rows
from affidavit.base.errors import AffidavitError
from affidavit.gates.rag_rows import GOLD_READER
from affidavit.reports.gate_json import gate_report_chunks


def plan(folder: Path, gold: bytes, *traces: bytes, **changes: Any) -> RagPlan:
    (folder / "gold.jsonl").write_bytes(gold)
    for number, raw in enumerate(traces):
        (folder / f"trace-{number}.jsonl").write_bytes(raw)
    return RagPlan(
        gold=(str(folder / "gold.jsonl"),), trace=(str(folder / "trace-*.jsonl"),), **changes
    )


def said(asked: RagPlan, *, items: bool = True) -> bytes:
    try:
        return b"".join(gate_report_chunks(gate_rag(asked, items=items)))
    except AffidavitError as error:
        return str(error).encode()


GOLD, TRACES = (lines(rows) for rows in many(150, 8))
HALF = TRACES.find(b"\n", len(TRACES) // 2) + 1
BAD = TRACES + b'{"qid": 7}\n\n{\n' + TRACES
CASES: dict[str, tuple[tuple[bytes, ...], dict[str, Any]]] = {
    "every kind of row": ((GOLD, TRACES), {}),
    "several files": ((GOLD, TRACES[:HALF], b"\n" + TRACES[HALF:]), {}),
    "several processes": ((GOLD, TRACES), {"jobs": 2}),
    "all is well": (tuple(lines(rows) for rows in good()), {}),
    "bad lines, skipped": ((GOLD, BAD), {"skip_bad": True}),
    "bad lines, refused": ((GOLD, BAD), {}),
    "bad gold": ((GOLD + b"{}\n", TRACES), {}),
    "gold items twice": ((lines([item("b"), item("a"), item("a"), item("b")]), TRACES), {}),
    "a number is its text": ((lines([item("7")]), lines([answer("7") | {"qid": 7}])), {}),
    "no traces": ((GOLD, b""), {}),
    "strays alone": ((lines([item("a")]), lines([answer("s"), answer("t"), answer("s")])), {}),
    "another gold set": ((GOLD, TRACES), {"expect_gold_digest": "sha256:" + "0" * 64}),
}


@pytest.mark.parametrize("items", [True, False], ids=["names of items", "no names of items"])
@pytest.mark.parametrize(("files", "changes"), CASES.values(), ids=CASES.keys())
def test_the_same_bytes(
    tmp_path: Path,
    files: tuple[bytes, ...],
    changes: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    *,
    items: bool,
) -> None:
    asked = plan(tmp_path, *files, **changes)
    whole = said(replace(asked, jobs=1), items=items)
    monkeypatch.setattr(gate_rag_inputs, "LARGE_GOLD_BYTES", 0)
    monkeypatch.setattr(gate_rag_inputs, "SHARD_BYTES", 5000)
    assert said(asked, items=items) == whole


def test_a_file_that_changes_during_the_run_stops_it(tmp_path: Path) -> None:
    piece = ShardPiece(tmp_path / "0.jsonl", tmp_path / "0.places")
    piece.lines.write_bytes(b"{\n")
    piece.places.write_bytes(bytes(8))
    with pytest.raises(AffidavitError, match="AF020"):
        list(shard_rows([piece], GOLD_READER.from_chunk))


@pytest.mark.parametrize("jobs", [1, 2, 3])
@pytest.mark.parametrize("name", ["every kind of row", "several files", "bad lines, skipped"])
def test_parts_are_distributed_separately(
    tmp_path: Path, name: str, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With small buffers and several parts per file, the bytes are the same."""
    files, changes = CASES[name]
    asked = plan(tmp_path, *files, **changes)
    whole = said(asked)
    monkeypatch.setattr(gate_rag_inputs, "LARGE_GOLD_BYTES", 0)
    monkeypatch.setattr(gate_rag_inputs, "SHARD_BYTES", 5000)
    monkeypatch.setattr(gate_rag_inputs, "SMALLEST_PART_BYTES", 3000)
    monkeypatch.setattr(gate_inputs, "BLOCK_BYTES", 700)
    monkeypatch.setattr(gate_rag_shards, "BUFFER_BYTES", 2000)
    assert said(replace(asked, jobs=jobs)) == whole
