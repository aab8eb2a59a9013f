"""The config file of tools is read strictly; errors are reported with their place first."""

from pathlib import Path
from typing import Any

import pytest

from affidavit.app.tool_config import CONFIG_NAME, find_config, load_tool_config, load_toolbox
from affidavit.app.tool_queries import ToolSet, gather_evidence
from affidavit.base.errors import AffidavitError
from affidavit.checks.check import checks_from_wire, evaluate
from affidavit.checks.facts import Evidence, Tolerance, Tool

TOML = """
[judge]
name = "somebody else's table"

[tools.leave]
description = "Days of leave"
required_args = ["country"]
value_path = "results.0.days"
unit = "days"
licence = "CC0-1.0"
max_age_s = 86400
tolerance = { pct = 1.5 }
allow_hosts = ["hr.example.com"]

[[tools.leave.sources]]
kind = "file"
path = "leave.csv"
where = { country = "{country}" }

[[tools.leave.sources]]
kind = "http"
name = "hr"
origin = "the HR system"
url = "https://hr.example.com/leave/{country}"
headers = { Authorization = { env = "HR_TOKEN", prefix = "Bearer " } }
timeout_ms = 500
"""
YAML = """
tools:
  versions:
    use: software_version
    sources:
      - kind: installed
      - kind: lock
        path: requirements.txt
"""


def box_of(folder: Path, text: str, name: str = CONFIG_NAME) -> ToolSet:
    (folder / name).write_text(text, "utf-8")
    return load_toolbox(load_tool_config(folder / name), {})


def test_a_tool_with_every_setting(tmp_path: Path) -> None:
    box = box_of(tmp_path, TOML)
    tolerance = Tolerance(pct=1.5)
    path, licence = "results.0.days", "CC0-1.0"
    assert box.tools == {
        "leave": Tool(
            name="leave",
            required_args=("country",),
            value_path=path,
            unit="days",
            licence=licence,
            max_age_s=86400,
            tolerance=tolerance,
            description="Days of leave",
        )
    }
    first, second = (one.feed.source for one in box.by_name["leave"].sources)
    assert (first.name, first.origin, first.url) == ("file", "file:leave.csv", "leave.csv")
    assert (second.name, second.origin) == ("hr", "the HR system")
    assert second.url == "https://hr.example.com/leave/{country}"
    assert [one.timeout_ms for one in box.by_name["leave"].sources] == [None, 500]


def test_a_built_in_tool_in_yaml(tmp_path: Path) -> None:
    box = box_of(tmp_path, YAML, "tools.yaml")
    assert box.tools["versions"].required_args == ("product",)
    assert [one.feed.source.kind for one in box.by_name["versions"].sources] == [
        "installed",
        "lock",
    ]


def test_without_a_file_there_is_a_default_tool() -> None:
    box = load_toolbox(None, {})
    wire: dict[str, Any] = {"id": "c", "tool": "software_version", "args": {"product": "python"}}
    checks = checks_from_wire([{**wire, "expect": {"op": "semver_gte", "value": "3.11"}}])
    evidence = gather_evidence(checks, box, now=lambda: "2026-01-31T14:30:00Z", signed=True)
    (result,) = evaluate(checks, box.tools, evidence.by_check, evidence.at)
    assert result.verdict == "supported"
    assert result.confidence == 0.8


def test_two_sources_that_agree(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"n": 100, "at": "2026-01-31T14:29:00Z"}', "utf-8")
    (tmp_path / "b.yaml").write_text("{n: 101, at: '2026-01-31T14:29:30Z'}", "utf-8")
    source = '{ kind = "file", path = "%s", name = "%s", operator = "%s", observed_at_path = "at" }'
    text = f"""
[tools.t]
value_path = "n"
max_age_s = 120
tolerance = {{ abs = 1 }}
sources = [{source % ("a.json", "a", "A")}, {source % ("b.yaml", "b", "B")}]
"""
    box = box_of(tmp_path, text)
    checks = checks_from_wire([{"id": "c", "tool": "t"}])
    found = gather_evidence(checks, box, now=lambda: "2026-01-31T14:30:00Z", signed=True).by_check[
        "c"
    ]
    assert isinstance(found, Evidence)
    assert found.fact.raw["n"] == 100
    assert found.fact.verification.verified is True
    assert found.fact.verification.confidence == 0.95


def test_the_config_file_that_is_found(tmp_path: Path) -> None:
    assert find_config(tmp_path) is None
    (tmp_path / CONFIG_NAME).write_text("[judge]\n", "utf-8")
    assert find_config(tmp_path) is None
    (tmp_path / CONFIG_NAME).write_text(TOML, "utf-8")
    found = find_config(tmp_path)
    assert found is not None
    assert found.file == str(tmp_path / CONFIG_NAME)


def tool(*lines: str) -> str:
    return "\n".join(("[tools.t]", *lines))


def http(url: str, **more: str) -> str:
    fields = "".join(f", {name} = {value}" for name, value in more.items())
    return tool(
        'allow_hosts = ["a.example"]', f'sources = [{{ kind = "http", url = "{url}"{fields} }}]'
    )


