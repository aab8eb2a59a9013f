"""JSON over HTTP(S) as a source, bounded in time and size, only from allowed hosts.

At most three redirects are followed, only to hosts of the allow-list, never from https to http, and
without the secrets once the host differs. An answer counts if its status is 200, its type is JSON
in UTF-8 without compression, and its body is strict JSON.
"""

import re
import socket
from collections.abc import Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Final
from urllib.parse import SplitResult, quote, unquote, urlencode, urljoin, urlsplit

from affidavit.base.errors import AffidavitError
from affidavit.base.http_address import Origin, UrlProblem, origin_of, parse_url, request_target
from affidavit.base.http_client import (
    FailureKind,
    HttpFailure,
    HttpRequest,
    HttpResponse,
    RequestStage,
    open_connection,
    send_request,
    shut_down,
)
from affidavit.base.json_values import DOCUMENT_LIMITS, JsonLimits, JsonValue
from affidavit.base.strict_json import decode
from affidavit.checks.facts import EvidenceSource, SourceAnswer
from affidavit.tools.allow_list import AllowList, resolve_allowed, server_identities
from affidavit.tools.feed import (
    CheckArguments,
    FailureReason,
    SourceFailedError,
    SourceRequest,
)
from affidavit.tools.observation_time import ObservationTime, find_http_date
from affidavit.tools.settings import (
    EnvironmentSecret,
    HeaderValue,
    fill_text,
    refuse_echo,
    resolve_secrets,
    single_argument,
)

MAX_REDIRECTS: Final = 3
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_READ_STATUSES: Final = (200,)


@dataclass(frozen=True, slots=True)
class GetRequest:
    """A GET request. `secret_headers` are only sent to the first host."""

    url: str = field(repr=False)
    headers: Mapping[str, str]
    secret_headers: Mapping[str, str] = field(repr=False)
    max_bytes: int


@dataclass(frozen=True, slots=True)
class _RequestDeadline:
    """The time limit of a source request, which ends when the request is abandoned."""

    request: SourceRequest

    def seconds_left(self) -> float:
        return self.request.seconds_left()

    def limiting(self, sock: socket.socket) -> AbstractContextManager[object]:
        self.request.on_abandon(partial(shut_down, sock))
        return nullcontext()


def fetch(
    get: GetRequest, allowed: AllowList, request: SourceRequest
) -> tuple[HttpResponse, tuple[str, ...]]:
    """Return the answer with status 200, after redirects, and which server gave it.

    Without one SourceFailedError is raised.
    """
    first = fetchable_address(get.url)
    current = first
    for _ in range(MAX_REDIRECTS + 1):
        headers = dict(get.headers)
        if origin_of(current) == origin_of(first):
            headers |= get.secret_headers
        http_request = HttpRequest(
            method="GET",
            target=request_target(current),
            headers=headers,
            max_bytes=get.max_bytes,
            read=_READ_STATUSES,
        )
        answer, servers = _exchange(origin_of(current), http_request, allowed, request)
        if answer.status == 200:
            return answer, servers
        if answer.status not in _REDIRECTS or "location" not in answer.headers:
            raise SourceFailedError(FailureReason.STATUS, f"HTTP {answer.status}")
        current = _redirect_address(current, answer.headers["location"])
    raise SourceFailedError(FailureReason.REDIRECT, f"more than {MAX_REDIRECTS} redirects")


def fetchable_address(url: str) -> SplitResult:
    """Return the parts of a valid URL, or raise SourceFailedError."""
    address = parse_url(url)
    if isinstance(address, UrlProblem):
        raise SourceFailedError(FailureReason.ARGUMENT, address)
    return address


def _redirect_address(current: SplitResult, location: str) -> SplitResult:
    try:
        there = fetchable_address(urljoin(current.geturl(), location))
    except (SourceFailedError, ValueError):
        raise SourceFailedError(
            FailureReason.REDIRECT, "the redirect leads to no address"
        ) from None
    if current.scheme == "https" and there.scheme == "http":
        raise SourceFailedError(FailureReason.REDIRECT, "the redirect leads from https to http")
    return there


def _exchange(
    origin: Origin, http_request: HttpRequest, allowed: AllowList, request: SourceRequest
) -> tuple[HttpResponse, tuple[str, ...]]:
    allowed.require_host(origin)
    addresses = resolve_allowed(origin.host, origin.port, allowed)
    limit = _RequestDeadline(request)
    outcome: HttpResponse | HttpFailure
    connection = open_connection(origin, addresses, limit)
    if isinstance(connection, HttpFailure):
        outcome = connection
    else:
        with closing(connection):
            outcome = send_request(connection, http_request, limit)
    if isinstance(outcome, HttpFailure):
        request.seconds_left()  # A failure after the deadline is reported as late.
        raise _http_failure(outcome, origin, http_request.max_bytes)
    return outcome, server_identities(addresses, origin.port)


def _http_failure(failure: HttpFailure, origin: Origin, max_bytes: int) -> SourceFailedError:
    host = origin.host
    match failure:
        case HttpFailure(kind=FailureKind.CERTIFICATE, detail=detail):
            problem = f"the certificate of {host} does not hold: {detail}"
            return SourceFailedError(FailureReason.FORBIDDEN, problem)
        case HttpFailure(stage=RequestStage.CONNECTING, detail=detail):
            problem = f"no connection to {host}:{origin.port} ({detail})"
            return SourceFailedError(FailureReason.UNREACHABLE, problem)
        case HttpFailure(stage=RequestStage.SECURING):
            return SourceFailedError(FailureReason.UNREACHABLE, f"no TLS connection to {host}")
        case HttpFailure(kind=FailureKind.TOO_LONG):
            return SourceFailedError(
                FailureReason.TOO_LARGE, f"the answer has more than {max_bytes} bytes"
            )
        case _:
            return SourceFailedError(*_HTTP_FAILURES.get(failure.kind, _NOT_HTTP))


