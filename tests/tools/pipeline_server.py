"""A local pipeline whose answer depends on the question."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.faulty_server import in_a_thread


class Handler(BaseHTTPRequestHandler):
    """Gives the answer that the first word of the question names."""

    server: "Asked"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.bodies.append(body)
        self.server.headers.append({name.lower(): text for name, text in self.headers.items()})
        word = str(body["question"]).split()[0]
        getattr(self, f"say_{word.lower()}", self.say_right)(body)

    def say_right(self, body: dict[str, Any]) -> None:
        answer = {"claim": "X rejects null keys.", "citations": ["p1#2"]}
        self.send(200, {"answer_json": answer, "retrieved_ids": ["p1#1", "p1#2"]})

    def say_refuse(self, body: dict[str, Any]) -> None:
        self.send(200, {"claim": "not in context", "citations": [], "retrieved_ids": []})

    def say_fail(self, body: dict[str, Any]) -> None:
        self.send(500, {})

    def say_once(self, body: dict[str, Any]) -> None:
        """Close the first connection, and answer on the second."""
        if len(self.server.bodies) == 1:
            self.close_connection = True
            return
        self.say_right(body)

    def say_redirect(self, body: dict[str, Any]) -> None:
        self.send_response_only(302)
        self.send_header("Location", "http://127.0.0.1:9/elsewhere")
        self.end_headers()

    def say_cut(self, body: dict[str, Any]) -> None:
        self.send(200, {"claim": "c"}, extra=10)

    def say_long(self, body: dict[str, Any]) -> None:
        self.send(200, {"claim": "c" * (5 * 1024 * 1024)})

    def say_secret(self, body: dict[str, Any]) -> None:
        self.send(200, {"claim": self.headers["X-Key"]})

    def say_drip(self, body: dict[str, Any]) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\n")
        for _ in range(100):
            if self.server.over.is_set():
                return
            self.wfile.write(b"X: y\r\n")
            time.sleep(0.05)

    def say_garbage(self, body: dict[str, Any]) -> None:
        self.wfile.write(b"garbage\r\n\r\n")

    def send(self, status: int, value: object, extra: int = 0) -> None:
        raw = json.dumps(value).encode()
        self.send_response_only(status)
        self.send_header("Content-Length", str(len(raw) + extra))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


class Asked(ThreadingHTTPServer):
    """The server, and the requests that it received."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.over = threading.Event()

    def handle_error(self, request: object, client_address: object) -> None:
        """Log nothing if a client disconnects."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/ask?v=1"


@contextmanager
def asking() -> Iterator[Asked]:
    """Run the server."""
    with Asked() as server, in_a_thread(server):
        try:
            yield server
        finally:
            server.over.set()