INSTALLED = 'sources = [{ kind = "installed" }]'
WRONG = {
    "not TOML": ("[tools", "AF350", None, "TOML"),
    "no tool": ("[judge]", "AF353", None, "no tool"),
    "tools that are none": ("tools = 5", "AF351", "tools", "with a name each"),
    "a name with a space": ('[tools."a b"]', "AF351", "tools.a b", "match"),
    "a field that is not known": (tool("max_age = 5"), "AF351", "tools.t.max_age", "max_age"),
    "no source": (tool("max_age_s = 5"), "AF354", "tools.t.sources", "has no source"),
    "a kind that is not known": (
        tool('sources = [{ kind = "ftp" }]'),
        "AF351",
        "tools.t.sources[0].kind",
        "ftp",
    ),
    "an age that is none": (tool("max_age_s = 0", INSTALLED), "AF351", "tools.t.max_age_s", "> 0"),
    "a date of TOML": (tool("unit = 2026-01-31"), "AF351", "tools.t.unit", "date"),
    "a path that is none": (
        tool('value_path = "a..b"', INSTALLED),
        "AF351",
        "tools.t.value_path",
        "empty step",
    ),
    "a time's path that is none": (
        tool('sources = [{ kind = "installed", observed_at_path = "a.*" }]'),
        "AF351",
        "tools.t.sources[0].observed_at_path",
        "wildcards",
    ),
    "two tolerances": (
        tool("tolerance = { abs = 1, pct = 1 }", INSTALLED),
        "AF351",
        "tools.t.tolerance",
        "either abs or pct",
    ),
    "a host with its scheme": (
        tool('allow_hosts = ["https://a.example"]', INSTALLED),
        "AF351",
        "tools.t.allow_hosts",
        "is no host",
    ),
    "a host that is not allowed": (
        http("https://b.example/"),
        "AF351",
        "tools.t.sources[0].url",
        "not among allow_hosts",
    ),
    "a slot in the host": (
        http("https://{h}.a.example/"),
        "AF351",
        "tools.t.sources[0].url",
        "path and the query only",
    ),
    "a slot without its argument": (
        http("https://a.example/{c}"),
        "AF351",
        "tools.t.sources[0].url",
        "not among required_args",
    ),
    "the same in the query": (
        http("https://a.example/", query='{ q = "{c}" }'),
        "AF351",
        "tools.t.sources[0].query",
        "not among required_args",
    ),
    "a user in the address": (
        http("https://u:p@a.example/"),
        "AF351",
        "tools.t.sources[0].url",
        "user",
    ),
    "a header with a line break": (
        http("https://a.example/", headers='{ X = "a\\nb" }'),
        "AF351",
        "tools.t.sources[0].headers",
        "match",
    ),
    "an unknown format": (
        tool('sources = [{ kind = "file", path = "a.txt" }]'),
        "AF351",
        "tools.t.sources[0].format",
        "json, csv or yaml",
    ),
    "two databases": (
        tool('sources = [{ kind = "sql", query = "q", sqlite = "a", postgres = { env = "P" } }]'),
        "AF351",
        "tools.t.sources[0].sqlite",
        "either sqlite or postgres",
    ),
    "a bound argument that is not required": (
        tool('sources = [{ kind = "sql", query = "q", sqlite = "a", params = ["c"] }]'),
        "AF351",
        "tools.t.sources[0].params",
        "not among required_args",
    ),
    "any address, but no host": (
        tool('use = "http_json"'),
        "AF351",
        "tools.t.sources[0].kind",
        "allow",
    ),
    "an MCP server of neither kind": (
        tool('sources = [{ kind = "mcp", tool = "x" }]'),
        "AF351",
        "tools.t.sources[0].command",
        "either a command or a url",
    ),
    "no function": (
        tool('sources = [{ kind = "python", call = "os.system" }]'),
        "AF351",
        "tools.t.sources[0].call",
        "match",
    ),
    "two sources of one name": (
        tool('sources = [{ kind = "installed", name = "a" }, { kind = "installed", name = "a" }]'),
        "AF351",
        "tools.t.sources",
        "same name",
    ),
}


@pytest.mark.parametrize(("text", "code", "field", "says"), WRONG.values(), ids=WRONG.keys())
def test_errors_name_the_field(
    text: str, code: str, field: str | None, says: str, tmp_path: Path
) -> None:
    with pytest.raises(AffidavitError) as error:
        box_of(tmp_path, text)
    found = error.value
    assert (found.fault.code, found.where.field) == (code, field)
    assert found.where.file == str(tmp_path / CONFIG_NAME)
    assert says in str(found)


def test_yaml_names_the_line(tmp_path: Path) -> None:
    with pytest.raises(AffidavitError) as error:
        box_of(tmp_path, YAML.replace("path:", "paht:"), "t.yml")
    assert error.value.where.field == "tools.versions.sources[1].paht"
    assert error.value.where.line == 8
    with pytest.raises(AffidavitError) as error:
        box_of(tmp_path, "tools:\n  a: 1\n  a: 2\n", "t.yml")
    assert (error.value.fault.code, error.value.where.line) == ("AF350", 3)


def test_an_unknown_file_type_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AffidavitError) as error:
        box_of(tmp_path, TOML, "tools.ini")
    assert error.value.fault.code == "AF352"


def test_toml_that_is_not_utf_8(tmp_path: Path) -> None:
    (tmp_path / CONFIG_NAME).write_bytes(b"\xff")
    with pytest.raises(AffidavitError, match="the text is not UTF-8"):
        load_toolbox(load_tool_config(tmp_path / CONFIG_NAME), {})
