"""One GET for JSON: bounded in time and size, to checked addresses, and nowhere else.

Redirects are followed up to three times and only to hosts of the allow-list, never from https to
http, and without the secrets once the host differs. No proxy of the environment is used, no cookie
is kept. TLS is checked against the system's trust store.
"""

import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, IncompleteRead
from typing import Final
from urllib.parse import SplitResult, urljoin, urlsplit

from affidavit.sources.feeds.addresses import USUAL_PORTS, AllowList, resolved
from affidavit.sources.feeds.feed import Errand, Silence, SilentError

MAX_REDIRECTS: Final = 3
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_PIECE_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Request:
    """What to get. `secret_headers` go to the first host only."""

    url: str = field(repr=False)
    headers: Mapping[str, str]
    secret_headers: Mapping[str, str] = field(repr=False)
    max_bytes: int


@dataclass(frozen=True, slots=True)
class Response:
    """A whole answer with status 200. `headers` are by lower-case name."""

    headers: Mapping[str, str]
    body: bytes


def fetched(request: Request, allowed: AllowList, errand: Errand) -> Response:
    """Return the answer, after redirects, or raise the silence."""
    first = address_of(request.url)
    here = first
    for _ in range(MAX_REDIRECTS + 1):
        headers = dict(request.headers)
        if _origin(here) == _origin(first):
            headers |= request.secret_headers
        answer = _exchange(here, headers, request.max_bytes, allowed, errand)
        if isinstance(answer, Response):
            return answer
        here = _next_address(here, answer)
    raise SilentError(Silence.REDIRECT, f"more than {MAX_REDIRECTS} redirects")


def address_of(url: str) -> SplitResult:
    """Return the parts of an address that can be fetched, or raise."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise SilentError(Silence.ARGUMENT, "the address cannot be read") from None
    is_clean = url.isascii() and url.isprintable() and " " not in url and "\\" not in url
    if parts.scheme not in USUAL_PORTS or not parts.hostname or not is_clean or port == 0:
        raise SilentError(Silence.ARGUMENT, "the address must be http:// or https:// with a host")
    if parts.username is not None or parts.password is not None:
        raise SilentError(Silence.ARGUMENT, "the address must not hold a user or a password")
    return parts


def _origin(parts: SplitResult) -> tuple[str, str, int]:
    return parts.scheme, parts.hostname or "", parts.port or USUAL_PORTS[parts.scheme]


def _next_address(here: SplitResult, location: str) -> SplitResult:
    try:
        there = address_of(urljoin(here.geturl(), location))
    except (SilentError, ValueError):
        raise SilentError(Silence.REDIRECT, "the redirect leads to no address") from None
    if here.scheme == "https" and there.scheme == "http":
        raise SilentError(Silence.REDIRECT, "the redirect leads from https to http")
    return there


def _exchange(
    here: SplitResult,
    headers: Mapping[str, str],
    max_bytes: int,
    allowed: AllowList,
    errand: Errand,
) -> Response | str:
    """Return the answer, or where it redirects to."""
    scheme, host, port = _origin(here)
    allowed.require_host(scheme, host, port)
    connection = HTTPConnection(host, port)
    connection.default_port = USUAL_PORTS[scheme]
    # Headers and body come over this socket only; http.client opens none of its own.
    connection.sock = _connected(scheme, host, port, allowed, errand)
    target = (here.path or "/") + (f"?{here.query}" if here.query else "")
    try:
        connection.request("GET", target, headers=dict(headers))
        # http.client lets go of the connection here if it will be closed; so the answer closes it.
        with connection.getresponse() as response:
            return _answer(response, max_bytes)
    except (OSError, HTTPException, ValueError) as error:
        errand.seconds_left()
        raise _broken(error) from None
    finally:
        connection.close()


def _answer(response: HTTPResponse, max_bytes: int) -> Response | str:
    headers = {name.lower(): value for name, value in response.getheaders()}
    if response.status in _REDIRECTS and "location" in headers:
        return headers["location"]
    if response.status != 200:
        raise SilentError(Silence.STATUS, f"HTTP {response.status}")
    return Response(headers, _whole(response, max_bytes))


def _connected(
    scheme: str, host: str, port: int, allowed: AllowList, errand: Errand
) -> socket.socket:
    problem = ""
    for address in resolved(host, port, allowed):
        try:
            plug = socket.create_connection((address, port), timeout=errand.seconds_left())
        except OSError as error:
            problem = error.strerror or type(error).__name__
            continue
        if scheme == "https":
            # The handshake waits too, so it comes after the socket is known to the errand.
            plug = _trust().wrap_socket(plug, server_hostname=host, do_handshake_on_connect=False)
        errand.on_abandon(partial(_shut, plug))
        plug.settimeout(errand.seconds_left())
        return _shaken(plug, host) if isinstance(plug, ssl.SSLSocket) else plug
    errand.seconds_left()
    raise SilentError(Silence.UNREACHABLE, f"no connection to {host}:{port} ({problem})")


def _shaken(plug: ssl.SSLSocket, host: str) -> socket.socket:
    try:
        plug.do_handshake()
    except (OSError, ValueError) as error:
        plug.close()
        if isinstance(error, ssl.SSLCertVerificationError):
            problem = f"the certificate of {host} does not hold: {error.verify_message}"
            raise SilentError(Silence.FORBIDDEN, problem) from None
        raise SilentError(Silence.UNREACHABLE, f"no TLS connection to {host}") from None
    return plug


@cache
def _trust() -> ssl.SSLContext:
    return ssl.create_default_context()


def _shut(plug: socket.socket) -> None:
    with suppress(OSError):
        # The plain socket's shutdown: the one of TLS may be used by one thread only.
        socket.socket.shutdown(plug, socket.SHUT_RDWR)


def _whole(response: HTTPResponse, max_bytes: int) -> bytes:
    too_large = SilentError(Silence.TOO_LARGE, f"the answer has more than {max_bytes} bytes")
    if response.length is not None and response.length > max_bytes:
        raise too_large
    pieces: list[bytes] = []
    left = max_bytes
    while piece := response.read(_PIECE_BYTES):
        left -= len(piece)
        if left < 0:
            raise too_large
        pieces.append(piece)
    if response.length:
        raise IncompleteRead(b"", response.length)
    return b"".join(pieces)


def _broken(error: Exception) -> SilentError:
    if isinstance(error, TimeoutError):
        return SilentError(Silence.LATE, "the server did not answer in time")
    if isinstance(error, IncompleteRead | ConnectionError):
        return SilentError(Silence.BROKEN_OFF, "the answer ended before it was whole")
    return SilentError(Silence.MALFORMED, "the server does not speak HTTP as it should")
