"""What the gate commands share: `--gates` in every spelling, and files that are refused."""

import os
from pathlib import Path

import pytest
from tests.cli.gate_files import code_of, lines
from tests.cli.running import run

from affidavit.base.errors import AffidavitError
from affidavit.cli.gate_options import GateOptions, _one_option_per_gate

SPELLINGS = {
    "several words": (
        ["--gates", "a=1", "b<=2", "-q"],
        ["--gates", "a=1", "--gates", "b<=2", "-q"],
    ),
    "a word that is not a gate ends the list": (
        ["--gates", "a=1", "trace.jsonl", "b=1"],
        ["--gates", "a=1", "trace.jsonl", "b=1"],
    ),
    "the first word is always one": (["--gates", "precision"], ["--gates", "precision"]),
    "an option ends them": (
        ["--gates", "a=1", "--k=3", "b=1"],
        ["--gates", "a=1", "--k=3", "b=1"],
    ),
    "twice": (
        ["--gates", "a=1", "--gates", "b=1", "c=1"],
        ["--gates", "a=1", "--gates", "b=1", "--gates", "c=1"],
    ),
    "nothing to do": (["-q", "x=1"], ["-q", "x=1"]),
}


@pytest.mark.parametrize(("given", "wanted"), SPELLINGS.values(), ids=SPELLINGS.keys())
def test_gates_take_several_words(given: list[str], wanted: list[str]) -> None:
    assert list(_one_option_per_gate(given)) == wanted


CLASHES = {
    "an input": GateOptions(report_files={"json": Path("gold.jsonl")}),
    "two reports in one file": GateOptions(report_files={"json": Path("a"), "html": Path("./a")}),
    "the history": GateOptions(report_files={"junit": Path("h")}, history=Path("h")),
    "a line of the history into an input": GateOptions(history=Path("gold.jsonl")),
    "a line of the history into the baseline": GateOptions(history=Path("b"), baseline=Path("b")),
    "a file of a pattern": GateOptions(report_files={"json": Path("runs/b.jsonl")}),
    "the baseline, by a page": GateOptions(report_files={"html": Path("b")}, baseline=Path("b")),
    "the baseline, which a worse run would become": GateOptions(
        report_files={"json": Path("b")}, baseline=Path("b")
    ),
}


@pytest.mark.parametrize("frame", CLASHES.values(), ids=CLASHES.keys())
def test_outputs_that_would_overwrite_inputs(
    frame: GateOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "b.jsonl").touch()
    with pytest.raises(AffidavitError, match="AF281"):
        frame.refuse_to_replace(["-", "gold.jsonl", "runs/*.jsonl", "s3://elsewhere/*.jsonl"])


UNWRITABLE = {
    "a folder": (GateOptions(report_files={"html": Path("folder")}), "AF012"),
    "no folder to put it in": (
        GateOptions(report_files={"json": Path("none/report.json")}),
        "AF014",
    ),
    "a folder of others": (GateOptions(report_files={"junit": Path("closed/report.xml")}), "AF014"),
    "a history that is something else": (GateOptions(history=Path("notes.md")), "AF431"),
    "a history that is a folder": (GateOptions(history=Path("folder")), "AF012"),
}


@pytest.mark.parametrize(("frame", "code"), UNWRITABLE.values(), ids=UNWRITABLE.keys())
def test_an_unwritable_path_is_refused_before_measuring(
    frame: GateOptions, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "closed").mkdir()
    (tmp_path / "notes.md").write_text("\n# Notes\n")
    # The tests may run as root, who can write anywhere.
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "closed")
    with pytest.raises(AffidavitError) as caught:
        frame.refuse_to_replace(["gold.jsonl"])
    assert caught.value.fault.code == code


HISTORIES = {
    "none yet": None,
    "empty": b"",
    "its first line torn": b'{"schema_ver',
    "torn, and a run after it": b'{"schema_version":"affidavit-history/1","at":"2026\n{}',
    "written by another program": b'{ "schema_version": "affidavit-history/1", "kind": "rag",'
    b' "at": "2026-11-16T08:00:00Z", "decision": "ship"}\n',
}


