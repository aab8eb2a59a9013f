"""Clients that open connections and send nothing, or not enough, keep nobody else out.

No test depends on the speed of the machine: WAIT_SECONDS is an upper bound, not a measurement.
"""

import asyncio
import contextlib
import io
import json
import logging
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
import uvicorn
from tests.web.service_client import AT, CHECKS, Service, make_project
from tests.web.test_serve_command import Process, serving
from uvicorn.server import ServerState

from affidavit.web import connections
from affidavit.web.connections import OpenConnections, ServiceProtocol, connection_limit
from affidavit.web.request_log import MAX_KNOWN_MESSAGES, RequestLog, RequestLogHandler

WAIT_SECONDS = 300
HALF_OPEN = 300
DESCRIPTORS = 128
HEAD = b"POST /v1/answer HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
# What such clients send: nothing, half a request line, headers without their end, no body.
STARTS = (b"", b"POST /v1/ans", HEAD, HEAD + b"content-length: 100\r\n\r\n[")
MAX_LOG_BYTES = 100_000


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_project(tmp_path_factory.mktemp("slow"))


def connected(service: Process) -> socket.socket:
    place = urlsplit(service.url)
    return socket.create_connection((place.hostname, place.port), timeout=WAIT_SECONDS)


@contextlib.contextmanager
def half_open_connections(service: Process) -> Iterator[list[socket.socket]]:
    with contextlib.ExitStack() as clients:
        opened = []
        for number in range(HALF_OPEN):
            opened.append(clients.enter_context(connected(service)))
            with contextlib.suppress(ConnectionError):  # It may be closed already.
                opened[-1].sendall(STARTS[number % len(STARTS)])
        yield opened


def received(client: socket.socket) -> bytes:
    """Return what the service sends until it closes the connection."""
    found = b""
    with contextlib.suppress(ConnectionError):
        while part := client.recv(65_536):
            found += part
    return found


@pytest.mark.parametrize("workers", ["1", "2"])
def test_half_open_connections_do_not_keep_other_clients_out(project: Path, workers: str) -> None:
    options = ("--workers", workers, "--address-rate", "0", "--idle-seconds", "1")
    with serving(project, *options, descriptors=DESCRIPTORS) as service:
        assert service.post(CHECKS).status == 200
        with half_open_connections(service) as clients:
            for _ in range(10):
                assert service.post(CHECKS).status == 200
            answers = list(map(received, clients))
        # Only a client that sent whole headers may get a response.
        assert {answer[:12] for answer in answers} <= {b"", b"HTTP/1.1 408"}
        assert service.post(CHECKS).status == 200
        code, log = service.end()
    assert code == 0
    assert service.log.stat().st_size < MAX_LOG_BYTES
    closed = [line for line in log if line["event"] == "connections"]
    assert closed
    assert {line["event"] for line in log} == {"request", "connections"}


