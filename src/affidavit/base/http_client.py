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


class TimeLimit(Protocol):
    """The time limit of one exchange, over all of its parts together."""

    def seconds_left(self) -> float:
        """Return how long an answer still counts, or 0."""
        ...

    def limiting(self, sock: socket.socket) -> AbstractContextManager[object]:
        """Shut the socket down if the time runs out within the context."""
        ...


class Deadline:
    """A time limit in seconds from now.

    The timeout of a socket restarts with every byte, so a server that sends slowly could block us
    for hours. This one does not restart.
    """

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds
        self._expired = False

    def seconds_left(self) -> float:
        """Return how long an answer still counts, or 0."""
        return 0.0 if self._expired else max(self._until - time.monotonic(), 0.0)

    @contextmanager
    def limiting(self, sock: socket.socket) -> Iterator[None]:
        """Shut the socket down if the time runs out within the context."""
        timer = threading.Timer(self.seconds_left(), self._end, (sock,))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _end(self, sock: socket.socket) -> None:
        self._expired = True
        shut_down(sock)


def shut_down(sock: socket.socket) -> None:
    """End every wait on a socket. Any thread may call it."""
    with suppress(OSError):
        # The shutdown of the plain socket: that of a TLS socket is not thread-safe.
        socket.socket.shutdown(sock, socket.SHUT_RDWR)


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """The answer of a server. The names of `headers` are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class RequestStage(Enum):
    """How far a request got. From `ASKING` on, the server may have processed it."""

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
    """Why there is no complete answer. `detail` never contains text of the server."""

    kind: FailureKind
    stage: RequestStage
    detail: str

    @property
    def was_sent(self) -> bool:
        """Whether the server may have received the request."""
        return self.stage is RequestStage.ASKING

    @property
    def message(self) -> str:
        """The detail for an error message."""
        if self.kind is FailureKind.CERTIFICATE:
            return f"the server's certificate does not hold: {self.detail}"
        return self.detail


def failure_from(error: Exception, stage: RequestStage) -> HttpFailure:
    """Return the failure for an error of the network or of http.client."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return HttpFailure(FailureKind.CERTIFICATE, stage, error.verify_message)
    detail = error.strerror if isinstance(error, OSError) else None
    return HttpFailure(_failure_kind(error), stage, excerpt(detail or type(error).__name__, 120))


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


def resolve_host(host: str, port: int, limit: TimeLimit) -> tuple[str, ...] | HttpFailure:
    """Return the addresses of a host in the order in which to try them.

    A thread resolves them and is left behind when the time is over, because a look-up cannot be
    interrupted.
    """
    if _is_ip_address(host):
        return (host,)
    done: Future[tuple[str, ...]] = Future()
    Thread(target=_resolve, args=(host, port, done), name="affidavit-lookup", daemon=True).start()
    try:
        return done.result(limit.seconds_left())
    except (OSError, UnicodeError) as error:
        return failure_from(error, RequestStage.CONNECTING)


def _resolve(host: str, port: int, done: "Future[tuple[str, ...]]") -> None:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        done.set_result(tuple(dict.fromkeys(str(entry[4][0]) for entry in found)))
    except Exception as error:  # It is raised in the waiting thread.
        done.set_exception(error)


def _is_ip_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def open_connection(
    origin: Origin, addresses: Iterable[str], limit: TimeLimit
) -> HTTPConnection | HttpFailure:
    """Return a connection to the first address that accepts one, or the last failure."""
    failure = HttpFailure(FailureKind.BROKEN, RequestStage.CONNECTING, "no address")
    for address in addresses:
        left = limit.seconds_left()
        if not left:
            return failure_from(TimeoutError(), RequestStage.CONNECTING)
        try:
            sock = socket.create_connection((address, origin.port), timeout=left)
        except OSError as error:
            failure = failure_from(error, RequestStage.CONNECTING)
            continue
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return _http_connection(origin, sock, limit)
    return failure


def _http_connection(
    origin: Origin, sock: socket.socket, limit: TimeLimit
) -> HTTPConnection | HttpFailure:
    if origin.scheme == "https":
        secured = _tls_socket(sock, origin.host, limit)
        if isinstance(secured, HttpFailure):
            return secured
        sock = secured
    connection = HTTPConnection(origin.host, origin.port)
    connection.default_port = DEFAULT_PORTS[origin.scheme]
    connection.auto_open = 0  # http.client must not open a socket of its own.
    connection.sock = sock
    return connection


def _tls_socket(sock: socket.socket, host: str, limit: TimeLimit) -> ssl.SSLSocket | HttpFailure:
    try:
        # The handshake blocks, too, so it runs under the time limit.
        sock = secured = tls_context().wrap_socket(
            sock, server_hostname=host, do_handshake_on_connect=False
        )
        with limit.limiting(secured):
            secured.do_handshake()
    except (OSError, ValueError) as error:
        sock.close()
        # A socket that we shut down looks like one that the server closed.
        cause = error if limit.seconds_left() else TimeoutError()
        return failure_from(cause, RequestStage.SECURING)
    return secured


@cache
def tls_context() -> ssl.SSLContext:
    """Return the TLS context of the system. Loading it takes longer than a handshake."""
    return ssl.create_default_context()


_CHUNK_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """A request. The body of the answer is read if its status is in `read`, or if that is None."""

    method: str
    target: str
    headers: Mapping[str, str] = field(repr=False)
    max_bytes: int
    body: bytes | None = None
    read: Container[int] | None = None


def connect(address: SplitResult, limit: TimeLimit) -> HTTPConnection | HttpFailure:
    """Return an open connection to the origin of a URL."""
    origin = origin_of(address)
    found = resolve_host(origin.host, origin.port, limit)
    return found if isinstance(found, HttpFailure) else open_connection(origin, found, limit)


def post(
    address: SplitResult,
    headers: Mapping[str, str],
    body: bytes,
    limit: TimeLimit,
    *,
    max_bytes: int,
    read: Container[int],
) -> HttpResponse | HttpFailure:
    """Send one POST over a connection of its own."""
    connection = connect(address, limit)
    if isinstance(connection, HttpFailure):
        return connection
    request = HttpRequest(
        method="POST",
        target=request_target(address),
        headers=headers,
        max_bytes=max_bytes,
        body=body,
        read=read,
    )
    with closing(connection):
        return send_request(connection, request, limit)


def send_request(
    connection: HTTPConnection, request: HttpRequest, limit: TimeLimit
) -> HttpResponse | HttpFailure:
    """Send a request over an open connection. A late answer does not count."""
    left = limit.seconds_left()
    if not left:
        return failure_from(TimeoutError(), RequestStage.ASKING)
    sock = connection.sock
    sock.settimeout(left)
    with limit.limiting(sock):
        outcome = _response(connection, request)
    # A socket that we shut down looks like the end of the answer.
    if not limit.seconds_left():
        return failure_from(TimeoutError(), RequestStage.ASKING)
    return outcome


def _response(connection: HTTPConnection, request: HttpRequest) -> HttpResponse | HttpFailure:
    try:
        connection.request(request.method, request.target, request.body, dict(request.headers))
        # http.client may detach the connection here; then closing the answer closes it.
        with connection.getresponse() as response:
            is_read = request.read is None or response.status in request.read
            body = _read_body(response, request.max_bytes) if is_read else b""
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
