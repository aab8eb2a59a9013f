"""Keeps connections that send no request from using up the descriptors of the service.

A connection must send its headers within HEADER_SECONDS, is closed after a time without a request,
and must take its response within SEND_SECONDS. A process has at most half of its descriptors as
connections. If there are more, the one that has waited longest without a whole request is closed
for the new one, so clients that send nothing keep nobody else out. What is closed is counted, and
one line of the log tells the counts, at most once in LOG_SECONDS.
"""

import asyncio
import re
import socket
from collections import Counter
from typing import Any, Final, Protocol

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import service as faults
from affidavit.web.problems import MEDIA_TYPE, RETRY_AFTER_BUSY_SECONDS
from affidavit.web.request_log import RequestLog

HEADER_SECONDS: Final = 10.0
SEND_SECONDS: Final = 60.0
LOG_SECONDS: Final = 10.0
MAX_CONNECTIONS: Final = 4096
BACKLOG: Final = 1024
ACCEPTS_PER_TURN: Final = 4
"""Accepted connections are counted one turn of the event loop later, so few are accepted at once.

asyncio would accept as many as its backlog, and write an error for each that has no descriptor.
"""


class ListeningSocket(socket.socket):
    """A listening socket whose backlog is not that of asyncio, which it also uses as its batch."""

    def listen(self, backlog: int = BACKLOG, /) -> None:
        """Listen with our own backlog."""
        super().listen(BACKLOG)


