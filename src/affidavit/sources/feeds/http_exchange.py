"""One GET for JSON: bounded in time and size, to checked addresses, and nowhere else.

Redirects are followed up to three times and only to hosts of the allow-list, never from https to
http, and without the secrets once the host differs.
"""

import socket
from collections.abc import Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Final
from urllib.parse import SplitResult, urljoin

from affidavit.http.address import Flaw, Origin, address_from, origin_of, target_of
from affidavit.http.connection import opened
from affidavit.http.exchange import Request, exchanged
from affidavit.http.outcome import Answer, NoAnswer, Stage, Trouble
from affidavit.http.patience import shut
from affidavit.sources.feeds.addresses import AllowList, resolved
from affidavit.sources.feeds.feed import Errand, Silence, SilentError

MAX_REDIRECTS: Final = 3
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_READ: Final = (200,)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to get. `secret_headers` go to the first host only."""

    url: str = field(repr=False)
    headers: Mapping[str, str]
    secret_headers: Mapping[str, str] = field(repr=False)
    max_bytes: int


@dataclass(frozen=True, slots=True)
class _Waiting:
    """The patience of an errand: whoever sent it ends the wait."""

    errand: Errand

    def seconds_left(self) -> float:
        return self.errand.seconds_left()

    def ending(self, plug: socket.socket) -> AbstractContextManager[object]:
        self.errand.on_abandon(partial(shut, plug))
        return nullcontext()


def fetched(wanted: Wanted, allowed: AllowList, errand: Errand) -> Answer:
    """Return the answer with status 200, after redirects, or raise the silence."""
    first = address_of(wanted.url)
    here = first
    for _ in range(MAX_REDIRECTS + 1):
        headers = dict(wanted.headers)
        if origin_of(here) == origin_of(first):
            headers |= wanted.secret_headers
        request = Request("GET", target_of(here), headers, wanted.max_bytes, read=_READ)
        answer = _exchange(origin_of(here), request, allowed, errand)
        if answer.status == 200:
            return answer
        if answer.status not in _REDIRECTS or "location" not in answer.headers:
            raise SilentError(Silence.STATUS, f"HTTP {answer.status}")
        here = _next_address(here, answer.headers["location"])
    raise SilentError(Silence.REDIRECT, f"more than {MAX_REDIRECTS} redirects")


def address_of(url: str) -> SplitResult:
    """Return the parts of an address that can be fetched, or raise."""
    address = address_from(url)
    if isinstance(address, Flaw):
        raise SilentError(Silence.ARGUMENT, address)
    return address


def _next_address(here: SplitResult, location: str) -> SplitResult:
    try:
        there = address_of(urljoin(here.geturl(), location))
    except (SilentError, ValueError):
        raise SilentError(Silence.REDIRECT, "the redirect leads to no address") from None
    if here.scheme == "https" and there.scheme == "http":
        raise SilentError(Silence.REDIRECT, "the redirect leads from https to http")
    return there


def _exchange(origin: Origin, request: Request, allowed: AllowList, errand: Errand) -> Answer:
    allowed.require_host(origin)
    addresses = resolved(origin.host, origin.port, allowed)
    outcome = _outcome(origin, addresses, request, _Waiting(errand))
    if isinstance(outcome, NoAnswer):
        errand.seconds_left()
        raise _silence_of(outcome, origin, request.max_bytes)
    return outcome


def _outcome(
    origin: Origin, addresses: list[str], request: Request, waiting: _Waiting
) -> Answer | NoAnswer:
    connection = opened(origin, addresses, waiting)
    if isinstance(connection, NoAnswer):
        return connection
    with closing(connection):
        return exchanged(connection, request, waiting)


def _silence_of(failure: NoAnswer, origin: Origin, max_bytes: int) -> SilentError:
    host = origin.host
    match failure:
        case NoAnswer(trouble=Trouble.CERTIFICATE, detail=detail):
            problem = f"the certificate of {host} does not hold: {detail}"
            return SilentError(Silence.FORBIDDEN, problem)
        case NoAnswer(stage=Stage.CONNECTING, detail=detail):
            problem = f"no connection to {host}:{origin.port} ({detail})"
            return SilentError(Silence.UNREACHABLE, problem)
        case NoAnswer(stage=Stage.SECURING):
            return SilentError(Silence.UNREACHABLE, f"no TLS connection to {host}")
        case NoAnswer(trouble=Trouble.TOO_LONG):
            return SilentError(Silence.TOO_LARGE, f"the answer has more than {max_bytes} bytes")
        case _:
            return SilentError(*_SILENCES.get(failure.trouble, _NOT_HTTP))


_NOT_HTTP: Final = (Silence.MALFORMED, "the server does not speak HTTP as it should")
_BROKEN_OFF: Final = (Silence.BROKEN_OFF, "the answer ended before it was whole")
_SILENCES: Final[Mapping[Trouble, tuple[Silence, str]]] = {
    Trouble.LATE: (Silence.LATE, "the server did not answer in time"),
    Trouble.CUT: _BROKEN_OFF,
    Trouble.DROPPED: _BROKEN_OFF,
}
