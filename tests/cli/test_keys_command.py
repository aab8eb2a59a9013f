"""`affidavit keys`, through the real command line."""

import json
import os
import pty
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from tests.cli.running import REAL, command_line, environment, run
from tests.golden_files import Golden
from tests.repository import ROOT

from affidavit.app import keys as app
from affidavit.app import keys as wiring
from affidavit.seal.keys import trusted_keys_from
from affidavit.store.signing_keys import SigningKeyFolder

SEED = bytes(range(32))
ID = "af-ed25519-56475aa75463"
NOW = 1_767_225_600  # 2026-01-01T00:00:00Z


@pytest.fixture(autouse=True)
def fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same key and the same time in every run, and no passphrase."""
    monkeypatch.setattr(wiring, "random_bytes", lambda size: SEED[:size])
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(NOW))
    monkeypatch.delenv(wiring.PASSPHRASE_VARIABLE, raising=False)


def keys(project: Path, *arguments: str) -> Result:
    return run("keys", *arguments, "--project", str(project))


def machine(project: Path, *arguments: str) -> Any:
    result = keys(project, *arguments, "--json")
    return json.loads(result.stdout)


def test_a_new_key(tmp_path: Path) -> None:
    result = keys(tmp_path, "new")
    assert (result.exit_code, result.stdout) == (0, f"{ID}\n")
    assert "never this file" in result.stderr
    assert SigningKeyFolder(tmp_path / ".affidavit" / "keys").signing_key(None).seed == SEED
    again = keys(tmp_path, "new")
    assert again.exit_code == 2
    assert "AF339" in again.stderr


def test_a_key_under_a_passphrase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(wiring.PASSPHRASE_VARIABLE, "correct horse")
    made = machine(tmp_path, "new", "--prefix", "acme")
    assert made["encrypted"] is True
    assert made["key_id"] == "acme-ed25519-56475aa75463"
    assert Path(made["private"]).read_text().startswith("-----BEGIN ENCRYPTED PRIVATE KEY-----")
    (listed,) = machine(tmp_path, "list")["keys"]
    assert listed["private"] == "encrypted"


REFUSED = {
    "no terminal for a passphrase": (("new", "--encrypt"), None, "AF338"),
    "a short passphrase": (("new",), "hunter2", "AF338"),
    "a prefix that is not a name": (("new", "--prefix", "A B"), None, "AF331"),
    "nothing to export": (("export",), None, "AF339"),
    "no such key": (("retire", "af"), None, "AF339"),
    "no day": (("retire", "af", "--at", "yesterday"), None, "AF278"),
    "no reason": (("compromise", "af", "--since", "2026-01-01"), None, "AF0"),
}


@pytest.mark.parametrize(("arguments", "secret", "code"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    secret: str | None,
    code: str,
) -> None:
    if secret:
        monkeypatch.setenv(wiring.PASSPHRASE_VARIABLE, secret)
    result = keys(tmp_path, *arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith(code)
    assert "hunter2" not in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_key_is_created_retired_and_compromised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    keys(tmp_path, "new")
    monkeypatch.setattr(wiring, "random_bytes", lambda size: bytes(size))
    keys(tmp_path, "new", "--prefix", "acme")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(NOW + 86_400))
    assert keys(tmp_path, "retire", "5647", "-q").stdout == f"{ID} is retired\n"
    assert machine(tmp_path, "export").keys() == {ID, "acme-ed25519-139e3940e64b"}
    since = ("--since", "2026-01-01T12:00:00Z", "--reason", "laptop stolen")
    changed = machine(tmp_path, "compromise", ID, *since)
    assert changed["status"] == "compromised"
    (tmp_path / ".affidavit" / "keys" / "af-ed25519-000000000000.pem").write_text("left behind")
    golden.check("keys-list.txt", keys(tmp_path, "list").stdout)
    golden.check("keys-registry.json", keys(tmp_path, "export", "--registry").stdout)
    assert machine(tmp_path, "export").keys() == {"acme-ed25519-139e3940e64b"}


def test_an_exported_document_is_one_that_a_verifier_reads(tmp_path: Path) -> None:
    keys(tmp_path, "new")
    for name, more in (("flat.json", ()), ("registry.json", ("--registry",))):
        path = tmp_path / name
        assert keys(tmp_path, "export", "-o", str(path), *more).exit_code == 0
        assert list(trusted_keys_from([json.loads(path.read_bytes())]).keys) == [ID]
    assert machine(tmp_path, "export", "-o", str(path)) == {"output": str(path)}


def test_an_ambiguous_key_id_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys(tmp_path, "new")
    monkeypatch.setattr(wiring, "random_bytes", lambda size: bytes(size))
    keys(tmp_path, "new")
    result = keys(tmp_path, "retire", "af")
    assert result.exit_code == 2
    assert " or " in result.stderr


def test_random_bytes_are_random(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert len({wiring.random_bytes(32) for _ in range(3)}) == 3
    assert len(wiring.random_bytes(7)) == 7


def test_a_passphrase_is_typed_twice_and_not_shown(tmp_path: Path) -> None:
    """Run on a terminal with typed input."""
    arguments = ["keys", "new", "--encrypt", "--project", str(tmp_path)]
    process, terminal = pty.fork()
    if process == 0:  # The child: it has only to become the program.
        os.chdir(ROOT)
        os.execve(sys.executable, command_line(REAL, arguments), environment())  # noqa: S606 - ours
    shown = b""
    while b"Passphrase" not in shown:
        shown += os.read(terminal, 1024)
    os.write(terminal, b"typed secretly\n")
    while b"Repeat" not in shown:
        shown += os.read(terminal, 1024)
    os.write(terminal, b"typed secretly\n")
    with os.fdopen(terminal, "rb", buffering=0) as stream:
        while piece := _read(stream.fileno()):
            shown += piece
        _, status = os.waitpid(process, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert b"typed secretly" not in shown
    SigningKeyFolder(tmp_path / ".affidavit" / "keys").signing_key("typed secretly")


def _read(handle: int) -> bytes:
    try:
        return os.read(handle, 1024)
    except OSError:  # Linux says EIO where others say end of file.
        return b""


def test_an_empty_list_of_keys(tmp_path: Path) -> None:
    assert machine(tmp_path, "list") == {"keys": []}
    assert app.list_keys(SigningKeyFolder(tmp_path)) == ()
