"""Paths that cannot be read, and invalid names, end in one line with a code."""

import shutil
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from tests.cli.running import run
from tests.repository import ROOT
from tests.rights import as_nobody

KEYS = ".affidavit/keys"
REGISTRY = f"{KEYS}/registry.json"
API_KEYS = ".affidavit/api-keys.json"


@pytest.fixture
def project() -> Iterator[Path]:
    """A project with keys, a receipt and API keys, in a folder that every user may enter."""
    place = Path(tempfile.mkdtemp())
    shutil.copytree(ROOT / "samples" / "answers", place, dirs_exist_ok=True)
    at = ("--project", str(place))
    run("keys", "new", *at)
    run("apikeys", "new", "bot", *at)
    # Import everything before the permissions are removed.
    run("answer", str(place / "checks.json"), *at, "-o", str(place / "receipt.json"))
    run("verify", str(place / "receipt.json"), *at)
    import_module("affidavit.web.server")
    for path in (place, *place.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    yield place
    for path in place.rglob("*"):
        path.chmod(0o755)
    shutil.rmtree(place)


CLOSED: dict[str, tuple[str, tuple[str, ...], str]] = {
    "the folder of keys, to list": (KEYS, ("keys", "list"), REGISTRY),
    "the folder of keys, to export": (KEYS, ("keys", "export"), REGISTRY),
    "the folder of keys, to change": (KEYS, ("keys", "retire", "af"), REGISTRY),
    "the folder of keys, to sign": (KEYS, ("answer", "checks.json"), REGISTRY),
    "the folder of keys, to verify": (KEYS, ("verify", "receipt.json"), REGISTRY),
    "the folder of keys, to serve": (KEYS, ("serve", "--port", "0"), REGISTRY),
    "the registry": (REGISTRY, ("keys", "list"), REGISTRY),
    "all of it, for API keys": (".affidavit", ("apikeys", "list"), API_KEYS),
    "a receipt to verify": ("receipt.json", ("verify", "receipt.json"), "receipt.json"),
    "a folder of receipts": ("receipts", ("verify", "receipts"), "receipts"),
    "a folder below it": ("receipts/older", ("verify", "receipts"), "receipts/older"),
    "a receipt to replay": ("receipt.json", ("replay", "receipt.json"), "receipt.json"),
    "checks": ("checks.json", ("answer", "checks.json"), "checks.json"),
    "the file of tools": ("affidavit.toml", ("coverage",), "affidavit.toml"),
}


@pytest.mark.parametrize(("closed", "arguments", "named"), CLOSED.values(), ids=CLOSED.keys())
def test_unreadable_paths_are_reported(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    closed: str,
    arguments: tuple[str, ...],
    named: str,
) -> None:
    (project / "receipts" / "older").mkdir(parents=True)
    (project / API_KEYS).chmod(0o600)
    monkeypatch.chdir(project)
    (project / closed).chmod(0o000)
    with as_nobody():
        result = run(*arguments)
    assert result.stderr == (
        f"AF011: {named}: the file cannot be read (permission denied)."
        " Next: check its permissions\n"
    )
    assert (result.exit_code, result.stdout) == (2, "")


LONG = "x" * 300
ODD: dict[str, tuple[tuple[str, ...], str]] = {
    "a name that no folder can hold": (("verify", LONG), "AF011"),
    "the same to replay": (("replay", LONG), "AF011"),
    "the same to ask": (("answer", LONG), "AF011"),
    "a project that is not there": (("keys", "list", "--project", "no/where"), "AF016"),
    "a project that is a file": (("coverage", "--project", "checks.json"), "AF016"),
    "a project that has a long name": (("serve", "--project", LONG), "AF016"),
    "API keys that are a folder": (("apikeys", "list"), "AF012"),
}


@pytest.mark.parametrize(("arguments", "code"), ODD.values(), ids=ODD.keys())
def test_unusual_names_are_refused(
    project: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], code: str
) -> None:
    monkeypatch.chdir(project)
    (project / API_KEYS).unlink()
    (project / API_KEYS).mkdir()
    result = run(*arguments)
    assert result.stderr.startswith(f"{code}: ")
    assert result.stderr.count("\n") == 1
    assert (result.exit_code, result.stdout) == (2, "")
