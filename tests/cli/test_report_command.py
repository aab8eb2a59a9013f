"""`affidavit report`: a stored report on the terminal and in other formats."""

import json
from pathlib import Path

import pytest
from tests.cli.running import run
from tests.reports import gate_samples

from affidavit.app.gate_reports import append_run
from affidavit.gates.report import parse_report


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    path = tmp_path / "report.json"
    path.write_text(json.dumps(gate_samples.rag(5, 5)))
    return path


def test_a_stored_report_is_shown(stored: Path) -> None:
    result = run("report", str(stored))
    assert result.exit_code == 0
    assert result.stdout.startswith("Decision: do not ship\n  - precision is 0.5 (5 of 10)")


def test_all_forms_at_once(stored: Path, tmp_path: Path) -> None:
    history = tmp_path / "history.jsonl"
    for day in (1, 2):
        append_run(history, parse_report(gate_samples.rag()), f"2026-11-0{day}T00:00:00Z")
    history.write_bytes(history.read_bytes() + b'{"torn')
    forms = {name: tmp_path / f"out.{name}" for name in ("html", "markdown", "junit", "sarif")}
    options = [word for name, path in forms.items() for word in (f"--{name}", str(path))]
    result = run("report", str(stored), *options, "--history", str(history))
    assert result.exit_code == 0
    assert forms["html"].read_text().startswith("<!doctype html>")
    assert "From run to run" in forms["html"].read_text()
    assert forms["markdown"].read_text().startswith("<!-- affidavit:rag -->")
    assert forms["junit"].read_text().startswith("<?xml")
    assert json.loads(forms["sarif"].read_text())["version"] == "2.1.0"
    assert "AF431" in result.stderr
    assert "line 3" in result.stderr


def test_json_gives_the_report_back(stored: Path) -> None:
    result = run("--json", "report", str(stored))
    assert json.loads(result.stdout) == json.loads(stored.read_text())


BAD = {
    "empty": (b"", "AF0"),
    "not JSON": (b"{", "AF0"),
    "binary": (b"\x00\xff\x80", "AF0"),
    "a list": (b"[1]", "AF430"),
    "another document": (b'{"schema_version": "other"}', "AF430"),
    "deep": (b"[" * 300, "AF0"),
}


@pytest.mark.parametrize(("data", "code"), BAD.values(), ids=BAD.keys())
def test_files_that_are_not_reports(data: bytes, code: str, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(data)
    out = tmp_path / "x.html"
    result = run("report", str(path), "--html", str(out))
    assert result.exit_code == 2
    assert result.stderr.startswith(code)
    assert str(path) in result.stderr
    assert not out.exists()


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    assert run("report", str(tmp_path / "none.json")).exit_code == 2
    result = run("report", str(tmp_path))
    assert result.exit_code == 2
    assert result.stderr.startswith("AF0")


def test_an_input_is_not_replaced(stored: Path, tmp_path: Path) -> None:
    before = stored.read_bytes()
    assert run("report", str(stored), "--html", str(stored)).exit_code == 2
    same = str(tmp_path / "same")
    assert run("report", str(stored), "--html", same, "--sarif", same).exit_code == 2
    assert stored.read_bytes() == before
    assert not Path(same).exists()
