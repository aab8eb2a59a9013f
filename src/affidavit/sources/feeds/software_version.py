"""The built-in tool `software_version`: which version of a product there is.

Three sources answer three questions: what is installed here, what a lock file pins, and what an
index offers as the latest. Each result is `{"results": [{"product", "version", ...}]}`.
"""

import platform
import re
from dataclasses import dataclass
from importlib import metadata
from typing import Final

from affidavit.base.json_limits import JsonValue
from affidavit.checks.facts import Source
from affidavit.checks.paths import look_at
from affidavit.checks.values import shown
from affidavit.sources.feeds.feed import Args, Errand, Reply, Silence, SilentError
from affidavit.sources.feeds.file_reading import WatchedFile
from affidavit.sources.feeds.http_feed import Caller, filled_url, http_moment
from affidavit.sources.feeds.lock_files import Pins, normalized
from affidavit.sources.feeds.observed import ObservedAt, Timing
from affidavit.sources.feeds.results import as_rows
from affidavit.sources.feeds.slots import single_argument

# Where indexes say which version is the latest: Python's JSON, npm (all, one), crates.
_LATEST_PATHS: Final = (
    "info.version",
    "dist-tags.latest",
    "crate.max_stable_version",
    "version",
)
_RELEASE: Final = re.compile(r"[0-9]+(?:\.[0-9]+)*")


@dataclass(frozen=True, slots=True)
class InstalledFeed:
    """The packages of this environment; `python` is the interpreter that runs."""

    source: Source
    timing: Timing

    def ask(self, args: Args, errand: Errand) -> Reply:
        """Return the version that is installed; that is so at the moment of asking."""
        product = single_argument("product", args)
        raw = _result(product, _installed_version(product), "installed")
        if self.timing.observed_at is None and self.timing.observed_at_path is None:
            return Reply(raw, Timing(ObservedAt.ASKED).moment(raw, errand.asked_at))
        return Reply(raw, self.timing.moment(raw, errand.asked_at))


@dataclass(frozen=True, slots=True)
class LockFeed:
    """A lock file."""

    source: Source
    file: WatchedFile[Pins]
    timing: Timing

    def ask(self, args: Args, errand: Errand) -> Reply:
        """Return the version that the file pins."""
        product = single_argument("product", args)
        opened = self.file.opened(errand)
        versions = sorted(opened.content.get(normalized(product), ()))
        if not versions:
            raise SilentError(Silence.MISSING, f"the lock file pins no {shown(product)}")
        if len(versions) > 1:
            problem = f"the lock file pins {shown(product)} at {', '.join(versions[:4])}"
            raise SilentError(Silence.MALFORMED, problem)
        raw = _result(product, versions[0], "locked")
        moment = self.timing.moment(raw, errand.asked_at, modified=opened.modified_at)
        return Reply(raw, moment)


@dataclass(frozen=True, slots=True)
class IndexFeed:
    """A package index that the user names, with `{product}` in its address."""

    source: Source
    url: str
    caller: Caller
    timing: Timing

    def ask(self, args: Args, errand: Errand) -> Reply:
        """Return the version that the index calls the latest."""
        product = single_argument("product", args)
        answer, response = self.caller.get(filled_url(self.url, args), errand)
        version = find_latest(answer)
        if version is None:
            problem = "the index answered, but names no latest version where one is known to stand"
            raise SilentError(Silence.MALFORMED, problem)
        raw = _result(product, version, "latest")
        return Reply(raw, http_moment(self.timing, answer, response, errand))


def find_latest(answer: JsonValue) -> str | None:
    """Return the latest version that an index names, or the greatest release that it lists.

    A list (PEP 700) counts only versions of digits and dots: no pre-release is anyone's latest.
    Not covered: releases that were withdrawn, which such a list does not tell apart.
    """
    for path in _LATEST_PATHS:
        value = look_at(answer, path).value
        if isinstance(value, str) and value.strip():
            return value.strip()
    listed = look_at(answer, "versions").value
    releases = [
        version
        for version in (listed if isinstance(listed, list) else ())
        if isinstance(version, str) and _RELEASE.fullmatch(version)
    ]
    return max(releases, key=_parts, default=None)


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part[:18]) for part in version.split("."))


def _installed_version(product: str) -> str:
    if normalized(product) == "python":
        return platform.python_version()
    try:
        return metadata.version(product)
    except (metadata.PackageNotFoundError, ValueError):
        raise SilentError(Silence.MISSING, f"no package {shown(product)} is installed") from None


def _result(product: str, version: str, meaning: str) -> JsonValue:
    row: dict[str, JsonValue] = {"product": product, "version": version}
    row[f"{meaning}_version"] = version
    return as_rows([row])
