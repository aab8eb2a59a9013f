"""Broken, foreign and hostile files: each gives one coded error with its position."""

import gzip
import lzma
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.importers.imported import (
    archive,
    export,
    json_bytes,
    lines,
    refusal,
    rows_from,
    span,
)

from affidavit.base.errors import AffidavitError
from affidavit.base.json_values import JsonLimits
from affidavit.importers import containers
from affidavit.importers import inspect_log as archives
from affidavit.importers.reader import TOOL_FORMATS, detect, read_rows
from affidavit.importers.tool_format import ToolName

HEADER = ("header.json", b"{}")
GOOD = {"user_input": "q", "response": "x"}
SAMPLE = json_bytes({"id": 1, "epoch": 1, "input": "q", "target": "t"})
REFUSED: dict[str, tuple[bytes, str]] = {
    "UTF-16": ("question,answer\na,b\n".encode("utf-16"), "AF422"),
    "Windows-1252": ("question,answer\na,Müller\n".encode("cp1252"), "AF422"),
    "Windows-1252 in the header": ("question,Größe\n".encode("cp1252"), "AF422"),
    "an image": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "AF428"),
    "compressed twice": (gzip.compress(gzip.compress(lines(GOOD))), "AF428"),
    "an archive that is compressed": (gzip.compress(archive(HEADER)), "AF428"),
    "a compressed file that was cut": (gzip.compress(lines(GOOD))[:-9], "AF423"),
    "a compressed file that is damaged": (b"\x1f\x8b\x08" + b"x" * 30, "AF423"),
    "bzip2 that is damaged": (b"BZh9" + b"x" * 30, "AF423"),
    "xz that was cut": (lzma.compress(lines(GOOD))[:-9], "AF423"),
    "Zstandard that is damaged": (b"\x28\xb5\x2f\xfd" + b"x" * 30, "AF423"),
    "an Arrow stream that was cut": (b"\xff\xff\xff\xff\x08\x02\0\0x", "AF423"),
    "a program": (b"\x7fELF\x02\x01\x01\0\0\0\0" + bytes(range(256)), "AF428"),
    "a PDF": (b"%PDF-1.7\n\xe2\xe3", "AF428"),
    "nothing but zeros": (b"\0" * 100, "AF428"),
    "a number": (b"3", "AF420"),
    "a list of numbers": (b"[1, 2]", "AF420"),
    "an object without fields": (b"{}", "AF420"),
    "unknown columns": (b"foo,bar\n1,2\n", "AF420"),
    "the same, without rows": (b"foo,bar\n", "AF420"),
    "spans of something else": (
        json_bytes(export(span("t", "a", attributes={"http.method": "GET"}))),
        "AF420",
    ),
    "broken JSON": (b'{"user_input": "q",}', "AF020"),
    "something behind it": (b'{"user_input": "q"} x', "AF023"),
    "two values of one key": (b'[{"user_input": "q", "user_input": "r"}]', "AF024"),
    "a number that no reader keeps": (b'[{"user_input": "q", "n": 9007199254740993}]', "AF025"),
    "the same beside a NaN": (b'[{"user_input": "NaN", "n": 1e999, "m": NaN}]', "AF025"),
    "deeper than anybody writes": (b"[" * 1_000_000, "AF026"),
    "broken UTF-8 in JSON": (b'[{"user_input": "\xff"}]', "AF022"),
    "a row with too few cells": (b"question,answer\na,b\nc\n", "AF421 3"),
    "a cell without an end": (b'question,answer\n"a,b\n', "AF421 2"),
    "a quote within a cell": (b'question,answer\n"a"b,c\n', "AF421 2"),
    "line ends of an old Macintosh": (b"question,answer\ra,b\r", "AF421 1"),
    "two columns of one name": (b"question,question\n1,2\n", "AF421 1 question"),
    "a list that was cut": (b"user_input,contexts\nq,\"['a', 'b\"\n", "AF421 2 contexts"),
    "a line that is broken": (lines(GOOD) + b"{\n" + lines(GOOD), "AF020 2"),
    "a line that is a number": (lines(GOOD, 3), "AF421 2"),
    "a line that is a list of numbers": (lines(GOOD, [3]), "AF421 2"),
    "a question that is an object": (
        lines(GOOD, {"user_input": {"a": 1}}),
        "AF421 2 user_input",
    ),
    "no question and no id": (lines(GOOD, {"response": "x"}), "AF421 2"),
    "a blank question": (json_bytes([GOOD, {"user_input": " "}]), "AF421 [1]"),
    "a flag that is none": (
        json_bytes([{**GOOD, "answerable": "perhaps"}]),
        "AF421 [0].answerable",
    ),
    "more ids than passages": (
        json_bytes([{**GOOD, "contexts": ["a"], "retrieved_context_ids": ["x", "y"]}]),
        "AF421 [0].retrieved_context_ids",
    ),
    "a passage that is nothing": (json_bytes([{**GOOD, "contexts": [{}]}]), "AF421 [0].contexts"),
    "a sentence of a passage that is null": (
        json_bytes([{**GOOD, "contexts": [["a"], ["b", None]]}]),
        "AF421 [0].contexts",
    ),
    "an object that is no passage": (
        json_bytes([{**GOOD, "contexts": {"title": "a", "page": 3}}]),
        "AF421 [0].contexts",
    ),
    "more texts than ids": (
        json_bytes([{**GOOD, "contexts": {"documents": ["a", "b"], "ids": ["1"]}}]),
        "AF421 [0].contexts",
    ),
    "an answer that is an object of something else": (
        json_bytes([{**GOOD, "response": {"tokens": 3}}]),
        "AF421 [0].response",
    ),
    "an answer that is a flag": (json_bytes([{**GOOD, "response": True}]), "AF421 [0].response"),
    "an answer that is a list": (json_bytes([{**GOOD, "response": []}]), "AF421 [0].response"),
    "metrics that are a text": (
        json_bytes([{"query": "q", "gt_answer": "x", "metrics": "good"}]),
        "AF421 [0].metrics",
    ),
    "metrics that are one number": (
        json_bytes([{"input": "q", "actualOutput": "x", "metricsData": 3}]),
        "AF421 [0].metricsData",
    ),
    "assertions that are null": (
        json_bytes([{"promptIdx": 0, "testIdx": 0, "testCase": {"assert": [None]}}]),
        "AF421 [0]['testCase.assert']",
    ),
    "own rows that are neither": (
        lines({"qid": "a", "answerable": True}, {"qid": "b"}),
        "AF421 2",
    ),
    "variables that are a list": (
        json_bytes({"results": {"results": [{"promptIdx": 0, "testIdx": 0, "vars": [1]}]}}),
        "AF421 [0].vars",
    ),
    "assertions that are an object": (
        json_bytes([{"promptIdx": 0, "testIdx": 0, "testCase": {"assert": {"a": 1}}}]),
        "AF421 [0]['testCase.assert']",
    ),
    "spans that are not about texts": (
        json_bytes(export(span("t", "a", attributes={"gen_ai.system": "x"}))),
        "AF421 [0]",
    ),
    "a passage of a span that has nothing": (
        json_bytes(
            export(
                span(
                    "t",
                    "a",
                    attributes={
                        "openinference.span.kind": "RETRIEVER",
                        "input.value": "q",
                        "retrieval.documents.0.document.score": "1",
                    },
                )
            )
        ),
        "AF421 [0]",
    ),
    "a spreadsheet": (archive(("xl/workbook.xml", b"x")), "AF428"),
    "an archive that was cut": (archive(HEADER, ("samples/a.json", SAMPLE))[:60], "AF423"),
    "a bomb": (archive(HEADER, ("samples/a.json", b" " * 20_000_000)), "AF423"),
    "a sample that is not JSON": (archive(HEADER, ("samples/a.json", b"{")), "AF020 1"),
    "a compression of long ago": (
        archive(HEADER, ("samples/a.json", SAMPLE), method=zipfile.ZIP_BZIP2),
        "AF423",
    ),
    "Parquet that was cut": (b"PAR1....PAR1", "AF423"),
    "the start of Parquet": (b"PAR1", "AF423"),
}


