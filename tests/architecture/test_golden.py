"""Golden files are compared to the byte, updated on request, and never updated in CI."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.golden_files import Golden
from tests.repository import ROOT


def test_an_unchanged_file_passes(tmp_path: Path) -> None:
    Golden(tmp_path, update=True).check("report.txt", "ship\n")
    Golden(tmp_path).check("report.txt", "ship\n")
    Golden(tmp_path).check("report.txt", b"ship\n")


@pytest.mark.parametrize("actual", ["no-ship\n", b"no-ship\n"], ids=["as text", "as bytes"])
def test_a_change_says_what_to_do(tmp_path: Path, actual: str | bytes) -> None:
    Golden(tmp_path, update=True).check("report.txt", "ship\n")
    with pytest.raises(AssertionError, match="read what changed, then `make golden`"):
        Golden(tmp_path).check("report.txt", actual)


def test_a_missing_file_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="is missing"):
        Golden(tmp_path).check("report.txt", "ship\n")


def test_line_ends_count(tmp_path: Path) -> None:
    Golden(tmp_path, update=True).check("report.txt", "ship\r\n")
    with pytest.raises(AssertionError):
        Golden(tmp_path).check("report.txt", "ship\n")


def test_the_fixture_uses_the_folder_of_the_test(golden: Golden) -> None:
    assert golden.folder == ROOT / "tests" / "golden" / "architecture"


def test_ci_may_not_rewrite() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "--update-golden", "--collect-only", "-q", __file__],
        cwd=ROOT,
        env={**os.environ, "CI": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == pytest.ExitCode.USAGE_ERROR
    assert "refused in CI" in run.stderr
