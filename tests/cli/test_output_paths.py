"""Every command that writes a file refuses an unusable output path before it starts."""

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.cli.gate_files import code_of
from tests.cli.running import run
from tests.repository import ROOT

from affidavit.app import check
from affidavit.cli.program import cli

# IN is read and OUT is written.
WRITING = {
    "check": ["check", "IN", "--sources", "docs", "-o", "OUT", "--format", "json"],
    "judge eval": ["judge", "eval", "IN", "--html", "OUT"],
    "judge score": ["judge", "score", "IN", "-o", "OUT"],
    "judge calibrate": ["judge", "calibrate", "--labels", "IN", "-o", "OUT"],
    "evidence seal": ["evidence", "seal", "IN", "-o", "OUT"],
    "evidence import": ["evidence", "import", "IN", "-o", "OUT"],
    "evidence lint": ["evidence", "lint", "IN", "--report", "OUT"],
    "evidence prove": ["evidence", "prove", "IN", "--event", "0", "-o", "OUT"],
    "evidence redact": ["evidence", "redact", "IN", "--type", "x", "-o", "OUT", "--salts", "s"],
    "report": ["report", "IN", "--markdown", "OUT"],
    "gate rag": ["gate", "rag", "IN", "--report", "OUT"],
}
writing = pytest.mark.parametrize("words", WRITING.values(), ids=WRITING.keys())


def named(words: list[str], read: str, written: str) -> list[str]:
    return [{"IN": read, "OUT": written}.get(word, word) for word in words]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "input").write_text("{}\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "folder").mkdir()
    return tmp_path


@writing
def test_a_missing_output_folder_is_reported_before_a_missing_input(words: list[str]) -> None:
    assert code_of(run(*named(words, "missing", "none/out"))) == "AF014"


@writing
def test_a_folder_instead_of_a_file(words: list[str]) -> None:
    assert code_of(run(*named(words, "missing", "folder"))) == "AF012"


@writing
def test_an_input_is_not_overwritten_through_a_link(words: list[str], place: Path) -> None:
    (place / "link").symlink_to("input")
    assert code_of(run(*named(words, "input", "docs/../link"))) == "AF281"
    assert (place / "input").read_text() == "{}\n"


@writing
def test_a_link_cycle_is_reported_with_a_code(words: list[str], place: Path) -> None:
    (place / "loop").symlink_to("loop")
    assert code_of(run(*named(words, "missing", "loop"))) != "AF004"


def test_an_answer_from_a_pipe_that_is_too_long_is_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "MAX_ANSWER_BYTES", 10)
    result = CliRunner().invoke(cli, ["check", "-", "--sources", "docs"], input="x" * 11)
    assert (result.exit_code, code_of(result)) == (2, "AF013")


REPLACED = {
    "rules by a report": ["check", "answer.md", "-s", "docs", "--rules", "input", "-o", "input"],
    "rules by scores": ["judge", "score", "rows.jsonl", "--rules", "input", "-o", "input"],
    "rules by diagrams": ["judge", "eval", "rows.jsonl", "--rules", "input", "--html", "input"],
    "a judge by a report": ["check", "a.md", "-s", "docs", "--judge", "j.toml", "-o", "j.toml"],
    "a judge by scores": ["judge", "score", "x", "--judge", "j.toml", "-o", "j.toml"],
    "a judge by diagrams": ["judge", "eval", "x", "--judge", "j.toml", "--html", "j.toml"],
    "a judge by rules": ["judge", "calibrate", "--labels=x", "--judge", "j.toml", "-o", "j.toml"],
    "checks by their receipt": ["answer", "input", "-o", "input"],
    "tools by a receipt": ["answer", "checks.json", "--tools", "input", "-o", "input"],
}


@pytest.mark.parametrize("words", REPLACED.values(), ids=REPLACED.keys())
def test_other_inputs_are_not_overwritten(words: list[str], place: Path) -> None:
    (place / "input").write_text("")
    (place / "j.toml").write_text('[hf]\nmodel = "none"\n')
    given = [*words, *(["--format", "json"] if words[0] == "check" else [])]
    assert code_of(run(*given)) == "AF281"


