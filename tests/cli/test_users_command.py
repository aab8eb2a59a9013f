"""`affidavit users`, `affidavit audit export`, and `affidavit verify` of what it wrote."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.cli.running import run

from affidavit.cli.program import cli

GIVEN = "correct horse battery staple\n"


def users(folder: Path, *arguments: str, stdin: str = "") -> Result:
    command = ("users", *arguments, "--project", str(folder))
    return CliRunner().invoke(cli, command, input=stdin)


def test_users_and_what_is_left_of_their_changes(tmp_path: Path) -> None:
    assert run("keys", "new", "--project", str(tmp_path)).exit_code == 0
    added = users(tmp_path, "add", "ada", "--role", "admin", stdin=GIVEN)
    assert (added.exit_code, added.stdout) == (0, "ada is admin of the workspace default\n")
    assert users(tmp_path, "role", "ada", "reviewer", "--workspace", "acme").exit_code == 0
    listed = json.loads(users(tmp_path, "list", "--json").stdout)["users"]
    assert [(each["name"], each["role"], each["elsewhere"]) for each in listed] == [
        ("ada", "admin", True)
    ]
    early, late = str(tmp_path / "early.jsonl"), str(tmp_path / "late.jsonl")
    export = ("audit", "export", "--project", str(tmp_path))
    assert run(*export, early).exit_code == 0
    assert users(tmp_path, "disable", "ada").stdout == "ada is disabled\n"
    assert run(*export, late).stdout == f"{late}: 2 changes of the workspace default\n"

    verify = ("verify", "--project", str(tmp_path))
    assert run(*verify, late, "--since", early).exit_code == 0
    forged = Path(late)
    forged.write_bytes(forged.read_bytes().replace(b"the operator", b"the intruder", 1))
    refused = run(*verify, late, "--json")
    assert refused.exit_code == 4
    (found,) = json.loads(refused.stdout)["audit_logs"]
    assert [step["name"] for step in found["steps"] if step["code"]] == ["chain"]
    assert GIVEN.strip() not in forged.read_text("utf-8")


REFUSED = {
    "a short password": (("add", "eve", "--role", "viewer"), "short\n", 2, "AF548"),
    "no password": (("add", "eve", "--role", "viewer"), "", 2, "AF548"),
    "a name with spaces": (("add", "a b", "--role", "viewer"), GIVEN, 2, "AF547"),
    "a user who does not exist": (("role", "eve", "admin"), "", 2, "AF546"),
    "nobody to disable": (("disable", "eve"), "", 2, "AF546"),
    "a workspace that cannot be": (
        ("role", "eve", "admin", "--workspace", "../x"),
        *("", 2, "AF868"),
    ),
}


@pytest.mark.parametrize(
    ("arguments", "stdin", "exit", "code"), REFUSED.values(), ids=REFUSED.keys()
)
def test_what_is_refused(
    tmp_path: Path, arguments: tuple[str, ...], stdin: str, exit: int, code: str
) -> None:
    refused = users(tmp_path, *arguments, stdin=stdin)
    assert (refused.exit_code, refused.stderr.partition(":")[0]) == (exit, code)


def test_mcp_without_its_package(tmp_path: Path) -> None:
    refused = run("mcp", "--project", str(tmp_path))
    assert (refused.exit_code, refused.stderr.partition(":")[0]) == (2, "AF556")
