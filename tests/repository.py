"""The repository: its root, its files, its modules and their imports."""

import ast
import configparser
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "affidavit"


@dataclass(frozen=True, slots=True)
class Import:
    """The target of an import statement; `name` is None for `import module`."""

    module: str
    name: str | None
    line: int

    @property
    def dotted(self) -> str:
        """The full dotted name that is imported."""
        return self.module if self.name is None else f"{self.module}.{self.name}"


@dataclass(frozen=True, slots=True)
class Module:
    """A module under src/: `name` is dotted and leaves out the leading `affidavit`."""

    name: str
    path: Path
    tree: ast.Module

    def imports(self) -> Iterator[Import]:
        """Yield what the module imports, at its top and inside its functions."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (Import(alias.name, None, node.lineno) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                # A relative import stays inside the package; the layers contract checks it.
                module = "affidavit" if node.level else str(node.module)
                yield from (Import(module, alias.name, node.lineno) for alias in node.names)


def module_from_source(name: str, source: str) -> Module:
    """Return a module made from a text, for tests of the rules."""
    return Module(name, SOURCE / name, ast.parse(source))


def modules() -> tuple[Module, ...]:
    """Return every module of the package, in the order of their names."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        found.append(Module(name, path, ast.parse(path.read_text("utf-8"), str(path))))
    return tuple(found)


def layers() -> tuple[frozenset[str], ...]:
    """Return the layers of `.importlinter`, highest first, each as its packages' names."""
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter", "utf-8")
    rows = contracts["importlinter:contract:layers"]["layers"].split("\n")
    return tuple(
        frozenset(name.strip(" ()") for name in row.split("|")) for row in rows if row.strip()
    )


def pure_packages() -> frozenset[str]:
    """Return the three lowest layers: the domain packages, `decision` and `base`."""
    domain, decision, base = layers()[-3:]
    return domain | decision | base


def files_of_the_repository() -> tuple[Path, ...]:
    """Return the files that git tracks, or would track because they are not ignored."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout
    paths = (ROOT / name.decode() for name in listed.split(b"\0") if name)
    return tuple(path for path in paths if path.is_file())
