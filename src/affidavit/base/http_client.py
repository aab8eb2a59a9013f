"""One HTTP request, bounded in time and size: no redirects, no environment proxies, no cookies."""

import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Container, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cache
from http.client import HTTPConnection, HTTPException, HTTPResponse, IncompleteRead
from threading import Thread
from typing import Final, Protocol
from urllib.parse import SplitResult

from affidavit.base.http_address import DEFAULT_PORTS, Origin, origin_of, request_target
from affidavit.base.text import excerpt

# How long somebody waits for an exchange, over all of its parts together.


class TimeLimit(Protocol):
    """Somebody who waits, and who ends the wait."""

    def seconds_left(self) -> float:
        """Return how long an answer still counts; 0 if it does not any more."""
        ...

    def ending(self, plug: socket.socket) -> AbstractContextManager[object]:
        """Shut the socket if the time is over while the context lasts."""
        ...


class Deadline:
    """Waits so many seconds from now.

    A socket's own timeout starts again with every byte, so a server that drips would hold us for
    hours; this one does not.
    """

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds
        self._has_ended = False

    def seconds_left(self) -> float:
        """Return how long an answer still counts; 0 if it does not any more."""
        return 0.0 if self._has_ended else max(self._until - time.monotonic(), 0.0)

    @contextmanager
    def ending(self, plug: socket.socket) -> Iterator[None]:
        """Shut the socket if the time is over while the context lasts."""
        timer = threading.Timer(self.seconds_left(), self._end, (plug,))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _end(self, plug: socket.socket) -> None:
        self._has_ended = True
        shut_down(plug)


def shut_down(plug: socket.socket) -> None:
    """End whatever waits on a socket; it may be called from any thread."""
    with suppress(OSError):
        # The plain socket's shutdown: the one of TLS may be used by one thread only.
        socket.socket.shutdown(plug, socket.SHUT_RDWR)


# How an exchange ends: with an answer, or with why there is none. Both are values.


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """What a server answered. `headers` are by lower-case name."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class RequestStage(Enum):
    """How far it came. From `ASKING` on the server may have worked, and may charge for it."""

    CONNECTING = auto()
    SECURING = auto()
    ASKING = auto()


class FailureKind(Enum):
    """What went wrong."""

    LATE = auto()
    CERTIFICATE = auto()
    DROPPED = auto()
    CUT = auto()
    TOO_LONG = auto()
    BROKEN = auto()
    NOT_HTTP = auto()


@dataclass(frozen=True, slots=True)
class HttpFailure:
    """Why no whole answer came. `detail` is in the system's words, never in the server's."""

    trouble: FailureKind
    stage: RequestStage
    detail: str

    @property
    def was_sent(self) -> bool:
        """Whether the server may have got the request."""
        return self.stage is RequestStage.ASKING

    @property
    def words(self) -> str:
        """The detail as people are told it."""
        if self.trouble is FailureKind.CERTIFICATE:
            return f"the server's certificate does not hold: {self.detail}"
        return self.detail


def failure_from(error: Exception, stage: RequestStage) -> HttpFailure:
    """Return what an error of the network or of http.client says."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return HttpFailure(FailureKind.CERTIFICATE, stage, error.verify_message)
    said = error.strerror if isinstance(error, OSError) else None
    return HttpFailure(_failure_kind(error), stage, excerpt(said or type(error).__name__, 120))


def _failure_kind(error: Exception) -> FailureKind:
    match error:
        case TimeoutError():
            return FailureKind.LATE
        case ConnectionError():
            return FailureKind.DROPPED
        case IncompleteRead():
            return FailureKind.CUT
        case OSError():
            return FailureKind.BROKEN
        case _:
            return FailureKind.NOT_HTTP


# The addresses of a host, within the time that somebody waits.


def resolve_host(host: str, port: int, patience: TimeLimit) -> tuple[str, ...] | HttpFailure:
    """Return the addresses of a host in the order in which they are to be tried.

    The work is done by a thread that is left behind when the time is over: a name server that
    does not answer cannot be interrupted.
    """
    if _is_ip_address(host):
        return (host,)
    done: Future[tuple[str, ...]] = Future()
    Thread(target=_resolve, args=(host, port, done), name="affidavit-lookup", daemon=True).start()
    try:
        return done.result(patience.seconds_left())
    except (OSError, UnicodeError) as error:
        return failure_from(error, RequestStage.CONNECTING)


def _resolve(host: str, port: int, done: "Future[tuple[str, ...]]") -> None:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        done.set_result(tuple(dict.fromkeys(str(entry[4][0]) for entry in found)))
    except Exception as error:  # Whatever it is, it is raised where somebody waits for it.
        done.set_exception(error)


def _is_ip_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


# Opens a connection to an origin: to the first of its addresses that takes one.