def test_slow_headers_and_idle_connections_are_closed(project: Path) -> None:
    with serving(project, "-q", "--idle-seconds", "1") as service:
        with connected(service) as client:
            for _ in range(2):
                client.sendall(b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
            assert received(client).count(b'"alive"') == 2
        with connected(service) as client:
            client.sendall(b"GET /healthz HTTP/1.1\r\n")
            client.settimeout(1)
            began = time.monotonic()
            while True:  # A new header every second does not extend the time limit.
                try:
                    client.sendall(b"x-more: a\r\n")
                    if client.recv(1) == b"":
                        break
                except TimeoutError:
                    continue
                except ConnectionError:
                    break
            assert time.monotonic() - began >= connections.HEADER_SECONDS - 1


class MemoryTransport(asyncio.Transport):
    """A connection in memory whose client has not read `unread` bytes."""

    def __init__(self) -> None:
        super().__init__({"peername": ("192.0.2.7", 4000)})
        self.sent = b""
        self.unread = 0
        self.is_closed = self.is_aborted = False

    def write(self, data: Any) -> None:
        self.sent += bytes(data)

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_closed = self.is_aborted = True

    def is_closing(self) -> bool:
        return self.is_closed

    def get_write_buffer_size(self) -> int:
        return self.unread

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class MemoryServer:
    """Opens connections in memory to a service that accepts `limit` of them."""

    def __init__(self, service: Service, limit: int, idle_seconds: int = 5) -> None:
        log = RequestLog(service.log, lambda: AT)
        app = msgspec.structs.replace(service.app, connections=OpenConnections(limit, log))
        self.state = ServerState()
        self.config = uvicorn.Config(
            app, proxy_headers=False, log_config=None, timeout_keep_alive=idle_seconds
        )

    def connect(self) -> tuple[ServiceProtocol, MemoryTransport]:
        protocol = ServiceProtocol(self.config, self.state, {})
        transport = MemoryTransport()
        protocol.connection_made(transport)
        return protocol, transport


async def until(holds: Callable[[], object]) -> None:
    """Let the event loop run until something holds."""
    async with asyncio.timeout(30):
        while not holds():
            await asyncio.sleep(0)


HEALTH = b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"


def test_the_longest_waiting_connection_makes_room(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = Service(project)
    monkeypatch.setattr(connections, "LOG_SECONDS", 0)

    async def fill() -> None:
        server = MemoryServer(service, limit=2)
        (first, one), (_, two) = server.connect(), server.connect()
        first.data_received(HEALTH)
        await until(lambda: b"alive" in one.sent)
        # The first has been idle since its response, but the second has waited longer.
        _, three = server.connect()
        assert (one.is_aborted, two.is_aborted, three.is_aborted) == (False, True, False)
        first.connection_lost(None)
        await until(lambda: service.lines[-1]["event"] == "connections")

    asyncio.run(fill())
    assert service.lines[-1]["replaced"] == 1


def test_a_connection_is_refused_if_all_others_have_requests(project: Path) -> None:
    async def fill() -> tuple[MemoryTransport, MemoryTransport]:
        server = MemoryServer(Service(project), limit=1)
        busy, first = server.connect()
        busy.data_received(HEALTH)  # Its task has not run yet.
        _, second = server.connect()
        await until(lambda: b"alive" in first.sent)
        return first, second

    first, second = asyncio.run(fill())
    assert not first.is_closed
    head, _, body = second.sent.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503 ")
    assert b"retry-after: 1" in head
    assert json.loads(body)["code"] == "AF507"
    assert (second.is_closed, second.is_aborted) == (True, False)


@pytest.mark.parametrize(("send_seconds", "idle_seconds"), [(0, 3600), (3600, 0)])
def test_a_response_that_is_not_read_ends_its_connection(
    project: Path, monkeypatch: pytest.MonkeyPatch, send_seconds: int, idle_seconds: int
) -> None:
    monkeypatch.setattr(connections, "SEND_SECONDS", send_seconds)

    async def ask() -> None:
        server = MemoryServer(Service(project), limit=9, idle_seconds=idle_seconds)
        protocol, transport = server.connect()
        transport.unread = 1
        protocol.data_received(HEALTH)
        await until(lambda: transport.is_aborted)
        protocol.connection_lost(None)

    asyncio.run(ask())


def test_bytes_after_an_early_response_do_not_keep_a_connection_open(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ask() -> None:
        protocol, transport = MemoryServer(Service(project), limit=9).connect()
        protocol.data_received(HEAD + b"content-length: 9999\r\n\r\n")
        await until(lambda: b"AF500" in transport.sent)
        monkeypatch.setattr(connections, "HEADER_SECONDS", 0)
        protocol.data_received(b"[")
        await until(lambda: transport.is_aborted)

    asyncio.run(ask())


LIMITS = {"as many as allowed": (128, 64), "unlimited": (-1, 4096), "very few": (1, 1)}


@pytest.mark.parametrize(("descriptors", "wanted"), LIMITS.values(), ids=LIMITS.keys())
def test_half_of_the_descriptors_are_for_connections(
    monkeypatch: pytest.MonkeyPatch, descriptors: int, wanted: int
) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (descriptors, descriptors))
    assert connection_limit() == wanted


def test_a_repeated_message_of_a_library_is_counted() -> None:
    stream = io.StringIO()
    handler = RequestLogHandler(RequestLog(stream, lambda: AT))

    def emit(said: str, at: float) -> None:
        record = logging.LogRecord("library", logging.ERROR, "", 0, said, None, None)
        record.created = at
        handler.emit(record)

    for second in range(12):
        emit("no descriptor", second)
        emit("no memory", second)
    for number in range(MAX_KNOWN_MESSAGES):
        emit(f"message {number}", 20)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(line["said"], line.get("repeated")) for line in lines[:4]] == [
        ("no descriptor", None),
        ("no memory", None),
        ("no descriptor", 9),
        ("no memory", 9),
    ]
    assert len(lines) == 4 + MAX_KNOWN_MESSAGES


FRAMING = {
    "two lengths that agree": (b"content-length: 2\r\nContent-Length: 2\r\n\r\n[]", "AF526"),
    "two lengths that differ": (b"content-length: 2\r\ncontent-length: 1\r\n\r\n[]", "AF526"),
    "two lengths in one": (b"content-length: 2, 2\r\n\r\n[]", "AF526"),
    "a length and an encoding": (
        b"content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\n\r\n",
        "AF526",
    ),
    "an unknown encoding": (b"transfer-encoding: gzip\r\n\r\n", "AF511"),
    "a chunk without a size": (b"transfer-encoding: chunked\r\n\r\nzz\r\n", "AF511"),
    "chunks": (b"transfer-encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\n\r\n", "AF305"),
}


def test_requests_of_ambiguous_length_are_refused(project: Path) -> None:
    with serving(project, "--idle-seconds", "1") as service:
        found = {}
        for name, (rest, _) in FRAMING.items():
            with connected(service) as client:
                client.sendall(HEAD + rest)
                head, _, body = received(client).partition(b"\r\n\r\n")
            assert b"content-type: application/problem+json" in head
            found[name] = json.loads(body)["code"]
        with connected(service) as client:  # A request that was refused early, and another.
            early = HEAD.replace(b"json", b"xml") + b"content-length: 2\r\n\r\n[]"
            client.sendall(early + HEAD + FRAMING["two lengths that agree"][0])
            assert b"AF526" in received(client)
        with connected(service) as client:
            client.sendall(HEAD + b"content-length: 9\r\n\r\n[")
        code, log = service.end()
    assert found == {name: code for name, (_, code) in FRAMING.items()}
    assert code == 0
    assert {line["event"] for line in log} == {"request"}
    assert "AF527" in {line.get("code") for line in log}
