"""An HTTP proxy that stands in for one service during one trial, and injects faults.

The target gets its address instead of the service's. Requests are passed on over HTTP or HTTPS, and
answers are passed back whole. An answer that comes in pieces (server-sent events) is passed on when
it is complete.
"""

import socket
import struct
from collections.abc import Mapping
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from affidavit.base.errors import AffidavitError
from affidavit.base.http_client import (
    Deadline,
    HttpFailure,
    HttpRequest,
    HttpResponse,
    connect,
    send_request,
)
from affidavit.base.strict_json import decode
from affidavit.soak.fault_plan import FaultKind, FaultPlan, ServiceKind
from affidavit.tools.fault_injection import (
    JITTERS,
    CallCounter,
    changed_body,
    changed_request,
    encoded,
)

_MAX_BYTES: Final = 64 << 20
_UPSTREAM_SECONDS: Final = 600.0
_POLL_SECONDS: Final = 0.02
_PER_CONNECTION: Final = frozenset(
    {
        "connection",
        "content-length",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        # A compressed body could not be changed.
        "accept-encoding",
    }
)
_ERRORS: Final[Mapping[FaultKind, tuple[int, str]]] = {
    FaultKind.RATE_LIMIT: (429, "rate limit exceeded (injected)"),
    FaultKind.SERVER_ERROR: (503, "service unavailable (injected)"),
}
_OF_ANSWERS: Final = frozenset(
    {
        FaultKind.TRUNCATED,
        FaultKind.GARBLED,
        FaultKind.DROPPED_RESULT,
        FaultKind.REORDERED,
    }
)


class HttpFaultProxy:
    """The proxy of one service for one trial."""

    def __init__(self, plan: FaultPlan, name: str, upstream: SplitResult) -> None:
        self.calls = CallCounter(plan, ServiceKind.HTTP, name)
        self.upstream = upstream
        self.closing = Event()
        self.last: dict[str, HttpResponse] = {}
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.proxy = self
        self._thread = Thread(target=self._server.serve_forever, args=(_POLL_SECONDS,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The address that replaces the service's."""
        return f"http://127.0.0.1:{self._server.server_port}{self.upstream.path.rstrip('/')}"

    def close(self) -> None:
        """Stop answering; whoever still waits gets no answer."""
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def forward(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes | None
    ) -> HttpResponse | HttpFailure:
        """Pass a request on and return the answer."""
        limit = Deadline(_UPSTREAM_SECONDS)
        connection = connect(self.upstream, limit)
        if isinstance(connection, HttpFailure):
            return connection
        request = HttpRequest(
            method=method, target=target, headers=headers, max_bytes=_MAX_BYTES, body=body
        )
        with closing(connection):
            return send_request(connection, request, limit)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    proxy: HttpFaultProxy

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a target that hangs up is no error of ours."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def handle_one_request(self) -> None:
        """Read one request of any method, and answer it or not."""
        self.raw_requestline = self.rfile.readline(65537)
        if not self.raw_requestline or not self.parse_request():
            self.close_connection = True
            return
        body = self._body()
        proxy = self.server.proxy
        kind, word = proxy.calls.draw(f"{self.command} {urlsplit(self.path).path}")
        if kind is None or not self._inject(kind, word, body):
            self._answer(self._forward(body))
        self.wfile.flush()

    def _body(self) -> bytes | None:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            pieces = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                pieces.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(pieces)
        length = self.headers.get("Content-Length")
        return None if length is None else self.rfile.read(min(int(length), _MAX_BYTES))

    def _inject(self, kind: FaultKind, word: int, body: bytes | None) -> bool:
        """Inject a fault and answer; return False if it does not apply to this call."""
        proxy, calls = self.server.proxy, self.server.proxy.calls
        if kind is FaultKind.LATENCY:
            calls.count(kind)
            proxy.closing.wait(calls.plan.delay_ms / 1000)
            return False
        if kind is FaultKind.TIMEOUT:
            calls.count(kind)
            proxy.closing.wait()
            self.close_connection = True
            return True
        if kind is FaultKind.RESET:
            calls.count(kind)
            self._reset()
            return True
        if kind in _ERRORS:
            calls.count(kind)
            status, message = _ERRORS[kind]
            error = encoded({"error": {"message": message, "type": kind.value}})
            headers = {"content-type": "application/json", "retry-after": "1"}
            self._answer(HttpResponse(status, headers, error))
            return True
        if kind is FaultKind.STALE:
            return self._answer_stale(body)
        return self._answer_changed(kind, word, body)

    def _answer_stale(self, body: bytes | None) -> bool:
        proxy = self.server.proxy
        before = proxy.last.get(self._point)
        answer = self._forward(body)
        if before is not None and isinstance(answer, HttpResponse) and answer.body != before.body:
            proxy.calls.count(FaultKind.STALE)
            answer = before
        self._answer(answer)
        return True

    def _answer_changed(self, kind: FaultKind, word: int, body: bytes | None) -> bool:
        calls = self.server.proxy.calls
        if kind in JITTERS or kind is FaultKind.DROPPED_RESULT:
            asked = _changed_json(kind, body)
            if asked is not None:
                calls.count(kind)
                self._answer(self._forward(asked))
                return True
        if kind not in _OF_ANSWERS:
            return False
        answer = self._forward(body)
        if isinstance(answer, HttpFailure):
            self._answer(answer)
            return True
        changed = changed_body(kind, answer.body, word)
        if changed != answer.body:
            calls.count(kind)
        whole = len(answer.body) if kind is FaultKind.TRUNCATED else len(changed)
        self._answer(HttpResponse(answer.status, answer.headers, changed), length=whole)
        return True

    @property
    def _point(self) -> str:
        return f"{self.command} {urlsplit(self.path).path}"

    def _forward(self, body: bytes | None) -> HttpResponse | HttpFailure:
        proxy = self.server.proxy
        headers = {
            name: value
            for name, value in self.headers.items()
            if name.lower() not in _PER_CONNECTION
        }
        answer = proxy.forward(self.command, self.path, headers, body)
        if isinstance(answer, HttpResponse):
            proxy.last[self._point] = answer
        return answer

    def _answer(self, answer: HttpResponse | HttpFailure, length: int | None = None) -> None:
        if isinstance(answer, HttpFailure):
            message = encoded({"error": {"message": f"no answer: {answer.message}"}})
            answer = HttpResponse(502, {"content-type": "application/json"}, message)
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            if name not in _PER_CONNECTION:
                self.send_header(name, value)
        size = len(answer.body) if length is None else length
        self.send_header("Content-Length", str(size))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)
        if size != len(answer.body):
            self.close_connection = True

    def _reset(self) -> None:
        """Break the connection: with this option, closing it sends a reset."""
        self.close_connection = True
        with suppress(OSError):
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()


def _changed_json(kind: FaultKind, body: bytes | None) -> bytes | None:
    """Return a changed request, or None if the fault does not apply to it."""
    if body is None:
        return None
    try:
        value = decode(body)
    except AffidavitError:
        return None
    changed = changed_request(kind, value)
    return None if changed is value else encoded(changed)
