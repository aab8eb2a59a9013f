"""Which libraries are installed, in which version, and whether they can be imported."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Final

from affidavit.app.doctor.model import Extra, Package, State, worst_of
from affidavit.app.extras import DISTRIBUTION, Requirement, normalized

# Folders that some packages install at the top by mistake.
_NOT_MODULES: Final = frozenset({"benchmarks", "docs", "examples", "test", "tests"})

ImportProblems = Callable[[Sequence[str]], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Installed:
    """An installed distribution and the top-level modules it brings."""

    version: str
    modules: tuple[str, ...]


def find_installed() -> Mapping[str, Installed]:
    """Return what is installed, by normalized name."""
    modules: dict[str, list[str]] = {}
    for module, names in metadata.packages_distributions().items():
        if module.isidentifier() and not module.startswith("_") and module not in _NOT_MODULES:
            for name in set(names):
                modules.setdefault(normalized(name), []).append(module)
    found: dict[str, Installed] = {}
    for distribution in metadata.distributions():
        name = normalized(distribution.metadata["Name"])
        # The first on the path is the one that Python imports.
        found.setdefault(
            name, Installed(distribution.version, tuple(sorted(modules.get(name, ()))))
        )
    return found


def examine_packages(
    requirements: Iterable[Requirement],
    installed: Mapping[str, Installed],
    problems_importing: ImportProblems,
) -> Mapping[str, Package]:
    """Return a finding for each requirement, by its name."""
    wanted = {row.name: row for row in requirements}
    present = {name: found for name in wanted if (found := installed.get(normalized(name)))}
    modules = [module for found in present.values() for module in found.modules]
    problems = problems_importing(modules)
    return {name: _finding(row, present.get(name), problems) for name, row in wanted.items()}


def extra_from(name: str, packages: tuple[Package, ...]) -> Extra:
    """Return an extra with the state of its worst package; what is broken has its own next step."""
    states = tuple(package.state for package in packages)
    next_step = f"pip install '{DISTRIBUTION}[{name}]'" if State.MISSING in states else None
    return Extra(name, worst_of(states), packages, next_step)


def _finding(
    needed: Requirement, installed: Installed | None, problems: Mapping[str, str]
) -> Package:
    name, bound = needed.name, needed.bound
    install = f"pip install '{name}{bound}'"
    if installed is None:
        return Package(name, bound, None, State.MISSING, None, install)
    detail = next((problems[module] for module in installed.modules if module in problems), None)
    if detail is not None:
        again = f"pip install --force-reinstall '{name}{bound}'"
        return Package(name, bound, installed.version, State.BROKEN, detail, again)
    if is_older(installed.version, bound):
        detail = f"version {installed.version} is too old"
        return Package(name, bound, installed.version, State.BROKEN, detail, install)
    return Package(name, bound, installed.version, State.OK, None, None)


def is_older(version: str, bound: str) -> bool:
    """Say whether a version is below a `>=` bound, by its leading numbers.

    Not covered: other bounds and pre-releases; pip judges those when it installs.
    """
    least = re.search(r">=\s*([0-9.]+)", bound)
    return least is not None and _release(version) < _release(least[1])


def _release(version: str) -> tuple[int, ...]:
    numbers = re.match(r"[0-9]+(\.[0-9]+)*", version)
    parts = [int(part) for part in numbers[0].split(".")] if numbers else []
    while parts and parts[-1] == 0:
        parts.pop()
    return tuple(parts)
