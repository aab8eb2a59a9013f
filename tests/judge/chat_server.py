"""A server on this machine that misbehaves on demand. It proves how faults end; what a real model
does is tried in interop/chat.sh.
"""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from affidavit.judge.chat.cache import ReplyCache
from affidavit.judge.chat.client import ChatClient
from affidavit.judge.chat.endpoint import Endpoint
from affidavit.judge.chat.judge import ChatJudge
from affidavit.judge.chat.secret import Secret
from affidavit.judge.chat.settings import ChatV1
from affidavit.judge.chat.spending import Spending

Behaviour = Callable[["Handler"], None]
JSON = "application/json"


def reply_of(verdict: str = "supported", **changes: object) -> str:
    """Return what a model that does as it is told writes."""
    reply = {"verdict": verdict, "support": 0.95, "contradiction": 0.01, "quote": "15 days"}
    return json.dumps({**reply, "reason": "it says so", **changes})


def completion(content: str | None, ending: str = "stop", usage: object = None) -> bytes:
    """Return the body of a chat completion."""
    choice = {"index": 0, "message": {"content": content}, "finish_reason": ending}
    counted = {"prompt_tokens": 100, "completion_tokens": 10} if usage is None else usage
    body: dict[str, object] = {"id": "1", "choices": [choice], "usage": counted}
    return json.dumps(body).encode()


class Handler(BaseHTTPRequestHandler):
    """Answers each request with the next behaviour of its server; the last one stays."""

    protocol_version = "HTTP/1.1"
    server: "Faulty"

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        self.server.requests.append(json.loads(self.rfile.read(length)))
        self.server.headers.append(dict(self.headers))
        self.server.paths.append(self.path)
        turn = min(len(self.server.requests), len(self.server.behaviours)) - 1
        self.server.behaviours[turn](self)

    def answer(self, status: int, body: bytes, kind: str = JSON, **headers: str) -> None:
        """Send a whole answer."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
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
        self.requests: list[dict[str, object]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.over = threading.Event()

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a client that went away."""

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


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


def says(content: str | None, ending: str = "stop", usage: object = None) -> Behaviour:
    return lambda handler: handler.answer(200, completion(content, ending, usage))


def answers(status: int, body: bytes = b"", kind: str = JSON, **headers: str) -> Behaviour:
    return lambda handler: handler.answer(status, body, kind, **headers)


def hangs(handler: Handler) -> None:
    handler.server.over.wait(30)


def drips(handler: Handler) -> None:
    """Send a byte now and then, so that the socket itself never times out."""
    handler.send_response(200)
    handler.send_header("Content-Type", JSON)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    while not handler.server.over.wait(0.05):
        handler.wfile.write(b" ")


def breaks_off(handler: Handler) -> None:
    body = completion(reply_of())
    handler.send_response(200)
    handler.send_header("Content-Type", JSON)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body[: len(body) // 2])
    handler.close_connection = True


def hangs_up(handler: Handler) -> None:
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)


def no_http(handler: Handler) -> None:
    handler.wfile.write(b"SSH-2.0-nothing\r\n\r\n")
    handler.close_connection = True


@dataclass
class FakeClock:
    """Time that passes only by sleeping."""

    now: float = 1000.0
    slept: list[float] = field(default_factory=list)

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float, /) -> None:
        self.slept.append(seconds)
        self.now += seconds


def settings_for(server: Faulty, **changes: object) -> ChatV1:
    return ChatV1(base_url=server.base_url, model="m", **{"timeout_s": 5, **changes})  # type: ignore[arg-type]  # tests pass what the table says


def judge_at(
    settings: ChatV1, folder: Path, clock: FakeClock | None = None, key: str | None = None
) -> ChatJudge:
    endpoint = Endpoint(settings, None if key is None else Secret(key))
    client = ChatClient(settings, endpoint, Spending(settings), clock or FakeClock())
    return ChatJudge(settings, client, ReplyCache(folder / "chat"))