_NOT_HTTP: Final = (FailureReason.MALFORMED, "the server does not speak HTTP as it should")
_BROKEN_OFF: Final = (FailureReason.BROKEN_OFF, "the answer ended before it was whole")
_HTTP_FAILURES: Final[Mapping[FailureKind, tuple[FailureReason, str]]] = {
    FailureKind.LATE: (FailureReason.LATE, "the server did not answer in time"),
    FailureKind.CUT: _BROKEN_OFF,
    FailureKind.DROPPED: _BROKEN_OFF,
}


_JSON_TYPE: Final = re.compile(r"application/(?:[a-z0-9.-]+\+)?json", re.IGNORECASE)
_DEFAULT_HEADERS: Final = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "Connection": "close",
    "User-Agent": "affidavit",
}


@dataclass(frozen=True, slots=True)
class HttpSourceClient:
    """Sends the requests of a source: allowed hosts, headers, and the largest answer."""

    allowed: AllowList
    max_bytes: int
    headers: Mapping[str, HeaderValue] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)

    def get(
        self, url: str, request: SourceRequest, secrets: tuple[str, ...] = ()
    ) -> tuple[JsonValue, HttpResponse, tuple[str, ...]]:
        """Return the JSON at a URL, the answer that contained it, and which server gave it."""
        headers = resolve_secrets(self.headers, self.environment)
        secret = {
            name: text
            for name, text in headers.texts.items()
            if isinstance(self.headers[name], EnvironmentSecret)
        }
        plain = {name: text for name, text in headers.texts.items() if name not in secret}
        get = GetRequest(url, _DEFAULT_HEADERS | plain, secret, self.max_bytes)
        answer, servers = fetch(get, self.allowed, request)
        raw = json_from_answer(answer, self.max_bytes)
        refuse_echo(raw, (*secrets, *headers.secrets))
        return raw, answer, servers


@dataclass(frozen=True, slots=True)
class HttpFeed:
    """One URL, with slots in its path and its query."""

    source: EvidenceSource
    url: str
    query: Mapping[str, HeaderValue]
    client: HttpSourceClient
    timing: ObservationTime

    def ask(self, args: CheckArguments, request: SourceRequest) -> SourceAnswer:
        """Return the answer of the server."""
        settings = {
            name: fill_text(value, args) if isinstance(value, str) else value
            for name, value in self.query.items()
        }
        outgoing = resolve_secrets(settings, self.client.environment)
        url = fill_url(self.url, args)
        if outgoing.texts:
            url += ("&" if "?" in url else "?") + urlencode(outgoing.texts, quote_via=quote)
        raw, answer, servers = self.client.get(url, request, outgoing.secrets)
        moment = http_observation_time(self.timing, raw, answer, request)
        return SourceAnswer(self.source, raw, moment, servers)


@dataclass(frozen=True, slots=True)
class AnyUrlFeed:
    """Any URL on a host of the allow-list, given in the argument `url`."""

    source: EvidenceSource
    client: HttpSourceClient
    timing: ObservationTime

    def ask(self, args: CheckArguments, request: SourceRequest) -> SourceAnswer:
        """Return the answer of the server."""
        raw, answer, servers = self.client.get(single_argument("url", args), request)
        moment = http_observation_time(self.timing, raw, answer, request)
        return SourceAnswer(self.source, raw, moment, servers)


def fill_url(url: str, args: CheckArguments) -> str:
    """Return a URL with its slots filled. An argument cannot leave its part of the path."""
    filled = fill_text(url, args, lambda value: quote(value, safe=""))
    steps = unquote(urlsplit(filled).path).split("/")
    if "." in steps or ".." in steps:
        raise SourceFailedError(
            FailureReason.ARGUMENT, "an argument would lead to another place of the server"
        )
    return filled


def http_observation_time(
    timing: ObservationTime, raw: JsonValue, answer: HttpResponse, request: SourceRequest
) -> str | None:
    """Return the time of observation of an HTTP answer."""
    return timing.moment(
        raw,
        request.asked_at,
        modified=find_http_date(answer.headers.get("last-modified")),
        answered=find_http_date(answer.headers.get("date")),
    )


def json_from_answer(answer: HttpResponse, max_bytes: int) -> JsonValue:
    """Return the JSON of an answer, or raise SourceFailedError."""
    kind, _, parameters = answer.headers.get("content-type", "").partition(";")
    if not _JSON_TYPE.fullmatch(kind.strip()):
        shown = kind.strip().lower() if re.fullmatch(r"[\w.+/-]{1,60}", kind.strip()) else "nothing"
        raise SourceFailedError(FailureReason.CONTENT, f"the answer says it is {shown}, not JSON")
    charset = re.search(r"charset\s*=\s*\"?([\w-]+)", parameters, re.IGNORECASE)
    if charset and charset[1].lower() not in ("utf-8", "utf8"):
        raise SourceFailedError(FailureReason.CONTENT, "the answer says that its text is not UTF-8")
    if answer.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise SourceFailedError(
            FailureReason.CONTENT, "the answer is compressed, which was not asked for"
        )
    try:
        return decode(answer.body, JsonLimits(max_bytes, DOCUMENT_LIMITS.max_depth))
    except AffidavitError as error:
        problem = f"the body is not strict JSON ({error.fault.name})"
        raise SourceFailedError(FailureReason.MALFORMED, problem) from None