def test_a_receipt_path_that_is_a_folder_is_refused_before_any_query() -> None:
    assert code_of(run("answer", "missing.json", "-o", "folder")) == "AF012"


def test_a_receipt_does_not_overwrite_project_files(place: Path) -> None:
    shutil.copytree(ROOT / "samples" / "answers", place, dirs_exist_ok=True)
    assert run("keys", "new").exit_code == 0
    (key,) = (place / ".affidavit" / "keys").glob("*.pem")
    for path in (
        place / "affidavit.toml",
        place / "routes.yaml",
        key,
        key.parent / "registry.json",
    ):
        before = path.read_bytes()
        assert code_of(run("answer", "checks.json", "-o", str(path))) == "AF281"
        assert path.read_bytes() == before


def test_exported_keys_do_not_overwrite_project_files(place: Path) -> None:
    assert run("keys", "new").exit_code == 0
    kept = {path: path.read_bytes() for path in (place / ".affidavit" / "keys").iterdir()}
    assert len(kept) > 1
    for path in kept:
        assert code_of(run("keys", "export", "-o", str(path))) == "AF281"
    assert {path: path.read_bytes() for path in kept} == kept


def test_the_lines_of_a_batch_go_into_a_folder_that_can_be_made(place: Path) -> None:
    (place / "answers.jsonl").write_text('{"id": "1", "answer": "It rains."}\n')
    (place / "docs" / "a.txt").write_text("It rains. Take a coat.")
    given = ("check", "answers.jsonl", "--sources", "docs", "--project", "project", "-o")
    assert code_of(run(*given, "input/out.jsonl")) == "AF014"
    assert not (place / "project").exists()
    assert run(*given, "new/out.jsonl").exit_code == 0
    assert (place / "new" / "out.jsonl").exists()


def test_a_file_in_the_place_of_a_project_folder_is_reported(place: Path) -> None:
    (place / "answer.md").write_text("It rains.")
    (place / "docs" / "a.txt").write_text("It rains. Take a coat.")
    check_it = ("check", "answer.md", "--sources", "docs")
    assert run(*check_it).exit_code == 0
    (place / ".affidavit" / "reports").touch()
    assert code_of(run("sessions", "open", "last", "--no-browser")) == "AF014"
    shutil.rmtree(place / ".affidavit" / "sessions")
    (place / ".affidavit" / "sessions").touch()
    assert code_of(run(*check_it)) == "AF014"


NO_NAMES = {
    "an empty answer": ["check", "", "--sources", "docs"],
    "empty sources": ["check", "input", "--sources", ""],
    "an empty output": ["evidence", "import", "input", "-o", ""],
    "a dash as the output": ["check", "input", "--sources", "docs", "-o", "-"],
    "a dash among what is read twice": ["evidence", "diff", "input", "-"],
}


@pytest.mark.parametrize("words", NO_NAMES.values(), ids=NO_NAMES.keys())
def test_invalid_names_are_refused(words: list[str]) -> None:
    result = run(*words)
    assert code_of(result) == "AF001"
    assert "the name is empty" in result.stderr or "a dash is not allowed" in result.stderr


@pytest.mark.parametrize(
    "words",
    [["sessions", "list"], ["sessions", "show", "last"], ["cite", "00f66349"]],
    ids=" ".join,
)
@pytest.mark.parametrize("project", ["nowhere", "input"], ids=["nowhere", "a file"])
def test_a_missing_project_has_no_sessions(words: list[str], project: str) -> None:
    assert code_of(run(*words, "--project", project)) == "AF016"


def test_a_check_creates_its_project_folder_unless_a_file_is_there() -> None:
    given = ["check", "input", "--sources", "docs", "--project"]
    assert code_of(run(*given, "input")) == "AF016"
    assert code_of(run(*given, "new")) != "AF016"
