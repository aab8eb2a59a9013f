"""Every configuration file of every command, through the command line.

Each file is written with a byte order mark, with CRLF line ends and with a key beyond ASCII, and
must be accepted. With a misspelt key it must be refused, with the position of the key and the key
that was probably meant.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.cli.running import run


class ConfigFile(NamedTuple):
    """A file that a command reads; `wrong` is the misspelt key and `line` where it is."""

    name: str
    text: str
    right: str
    wrong: str
    line: int
    column: int
    code: str
    command: tuple[str, ...]


TOOLS = """\
[answer]
issuer = "example.com"

[tools.leave]
required_args = ["who"]
value_path = "tage.jährlich"

[[tools.leave.sources]]
kind = "file"
path = "leave.json"
where = {"größe" = "{who}"}
"""
TOOLS_YAML = """\
answer: {issuer: example.com}
tools:
  leave:
    required_args: [who]
    value_path: tage
    sources:
      - kind: file
        path: leave.json
        where: {größe: "{who}"}
"""
ROUTES = """\
version: route/1
routes:
  - id: r
    tool: software_version
    ask: ["version of {product}"]
    args: {product: "{product}", "größe": 1}
"""
GATES = """\
[gates]
history = "history.jsonl"
[gates.latency]
rows = "rows.jsonl"
gates = ["p95_ms<=50"]
[gates.latency.accuracy]
"größe" = "rag.json"
"""
RULES = """\
# Schwellen für Prüfungen
gates = ["coverage>=0.1"]
[verdict]
supported_above = 0.8
"""
SCU = """\
[[rule]]
id = "Gebühr"
lock = "gebührenfrei"
claim = "Euro"
"""
JUDGE = """\
[chat]
base_url = "http://127.0.0.1:1/v1"
model = "größe"
"""
PACK = """\
name: mine
version: "1.0"
kind: quality
description: Prüfung
author: a
license: l
rules:
  - id: ÜBER
    severity: error
    description: one
    check:
      type: json_path_exists
      paths: [/data/größe]
      value_equals: {größe: 1}
"""

POLICY = """\
version = 1
[[keys]]
file = "schlüssel.json"
roles = ["prüfer"]
[[roles]]
name = "prüfer"
threshold = 1
"""
SIGNER = """\
# Schlüssel im Tresor
public_key = "schlüssel.json"
command = ["sign", "größe"]
"""

FILES: dict[str, ConfigFile] = {
    "tools in affidavit.toml, of coverage": ConfigFile(
        "affidavit.toml", TOOLS, "value_path", "value_pat", 6, 1, "AF351", ("coverage",)
    ),
    "sources in affidavit.toml": ConfigFile(
        "affidavit.toml", TOOLS, "where", "were", 11, 1, "AF351", ("coverage",)
    ),
    "[answer] in affidavit.toml": ConfigFile(
        "affidavit.toml", TOOLS, "issuer", "isuer", 2, 1, "AF351", ("coverage",)
    ),
    "--tools as YAML": ConfigFile(
        "tools.yaml", TOOLS_YAML, "where:", "were:", 9, 9, "AF351", ("coverage", "--tools", "@")
    ),
    "--routes of coverage": ConfigFile(
        "routes.yaml", ROUTES, "args:", "arg:", 6, 5, "AF310", ("coverage", "--routes", "@")
    ),
    "gates in affidavit.toml, of gate all": ConfigFile(
        "affidavit.toml", GATES, "rows =", "row =", 4, 1, "AF451", ("gate", "all", "-c", "@")
    ),
    "the table [gates] itself": ConfigFile(
        "affidavit.toml", GATES, "history =", "histry =", 2, 1, "AF451", ("gate", "all", "-c", "@")
    ),
    "--scu-rules of gate rag": ConfigFile(
        "scu.toml",
        SCU,
        "claim =",
        "clam =",
        4,
        1,
        "AF410",
        ("gate", "rag", "--gold", "gold.jsonl", "--trace", "trace.jsonl", "--scu-rules", "@"),
    ),
    "--rules of check": ConfigFile(
        "rules.toml",
        RULES,
        "supported_above",
        "suported_above",
        4,
        1,
        "AF231",
        ("check", "answer.txt", "-s", "source.txt", "--judge", "lexical", "--rules", "@"),
    ),
    "--rules of judge score": ConfigFile(
        "rules.toml",
        RULES,
        "supported_above",
        "suported_above",
        4,
        1,
        "AF231",
        ("judge", "score", "pairs.jsonl", "--judge", "lexical", "--rules", "@"),
    ),
    "--judge of judge score": ConfigFile(
        "judge.toml",
        JUDGE,
        "model",
        "modl",
        3,
        1,
        "AF253",
        ("judge", "score", "none.jsonl", "--judge", "@"),
    ),
    "a pack": ConfigFile(
        "mine.yaml", PACK, "severity:", "severty:", 9, 5, "AF651", ("packs", "validate", "@")
    ),
    "a check of a pack": ConfigFile(
        "mine.yaml",
        PACK,
        "value_equals:",
        "value_equal:",
        14,
        7,
        "AF651",
        ("packs", "validate", "@"),
    ),
    "--policy of verify": ConfigFile(
        "release.toml",
        POLICY,
        "roles = [",
        "rols = [",
        4,
        1,
        "AF698",
        ("verify", "run.dsse.json", "--policy", "@"),
    ),
    "a signing command, --key of attest": ConfigFile(
        "hsm.toml",
        SIGNER,
        "command =",
        "comand =",
        3,
        1,
        "AF718",
        ("attest", "run.dsse.json", "--key", "@"),
    ),
}

CHECKS = {
    "checks.yaml": """\
