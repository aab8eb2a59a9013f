"""A server on this machine that misbehaves on demand, and the feeds that ask it."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from affidavit.checks.facts import Source
from affidavit.sources.feeds.addresses import allow_list_from
from affidavit.sources.feeds.feed import Errand
from affidavit.sources.feeds.http_feed import Caller, HttpFeed
from affidavit.sources.feeds.observed import Timing

Behaviour = Callable[["Handler"], None]
JSON = "application/json"
ASKED_AT = "2026-01-31T14:30:00Z"
SOURCE = Source("s", "o", "http")


class Handler(BaseHTTPRequestHandler):
    """Answers by the path: `/n` is the n-th behaviour of its server, from 0."""

    protocol_version = "HTTP/1.1"
    server: "Faulty"

    def do_GET(self) -> None:
        self.server.paths.append(self.path)
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        number = int(self.path.split("/")[1].split("?")[0])
        self.server.behaviours[number](self)

    def answer(self, status: int, body: bytes, kind: str = JSON, **headers: str) -> None:
        """Send a whole answer; `Content_Length` may lie about it."""
        self.send_response_only(status)
        sent = {"Content-Type": kind, "Content-Length": str(len(body))}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        for name, value in sent.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class Faulty(ThreadingHTTPServer):
    """The server, and what it was asked."""

    daemon_threads = True

    def __init__(self, behaviours: tuple[Behaviour, ...]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.behaviours = behaviours
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.over = threading.Event()

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a client that went away."""

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def url(self, number: int = 0) -> str:
        return f"http://127.0.0.1:{self.port}/{number}"


@contextmanager
def serving(*behaviours: Behaviour) -> Iterator[Faulty]:
    """Run a server with these behaviours."""
    with Faulty(behaviours) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.over.set()
            server.shutdown()
            thread.join()


def errand(seconds: float = 5.0) -> Errand:
    return Errand(ASKED_AT, time.monotonic() + seconds)


def feed_to(url: str, allow: tuple[str, ...], max_bytes: int = 1_000_000) -> HttpFeed:
    return HttpFeed(SOURCE, url, {}, Caller(allow_list_from(allow), max_bytes), Timing())


def feed_of(server: Faulty, **changes: int) -> HttpFeed:
    return feed_to(server.url(), (f"127.0.0.1:{server.port}",), **changes)


def answers(status: int, body: bytes = b"", kind: str = JSON, **headers: str) -> Behaviour:
    return lambda handler: handler.answer(status, body, kind, **headers)


def hangs(handler: Handler) -> None:
    handler.server.over.wait(30)


def drips(handler: Handler) -> None:
    """Send a byte now and then, so that the socket itself never times out."""
    handler.send_response_only(200)
    handler.send_header("Content-Type", JSON)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    while not handler.server.over.wait(0.02):
        handler.wfile.write(b" ")


def dies_in_the_body(handler: Handler) -> None:
    handler.answer(200, b'{"a":', Content_Length="1000")
    handler.close_connection = True


def dies_in_a_chunk(handler: Handler) -> None:
    handler.send_response_only(200)
    handler.send_header("Content-Type", JSON)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    handler.wfile.write(b"ff\r\n{")
    handler.close_connection = True


def pours(handler: Handler) -> None:
    """Send ten megabytes without saying how many they will be."""
    handler.send_response_only(200)
    handler.send_header("Content-Type", JSON)
    handler.send_header("Connection", "close")
    handler.end_headers()
    handler.wfile.write(b'"' + b"x" * 10_000_000 + b'"')
    handler.close_connection = True


def babbles(handler: Handler) -> None:
    handler.wfile.write(b"SSH-2.0-whatever\r\n")
    handler.close_connection = True
