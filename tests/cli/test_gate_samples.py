"""The samples of the gates: how they are made, and the decisions on them."""

import sys
from pathlib import Path

import pytest
from tests.cli.gate_files import report_of
from tests.cli.running import run
from tests.repository import ROOT

from tools import make_gate_samples

GATES = ROOT / "samples" / "gates"


def test_the_samples_are_what_their_tool_gives() -> None:
    assert make_gate_samples.main(["--check"]) == 0


def test_a_file_that_was_edited_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ask.py").write_text((GATES / "ask.py").read_text())
    monkeypatch.setattr(make_gate_samples, "FOLDER", tmp_path)
    assert make_gate_samples.main([]) == 0
    (tmp_path / "gold.jsonl").write_text("")
    assert make_gate_samples.main(["--check"]) == 1
    assert capsys.readouterr().out.startswith("gold.jsonl differs")


def test_four_gates_pass_and_one_question_flips() -> None:
    ended, report = report_of("all", "-c", str(GATES / "affidavit.toml"))
    decisions = {name: part["decision"] for name, part in report["parts"].items()}
    assert (ended, report["decision"]) == (1, "no_ship")
    assert decisions == {
        "rag": "ship",
        "latency": "ship",
        "agreement": "ship",
        "stability": "no_ship",
        "research": "ship",
    }
    assert report["parts"]["stability"]["listings"]["unstable"]["first"] == ["unpaid"]


def test_the_pipeline_can_be_asked(tmp_path: Path) -> None:
    runs = tmp_path / "runs.jsonl"
    result = run(
        *("gate", "stability", "--mode", "run", "--gold", str(GATES / "gold.jsonl")),
        *("--runs", str(runs), "--command", f"{sys.executable} -I {GATES / 'ask.py'} {{seed}}"),
        *("--seeds", "0,1", "--jitters", "none", "-j", "2"),
    )
    assert result.exit_code == 1
    assert "unpaid" in result.stdout
    assert len(runs.read_text().splitlines()) == 20
