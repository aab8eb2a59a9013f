"""Completion: the script of each shell, and the completions."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.running import REAL, SAMPLED, environment, run, run_process
from tests.golden_files import Golden

from affidavit.cli.commands import ROOT


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_names_the_command_and_its_variable(shell: str) -> None:
    result = run("completion", shell)
    assert (result.exit_code, result.stderr) == (0, "")
    assert f"_AFFIDAVIT_COMPLETE={shell}_complete" in result.stdout
    assert run("completion", shell, "--json").stdout.startswith(f'{{\n  "shell": "{shell}"')


ANSWERS = {
    "every command": ("affidavit ", [member.name for member in ROOT.members()]),
    "a command by its first letters": ("affidavit doc", ["doctor"]),
    "an argument": ("affidavit completion ", ["bash", "zsh", "fish"]),
    "an option of every command": ("affidavit doctor --js", ["--json"]),
    "an option before the command": ("affidavit --no", ["--no-color"]),
    "a command behind an option": ("affidavit --json compl", ["completion"]),
    "nothing": ("affidavit xyz", []),
}


def complete(shell: str, line: str, code: str = REAL) -> list[str]:
    words = line.split(" ")
    place = words[-1] if shell == "fish" else str(len(words) - 1)
    env = {"_AFFIDAVIT_COMPLETE": f"{shell}_complete", "COMP_WORDS": line, "COMP_CWORD": place}
    done = run_process(code, env=env)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode().splitlines()


@pytest.mark.parametrize(("line", "wanted"), ANSWERS.values(), ids=ANSWERS.keys())
def test_completions(line: str, wanted: list[str]) -> None:
    assert complete("bash", line) == ([f"plain,{word}" for word in wanted] or [""])


def test_names_come_with_their_help(golden: Golden) -> None:
    lines = ["# zsh", *complete("zsh", "affidavit "), "# fish", *complete("fish", "affidavit ")]
    golden.check("completion-of-names.txt", "\n".join(lines) + "\n")


def test_commands_of_groups() -> None:
    assert complete("bash", "affidavit look ", SAMPLED) == ["plain,draw", "plain,deep"]
    assert complete("bash", "affidavit look deep w", SAMPLED) == ["plain,work"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_the_completion_script_works_in_bash(tmp_path: Path) -> None:
    # The script calls the command by name, so the name must be on the path.
    program = tmp_path / "affidavit"
    program.write_text(f"#!{sys.executable}\n{REAL}\n")
    program.chmod(0o755)
    session = (
        'eval "$(affidavit completion bash)" || exit 9; compopt() { :; };'
        "COMP_WORDS=(affidavit completion z); COMP_CWORD=2;"
        '_affidavit_completion affidavit; echo "${COMPREPLY[@]}"; complete -p affidavit'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", session],
        env=environment({"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == "zsh"
    assert "-F _affidavit_completion" in done.stdout


def test_an_unknown_shell_is_refused() -> None:
    done = run_process(REAL, env={"_AFFIDAVIT_COMPLETE": "tcsh_complete"})
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")


def test_a_broken_question_has_no_traceback() -> None:
    done = run_process(REAL, env={"_AFFIDAVIT_COMPLETE": "bash_complete"})
    assert done.returncode == 3
    assert done.stderr.startswith(b"AF004: ")