def connection_limit() -> int:
    """Return how many connections a process accepts: half of its descriptors."""
    try:
        import resource  # Does not exist on Windows.
    except ImportError:
        return MAX_CONNECTIONS
    descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if descriptors == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return max(1, min(descriptors // 2, MAX_CONNECTIONS))


class OpenConnections:
    """The connections of a process that wait for a request, and the counts of those closed."""

    def __init__(self, limit: int, log: RequestLog) -> None:
        self._limit = limit
        self._log = log
        self._waiting: dict[ServiceProtocol, None] = {}  # Those that wait longest come first.
        self._closed: Counter[str] = Counter()

    def add_waiting(self, connection: "ServiceProtocol") -> None:
        """Note that a connection waits for a request. It keeps its place if it does already."""
        self._waiting.setdefault(connection)

    def remove_waiting(self, connection: "ServiceProtocol") -> None:
        """Note that a connection has a request, or is closed."""
        self._waiting.pop(connection, None)

    def make_room(self, open_count: int) -> bool:
        """Close a waiting connection if there are too many; return False if all have requests."""
        if open_count <= self._limit:
            return True
        longest = next(iter(self._waiting), None)
        if longest is None:
            return False
        longest.close_unanswered("replaced")
        return True

    def count_closed(self, reason: str) -> None:
        """Count a closed connection for the log."""
        if not self._closed:
            asyncio.get_running_loop().call_later(LOG_SECONDS, self._write_counts)
        self._closed[reason] += 1

    def _write_counts(self) -> None:
        self._log.write("connections", **self._closed)
        self._closed.clear()


# Servers disagree on how long a request with two framing headers is, which allows to smuggle a
# second request past a proxy (RFC 9112, section 6.3). h11 would merge the two or prefer one.
_HEAD_END: Final = re.compile(rb"\n\r?\n")
_LENGTH: Final = re.compile(rb"^content-length[ \t]*:([^\n]*)", re.IGNORECASE | re.MULTILINE)
_ENCODING: Final = re.compile(rb"^transfer-encoding[ \t]*:", re.IGNORECASE | re.MULTILINE)


def find_framing_problem(received: bytes) -> str | None:
    """Return why the length of the request at the start of some bytes is ambiguous, or None."""
    end = _HEAD_END.search(received)
    if end is None:
        return None
    head = received[: end.start() + 1]
    lengths = _LENGTH.findall(head)
    if len(lengths) > 1 or any(b"," in value for value in lengths):
        return "more than one Content-Length"
    if lengths and _ENCODING.search(head):
        return "both Content-Length and Transfer-Encoding"
    return None


class StrictConnection(h11.Connection):
    """An HTTP connection that refuses requests of ambiguous length."""

    framing_problem: str | None = None

    def next_event(self) -> Any:
        """Return the next event; before the headers of a request are parsed, check them."""
        if self.their_state is h11.IDLE:
            self.framing_problem = find_framing_problem(self.trailing_data[0])
            if self.framing_problem is not None:
                raise h11.RemoteProtocolError(self.framing_problem)
        return super().next_event()


class ConnectionOwner(Protocol):
    """The application, as its connections see it."""

    @property
    def connections(self) -> OpenConnections:
        """The connections of this process."""
        ...

    def refusal(
        self, error: AffidavitError, address: str, *, is_logged: bool
    ) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
        """Return status, headers and problem document for a connection without a valid request."""
        ...


class ServiceProtocol(H11Protocol):
    """A connection with time limits, whose protocol errors are problem documents."""

    app: ConnectionOwner

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conn = self._strict = StrictConnection(h11.SERVER)
        self._open = self.app.connections
        self._headers_until: asyncio.TimerHandle | None = None
        self._sent_until: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for the first request, or refuse the connection if there is no room for it."""
        super().connection_made(transport)
        if self._open.make_room(len(self.connections)):
            self._watch_headers()
        else:
            self._open.count_closed("refused")
            self._send_problem(AffidavitError(faults.BUSY, seconds=RETRY_AFTER_BUSY_SECONDS))

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all timers."""
        super().connection_lost(exc)
        self._open.remove_waiting(self)
        self._stop_watching_headers()
        if self._sent_until is not None:
            self._sent_until.cancel()

    def data_received(self, data: bytes) -> None:
        """Process what has arrived. Incomplete headers do not extend the time limit."""
        super().data_received(data)
        self._watch_headers()

    def on_response_complete(self) -> None:
        """Wait for the next request, whose time limit begins with its first byte."""
        super().on_response_complete()
        self._watch_sending()
        if self._has_headers():
            self._watch_headers()
        else:
            self._open.add_waiting(self)

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection, even if the client has not taken the whole response."""
        if self.transport.get_write_buffer_size():
            self.close_unanswered("unread")
        else:
            super().timeout_keep_alive_handler()

    def send_400_response(self, msg: str) -> None:
        """Refuse a malformed request with a problem document."""
        problem = self._strict.framing_problem
        self._send_problem(
            AffidavitError(faults.BAD_REQUEST)
            if problem is None
            else AffidavitError(faults.FRAMING, problem=problem),
            is_logged=True,
        )

    def close_unanswered(self, reason: str) -> None:
        """Close the connection now, and count it."""
        self._open.remove_waiting(self)
        self._open.count_closed(reason)
        self.transport.abort()

    def _has_headers(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle  # None before the first request.
        return cycle is not None and not cycle.response_complete

    def _watch_headers(self) -> None:
        has_headers = self._has_headers()
        if self.transport.is_closing() or (has_headers and not self.cycle.more_body):
            self._open.remove_waiting(self)
        else:
            self._open.add_waiting(self)
        if has_headers:  # The handler has a time limit for the body.
            self._stop_watching_headers()
        elif self._headers_until is None:
            self._headers_until = self.loop.call_later(
                HEADER_SECONDS, self.close_unanswered, "late"
            )

    def _stop_watching_headers(self) -> None:
        if self._headers_until is not None:
            self._headers_until.cancel()
            self._headers_until = None

    def _watch_sending(self) -> None:
        if self._sent_until is None and self.transport.get_write_buffer_size():
            self._sent_until = self.loop.call_later(SEND_SECONDS, self._close_unread)

    def _close_unread(self) -> None:
        self._sent_until = None
        if self.transport.get_write_buffer_size():
            self.close_unanswered("unread")

    def _send_problem(self, error: AffidavitError, *, is_logged: bool = False) -> None:
        # Only a request without a response can be answered.
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            address = self.client[0] if self.client else "unknown"
            status, headers, body = self.app.refusal(error, address, is_logged=is_logged)
            own = [(b"content-type", MEDIA_TYPE.encode()), (b"connection", b"close")]
            length = (b"content-length", str(len(body)).encode())
            parts = (
                h11.Response(status_code=status, headers=[*own, length, *headers]),
                h11.Data(data=body),
                h11.EndOfMessage(),
            )
            for part in parts:
                self.transport.write(self.conn.send(part) or b"")
        self.transport.close()
