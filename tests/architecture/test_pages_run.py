"""What the README and the tutorial show is run: every block of shell, output and Python."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.repository import ROOT

BLOCK = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
# Installing is tested by tests/packaging; the make targets are compared with the Makefile.
NOT_RUN = ("make ", "pip ", ". ")
README, TUTORIAL = ROOT / "README.md", ROOT / "docs" / "tutorial.md"


def shell(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script with the programs of this environment first on the path."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": programs, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def pattern_of(shown: str) -> str:
    """Return a pattern for what is shown; `...` stands for anything."""
    return re.escape(shown).replace(re.escape("..."), ".*")


def shown_commands(block: str) -> Iterator[tuple[str, str]]:
    """Yield each command of a console block with the output that is shown for it."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def run_block(language: str, text: str, folder: Path) -> None:
    """Run one block, and compare what it prints where the page shows that."""
    if language == "console":
        for command, output in shown_commands(text):
            done = shell(command, folder)
            printed = done.stdout if done.returncode != 2 else done.stderr
            assert re.fullmatch(pattern_of(output), printed, re.DOTALL), f"{command}\n{printed}"
    elif language == "python":
        done = shell(f"python - <<'END_OF_BLOCK'\n{text}END_OF_BLOCK", folder)
        assert done.returncode == 0, done.stderr
    else:
        assert language == "sh", f"a block of {language or 'no language'} cannot be run"
        lines = text.splitlines(keepends=True)
        done = shell("".join(line for line in lines if not line.startswith(NOT_RUN)), folder)
        assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("page", [README, TUTORIAL], ids=lambda page: page.name)
def test_every_block_runs_and_prints_what_is_shown(page: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "samples", tmp_path / "samples")
    blocks = list(BLOCK.finditer(page.read_text("utf-8")))
    assert blocks
    for block in blocks:
        run_block(block["language"], block["text"], tmp_path)


def test_another_output_is_noticed(tmp_path: Path) -> None:
    run_block("console", "$ echo one; echo two\none\n...\n", tmp_path)
    with pytest.raises(AssertionError):
        run_block("console", "$ echo one\ntwo\n", tmp_path)
    with pytest.raises(AssertionError):
        run_block("sh", "false\n", tmp_path)
    with pytest.raises(AssertionError):
        run_block("text", "one\n", tmp_path)


def test_the_readme_is_short_and_begins_with_a_command_and_its_output() -> None:
    text = README.read_text("utf-8")
    assert len(text.splitlines()) < 150
    first, second, *_ = BLOCK.finditer(text)
    assert first["language"] == "console"
    assert second["text"].split("\n")[0].startswith("make demo")


def test_the_index_links_every_page() -> None:
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert sorted(name for name in pages if f"({name})" not in index) == []
    assert index.index("(tutorial.md)") < index.index("## Guides") < index.index("## Reference")