checks:
  - id: a
    tool: leave
    args: {größe: x}
    expect: {op: exists}
""",
    "checks.json": """\
[{
  "id": "a", "tool": "leave", "args": {"größe": "x"},
  "expect": {"op": "exists"}
}]
""",
}

FORMS: dict[str, Callable[[str], bytes]] = {
    "as it is": lambda text: text.encode(),
    "a byte order mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
    "both": lambda text: b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode(),
}

ENVELOPE = {
    "payload": "e30=",
    "payloadType": "application/vnd.in-toto+json",
    "signatures": [{"sig": "AA=="}],
}
OTHER_FILES = {
    "run.dsse.json": json.dumps(ENVELOPE),
    "answer.txt": "The tower is 120 metres high.\n",
    "source.txt": "The tower is 120 metres high.\n",
    "leave.json": "[]",
    "rows.jsonl": json.dumps({"qid": "a", "config": "größe", "latency_ms": 5, "ok": True}) + "\n",
    "pairs.jsonl": json.dumps({"claim": "It rains.", "evidence": "It rains."}) + "\n",
    "gold.jsonl": json.dumps({"qid": "a", "answerable": True, "gold_spans": []}) + "\n",
    "trace.jsonl": json.dumps({"qid": "a", "retrieved_ids": [], "answer_json": {}}) + "\n",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in OTHER_FILES.items():
        (tmp_path / name).write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_with(file: ConfigFile, raw: bytes) -> str:
    """Run the command with the file and return what it says about it on standard error."""
    Path(file.name).write_bytes(raw)
    result = run(*(file.name if word == "@" else word for word in file.command))
    assert result.exit_code in {0, 1, 2, 3}, result.output
    return result.stderr


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
@pytest.mark.parametrize("file", FILES.values(), ids=FILES.keys())
def test_a_file_is_accepted(file: ConfigFile, form: Callable[[str], bytes]) -> None:
    said = run_with(file, form(file.text))
    assert f"{file.name}, line" not in said
    assert file.code not in said


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
@pytest.mark.parametrize("file", FILES.values(), ids=FILES.keys())
def test_an_unknown_key_is_refused_with_a_suggestion(
    file: ConfigFile, form: Callable[[str], bytes]
) -> None:
    assert file.right in file.text
    said = " ".join(run_with(file, form(file.text.replace(file.right, file.wrong, 1))).split())
    key = file.wrong.rstrip(": =[")
    place = f"{file.code}: {file.name}, line {file.line}, column {file.column}, field "
    assert said.startswith(place)
    assert f"unknown key '{key}'" in said
    assert f"did you mean {file.right.rstrip(': =[')}?" in said


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("file", FILES.values(), ids=FILES.keys())
def test_text_that_cannot_be_parsed_has_a_position(file: ConfigFile) -> None:
    end = file.text.count("\n") + 1
    said = run_with(file, file.text.encode() + b"\xff")
    assert f"{file.name}, line {end}, column 1: " in said
    assert "not UTF-8" in said
    said = run_with(file, file.text.encode() + b"]")
    assert f"{file.name}, line {end}, column " in said


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
@pytest.mark.parametrize("name", CHECKS)
def test_a_file_of_checks_is_accepted(name: str, form: Callable[[str], bytes]) -> None:
    Path("affidavit.toml").write_text(TOOLS.replace('"who"', '"größe"'), "utf-8")
    Path(name).write_bytes(form(CHECKS[name]))
    result = run("answer", name)
    assert "AF351: affidavit.toml" in result.stderr  # The checks were read, then the tools.


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_a_wrong_check_in_yaml_has_a_position(form: Callable[[str], bytes]) -> None:
    Path("checks.yaml").write_bytes(form(CHECKS["checks.yaml"].replace("expect:", "expct:")))
    said = run("answer", "checks.yaml").stderr
    assert said.startswith("AF300: checks.yaml, line 2, column 5, field checks[0]: "), said
