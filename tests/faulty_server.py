"""A server on this machine that misbehaves on demand, for whatever asks over HTTP."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from typing import Any

Behaviour = Callable[["Handler"], None]
JSON = "application/json"


class Handler(BaseHTTPRequestHandler):
    """Answers with a behaviour of its server: a GET of `/n` with the n-th, from 0; a POST with the
    next one, and the last one stays.
    """

    protocol_version = "HTTP/1.1"
    server: "Faulty"

    def do_GET(self) -> None:
        self._note()
        number = int(self.path.split("/")[1].split("?")[0])
        self.server.behaviours[number](self)

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        self.server.requests.append(json.loads(self.rfile.read(length)))
        self._note()
        turn = min(len(self.server.requests), len(self.server.behaviours)) - 1
        self.server.behaviours[turn](self)

    def _note(self) -> None:
        self.server.paths.append(self.path)
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})

    def begin(self, status: int, kind: str = JSON, **headers: str) -> None:
        """Send the head of an answer."""
        self.send_response_only(status)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        for name, value in {"Content-Type": kind, **named}.items():
            self.send_header(name, value)
        self.end_headers()

    def answer(self, status: int, body: bytes, kind: str = JSON, **headers: str) -> None:
        """Send a whole answer; `Content_Length` may lie about it."""
        self.begin(status, kind, **{"Content_Length": str(len(body)), **headers})
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class Faulty(ThreadingHTTPServer):
    """The server, and what it was asked."""

    daemon_threads = True

    def __init__(self, behaviours: tuple[Behaviour, ...]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.behaviours = behaviours
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.over = threading.Event()

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a client that went away."""

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def url(self, number: int = 0) -> str:
        return f"http://127.0.0.1:{self.port}/{number}"


@contextmanager
def in_a_thread(server: HTTPServer) -> Iterator[None]:
    """Let a server serve for a while."""
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()


@contextmanager
def serving(*behaviours: Behaviour) -> Iterator[Faulty]:
    """Run a server with these behaviours."""
    with Faulty(behaviours) as server, in_a_thread(server):
        try:
            yield server
        finally:
            server.over.set()


def answers(status: int, body: bytes = b"", kind: str = JSON, **headers: str) -> Behaviour:
    return lambda handler: handler.answer(status, body, kind, **headers)


def hangs(handler: Handler) -> None:
    handler.server.over.wait(30)


def drips(handler: Handler) -> None:
    """Send a byte now and then, so that the socket itself never times out."""
    handler.begin(200, Content_Length="1000")
    while not handler.server.over.wait(0.02):
        handler.wfile.write(b" ")


def breaks_off(handler: Handler) -> None:
    """End in the middle of what was promised."""
    handler.answer(200, b'{"a":', Content_Length="1000")
    handler.close_connection = True


def breaks_off_in_a_chunk(handler: Handler) -> None:
    handler.begin(200, Transfer_Encoding="chunked")
    handler.wfile.write(b"ff\r\n{")
    handler.close_connection = True


def pours(handler: Handler) -> None:
    """Send ten megabytes without saying how many they will be."""
    handler.begin(200, Connection="close")
    handler.wfile.write(b'"' + b"x" * 10_000_000 + b'"')
    handler.close_connection = True


def hangs_up(handler: Handler) -> None:
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)


def no_http(handler: Handler) -> None:
    handler.wfile.write(b"SSH-2.0-nothing\r\n\r\n")
    handler.close_connection = True
