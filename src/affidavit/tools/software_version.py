"""The built-in tool `software_version`: installed packages, lock files and package indexes.

Three sources answer three questions: which version is installed, which a lock file pins, and which
is the latest of an index. Each result is `{"results": [{"product", "version", ...}]}`.
"""

import platform
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import PurePath
from typing import Any, Final, TypeAlias

from affidavit.base.json_values import JsonLimits, JsonValue
from affidavit.base.strict_json import decode
from affidavit.checks.facts import EvidenceSource, SourceAnswer
from affidavit.checks.values import display_value, look_up_path
from affidavit.tools.feed import (
    CheckArguments,
    FailureReason,
    SourceFailedError,
    SourceRequest,
    rows_as_result,
)
from affidavit.tools.file_feed import CachedFile
from affidavit.tools.http_feed import HttpSourceClient, fill_url, http_observation_time
from affidavit.tools.observation_time import ObservationTime, ObservedAt
from affidavit.tools.settings import single_argument

Pins: TypeAlias = dict[str, frozenset[str]]
"""The exactly pinned versions of each product. A product with two has no single version."""

_PIN: Final = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*={2,3}\s*(?P<version>[^\s;,\\#*]+)"
    r"\s*(?:;.*|\\|#.*|--hash.*)?"
)
_MODULES: Final = "node_modules/"


def normalized_name(name: str) -> str:
    """Return the name of a package as PEP 503 normalizes it, which also fits npm."""
    return re.sub(r"[-_.]+", "-", name).lower()


def lock_file_reader(name: str) -> Callable[[bytes], Pins]:
    """Return the reader for a lock file of this name."""
    if name.endswith(".json"):
        return lambda raw: _collect_pins(_npm_pins(raw))
    if name.endswith((".lock", ".toml")):
        return lambda raw: _collect_pins(_toml_pins(raw, PurePath(name).name))
    return lambda raw: _collect_pins(_requirement_pins(raw))


def _collect_pins(pins: Iterator[tuple[str, str]]) -> Pins:
    found: dict[str, set[str]] = {}
    for name, version in pins:
        found.setdefault(normalized_name(name), set()).add(version)
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
        raise SourceFailedError(FailureReason.MALFORMED, f"{name} is not TOML") from None
    rows = table.get("package", table.get("packages", []))
    yield from _named_versions(rows if isinstance(rows, list) else [])


def _named_versions(rows: list[Any]) -> Iterator[tuple[str, str]]:
    for row in rows:
        name = row.get("name") if isinstance(row, dict) else None
        version = row.get("version") if isinstance(row, dict) else None
        if isinstance(name, str) and isinstance(version, str):
            yield name, version


def _npm_pins(raw: bytes) -> Iterator[tuple[str, str]]:
    """Read the packages directly in node_modules, which the product's own code imports."""
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
        raise SourceFailedError(FailureReason.MALFORMED, "the lock file is not UTF-8") from None


# The path of the latest version in the answers of Python indexes, npm (all, one) and crates.
_LATEST_PATHS: Final = (
    "info.version",
    "dist-tags.latest",
    "crate.max_stable_version",
    "version",
)
_RELEASE: Final = re.compile(r"[0-9]+(?:\.[0-9]+)*")


@dataclass(frozen=True, slots=True)
class InstalledFeed:
    """The packages of this environment. `python` is the running interpreter."""

    source: EvidenceSource
    timing: ObservationTime

    def ask(self, args: CheckArguments, request: SourceRequest) -> SourceAnswer:
        """Return the installed version, observed at the time of the request."""
        product = single_argument("product", args)
        raw = _version_result(product, _installed_version(product), "installed")
        timing = self.timing
        if timing.observed_at is None and timing.observed_at_path is None:
            timing = ObservationTime(ObservedAt.ASKED)
        moment = timing.moment(raw, request.asked_at)
        return SourceAnswer(self.source, raw, moment, ("installed",))


@dataclass(frozen=True, slots=True)
class LockFeed:
    """A lock file."""

    source: EvidenceSource
    file: CachedFile[Pins]
    timing: ObservationTime

    def ask(self, args: CheckArguments, request: SourceRequest) -> SourceAnswer:
        """Return the version that the file pins."""
        product = single_argument("product", args)
        loaded = self.file.load(request)
        versions = sorted(loaded.content.get(normalized_name(product), ()))
        if not versions:
            raise SourceFailedError(
                FailureReason.MISSING, f"the lock file pins no {display_value(product)}"
            )
        if len(versions) > 1:
            problem = f"the lock file pins {display_value(product)} at {', '.join(versions[:4])}"
            raise SourceFailedError(FailureReason.MALFORMED, problem)
        raw = _version_result(product, versions[0], "locked")
        moment = self.timing.moment(raw, request.asked_at, modified=loaded.modified_at)
        return SourceAnswer(self.source, raw, moment, (loaded.identity,))


@dataclass(frozen=True, slots=True)
class IndexFeed:
    """A package index with `{product}` in its URL."""

    source: EvidenceSource
    url: str
    client: HttpSourceClient
    timing: ObservationTime

    def ask(self, args: CheckArguments, request: SourceRequest) -> SourceAnswer:
        """Return the latest version of the index."""
        product = single_argument("product", args)
        answer, response, servers = self.client.get(fill_url(self.url, args), request)
        version = find_latest(answer)
        if version is None:
            problem = "the index answered, but names no latest version where one is known to stand"
            raise SourceFailedError(FailureReason.MALFORMED, problem)
        raw = _version_result(product, version, "latest")
        moment = http_observation_time(self.timing, answer, response, request)
        return SourceAnswer(self.source, raw, moment, servers)


def find_latest(answer: JsonValue) -> str | None:
    """Return the latest version that an index names, or the greatest release that it lists.

    Of a list (PEP 700) only versions of digits and dots count: a pre-release is not the latest. Not
    covered: withdrawn releases, which such a list does not mark.
    """
    for path in _LATEST_PATHS:
        value = look_up_path(answer, path).value
        if isinstance(value, str) and value.strip():
            return value.strip()
    listed = look_up_path(answer, "versions").value
    releases = [
        version
        for version in (listed if isinstance(listed, list) else ())
        if isinstance(version, str) and _RELEASE.fullmatch(version)
    ]
    return max(releases, key=_parts, default=None)


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part[:18]) for part in version.split("."))


def _installed_version(product: str) -> str:
    if normalized_name(product) == "python":
        return platform.python_version()
    try:
        return metadata.version(product)
    except (metadata.PackageNotFoundError, ValueError):
        raise SourceFailedError(
            FailureReason.MISSING, f"no package {display_value(product)} is installed"
        ) from None


def _version_result(product: str, version: str, meaning: str) -> JsonValue:
    row: dict[str, JsonValue] = {"product": product, "version": version}
    row[f"{meaning}_version"] = version
    return rows_as_result([row])
