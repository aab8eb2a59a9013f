"""What Affidavit needs and what it can use besides, as its own package metadata says."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata
from typing import Final

DISTRIBUTION: Final = "affidavit"

# A requirement as the build writes it: `lxml>=5.3; extra == 'ledger'`.
_REQUIREMENT: Final = re.compile(
    r"(?P<name>[A-Za-z0-9._-]+)\s*(\[[^\]]*\])?\s*(?P<bound>[^;]*?)\s*"
    r"(;.*\bextra\s*==\s*['\"](?P<extra>[^'\"]+).*)?"
)


@dataclass(frozen=True, slots=True)
class Requirement:
    """A package that is needed: always, or by one extra. `bound` is as written, e.g. `>=8.2`."""

    name: str
    bound: str
    extra: str | None


@dataclass(frozen=True, slots=True)
class Needs:
    """What the core needs, and each extra by name."""

    core: tuple[Requirement, ...]
    extras: tuple[tuple[str, tuple[Requirement, ...]], ...]


def find_needs() -> Needs | None:
    """Return what the metadata says; None where Affidavit runs without being installed."""
    try:
        lines = metadata.requires(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return None
    return needs_from(lines or ())


def needs_from(lines: Iterable[str]) -> Needs:
    """Sort requirement lines into the core and the extras.

    An extra that holds all of another one is a bundle of extras (`all`): it says nothing new.
    """
    rows = [row for row in map(_requirement_from, lines) if row.name != DISTRIBUTION]
    names = sorted({row.extra for row in rows if row.extra is not None})
    packages = {name: {row.name for row in rows if row.extra == name} for name in names}
    plain = [
        name
        for name in names
        if not any(packages[other] < packages[name] for other in names if other != name)
    ]
    return Needs(
        tuple(row for row in rows if row.extra is None),
        tuple((name, tuple(row for row in rows if row.extra == name)) for name in plain),
    )


def find_extra_with(module: str) -> str | None:
    """Return the extra that installs a module, judged by the package's name."""
    needs = find_needs()
    wanted = normalized(module)
    for name, packages in needs.extras if needs and wanted else ():
        if any(_provides(normalized(package.name), wanted) for package in packages):
            return name
    return None


def normalized(name: str) -> str:
    """Return a package's name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _provides(package: str, module: str) -> bool:
    # opentelemetry-proto provides opentelemetry.proto: the first word is the shared name space.
    return package == module or package.startswith(f"{module}-")


def _requirement_from(line: str) -> Requirement:
    match = _REQUIREMENT.fullmatch(line.strip())
    if match is None:
        raise ValueError(f"the metadata has a requirement of another form: {line!r}")
    return Requirement(match["name"], match["bound"], match["extra"])
