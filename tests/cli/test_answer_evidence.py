"""What `affidavit answer` refuses to sign, and how much two sources are worth."""

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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


HOSTS = ("localhost", "127.0.0.1")


@contextmanager
def feed_server(says: dict[str, Any]) -> Iterator[int]:
    """Serve one JSON document on loopback, and yield the port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(says).encode())

        def log_message(self, *_: object) -> None:
            """Write nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


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


PRICE = """\
[tools.price]
value_path = "price"
max_age_s = 86400
allow_hosts = ["localhost:{port}", "127.0.0.1:{port}"]
sources = [
  {{ name = "one", operator = "One Inc", observed_at = "asked", {one} }},
  {{ name = "two", {operator} observed_at = "asked", {two} }},
]
"""
SAYS = {"price": 5, "stock": 7}
PAID = {"id": "a", "tool": "price", "expect": {"op": "eq", "value": 5}}
OTHER = 'operator = "Two Ltd",'


def priced(
    project: Path, one: str, two: str, operator: str = OTHER, port: int = 1
) -> dict[str, Any]:
    """Return the receipt of a check of two sources that state the same price."""
    text = PRICE.format(one=one, two=two, operator=operator, port=port)
    (project / "affidavit.toml").write_text(text)
    (project / "checks.json").write_text(json.dumps([PAID]))
    result = run("answer", str(project / "checks.json"), "--project", str(project), "--json")
    assert result.exit_code == 0, result.output
    receipt: dict[str, Any] = json.loads(result.stdout)
    return receipt


def file(path: str) -> str:
    return f'kind = "file", path = "{path}"'


@pytest.fixture
def shop(project: Path) -> Path:
    """A project with a price in two files, and with other names for the first of them."""
    for name in ("a.json", "b.json"):
        (project / name).write_text(json.dumps(SAYS))
    (project / "sub").mkdir()
    (project / "link.json").symlink_to(project / "a.json")
    (project / "hard.json").hardlink_to(project / "a.json")
    return project


def test_two_files_of_two_operators_are_two_sources(shop: Path) -> None:
    receipt = priced(shop, file("a.json"), file("b.json"))
    (fact,) = receipt["evidence_index"].values()
    assert (receipt["confidence"], fact["verification"]["verified"]) == (0.95, True)
    kept = shop / "receipt.json"
    kept.write_text(json.dumps(receipt))
    assert run("verify", str(kept), "--project", str(shop)).exit_code == 0


@pytest.mark.parametrize("path", ["a.json", "sub/../a.json", "link.json", "hard.json"])
def test_one_file_by_another_name_is_one_source(shop: Path, path: str) -> None:
    receipt = priced(shop, file("a.json"), file(path))
    (fact,) = receipt["evidence_index"].values()
    assert (receipt["confidence"], fact["verification"]["verified"]) == (0.8, False)
    assert "two is the same as one" in fact["verification"]["note"]


@pytest.mark.parametrize("operator", ["", 'operator = "one inc",'])
def test_operators_must_be_declared_and_different(shop: Path, operator: str) -> None:
    receipt = priced(shop, file("a.json"), file("b.json"), operator)
    assert receipt["confidence"] == 0.8


def test_one_server_by_two_names_is_one_source(project: Path) -> None:
    with feed_server(SAYS) as port:
        one, two = (f'kind = "http", url = "http://{host}:{port}/"' for host in HOSTS)
        receipt = priced(project, one, two, port=port)
    (fact,) = receipt["evidence_index"].values()
    assert [source["status"] for source in fact["sources"]] == ["ok", "ok"]
    assert receipt["confidence"] == 0.8
    assert "two is the same as one" in fact["verification"]["note"]


