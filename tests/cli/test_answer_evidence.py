"""What `affidavit answer` refuses to sign, and how much two sources are worth."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from tests.cli.running import run

CONFIG = """\
[tools.events]
required_args = ["day"]
max_age_s = 86400
sources = [{ kind = "file", path = "events.json", select = ["{day}"], observed_at = "asked" }]
"""
EVENTS = {"today": {"events": [{"error": None}, {"error": "disk full"}]}}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a key and one tool."""
    assert run("keys", "new", "--project", str(tmp_path)).exit_code == 0
    (tmp_path / "affidavit.toml").write_text(CONFIG)
    (tmp_path / "events.json").write_text(json.dumps(EVENTS))
    return tmp_path


def ask(project: Path, *checks: dict[str, Any]) -> Result:
    (project / "checks.json").write_text(json.dumps(checks))
    return run("answer", str(project / "checks.json"), "--project", str(project))


def receipts(project: Path) -> list[Path]:
    return sorted((project / ".affidavit" / "receipts").glob("*"))


def absent(path: str) -> dict[str, Any]:
    expect = {"op": "not_exists", "path": path}
    return {"id": "a", "tool": "events", "args": {"day": "today"}, "expect": expect}


@pytest.mark.parametrize(
    "path", ["events.-1.error", "$.events[1].error", "events[1].error", "/events/1/error"]
)
def test_a_path_that_is_none_is_refused_when_it_is_read(project: Path, path: str) -> None:
    result = ask(project, absent(path))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("AF304")
    assert receipts(project) == []


def test_a_key_of_a_list_is_not_said_to_be_absent(project: Path) -> None:
    result = ask(project, absent("events.error"))
    assert (result.exit_code, "not evaluable" in result.stdout) == (3, True)
    assert ask(project, absent("events.1.error")).exit_code == 1
    assert ask(project, absent("events.2.error")).exit_code == 0