@pytest.mark.parametrize(("data", "wanted"), REFUSED.values(), ids=REFUSED.keys())
def test_a_bad_file_is_refused_with_its_place(data: bytes, wanted: str, tmp_path: Path) -> None:
    error = refusal(tmp_path, data)
    place = (error.fault.code, error.where.line, error.where.field)
    if error.fault.code in ("AF420", "AF421", "AF422", "AF423"):
        assert " ".join(str(part) for part in place if part is not None) == wanted
    assert error.fault.code == wanted.split()[0]
    assert str(tmp_path / "file") in str(error.where.file)


EMPTY = {
    "nothing at all": b"",
    "blank lines": b"\n \r\n",
    "only a mark": b"\xef\xbb\xbf",
    "many spaces": b" " * 100_000,
    "an empty list": b"[]",
    "a header": b"question,answer\n",
    "a run of promptfoo without tests": b'{"results": {"version": 3, "results": []}}',
    "an export without spans": b'{"resourceSpans": []}',
    "a log without samples": archive(HEADER),
}


@pytest.mark.parametrize("data", EMPTY.values(), ids=EMPTY.keys())
def test_a_file_without_rows_has_none(data: bytes, tmp_path: Path) -> None:
    assert rows_from(tmp_path, data) == []
    detect(tmp_path / "file")


