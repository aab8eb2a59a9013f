"""JSON lines in blocks: every line once, constant memory, and a digest."""

import hashlib
import io
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from affidavit.app import gate_inputs
from affidavit.app.gate_inputs import BadLines, InputLines, blocks_of, files_named
from affidavit.base.errors import AffidavitError
from affidavit.gates.latency import LATENCY_READER

TEXTS = st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b"")), max_size=40)


@given(lines=TEXTS, ends=st.booleans(), size=st.integers(1, 50))
def test_blocks_are_the_file_cut_after_whole_lines(
    lines: list[bytes], ends: bool, size: int
) -> None:
    raw = b"\n".join(lines) + b"\n" * ends
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gate_inputs, "BLOCK_BYTES", size)
        found = list(blocks_of(io.BytesIO(raw), "f"))
    assert b"".join(block.raw for block in found) == raw
    assert all(block.raw.endswith(b"\n") for block in found[:-1])
    for block in found:
        assert raw[: block.offset].count(b"\n") + 1 == block.first_line
        assert raw[block.offset :].startswith(block.raw)


@given(
    lines=st.lists(st.integers(0, 30), max_size=12),
    ends=st.booleans(),
    size=st.integers(1, 40),
)
def test_a_long_line_becomes_a_blank_one(lines: list[int], ends: bool, size: int) -> None:
    """The lines after it keep their numbers, and each is reported once."""
    longest = 9
    wanted = [b"x" * length for length in lines]
    raw = b"\n".join(wanted) + b"\n" * ends
    bad = BadLines(skip=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gate_inputs, "BLOCK_BYTES", size)
        patch.setattr(gate_inputs, "MAX_LINE_BYTES", longest)
        found = list(blocks_of(io.BytesIO(raw), "f", bad))
    told = [error.where.line for error in bad.first]
    assert told == [number for number, length in enumerate(lines, 1) if length > longest]
    kept = b"".join(block.raw for block in found)
    expected = b"\n".join(b"" if len(line) > longest else line for line in wanted) + b"\n" * ends
    assert kept.rstrip(b"\n") == expected.rstrip(b"\n")
    for block in found:
        assert raw[: block.offset].count(b"\n") + 1 == block.first_line


def test_a_long_line_stops_without_skip_bad(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_inputs, "MAX_LINE_BYTES", 3)
    with pytest.raises(AffidavitError) as caught:
        list(blocks_of(io.BytesIO(b"ab\nabcd"), "f"))
    assert (caught.value.fault.code, caught.value.where.line) == ("AF030", 2)


def test_rows_digest_and_counts(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(b'{"e2e_ms": 5}\n\n{"e2e_ms": "x"}\n{"e2e_ms": 7}')
    bad = BadLines(skip=True)
    lines = InputLines("latency", [str(file)], bad)
    assert [line for line, _ in lines.rows(LATENCY_READER.from_chunk)] == [1, 4]
    assert msgspec.json.decode(msgspec.json.encode(lines.as_input())) == {
        "path": str(file),
        "digest": f"sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}",
        "rows": 2,
        "skipped": 1,
        "skipped_lines": [
            f"{file}, line 3, field e2e_ms: this is not a latency measurement: expected"
            " `float | null`, got `str` (AF411)"
        ],
    }


def test_several_files_are_one_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("b.jsonl", "a.jsonl", "c[1].jsonl"):
        Path(name).write_bytes(b'{"e2e_ms": 5}\n')
    assert files_named(["[ab].jsonl", "c[1].jsonl", "a.jsonl", "-"]) == (
        *("a.jsonl", "b.jsonl", "c[1].jsonl", "-"),
    )
    lines = InputLines("latency", ["*.jsonl"])
    assert [block.offset for block in lines.blocks()] == [0, 14, 28]
    digest = f"sha256:{hashlib.sha256(Path('a.jsonl').read_bytes()).hexdigest()}\n"
    whole = hashlib.sha256(3 * digest.encode()).hexdigest()
    assert lines.as_input().digest == f"sha256:{whole}"
    with pytest.raises(AffidavitError, match="AF010"):
        files_named(["*.csv"])
    assert list(InputLines("latency", []).blocks()) == []
    assert InputLines("latency", []).as_input().digest is None


def test_two_stars_within_a_name_are_not_a_pattern() -> None:
    with pytest.raises(AffidavitError, match="no file can have this name"):
        files_named(["a**b"])


def test_a_folder_that_disappears_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object) -> list[Path]:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(Path, "glob", gone)
    with pytest.raises(AffidavitError, match="AF011"):
        files_named(["*.jsonl"])
