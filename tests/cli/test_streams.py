"""Closed or full streams: the exit code is still right."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.cli.running import REAL, SAMPLED, command_line, environment, start
from tests.repository import ROOT

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")


def in_shell(redirection: str, arguments: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {redirection}', "sh", *command_line(SAMPLED, arguments)],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        check=False,
    )


@needs_full
@pytest.mark.parametrize(
    "arguments", [["tell", "x"], ["--help"], ["refuse", "--json"]], ids=" ".join
)
def test_a_full_disk_behind_standard_output(arguments: list[str]) -> None:
    done = in_shell(f">{FULL}", arguments)
    lines = done.stderr.decode().splitlines()
    assert done.returncode == 2
    assert lines[-1] == (
        "AF014: standard output: the file cannot be written (No space left on device)."
        " Next: choose another path"
    )
    assert "Exception ignored" not in done.stderr.decode()


@needs_full
def test_both_streams_on_a_full_disk() -> None:
    assert in_shell(f">{FULL} 2>{FULL}", ["tell", "x"]).returncode == 2


@pytest.mark.parametrize("arguments", [["tell", "x"], ["--help"], ["look", "draw"]], ids=" ".join)
def test_standard_output_is_closed(arguments: list[str]) -> None:
    done = in_shell(">&-", arguments)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


def test_both_streams_are_closed() -> None:
    assert in_shell(">&- 2>&-", ["miss"]).returncode == 2


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["for people", "for machines"])
def test_a_decision_with_a_closed_reader(form: tuple[str, ...]) -> None:
    """As in docs/cli.md: exit 3 without a message, because nobody has seen the result."""
    with start(REAL, "gate", "all", "-c", "samples/gates/affidavit.toml", *form) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        err = process.stderr.read()
    assert (process.returncode, err) == (3, b"")
