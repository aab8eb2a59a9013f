"""`affidavit init`: the files work, and no file of the user is lost."""

import json
import shlex
import subprocess
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from tests.cli.running import run

from affidavit.app.init_project import STARTER_FILES, create_project_files, starter_content

NAMES = ("affidavit.toml", "eval/gold.jsonl", "eval/trace.jsonl", ".github/workflows/affidavit.yml")


def test_the_next_command_gives_a_decision_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "new project"
    result = run("init", str(folder))
    assert result.exit_code == 0
    assert [line.partition(" ")[2] for line in result.stdout.splitlines()[:4]] == [
        str(folder / name) for name in NAMES
    ]
    following = result.stdout.splitlines()[-1].removeprefix("Next: ")
    words = shlex.split(following)
    assert words[0] == "affidavit"
    decided = run(*words[1:])
    assert decided.exit_code == 0
    assert decided.stdout.startswith("Decision: ship\n")
    assert "wrong answer (fails C)" in decided.stdout
    assert (folder / "eval" / "history.jsonl").exists()


def test_existing_files_are_kept_and_reported(tmp_path: Path) -> None:
    (tmp_path / "eval").mkdir()
    mine = tmp_path / "eval" / "gold.jsonl"
    mine.write_text("mine")
    (tmp_path / "affidavit.toml").symlink_to(tmp_path / "nowhere")
    result = run("init", str(tmp_path))
    assert mine.read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()
    assert f"kept  {mine}" in result.stdout
    assert f"wrote {tmp_path / 'eval' / 'trace.jsonl'}" in result.stdout


def test_force_overwrites_files(tmp_path: Path) -> None:
    (tmp_path / "affidavit.toml").write_text("mine")
    started = create_project_files(tmp_path, force=True)
    assert (started.written, started.kept) == (NAMES, ())
    assert (tmp_path / "affidavit.toml").read_bytes() == starter_content("affidavit.toml")


def test_json(tmp_path: Path) -> None:
    first = json.loads(run("--json", "init", str(tmp_path)).stdout)
    assert first["written"] == list(NAMES)
    second = json.loads(run("--json", "init", str(tmp_path)).stdout)
    assert (second["written"], second["kept"]) == ([], list(NAMES))
    assert second["next"].startswith("affidavit gate all -c ")


def test_a_path_that_cannot_be_written_has_a_code(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    result = run("init", str(file))
    assert result.exit_code == 2
    assert result.stderr.startswith("AF014")


def test_every_setting_of_the_config_is_explained() -> None:
    lines = starter_content("affidavit.toml").decode().splitlines()
    for before, line in pairwise(lines):
        if " = " in line and not line.startswith("#"):
            assert before.startswith("#"), line
    assert list(tomllib.loads("\n".join(lines))["gates"]["rag"]) == ["gold", "trace", "gates", "k"]


def test_the_commented_tables_are_valid(tmp_path: Path) -> None:
    from affidavit.app.gate_all import load_gate_config

    lines = starter_content("affidavit.toml").decode().splitlines()
    shown = [
        line.removeprefix("# ")
        for line in lines
        if line.startswith("# [") or (line.startswith("# ") and " = " in line)
    ]
    path = tmp_path / "affidavit.toml"
    path.write_text("\n".join(line for line in shown if "expect_gold_digest" not in line))
    assert [name for name, _ in load_gate_config(path).gates] == [
        "latency",
        "agreement",
        "stability",
    ]


def test_the_workflow_is_valid() -> None:
    workflow = yaml.safe_load(starter_content(".github/workflows/affidavit.yml"))
    steps = workflow["jobs"]["gates"]["steps"]
    assert all("uses" in step or "run" in step for step in steps)
    for step in steps:
        if "run" in step:
            subprocess.run(["bash", "-n"], input=step["run"], text=True, check=True)
            assert "${{" not in step["run"], "what a user can write must not be part of a script"


def test_every_starter_is_in_the_package() -> None:
    assert all(starter_content(name) for name in STARTER_FILES)


@pytest.mark.parametrize("name", ["eval/gold.jsonl", "eval/trace.jsonl"])
def test_the_samples_are_lines_of_json(name: str) -> None:
    rows = [json.loads(line) for line in starter_content(name).decode().splitlines()]
    assert [row["qid"] for row in rows] == [f"q{n}" for n in range(1, 9)]
