"""The services of a trial, with faults in front of each.

A service is known by the variable in which the target looks for it: the address of an HTTP service,
the command that starts an MCP server, or the path of a file. The variable gets the address of a
proxy, the command of a proxy, or the path of a copy.
"""

import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult

import msgspec

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import soak as faults
from affidavit.base.faults.input import FILE_MISSING
from affidavit.base.files import is_there, read_bounded
from affidavit.base.http_address import UrlProblem, parse_url
from affidavit.base.text import excerpt
from affidavit.soak.fault_plan import APPLICABLE, FaultLevel, FaultPlan, ServiceKind
from affidavit.tools.fault_injection import CallCounter, changed_file
from affidavit.tools.fault_proxy import HttpFaultProxy
from affidavit.tools.mcp_fault_proxy import McpProxySettings

_MAX_FILE_BYTES: Final = 256 << 20


@dataclass(slots=True)
class StartedServices:
    """The services of one trial, and what was injected into them."""

    environment: dict[str, str] = field(default_factory=dict)
    proxies: list[HttpFaultProxy] = field(default_factory=list)
    logs: list[Path] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def injected(self) -> dict[str, int]:
        """Return how many faults of each kind were injected."""
        total = Counter(self.counts)
        for proxy in self.proxies:
            total += proxy.calls.injected
        for log in self.logs:
            lines = log.read_bytes().splitlines() if is_there(log) else []
            total += Counter(msgspec.json.decode(line, type=str) for line in lines)
        return dict(sorted(total.items()))


@dataclass(frozen=True, slots=True)
class Services:
    """The services of a target, by the variable that names each."""

    http: Mapping[str, SplitResult] = field(default_factory=dict)
    mcp: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    files: Mapping[str, Path] = field(default_factory=dict)

    @property
    def names(self) -> dict[str, str]:
        """The services as the plan names them."""
        return {
            **{name: address.geturl() for name, address in self.http.items()},
            **{name: shlex.join(argv) for name, argv in self.mcp.items()},
            **{name: str(path) for name, path in self.files.items()},
        }

    def require_for(self, levels: Iterable[FaultLevel]) -> None:
        """Raise if a fault has no service that it could hit."""
        present = {
            kind
            for kind, named in (
                (ServiceKind.HTTP, self.http),
                (ServiceKind.MCP, self.mcp),
                (ServiceKind.FILE, self.files),
            )
            if named
        }
        for each in levels:
            if not any(each.kind in APPLICABLE[kind] for kind in present):
                where = "there is none" if not present else "a file has no such fault"
                problem = f"{each.kind.value} has nothing to hit, because {where}"
                raise AffidavitError(faults.FAULT_SERVICE, problem=problem)

    @contextmanager
    def started(self, plan: FaultPlan, folder: Path) -> Iterator[StartedServices]:
        """Start the proxies of one trial; `folder` belongs to it."""
        started = StartedServices()
        place = folder / "services"
        if self.mcp or self.files:
            place.mkdir(parents=True)
        try:
            for name, address in self.http.items():
                proxy = HttpFaultProxy(plan, name, address)
                started.proxies.append(proxy)
                started.environment[name] = proxy.url
            for name, argv in self.mcp.items():
                log = place / f"{name}.log"
                settings = place / f"{name}.json"
                made = McpProxySettings(plan, name, argv, str(log))
                settings.write_bytes(msgspec.json.encode(made))
                started.logs.append(log)
                proxy_program = [sys.executable, "-P", "-m", "affidavit.tools.mcp_fault_proxy"]
                started.environment[name] = shlex.join([*proxy_program, str(settings)])
            for name, path in self.files.items():
                started.environment[name] = str(_copied(name, path, plan, place, started.counts))
            yield started
        finally:
            for proxy in started.proxies:
                proxy.close()


def _copied(name: str, path: Path, plan: FaultPlan, place: Path, counts: "Counter[str]") -> Path:
    """Return a copy of a file, with the fault of this trial."""
    body = read_bounded(path, _MAX_FILE_BYTES)
    calls = CallCounter(plan, ServiceKind.FILE, name)
    kind, word = calls.draw("read")
    changed = body if kind is None else changed_file(kind, body, word)
    if kind is not None and changed != body:
        counts[kind.value] += 1
    copy = place / name / path.name
    copy.parent.mkdir()
    copy.write_bytes(changed)
    return copy


def services_from(http: Iterable[str], mcp: Iterable[str], files: Iterable[str]) -> Services:
    """Return the services of texts like `NAME=ADDRESS`, `NAME=COMMAND` and `NAME=PATH`."""
    return Services(
        http={name: _address(value) for name, value in map(_named, http)},
        mcp={name: _command(value) for name, value in map(_named, mcp)},
        files={name: _path(value) for name, value in map(_named, files)},
    )


def _named(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (equals and name.isidentifier() and value):
        raise AffidavitError(faults.FAULT_SERVICE, problem=f"{excerpt(text)!r} is not NAME=VALUE")
    return name, value


def _address(value: str) -> SplitResult:
    address = parse_url(value)
    if isinstance(address, UrlProblem):
        raise AffidavitError(faults.FAULT_SERVICE, problem=f"{excerpt(value)!r}: {address}")
    return address


def _command(value: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(value))
    except ValueError as error:
        problem = f"{excerpt(value)!r}: {str(error).rstrip('.').lower()}"
        raise AffidavitError(faults.FAULT_SERVICE, problem=problem) from None


def _path(value: str) -> Path:
    path = Path(value)
    if not is_there(path):
        raise AffidavitError(FILE_MISSING, Where(file=value))
    return path
