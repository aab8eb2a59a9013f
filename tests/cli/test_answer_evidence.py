"""What `affidavit answer` refuses to sign, and how much two sources are worth."""

import json
import sqlite3
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


ASKED = {"id": "a", "tool": "events", "args": {"day": "today", "as_of": "1999-01-01"}}


def test_an_argument_that_the_tool_does_not_declare_is_refused_by_name(project: Path) -> None:
    result = ask(project, ASKED)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("AF382")
    assert "'as_of'" in result.stderr
    assert "the tool takes day" in result.stderr
    assert receipts(project) == []
    # A tool that is not there takes nothing, and that is said as before.
    assert ask(project, {**ASKED, "tool": "oracle"}).exit_code == 3


def test_a_route_with_an_argument_that_the_tool_does_not_declare(project: Path) -> None:
    route = {"id": "r", "tool": "events", "ask": ["what happened"], "args": {"as_of": "1999"}}
    routes = project / "routes.yaml"
    routes.write_text(json.dumps({"version": "route/1", "routes": [route]}))
    result = run("coverage", "--routes", str(routes), "--project", str(project))
    assert (result.exit_code, result.stderr.startswith("AF382")) == (2, True)
    assert "routes.r.args" in result.stderr


def test_an_argument_that_no_source_reads_is_refused(project: Path) -> None:
    (project / "affidavit.toml").write_text(CONFIG.replace('["day"]', '["day", "as_of"]'))
    result = ask(project, ASKED)
    assert (result.exit_code, result.stderr.startswith("AF351")) == (2, True)
    assert "no source reads the argument 'as_of'" in result.stderr


QUERIES = """\
[tools.hr]
use = "sql_fact"

[[tools.hr.sources]]
kind = "queries"
sqlite = "hr.db"
queries.one = { query = "SELECT 1 AS n WHERE ? > 0", params = ["low"] }
queries.two = { query = "SELECT 2 AS n WHERE ? > 0", params = ["high"] }
"""


def test_an_argument_that_the_chosen_query_does_not_read(project: Path) -> None:
    (project / "affidavit.toml").write_text(QUERIES)
    sqlite3.connect(project / "hr.db").close()
    args = {"query": "one", "low": 1}
    assert ask(project, {"id": "a", "tool": "hr", "args": args}).exit_code == 0
    result = ask(project, {"id": "a", "tool": "hr", "args": {**args, "high": 1}})
    assert result.exit_code == 3
    assert "the query one does not read the argument high" in result.stdout
