"""The history of runs: appending, reading, and torn lines."""

from pathlib import Path

import pytest
from tests.reports import gate_samples

from affidavit.app.gate_reports import append_run, read_history
from affidavit.base.errors import AffidavitError
from affidavit.gates.report import parse_report

AT = "2026-11-16T08:00:00Z"


def test_every_run_adds_a_line(tmp_path: Path) -> None:
    path = tmp_path / "eval" / "history.jsonl"
    append_run(path, parse_report(gate_samples.rag()), AT)
    append_run(path, parse_report(gate_samples.latency()), "2026-11-17T08:00:00Z")
    history = read_history(path)
    assert [(run.at[:10], run.kind, run.decision) for run in history.runs] == [
        ("2026-11-16", "rag", "inconclusive"),
        ("2026-11-17", "latency", "no_ship"),
    ]
    figure = history.runs[0].metrics["precision"]
    assert (figure.value, figure.n, figure.not_measured) == (0.8, 10, 0)
    assert history.runs[0].inputs["gold"] == gate_samples.DIGEST
    assert history.findings == ()
    assert path.read_bytes().count(b"\n") == 2


def test_a_report_of_several_gates_adds_a_line_for_each(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    whole = {
        "schema_version": "affidavit-gate/1",
        "kind": "all",
        "decision": "no_ship",
        "parts": {"rag": gate_samples.rag(), "latency": gate_samples.latency()},
    }
    append_run(path, parse_report(whole), AT)
    assert [run.kind for run in read_history(path).runs] == ["rag", "latency"]


TORN = {
    "the last line was cut by a crash": b'{"schema_version":"affidavit-hist',
    "a line of something else": b'{"a": 1}',
    "not UTF-8": b"\xff\xfe",
    "a list": b"[]",
    "a time that is none": b'{"schema_version":"affidavit-history/1","at":"x","kind":"rag",'
    b'"decision":"ship"}',
}


@pytest.mark.parametrize("line", TORN.values(), ids=TORN.keys())
def test_an_invalid_line_is_reported_and_the_rest_is_kept(line: bytes, tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    append_run(path, parse_report(gate_samples.rag()), AT)
    path.write_bytes(path.read_bytes() + line)
    append_run(path, parse_report(gate_samples.rag()), AT)
    path.write_bytes(path.read_bytes() + b"\r\n\n")
    history = read_history(path)
    assert len(history.runs) == 2
    (finding,) = history.findings
    assert (finding.fault.code, finding.where.file, finding.where.line) == ("AF431", str(path), 2)


def test_an_invalid_report_is_not_appended(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    with pytest.raises(AffidavitError):
        append_run(path, parse_report({"kind": "rag"}), AT)
    assert not path.exists()


def test_a_path_that_cannot_be_written_has_a_code(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AffidavitError) as caught:
        append_run(tmp_path / "file" / "h.jsonl", parse_report(gate_samples.rag()), AT)
    assert caught.value.fault.code.startswith("AF0")


def test_a_line_without_end_is_refused_with_its_file(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    path.write_bytes(b"x" * (2 * 1024 * 1024))
    with pytest.raises(AffidavitError) as caught:
        read_history(path)
    assert caught.value.where.file == str(path)


def test_a_missing_history_is_reported(tmp_path: Path) -> None:
    with pytest.raises(AffidavitError) as caught:
        read_history(tmp_path / "none.jsonl")
    assert caught.value.fault.name == "file.missing"