def test_bad_rows_are_reported_and_the_rest_is_read(tmp_path: Path) -> None:
    bad: list[AffidavitError] = []
    data = b"\xef\xbb\xbf" + lines(GOOD) + b"{\n3\n" + lines({"response": "x"}, GOOD)
    rows = rows_from(tmp_path, data, on_bad=bad.append)
    assert [(row.position, row.line) for row in rows] == [(1, 1), (3, 5)]
    assert [(error.fault.code, error.where.line) for error in bad] == [
        ("AF020", 2),
        ("AF421", 3),
        ("AF421", 4),
    ]


def test_bad_rows_of_tables_and_archives_are_reported(tmp_path: Path) -> None:
    bad: list[AffidavitError] = []
    table = b"question,answer\na\na,b\n"
    assert len(rows_from(tmp_path, table, on_bad=bad.append)) == 1
    packed = archive(HEADER, ("samples/a.json", b"{"), ("samples/b.json", SAMPLE))
    assert len(rows_from(tmp_path, packed, on_bad=bad.append)) == 1
    assert [str(error.where.file).rpartition(":")[2][-14:] for error in bad][1] == "samples/a.json"


def test_blank_lines_are_ignored(tmp_path: Path) -> None:
    rows = rows_from(tmp_path, b"\n\n" + lines(GOOD) + b" \n" + lines(GOOD))
    assert [row.line for row in rows] == [3, 5]
    assert rows_from(tmp_path, b"\nquestion,answer\n") == []
    assert [row.line for row in rows_from(tmp_path, b"\nquestion;answer\na;b\n")] == [3]


def test_a_bad_first_line_does_not_hide_the_format(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"{]}\n" + lines(GOOD))
    assert detect(tmp_path / "file") is ToolName.RAGAS


def test_a_metric_that_failed_was_not_measured(tmp_path: Path) -> None:
    (row,) = rows_from(
        tmp_path, b'[{"user_input": "NaN?", "response": "x", "a": NaN, "b": -Infinity}]'
    )
    assert row.trace is not None
    assert row.trace["q"] == "NaN?"
    assert dict(row.scores) == {"a": None, "b": None}


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    for path, code in ((tmp_path / "none", "AF010"), (tmp_path, "AF296")):
        with pytest.raises(AffidavitError) as caught:
            detect(path)
        assert caught.value.fault.code == code


def test_limits_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containers, "DOCUMENT_LIMITS", JsonLimits(max_bytes=40))
    monkeypatch.setattr(containers, "JSON_LINE_LIMITS", JsonLimits(max_bytes=40))
    monkeypatch.setattr(containers, "MAX_LINE_BYTES", 40)
    long = "x" * 50
    assert refusal(tmp_path, json_bytes([{"user_input": long}])).fault.code == "AF013"
    assert refusal(tmp_path, lines(GOOD, {"user_input": long})).fault.code == "AF030"
    assert refusal(tmp_path, f"question,answer\n{long},b\n".encode()).fault.code == "AF030"
    split = f'question,answer\n"{long[:30]}\n{long[:30]}",b\n'
    assert refusal(tmp_path, split.encode()).fault.code == "AF421"