@pytest.mark.parametrize("stored", HISTORIES.values(), ids=HISTORIES.keys())
def test_files_that_may_be_a_history(stored: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    if stored is not None:
        path.write_bytes(stored)
    GateOptions(history=path).refuse_to_replace(["gold.jsonl"])


def test_a_report_that_cannot_be_written_leaves_the_history_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, history = tmp_path / "rows.jsonl", tmp_path / "history.jsonl"
    rows.write_text('{"e2e_ms": 5}\n')
    page = tmp_path / "page.html"
    assert run("gate", "latency", str(rows), "--history", str(history)).exit_code == 0
    before = history.read_bytes()
    monkeypatch.setattr("affidavit.cli.command.require_writable", lambda paths: None)
    page.mkdir()
    ended = run("gate", "latency", str(rows), "--history", str(history), "--html", str(page))
    assert ended.exit_code == 2
    assert history.read_bytes() == before


def test_errors_in_a_history_are_shortened(tmp_path: Path) -> None:
    report, history = tmp_path / "report.json", tmp_path / "history.jsonl"
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"e2e_ms": 5}\n')
    run("gate", "latency", str(rows), "--report", str(report), "--history", str(history))
    history.write_bytes(history.read_bytes() + b"{}\n" * 100)
    page = tmp_path / "page.html"
    ended = run("report", str(report), "--history", str(history), "--html", str(page))
    assert ended.exit_code == 0
    assert ended.stderr.count("AF431") == 5
    assert "95 more lines" in ended.stderr


def test_the_history_of_a_config_unless_another_is_named(tmp_path: Path) -> None:
    lines(tmp_path / "rows.jsonl", [{"e2e_ms": 100}])
    config = tmp_path / "affidavit.toml"
    config.write_text(
        '[gates]\nhistory = "eval/history.jsonl"\n[gates.latency]\nrows = "rows.jsonl"\n'
    )
    usual, other = tmp_path / "eval" / "history.jsonl", tmp_path / "other.jsonl"
    for _ in range(2):
        assert run("gate", "all", "-c", str(config)).exit_code == 0
    once = len(usual.read_bytes().splitlines()) // 2
    assert once
    assert run("gate", "all", "-c", str(config), "--history", str(other)).exit_code == 0
    assert len(usual.read_bytes().splitlines()) == 2 * once
    assert len(other.read_bytes().splitlines()) == once


LATE = {
    "rag": ["gate", "rag", "--gold", "none.jsonl", "--trace", "none.jsonl"],
    "latency": ["gate", "latency", "none.csv"],
    "agreement": ["gate", "agreement", "--pairs", "none.jsonl"],
    "stability": ["gate", "stability", "--gold", "none.jsonl", "--runs", "none.jsonl"],
    "research": ["gate", "research", "--golden", "none.json", "--outputs", "none"],
}


@pytest.mark.parametrize("arguments", LATE.values(), ids=LATE.keys())
def test_a_gate_that_cannot_be_read_is_refused_before_anything_is_read(
    arguments: list[str],
) -> None:
    assert run(*arguments).stderr.startswith(("AF010", "AF415"))
    assert code_of(run(*arguments, "--gates", "precison=0.8")) == "AF401"
    assert code_of(run(*arguments, "--gates", "nonsense")) == "AF400"


def test_an_invalid_gate_in_a_short_option_is_refused_first() -> None:
    assert code_of(run(*LATE["agreement"], "--kappa-gate", "2")) == "AF403"
    given = ["--kappa-gate", "0.5", "--gates", "kappa=0.6"]
    assert code_of(run(*LATE["agreement"], *given)) == "AF404"


def test_invalid_seeds_are_refused_before_the_gold_set_is_read() -> None:
    given = ["--mode", "run", "--command", "true", "--seeds", "many"]
    assert code_of(run(*LATE["stability"], *given)) == "AF448"
