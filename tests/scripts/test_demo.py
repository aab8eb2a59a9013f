"""The demo reports how its steps ended."""

import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tools.demo import STEPS, Outcome, Step, demonstrate, run, styled, transcript

SAYS_YES = Step("It ends well", "because it can", ("python", "-c", "print('yes')"))
SAYS_NO = Step("It ends badly", "to be seen", ("python", "-c", "import sys; sys.exit('no')"))


def test_steps_that_end_as_expected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused = Step("It refuses", "as it must", SAYS_NO.command, exit=1)
    assert demonstrate([SAYS_YES, refused], tmp_path / "out" / "report.md") == 0
    shown = capsys.readouterr().out
    assert "1/2  It ends well" in shown
    assert "2 steps in" in shown
    assert "all as expected" in shown
    assert "no" in (tmp_path / "out" / "report.md").read_text("utf-8")


def test_an_unexpected_exit_is_counted_and_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert demonstrate([SAYS_NO, SAYS_YES], tmp_path / "report.md") == 1
    shown = capsys.readouterr().out
    assert "exit 1, but 0 was expected" in shown
    assert "1 not as expected" in shown
    assert "yes" in shown, "the steps after a surprise are shown too"


def test_the_transcript_is_repeatable() -> None:
    once, again = (Outcome(SAYS_YES, "yes", 0, seconds) for seconds in (0.1, 0.2))
    assert list(transcript([once])) == list(transcript([again]))


def test_programs_that_a_step_names_are_those_of_this_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A soak starts `python agent.py`, and another Python would not have the product."""
    monkeypatch.setenv("PATH", os.defpath)
    says = "import shutil; print(shutil.which('python'))"
    done = run(Step("Which Python?", "the one that runs this", ("python", "-c", says)))
    assert Path(done.output) == Path(sys.executable).with_name("python")


def test_the_soak_of_the_demo_measures_the_agent(tmp_path: Path) -> None:
    """Twenty runs, one of them careless: a target that cannot start would fail every one."""
    step = next(step for step in STEPS if step.command[:3] == ("affidavit", "sim", "soak"))
    command = [word.replace("demo-output", str(tmp_path)) for word in step.command]
    done = run(replace(step, command=tuple(command)))
    assert done.as_expected, done.output
    assert "20 of 20 runs, 19 passed, 1 failed, 0 not judged" in done.output
    assert re.search(r"^1 +0\.95 +\[0\.76", done.output, re.MULTILINE), done.output


def test_no_styles_without_a_terminal() -> None:
    assert styled("plain", "1") == "plain"


def test_every_step_runs_the_product() -> None:
    scripts = ("samples/runs/record_run.py", "tools.demo_authority", "tools.demo_service")
    for step in STEPS:
        assert step.command[0] == "affidavit" or any(name in step.command for name in scripts)