def test_a_sample_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "SAMPLE", JsonLimits(max_bytes=10))
    error = refusal(tmp_path, archive(HEADER, ("samples/a.json", SAMPLE)))
    assert "more than 10 bytes" in error.message


def changed(data: bytes, *changes: tuple[int, bytes]) -> bytes:
    made = bytearray(data)
    for at, what in changes:
        made[at : at + len(what)] = what
    return bytes(made)


def test_damaged_and_encrypted_archives_are_refused(tmp_path: Path) -> None:
    stored = archive(HEADER, ("samples/a.json", SAMPLE), method=zipfile.ZIP_STORED)
    central = stored.rindex(b"PK\x01\x02")
    at = stored.index(SAMPLE)
    lies = {
        "encrypted": changed(stored, (central + 8, b"\x01\x00")),
        "is damaged": changed(stored, (at, b"[")),
        "is truncated": changed(stored, (central + 42, b"\x01\x00\x00\x00")),
        "truncated": changed(stored, (central + 42, b"\xff\xff\x00\x00")),
        "a.json is truncated": changed(
            stored, (central + 20, b"\xff\x00\x00\x00"), (at - 26, b"\xff\x00")
        ),
        "method 99": changed(stored, (central + 10, b"\x63\x00")),
    }
    for said, data in lies.items():
        assert said in refusal(tmp_path, data).message
    packed = archive(HEADER, ("samples/a.json", SAMPLE * 100))
    begins = packed.index(b"samples/a.json") + len("samples/a.json")
    assert "is damaged" in refusal(tmp_path, changed(packed, (begins, b"\xff\xff"))).message


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_duplicate_members_of_an_archive_are_refused(tmp_path: Path) -> None:
    sample = ("samples/a.json", SAMPLE)
    assert "the same name" in refusal(tmp_path, archive(HEADER, sample, sample)).message


@pytest.mark.parametrize("data", [b"PAR1....", "inspect.eval"])
def test_without_pyarrow(
    data: bytes | str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    raw = data if isinstance(data, bytes) else (Path(__file__).parent / "files" / data).read_bytes()
    error = refusal(tmp_path, raw)
    assert error.fault.code == "AF003"
    assert "affidavit[parquet]" in error.next_step


def test_a_role_that_a_format_cannot_have(tmp_path: Path) -> None:
    data = json_bytes(export(span("t", "a", attributes={"gen_ai.system": "x"})))
    error = refusal(tmp_path, data, role="gold")
    assert error.fault.code == "AF424"
    assert "gen_ai, which contains no gold items" in error.message


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
NAMES = sorted(
    {name for dialect in TOOL_FORMATS for names in dialect.signatures for name in names}
    | {"metadata", "vars", "testCase", "output", "observations", "scores", "spans", "contexts"}
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(NAMES), ANYTHING), max_size=3))
def test_any_value_in_a_known_field_is_read_or_refused_by_code(
    tmp_path: Path, values: list[dict[str, Any]]
) -> None:
    path = tmp_path / "file"
    path.write_bytes(lines(*values))
    with suppress(AffidavitError):
        list(read_rows(path, on_bad=lambda _: None))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=300), st.sampled_from(["gen_ai.jsonl", "inspect.eval", "ragas.csv"]))
def test_a_damaged_file_ends_in_a_coded_error_or_in_rows(
    tmp_path: Path, noise: bytes, name: str
) -> None:
    data = (Path(__file__).parent / "files" / name).read_bytes()
    at = len(noise) * 31 % len(data)
    path = tmp_path / "file"
    path.write_bytes(data[:at] + noise + data[at + len(noise) :])
    with suppress(AffidavitError):
        list(read_rows(path, on_bad=lambda _: None))


ENCODINGS = {
    "what a spreadsheet calls Unicode text": ("question\tanswer\n", "utf-16", "UTF-16"),
    "what one writes by default": ("question,answer\na,Müller\n", "cp1252", "WINDOWS-1252"),
}


@pytest.mark.parametrize(("text", "stored", "named"), ENCODINGS.values(), ids=ENCODINGS.keys())
def test_the_advice_names_the_encoding(tmp_path: Path, text: str, stored: str, named: str) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode(stored))
    with pytest.raises(AffidavitError, match=f"iconv -f {named} -t UTF-8"):
        detect(path)