def test_one_database_by_two_names_is_one_source(project: Path) -> None:
    with closing(sqlite3.connect(project / "shop.db")) as database:
        database.execute("CREATE TABLE shop (price INTEGER)")
    (project / "alias.db").symlink_to(project / "shop.db")
    one, two = (
        f'kind = "sql", query = "SELECT 5 AS price", sqlite = "{name}"'
        for name in ("shop.db", "alias.db")
    )
    text = PRICE.replace('"price"', '"results.0.price"', 1)
    (project / "affidavit.toml").write_text(text.format(one=one, two=two, operator=OTHER, port=1))
    result = ask(project, PAID)
    assert (result.exit_code, "0.80" in result.stdout) == (0, True)


def test_a_field_in_which_the_sources_differ_does_not_gain_by_their_agreement(shop: Path) -> None:
    (shop / "b.json").write_text(json.dumps({**SAYS, "stock": 0}))
    priced(shop, file("a.json"), file("b.json"))
    stocked = {**PAID, "id": "b", "expect": {"op": "gt", "path": "stock", "value": 0}}
    result = ask(shop, PAID, stocked)
    assert result.exit_code == 0
    rows = {line.split()[0]: line for line in result.stdout.splitlines() if line[:1] in "ab"}
    assert "0.95" in rows["a"]
    assert "0.40" in rows["b"]
    assert "sources conflict: two says 0" in " ".join(result.stdout.split())
    assert "Verdict: supported, confidence 0.40" in result.stdout
    for kept in receipts(shop):
        assert run("verify", str(kept), "--project", str(shop)).exit_code == 0


def test_a_conflict_is_shown_in_the_table_with_its_reason(shop: Path) -> None:
    (shop / "b.json").write_text(json.dumps({**SAYS, "price": 6}))
    priced(shop, file("a.json"), file("b.json"))
    result = ask(shop, PAID, {"id": "b", "tool": "price"})
    assert " ".join(result.stdout.split()).count("sources conflict: two says 6") == 2


def test_a_result_is_stored_once_in_a_receipt(project: Path) -> None:
    long = "leave " * 200
    (project / "data.json").write_text(json.dumps({"text": long, "days": 15}))
    (project / "affidavit.toml").write_text(
        '[tools.t]\nsources = [{ kind = "file", path = "data.json" }]\n'
    )
    text = {"op": "exists", "path": "text"}
    checks = (
        {"id": "whole", "tool": "t"},
        {"id": "long", "tool": "t", "observe": True, "expect": text},
        {"id": "short", "tool": "t", "observe": True, "expect": {**text, "path": "days"}},
    )
    assert ask(project, *checks).exit_code == 0
    (kept,) = receipts(project)
    assert kept.read_text().count(long) == 1
    receipt = json.loads(kept.read_text())
    (fact,) = receipt["evidence_index"].values()
    assert fact["raw"]["text"] == long
    assert [check.get("value") for check in receipt["checks"]] == [None, None, 15]
    assert run("verify", str(kept), "--project", str(project)).exit_code == 0
    assert run("replay", str(kept)).exit_code == 0


def test_one_size_limit(project: Path) -> None:
    # More than 1 MiB in a source, then more than 16 MiB in all sources of a receipt.
    for number in range(5):
        (project / f"{number}.json").write_text(json.dumps([f"{number} {'x' * 3_500_000}"]))
    (project / "affidavit.toml").write_text(
        "[tools.t]\nrequired_args = ['n']\nsources = [{ kind = 'file', path = '{n}.json' }]\n"
        "[tools.small]\nsources = [{ kind = 'file', path = '0.json', max_bytes = 9 }]\n"
    )
    checks = [{"id": f"c{n}", "tool": "t", "args": {"n": str(n)}} for n in range(5)]
    assert ask(project, checks[0]).exit_code == 0
    (kept,) = receipts(project)
    assert run("verify", str(kept), "--project", str(project)).exit_code == 0
    small = ask(project, {"id": "a", "tool": "small"})
    assert (small.exit_code, "too-large" in small.stdout) == (3, True)
    before = receipts(project)
    refused = ask(project, *checks)
    assert (refused.exit_code, "AF390" in refused.stderr) == (2, True)
    assert receipts(project) == before