def open_connection(
    origin: Origin, addresses: Iterable[str], patience: TimeLimit
) -> HTTPConnection | HttpFailure:
    """Return an open connection, or why there is none: what the last address said."""
    failure = HttpFailure(FailureKind.BROKEN, RequestStage.CONNECTING, "no address")
    for address in addresses:
        left = patience.seconds_left()
        if not left:
            return failure_from(TimeoutError(), RequestStage.CONNECTING)
        try:
            plug = socket.create_connection((address, origin.port), timeout=left)
        except OSError as error:
            failure = failure_from(error, RequestStage.CONNECTING)
            continue
        plug.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return _http_connection(origin, plug, patience)
    return failure


def _http_connection(
    origin: Origin, plug: socket.socket, patience: TimeLimit
) -> HTTPConnection | HttpFailure:
    if origin.scheme == "https":
        secured = _tls_socket(plug, origin.host, patience)
        if isinstance(secured, HttpFailure):
            return secured
        plug = secured
    connection = HTTPConnection(origin.host, origin.port)
    connection.default_port = DEFAULT_PORTS[origin.scheme]
    connection.auto_open = 0  # All goes over this socket; http.client opens none of its own.
    connection.sock = plug
    return connection


def _tls_socket(plug: socket.socket, host: str, patience: TimeLimit) -> ssl.SSLSocket | HttpFailure:
    try:
        # The handshake waits too, so it is done where its wait can be ended.
        plug = made = tls_context().wrap_socket(
            plug, server_hostname=host, do_handshake_on_connect=False
        )
        with patience.ending(made):
            made.do_handshake()
    except (OSError, ValueError) as error:
        plug.close()
        # A socket that we shut looks like a server that has hung up.
        cause = error if patience.seconds_left() else TimeoutError()
        return failure_from(cause, RequestStage.SECURING)
    return made


@cache
def tls_context() -> ssl.SSLContext:
    """Return whom the system trusts; read once, for it takes longer than a handshake."""
    return ssl.create_default_context()


# One request and its answer, over a connection that stays open or over one of its own.

ANY_STATUS: Final = range(100, 1000)
_CHUNK_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """What is asked. Only an answer whose status is among `read` has its body read."""

    method: str
    target: str
    headers: Mapping[str, str] = field(repr=False)
    max_bytes: int
    body: bytes | None = None
    read: Container[int] = ANY_STATUS


def connect(address: SplitResult, patience: TimeLimit) -> HTTPConnection | HttpFailure:
    """Return an open connection to where an address leads."""
    origin = origin_of(address)
    found = resolve_host(origin.host, origin.port, patience)
    return found if isinstance(found, HttpFailure) else open_connection(origin, found, patience)


def post(
    address: SplitResult,
    headers: Mapping[str, str],
    body: bytes,
    patience: TimeLimit,
    *,
    max_bytes: int,
    read: Container[int],
) -> HttpResponse | HttpFailure:
    """Send one POST over a connection of its own."""
    connection = connect(address, patience)
    if isinstance(connection, HttpFailure):
        return connection
    request = HttpRequest("POST", request_target(address), headers, max_bytes, body, read)
    with closing(connection):
        return send_request(connection, request, patience)


def send_request(
    connection: HTTPConnection, request: HttpRequest, patience: TimeLimit
) -> HttpResponse | HttpFailure:
    """Send a request over an open connection. What comes after its time does not count."""
    left = patience.seconds_left()
    if not left:
        return failure_from(TimeoutError(), RequestStage.ASKING)
    plug = connection.sock
    plug.settimeout(left)
    with patience.ending(plug):
        outcome = _response(connection, request)
    # A socket that is shut looks like an answer that has ended.
    if not patience.seconds_left():
        return failure_from(TimeoutError(), RequestStage.ASKING)
    return outcome


def _response(connection: HTTPConnection, request: HttpRequest) -> HttpResponse | HttpFailure:
    try:
        connection.request(request.method, request.target, request.body, dict(request.headers))
        # http.client lets go of the connection here if it will be closed; so the answer closes it.
        with connection.getresponse() as response:
            body = (
                _read_body(response, request.max_bytes) if response.status in request.read else b""
            )
    except (OSError, HTTPException, ValueError) as error:
        return failure_from(error, RequestStage.ASKING)
    if isinstance(body, FailureKind):
        return HttpFailure(body, RequestStage.ASKING, "")
    headers = {name.lower(): value for name, value in response.getheaders()}
    return HttpResponse(response.status, headers, body)


def _read_body(response: HTTPResponse, max_bytes: int) -> bytes | FailureKind:
    if response.length is not None and response.length > max_bytes:
        return FailureKind.TOO_LONG
    pieces: list[bytes] = []
    left = max_bytes
    while piece := response.read(_CHUNK_BYTES):
        left -= len(piece)
        if left < 0:
            return FailureKind.TOO_LONG
        pieces.append(piece)
    return FailureKind.CUT if response.length else b"".join(pieces)
