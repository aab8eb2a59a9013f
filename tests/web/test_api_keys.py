"""API keys: created, listed and revoked on the command line, and stored as digests."""

import json
import re
import stat
from pathlib import Path

import pytest
from click.testing import Result
from tests.cli.running import run

from affidavit.app import keys as keys_module
from affidavit.app.service import api_key_file, list_api_keys
from affidavit.base.errors import AffidavitError
from affidavit.store.api_keys import ApiKeyFile

AT = "2026-01-01T00:00:00Z"
KEY = re.compile(r"afk_[0-9a-f]{12}_[0-9a-f]{64}")


def apikeys(project: Path, *arguments: str) -> Result:
    return run("apikeys", *arguments, "--project", str(project))


def test_an_api_key_is_created_listed_and_revoked(tmp_path: Path) -> None:
    made = apikeys(tmp_path, "new", "billing bot", "--scope", "verify", "--scope", "answer")
    key = made.stdout.strip()
    assert KEY.fullmatch(key)
    file = api_key_file(tmp_path)
    found = file.find(key, AT)
    assert found is not None
    assert [scope.value for scope in found.scopes] == ["answer", "verify"]
    kept = file.path.read_text("utf-8")
    assert key.split("_")[2] not in kept
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    listed = apikeys(tmp_path, "list")
    assert "billing bot" in listed.stdout
    assert key not in listed.stdout
    revoked = apikeys(tmp_path, "revoke", "billing bot")
    assert (revoked.exit_code, file.find(key, AT)) == (0, None)
    (line,) = json.loads(apikeys(tmp_path, "list", "--json").stdout)["keys"]
    assert (line["status"], line["name"]) == ("revoked", "billing bot")


def test_each_key_has_its_own_salt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random_bytes = keys_module.random_bytes
    monkeypatch.setattr(
        keys_module, "random_bytes", lambda size: b"s" * 32 if size == 32 else random_bytes(size)
    )
    for name in ("a", "b"):
        assert apikeys(tmp_path, "new", name, "--json").exit_code == 0
    one, other = api_key_file(tmp_path).keys()
    assert one.sha256 != other.sha256


def test_a_key_has_a_workspace_and_expires(tmp_path: Path) -> None:
    made = apikeys(tmp_path, "new", "a", "--workspace", "acme", "--expires", "2999-01-31", "--json")
    created = json.loads(made.stdout)
    assert (created["workspace"], created["expires_at"]) == ("acme", "2999-01-31T00:00:00Z")
    file = api_key_file(tmp_path)
    found = file.find(created["key"], "2999-01-30T23:59:59Z")
    assert found is not None
    assert found.workspace == "acme"
    assert file.find(created["key"], "2999-01-31T00:00:00Z") is None
    (listed,) = list_api_keys(file, "2999-02-01T00:00:00Z")
    assert (listed.status, listed.workspace) == ("expired", "acme")


FIRST_VERSION = """{"schema": "affidavit-api-keys/v1", "keys": [{"id": "000000000000",
"name": "old", "scopes": ["answer", "verify", "read"], "salt": "00", "sha256": "00",
"created_at": "x"}]}"""


def test_keys_of_version_1_are_migrated_and_gain_no_power(tmp_path: Path) -> None:
    path = tmp_path / ".affidavit" / "api-keys.json"
    path.parent.mkdir()
    path.write_text(FIRST_VERSION, "utf-8")
    path.chmod(0o600)
    (old,) = ApiKeyFile(path).keys()
    assert (old.workspace, old.expires_at) == ("default", None)
    assert [scope.value for scope in old.scopes] == ["answer", "verify", "read"]
    assert apikeys(tmp_path, "new", "young").exit_code == 0
    written = json.loads(path.read_bytes())
    assert written["schema"] == "affidavit-api-keys/v2"
    assert [key["name"] for key in written["keys"]] == ["old", "young"]
    assert ApiKeyFile(path).keys()[0] == old


def test_nothing_to_list(tmp_path: Path) -> None:
    listed = apikeys(tmp_path, "list")
    assert (listed.exit_code, listed.stdout) == (0, "")
    assert "affidavit apikeys new" in listed.stderr


REFUSED = {
    "a name twice": (("new", "taken"), "AF525"),
    "no name": (("new", "  "), "AF525"),
    "a long name": (("new", "a" * 65), "AF525"),
    "a name that no line of a log shows": (("new", "a\x1bb"), "AF525"),
    "no such key": (("revoke", "nobody"), "AF524"),
    "an empty reference": (("revoke", ""), "AF524"),
    "no such workspace": (("new", "a", "--workspace", "../x"), "AF868"),
    "no time": (("new", "a", "--expires", "soon"), "AF278"),
    "a day in the past": (("new", "a", "--expires", "2020-01-01"), "AF871"),
    "no such scope": (("new", "a", "--scope", "all"), "AF001"),
}


@pytest.mark.parametrize(("arguments", "code"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(tmp_path: Path, arguments: tuple[str, ...], code: str) -> None:
    apikeys(tmp_path, "new", "taken")
    before = api_key_file(tmp_path).path.read_bytes()
    result = apikeys(tmp_path, *arguments)
    assert (result.exit_code, result.stderr[:5]) == (2, code)
    assert api_key_file(tmp_path).path.read_bytes() == before


BROKEN = {
    "no JSON": ("{", "AF020"),
    "another document": ("{}", "AF522"),
    "a scope that is none": (
        '{"schema":"affidavit-api-keys/v1","keys":[{"id":"000000000000","name":"a",'
        '"scopes":["all"],"salt":"00","sha256":"00","created_at":"x"}]}',
        "AF522",
    ),
}


@pytest.mark.parametrize(("text", "code"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_file_is_named(tmp_path: Path, text: str, code: str) -> None:
    path = tmp_path / "api-keys.json"
    path.write_text(text, "utf-8")
    path.chmod(0o600)
    with pytest.raises(AffidavitError) as caught:
        ApiKeyFile(path).keys()
    assert (caught.value.fault.code, caught.value.where.file) == (code, str(path))


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / ".affidavit").write_text("", "utf-8")
    assert apikeys(tmp_path, "new", "a").stderr.startswith("AF014")
