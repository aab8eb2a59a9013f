"""The contracts of `.importlinter` hold, and each can be broken."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.repository import ROOT, SOURCE, layers

# The smallest tree that keeps both contracts: every package, empty.
KEPT = {f"{name}/__init__.py": "" for layer in layers() for name in sorted(layer - {"__main__"})}

BROKEN = {
    "base must not know a domain package": (
        {"base/oops.py": "import affidavit.ledger"},
        "affidavit.base is not allowed to import affidavit.ledger",
    ),
    "a domain package must not know the outside world": (
        {"ledger/oops.py": "import affidavit.documents"},
        "affidavit.ledger is not allowed to import affidavit.documents",
    ),
    "siblings must not know one another": (
        {"judge/oops.py": "from affidavit import documents"},
        "affidavit.judge is not allowed to import affidavit.documents",
    ),
    "an import inside a function counts": (
        {"ledger/oops.py": "def read():\n    import affidavit.documents"},
        "affidavit.ledger is not allowed to import affidavit.documents",
    ),
    "a detour over a third module counts": (
        {"__init__.py": "from affidavit import documents", "ledger/oops.py": "import affidavit"},
        "affidavit.ledger is not allowed to import affidavit.documents",
    ),
    "a new package needs a place": ({"helpers/__init__.py": ""}, "- affidavit.helpers"),
    "a new module beside the packages needs a place": ({"helpers.py": ""}, "- affidavit.helpers"),
    "modules must not form a cycle": (
        {"base/one.py": "import affidavit.base.two", "base/two.py": "import affidavit.base.one"},
        "No cycles are allowed in affidavit.base",
    ),
    "a cycle hidden in a function is one": (
        {
            "base/one.py": "import affidavit.base.two",
            "base/two.py": "def later():\n    import affidavit.base.one",
        },
        "No cycles are allowed in affidavit.base",
    ),
}


def verdict_on(folder: Path, tree: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Write a package `affidavit` into `folder` and check our contracts on it."""
    for name, source in {"__init__.py": "", **KEPT, **tree}.items():
        path = folder / "affidavit" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, "utf-8")
    return hold_contracts(folder)


def hold_contracts(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run import-linter where `affidavit` is the package that `folder` contains."""
    check = (
        "import sys; sys.path.insert(0, sys.argv[1]); from importlinter.cli import lint_imports;"
        "sys.exit(lint_imports(config_filename=sys.argv[2], no_cache=True))"
    )
    return subprocess.run(
        [sys.executable, "-c", check, str(folder), str(ROOT / ".importlinter")],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_contracts_hold() -> None:
    found = hold_contracts(SOURCE.parent)
    assert found.returncode == 0, found.stdout + found.stderr


def test_the_smallest_tree_is_kept(tmp_path: Path) -> None:
    found = verdict_on(tmp_path, {})
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize(("tree", "said"), BROKEN.values(), ids=BROKEN.keys())
def test_a_contract_is_broken(tree: dict[str, str], said: str, tmp_path: Path) -> None:
    found = verdict_on(tmp_path, tree)
    assert found.returncode == 1, found.stdout + found.stderr
    assert said in found.stdout


def test_the_decision_record_names_every_package() -> None:
    record = (ROOT / "docs" / "adr" / "0017-one-house.md").read_text("utf-8")
    packages = frozenset().union(*layers()) - {"__main__"}
    missing = sorted(name for name in packages if f"`{name}`" not in record)
    assert missing == []
