"""Every command that reads a bundle once can read it from standard input."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.app.test_linting import drafts_of
from tests.cli.running import REAL, run, run_process
from tests.packs.test_builtin_packs import GOOD
from tests.seal.bundle_making import sealed

from affidavit.cli.program import cli

BUNDLE = sealed(drafts_of(GOOD))
ONCE = {
    "verify": ["evidence", "verify", "-"],
    "lint": ["evidence", "lint", "-"],
    "explain": ["evidence", "lint", "-", "--explain", "completeness"],
    "show": ["evidence", "show", "-", "--events"],
    "replay": ["evidence", "replay", "-"],
    "prove": ["evidence", "prove", "-", "--event", "0"],
}


def piped(raw: bytes, *arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "80"}).invoke(cli, arguments, input=raw, terminal_width=80)


@pytest.mark.parametrize("arguments", ONCE.values(), ids=ONCE.keys())
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["for people", "for machines"])
def test_a_pipe_works_like_a_file(arguments: list[str], form: list[str], tmp_path: Path) -> None:
    file = tmp_path / "run.tar.gz"
    file.write_bytes(BUNDLE)
    named = run(*(str(file) if word == "-" else word for word in arguments), *form)
    found = piped(BUNDLE, *arguments, *form)
    assert found.exit_code == named.exit_code
    assert found.stdout == named.stdout.replace(str(file), "standard input")


@pytest.mark.parametrize("arguments", ONCE.values(), ids=ONCE.keys())
@pytest.mark.parametrize("raw", [b"", b"\x00{}"], ids=["nothing", "no bundle"])
def test_files_that_are_not_bundles(raw: bytes, arguments: list[str]) -> None:
    found = piped(raw, *arguments)
    assert (found.exit_code, "AF600" in found.output) == (2, True)
    assert "standard input" in found.output


@pytest.mark.parametrize("command", ["verify", "lint"])
def test_standard_input_is_one_bundle_only(command: str) -> None:
    found = run("evidence", command, "-", "-")
    assert (found.exit_code, "AF001: standard input can be one bundle" in found.stderr) == (2, True)


TWICE = {
    "diff": ["evidence", "diff", "a.tar.gz", "-"],
    "redact": ["evidence", "redact", "-", "--type", "x", "-o", "b.tar.gz", "--salts", "s.json"],
}


@pytest.mark.parametrize("arguments", TWICE.values(), ids=TWICE.keys())
def test_a_command_that_reads_a_bundle_twice_needs_a_file(arguments: list[str]) -> None:
    found = piped(BUNDLE, *arguments)
    assert (found.exit_code, "a dash is not allowed here" in found.stderr) == (2, True)


def test_a_bundle_from_a_pipe_beside_a_file_is_linted(tmp_path: Path) -> None:
    file = tmp_path / "run.tar.gz"
    file.write_bytes(BUNDLE)
    wire = json.loads(piped(BUNDLE, "evidence", "lint", str(file), "-", "--json").stdout)
    assert [each["path"] for each in wire["bundles"]] == [str(file), "standard input"]


def test_a_standard_input_that_is_closed_holds_nothing() -> None:
    code = f"import sys; sys.stdin = None; {REAL}"
    done = run_process(code, "evidence", "lint", "-")
    assert (done.returncode, done.stderr.startswith(b"AF600: standard input")) == (2, True)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such standard input on Windows")
def test_a_standard_input_that_can_only_be_written_to_holds_nothing(tmp_path: Path) -> None:
    """A write-only standard input, as with `nohup`."""
    with (tmp_path / "out").open("wb") as unreadable:
        done = subprocess.run(
            [sys.executable, "-m", "affidavit", "evidence", "lint", "-"],
            stdin=unreadable,
            capture_output=True,
            check=False,
        )
    assert (done.returncode, done.stderr.startswith(b"AF600: standard input")) == (2, True)
