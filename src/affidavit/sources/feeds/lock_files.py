"""Versions that a lock file pins: requirements.txt, TOML locks of Python, package-lock.json.

Only an exact pin counts, and only one: a product that the file pins at two versions (for two
platforms, say) has no version that could be stated.
"""

import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import Any, Final, TypeAlias

from affidavit.base.json_limits import JsonLimits
from affidavit.base.strict_json import decode
from affidavit.sources.feeds.feed import Silence, SilentError

Pins: TypeAlias = dict[str, frozenset[str]]

_PIN: Final = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*={2,3}\s*(?P<version>[^\s;,\\#*]+)"
    r"\s*(?:;.*|\\|#.*|--hash.*)?"
)
_MODULES: Final = "node_modules/"


def normalized(name: str) -> str:
    """Return a package's name as PEP 503 compares it; npm's names have no other form either."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pins_of(name: str) -> Callable[[bytes], Pins]:
    """Return what reads a lock file of this name."""
    if name.endswith(".json"):
        return lambda raw: _gathered(_npm_pins(raw))
    if name.endswith((".lock", ".toml")):
        return lambda raw: _gathered(_toml_pins(raw, PurePath(name).name))
    return lambda raw: _gathered(_requirement_pins(raw))


def _gathered(pins: Iterator[tuple[str, str]]) -> Pins:
    found: dict[str, set[str]] = {}
    for name, version in pins:
        found.setdefault(normalized(name), set()).add(version)
    return {name: frozenset(versions) for name, versions in found.items()}


def _requirement_pins(raw: bytes) -> Iterator[tuple[str, str]]:
    for line in _text(raw).splitlines():
        if match := _PIN.fullmatch(line.strip()):
            yield match["name"], match["version"]


def _toml_pins(raw: bytes, name: str) -> Iterator[tuple[str, str]]:
    """Read [[package]] of uv, poetry and cargo, and [[packages]] of pylock.toml (PEP 751)."""
    try:
        table = tomllib.loads(_text(raw))
    except (tomllib.TOMLDecodeError, RecursionError):
        raise SilentError(Silence.MALFORMED, f"{name} is not TOML") from None
    rows = table.get("package", table.get("packages", []))
    yield from _named_versions(rows if isinstance(rows, list) else [])


def _named_versions(rows: list[Any]) -> Iterator[tuple[str, str]]:
    for row in rows:
        name = row.get("name") if isinstance(row, dict) else None
        version = row.get("version") if isinstance(row, dict) else None
        if isinstance(name, str) and isinstance(version, str):
            yield name, version


def _npm_pins(raw: bytes) -> Iterator[tuple[str, str]]:
    """Read what stands directly in node_modules: what a product's own code would get."""
    table = decode(raw, JsonLimits(len(raw)))
    packages = table.get("packages") if isinstance(table, dict) else None
    if isinstance(packages, dict):
        rows = {
            place.removeprefix(_MODULES): row
            for place, row in packages.items()
            if place.startswith(_MODULES) and place.count(_MODULES) == 1
        }
    else:
        older = table.get("dependencies") if isinstance(table, dict) else None
        rows = older if isinstance(older, dict) else {}
    for name, row in rows.items():
        version = row.get("version") if isinstance(row, dict) else None
        if isinstance(version, str):
            yield name, version


def _text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SilentError(Silence.MALFORMED, "the lock file is not UTF-8") from None
