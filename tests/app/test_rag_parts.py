"""Parts of a trace file: every byte once, split at line starts; imported files too."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affidavit.app import gate_rag_inputs
from affidavit.app.gate_inputs import open_input
from affidavit.app.gate_rag import RagPlan, gate_rag
from affidavit.app.gate_rag_inputs import parts_of
from affidavit.base.errors import AffidavitError

LINES = st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"")), max_size=20)


@given(lines=LINES, ends=st.booleans(), jobs=st.integers(1, 4))
def test_parts_are_the_file_cut_at_lines(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], ends: bool, jobs: int
) -> None:
    raw = b"\n".join(lines) + b"\n" * ends
    file = tmp_path_factory.mktemp("parts") / "trace.jsonl"
    file.write_bytes(raw)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gate_rag_inputs, "SMALLEST_PART_BYTES", 5)
        parts = parts_of(str(file), "t", jobs)
    assert [part.digests for part in parts] == [True, *[False] * (len(parts) - 1)]
    scoring = [part for part in parts if part.scores]
    assert b"".join(raw[part.start : part.end] for part in scoring) == raw
    for part in scoring:
        assert part.start == 0 or raw[part.start - 1 : part.start] == b"\n"


def test_a_line_longer_than_a_part_is_not_cut(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    file.write_bytes(b"x" * (3 << 20) + b"\n" + b"y\n" * (3 << 20))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gate_rag_inputs, "SMALLEST_PART_BYTES", 1 << 20)
        starts = [part.start for part in parts_of(str(file), "t", 2) if part.scores]
    assert starts[:2] == [0, (3 << 20) + 1]


MB = 1 << 20
COUNTS = {
    "one process reads the whole file": (1, 400 * MB, 0, 1),
    "a small file is not worth it": (2, 7 * MB, 0, 1),
    "no part is smaller than is worth it": (2, 8 * MB, 0, 4),
    "parts get smaller, so that the last one is short": (2, 400 * MB, 10_000, 17),
    "fewer if each has to tell of many gold items": (2, 400 * MB, 400_000, 6),
    "but enough for all processes": (2, 40 * MB, 10_000_000, 4),
}


@pytest.mark.parametrize(("jobs", "size", "gold", "count"), COUNTS.values(), ids=COUNTS.keys())
def test_the_number_of_parts(jobs: int, size: int, gold: int, count: int, tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    with file.open("wb") as stream:
        for part in range(1, 400):  # A file of holes, with a line every so often.
            stream.seek(size * part // 400)
            stream.write(b"\n")
        stream.truncate(size)
    parts = parts_of(str(file), "t", jobs, gold)
    assert sum(part.scores for part in parts) == count


def test_large_parts_come_first(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    file.write_bytes(b"0123456\n" * 1000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gate_rag_inputs, "SMALLEST_PART_BYTES", 500)
        sizes = [(part.end or 0) - part.start for part in parts_of(str(file), "t", 2)[1:]]
    assert sizes[:4] == [2000, 1504, 1128, 840]
    assert all(size <= 1008 for size in sizes[4:])
    assert sum(sizes) == 8000


def test_a_closed_standard_input_is_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(AffidavitError, match="AF010: standard input"), open_input("-"):
        pass


ROWS = [
    {"user_input": "How many days?", "response": "15 days of leave", "reference": "15 days"},
    {"user_input": "Who approves?", "response": "Nobody", "reference": "the manager"},
    {"user_input": "How many days?", "response": "None at all", "reference": "15 days"},
]


def imported(folder: Path, rows: list[object], **changes: Any) -> dict[str, Any]:
    file = folder / "ragas.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return gate_rag(RagPlan(gold=(), trace=(str(file),), **changes)).to_builtins()


def test_every_row_of_a_repeated_question_counts(tmp_path: Path) -> None:
    report = imported(tmp_path, [*ROWS])
    assert report["counts"] == {
        **{"gold": 3, "questions": 2, "wrong": 2, "traces": 3, "duplicates": 0, "shipped": 3},
        **{"refused": 0, "no_answer": 0, "missing": 0, "answerable": 3, "unanswerable": 0},
    }
    offenders = report["offenders"]
    assert isinstance(offenders, list)
    assert sorted(each["claim"] for each in offenders) == ["Nobody", "None at all"]
    places = report["inputs"]["trace"]["places"].values()
    assert sorted(place["line"] for place in places) == [2, 3]


def test_a_question_with_two_reference_answers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AffidavitError, match=r"AF408: .*ragas\.jsonl, line 4, field qid"):
        imported(tmp_path, [*ROWS, {**ROWS[0], "reference": "16 days"}])


def test_rows_that_cannot_be_imported(tmp_path: Path) -> None:
    rows = [*ROWS, {**ROWS[0], "response": 7}, 5]
    with pytest.raises(AffidavitError, match=r"ragas\.jsonl"):
        imported(tmp_path, rows)
    report = imported(tmp_path, rows, skip_bad=True)
    assert [given["skipped"] for given in report["inputs"].values()] == [0, 1]


def test_a_gold_item_without_a_qid_is_reported_with_its_line(tmp_path: Path) -> None:
    gold, trace = tmp_path / "gold.jsonl", tmp_path / "trace.jsonl"
    gold.write_text('{"qid": "a", "answerable": true}\n{"qid": "", "answerable": true}\n')
    trace.write_text('{"qid": "a", "answer_json": null}\n')
    with pytest.raises(AffidavitError, match=r"gold.jsonl, line 2, field qid"):
        gate_rag(RagPlan(gold=(str(gold),), trace=(str(trace),)))
    report = gate_rag(RagPlan(gold=(str(gold),), trace=(str(trace),), skip_bad=True))
    assert [given.skipped for given in report.inputs.values()] == [1, 0]
