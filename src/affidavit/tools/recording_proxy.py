"""An HTTP proxy in front of one service, which passes everything on as it comes and keeps a copy.

Answers in pieces reach the program piece by piece. What was exchanged is handed over when the
answer is complete, before its end is passed on. Headers are not handed over: they hold the secrets.
"""

import time
from collections.abc import Callable
from contextlib import closing
from http.client import HTTPException, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Final
from urllib.parse import SplitResult

from msgspec import Struct

from affidavit.base.http_client import Deadline, HttpFailure, connect

MAX_BODY_BYTES: Final = 64 * 1024 * 1024
UPSTREAM_SECONDS: Final = 600.0
_PIECE_BYTES: Final = 64 * 1024
_PER_CONNECTION: Final = frozenset(
    {
        "connection",
        "content-length",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        # A packed answer could not be read while it passes.
        "accept-encoding",
    }
)


class HttpExchange(Struct, kw_only=True):
    """A request with its answer, without their headers."""

    method: str
    path: str
    """Without the query, in which some services have a key."""
    request: bytes
    status: int = 502
    answer: bytes = b""
    is_stream: bool = False
    problem: str = ""
    """Why the answer is not whole."""
    start_ns: int
    end_ns: int = 0
    traceparent: str | None = None


class RecordingProxy:
    """Passes requests on to an address, and hands every exchange over. It listens on loopback."""

    def __init__(
        self, upstream: SplitResult, take: Callable[[HttpExchange], None], port: int = 0
    ) -> None:
        self.upstream = upstream
        self.take = take
        self._server = _RecordingServer(("127.0.0.1", port), _RecordingHandler)
        self._server.proxy = self
        self._thread = Thread(target=self._server.serve_forever, daemon=True)

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    @property
    def url(self) -> str:
        """The address that replaces that of the service."""
        return f"http://127.0.0.1:{self._server.server_port}{self.upstream.path.rstrip('/')}"

    def close(self) -> None:
        """Stop answering; running exchanges are finished."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()


class _RecordingServer(ThreadingHTTPServer):
    # Closing waits for the threads, so that what was exchanged is recorded.
    daemon_threads = False
    block_on_close = True
    proxy: RecordingProxy

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a program that hangs up is no error of ours."""


class _RecordingHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _RecordingServer
    timeout = 5.0
    """Of a connection that sends nothing, so that closing does not wait long."""

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def handle_one_request(self) -> None:
        """Pass one request of any method on."""
        try:
            self.raw_requestline = self.rfile.readline(65537)
        except TimeoutError:
            self.raw_requestline = b""
        if not self.raw_requestline or not self.parse_request():
            self.close_connection = True
            return
        begun = time.time_ns()
        body = self._body()
        if body is None:
            self.close_connection = True
            self._refuse(413, "the request is too large")
            return
        exchange = HttpExchange(
            method=self.command,
            path=self.path.partition("?")[0],
            request=body,
            start_ns=begun,
            traceparent=self.headers.get("traceparent"),
        )
        self._pass_on(exchange)

    def _body(self) -> bytes | None:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            pieces: list[bytes] = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                pieces.append(self.rfile.read(size))
                self.rfile.readline()
                if sum(map(len, pieces)) > MAX_BODY_BYTES:
                    return None
            self.rfile.readline()
            return b"".join(pieces)
        length = int(self.headers.get("Content-Length") or 0)
        return None if length > MAX_BODY_BYTES else self.rfile.read(length)

    def _pass_on(self, exchange: HttpExchange) -> None:
        proxy = self.server.proxy
        connection = connect(proxy.upstream, Deadline(UPSTREAM_SECONDS))
        if isinstance(connection, HttpFailure):
            exchange.problem = str(connection.message)
            self._hand_over(exchange)
            self._refuse(502, f"no answer: {connection.message}")
            return
        headers = {
            name: value
            for name, value in self.headers.items()
            if name.lower() not in _PER_CONNECTION
        }
        headers["Accept-Encoding"] = "identity"
        with closing(connection):
            connection.sock.settimeout(UPSTREAM_SECONDS)
            try:
                has_body = exchange.request or self.command in ("POST", "PUT", "PATCH")
                body = exchange.request if has_body else None
                connection.request(self.command, self.path, body, headers)
                response = connection.getresponse()
            except (OSError, HTTPException, ValueError) as error:
                exchange.problem = f"no answer: {type(error).__name__}"
                self._hand_over(exchange)
                self._refuse(502, exchange.problem)
                return
            with response:
                self._pass_back(response, exchange)

    def _pass_back(self, response: HTTPResponse, exchange: HttpExchange) -> None:
        exchange.status = response.status
        kind = response.getheader("content-type") or ""
        exchange.is_stream = kind.lower().startswith("text/event-stream")
        length = response.getheader("content-length")
        self.send_response_only(response.status, response.reason)
        for name, value in response.getheaders():
            if name.lower() not in _PER_CONNECTION:
                self.send_header(name, value)
        has_body = self.command != "HEAD" and response.status not in (204, 304)
        is_chunked = has_body and length is None
        if is_chunked:
            self.send_header("Transfer-Encoding", "chunked")
        elif length is not None:
            self.send_header("Content-Length", length)
        self.end_headers()
        pieces: list[bytes] = []
        try:
            self._copy(response, pieces, is_chunked=is_chunked)
        except (OSError, HTTPException) as error:
            exchange.problem = f"cut off: {type(error).__name__}"
            self.close_connection = True
        exchange.answer = b"".join(pieces)
        self._hand_over(exchange)
        if is_chunked and not exchange.problem:
            self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _copy(self, response: HTTPResponse, pieces: list[bytes], *, is_chunked: bool) -> None:
        kept = 0
        while piece := response.read1(_PIECE_BYTES):
            if kept <= MAX_BODY_BYTES:
                pieces.append(piece)
                kept += len(piece)
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if is_chunked else piece)
            self.wfile.flush()
        if response.length:
            raise HTTPException("the service closed the connection early")

    def _hand_over(self, exchange: HttpExchange) -> None:
        exchange.end_ns = time.time_ns()
        self.server.proxy.take(exchange)

    def _refuse(self, status: int, message: str) -> None:
        body = b'{"error":{"message":"affidavit proxy: %b"}}' % message.encode("ascii", "replace")
        self.send_response_only(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
