"""One HTTP exchange: whatever the server does, it ends in time, within limits, with a value."""

import socket
import threading
import time
from collections.abc import Container, Iterator
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

import pytest
from tests.faulty_server import (
    Behaviour,
    Handler,
    answers,
    breaks_off,
    breaks_off_in_a_chunk,
    drips,
    hangs,
    hangs_up,
    no_http,
    pours,
    serving,
)
from tests.own_certificate import certificate_for, secure

from affidavit.base.http_address import Origin, UrlProblem, origin_of, parse_url, request_target
from affidavit.base.http_client import (
    Deadline,
    FailureKind,
    HttpFailure,
    HttpRequest,
    HttpResponse,
    RequestStage,
    connect,
    failure_from,
    open_connection,
    post,
    send_request,
)
from affidavit.base.text import is_worth_masking

BOUND = 1000


def address(url: str) -> SplitResult:
    return urlsplit(url)


def asked(url: str, seconds: float = 10.0) -> HttpResponse | HttpFailure:
    headers = {"Content-Type": "application/json"}
    return post(
        address(url), headers, b"{}", Deadline(seconds), max_bytes=BOUND, read=range(200, 300)
    )


def drips_without_a_length(handler: Handler) -> None:
    """Send bytes until the client disconnects; only the end of the connection ends the answer."""
    handler.begin(200, Connection="close")
    while not handler.server.over.wait(0.02):
        handler.wfile.write(b" ")


TROUBLES: dict[str, tuple[Behaviour, FailureKind, str]] = {
    "it hangs up": (hangs_up, FailureKind.DROPPED, "RemoteDisconnected"),
    "it ends within its body": (breaks_off, FailureKind.CUT, ""),
    "it ends within a chunk": (breaks_off_in_a_chunk, FailureKind.CUT, "IncompleteRead"),
    "another protocol": (no_http, FailureKind.NOT_HTTP, "BadStatusLine"),
    "more than the bound": (pours, FailureKind.TOO_LONG, ""),
    "more than the bound, announced": (
        answers(200, b"", Content_Length=str(BOUND + 1)),
        FailureKind.TOO_LONG,
        "",
    ),
    "it never answers": (hangs, FailureKind.LATE, "TimeoutError"),
    "it answers by the drop": (drips, FailureKind.LATE, "TimeoutError"),
    "an answer that our own end would make whole": (
        drips_without_a_length,
        FailureKind.LATE,
        "TimeoutError",
    ),
}


@pytest.mark.parametrize(("behaviour", "trouble", "detail"), TROUBLES.values(), ids=TROUBLES.keys())
def test_a_fault_is_a_value(behaviour: Behaviour, trouble: FailureKind, detail: str) -> None:
    seconds = 0.3 if trouble is FailureKind.LATE else 10.0
    with serving(behaviour) as server:
        start = time.monotonic()
        outcome = asked(server.url(), seconds)
    assert outcome == HttpFailure(trouble, RequestStage.ASKING, detail)
    assert time.monotonic() - start < 5


def test_an_answer_up_to_the_bound_is_whole() -> None:
    with serving(answers(200, b"x" * BOUND, X_Name="y")) as server:
        outcome = asked(server.url())
    assert isinstance(outcome, HttpResponse)
    assert (outcome.status, outcome.body) == (200, b"x" * BOUND)
    assert outcome.headers["x-name"] == "y"


@pytest.mark.parametrize("status", [302, 404, 503])
def test_the_body_of_an_unwanted_status_is_not_read(status: int) -> None:
    with serving(answers(status, b"x" * (BOUND + 1), Location="/1")) as server:
        outcome = asked(server.url())
    assert isinstance(outcome, HttpResponse)
    assert (outcome.status, outcome.body) == (status, b"")
    assert server.paths == ["/0"]


def test_a_connection_serves_many_requests() -> None:
    deadline = Deadline(10)
    with serving(answers(200, b"1")) as server:
        line = connect(address(server.url()), deadline)
        assert not isinstance(line, HttpFailure)
        plug = line.sock
        for _ in range(2):
            request = HttpRequest(method="GET", target="/0", headers={}, max_bytes=BOUND)
            assert isinstance(send_request(line, request, deadline), HttpResponse)
        assert line.sock is plug
        line.close()


READ = {
    "any answer, if no status is named": (503, None, b"1"),
    "an answer of a named status": (404, (200, 404), b"1"),
    "no answer of another status": (503, (200, 404), b""),
}


@pytest.mark.parametrize(("status", "read", "body"), READ.values(), ids=READ.keys())
def test_which_bodies_are_read(status: int, read: Container[int] | None, body: bytes) -> None:
    deadline = Deadline(10)
    with serving(answers(status, b"1")) as server:
        line = connect(address(server.url()), deadline)
        assert not isinstance(line, HttpFailure)
        request = HttpRequest(method="GET", target="/0", headers={}, max_bytes=BOUND, read=read)
        outcome = send_request(line, request, deadline)
        line.close()
    assert isinstance(outcome, HttpResponse)
    assert (outcome.status, outcome.body) == (status, body)


def test_an_invalid_header_is_a_failure_value() -> None:
    with serving(answers(200, b"1")) as server:
        outcome = post(
            address(server.url()),
            {"X": "a\nb"},
            b"",
            Deadline(10),
            max_bytes=BOUND,
            read=(200,),
        )
    assert outcome == HttpFailure(FailureKind.NOT_HTTP, RequestStage.ASKING, "ValueError")


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that accepts connections and never sends a byte."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_the_handshake_counts_towards_the_deadline(silent_port: int) -> None:
    outcome = asked(f"https://127.0.0.1:{silent_port}/", 0.3)
    assert outcome == HttpFailure(FailureKind.LATE, RequestStage.SECURING, "TimeoutError")
    assert not outcome.was_sent


def test_an_untrusted_certificate_is_refused(tmp_path: Path) -> None:
    certificate, key = certificate_for(tmp_path, "localhost")
    with serving(answers(200, b"1")) as server:
        secure(server, certificate, key)
        outcome = asked(f"https://localhost:{server.port}/0")
    assert isinstance(outcome, HttpFailure)
    assert (outcome.kind, outcome.stage) == (FailureKind.CERTIFICATE, RequestStage.SECURING)
    assert outcome.message.startswith("the server's certificate does not hold: ")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as place:
        return int(place.getsockname()[1])


def test_a_closed_port_is_a_refused_connection() -> None:
    outcome = asked(f"http://127.0.0.1:{free_port()}/")
    assert outcome == HttpFailure(
        FailureKind.DROPPED, RequestStage.CONNECTING, "Connection refused"
    )


def test_the_next_address_is_tried(silent_port: int) -> None:
    origin = Origin("http", "example.com", silent_port)
    line = open_connection(origin, ["127.0.0.9", "127.0.0.1"], Deadline(10))
    assert not isinstance(line, HttpFailure)
    assert line.sock.getpeername()[0] == "127.0.0.1"
    line.close()


def test_no_address_is_a_failure() -> None:
    failure = open_connection(Origin("http", "example.com", 80), [], Deadline(10))
    assert failure == HttpFailure(FailureKind.BROKEN, RequestStage.CONNECTING, "no address")


def test_no_time_left_to_connect_or_to_ask(silent_port: int) -> None:
    url = f"http://127.0.0.1:{silent_port}/"
    assert asked(url, 0) == HttpFailure(FailureKind.LATE, RequestStage.CONNECTING, "TimeoutError")
    line = connect(address(url), Deadline(10))
    assert not isinstance(line, HttpFailure)
    request = HttpRequest(method="GET", target="/", headers={}, max_bytes=BOUND)
    outcome = send_request(line, request, Deadline(0))
    assert outcome == HttpFailure(FailureKind.LATE, RequestStage.ASKING, "TimeoutError")
    line.close()


def test_a_hanging_name_server_does_not_block(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: over.wait(30) and [])
    start = time.monotonic()
    outcome = asked("http://localhost:1/", 0.2)
    over.set()
    assert outcome == HttpFailure(FailureKind.LATE, RequestStage.CONNECTING, "TimeoutError")
    assert time.monotonic() - start < 5


NAMES: dict[str, tuple[Exception, str]] = {
    "an unknown host name": (
        socket.gaierror(socket.EAI_NONAME, "Name or service not known"),
        "Name or service not known",
    ),
    "a name that is none": (UnicodeError("label too long"), "UnicodeError"),
}


@pytest.mark.parametrize(("error", "detail"), NAMES.values(), ids=NAMES.keys())
def test_names(error: Exception, detail: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(socket, "getaddrinfo", fails)
    outcome = asked("http://localhost:1/")
    assert isinstance(outcome, HttpFailure)
    assert (outcome.stage, outcome.detail) == (RequestStage.CONNECTING, detail)


def test_a_long_system_message_is_shortened() -> None:
    error = OSError(5, "x" * 500)
    assert len(failure_from(error, RequestStage.ASKING).message) <= 120


ADDRESSES: dict[str, tuple[str, UrlProblem | None]] = {
    "a host": ("https://example.com", None),
    "a host with port, path and query": ("http://example.com:81/a?b=c", None),
    "an address of IPv6": ("http://[::1]:81/", None),
    "half an address of IPv6": ("http://[::1/", UrlProblem.UNREADABLE),
    "a port beyond all": ("http://x:99999/", UrlProblem.UNREADABLE),
    "the port zero": ("http://x:0/", UrlProblem.UNUSABLE),
    "another scheme": ("file:///etc/passwd", UrlProblem.UNUSABLE),
    "no host": ("http:///x", UrlProblem.UNUSABLE),
    "a space": ("http://x/a b", UrlProblem.UNUSABLE),
    "a backslash": ("http://x\\@y/", UrlProblem.UNUSABLE),
    "letters beyond ASCII": ("http://ü/", UrlProblem.UNUSABLE),
    "a user": ("http://me@x/", UrlProblem.HAS_USER),
    "an empty user": ("http://@x/", UrlProblem.HAS_USER),
}


@pytest.mark.parametrize(("url", "flaw"), ADDRESSES.values(), ids=ADDRESSES.keys())
def test_addresses(url: str, flaw: UrlProblem | None) -> None:
    found = parse_url(url)
    assert found == (address(url) if flaw is None else flaw)


ORIGINS = {
    "the usual port of https": ("https://x", Origin("https", "x", 443), "/"),
    "the usual port of http": ("http://X/a", Origin("http", "x", 80), "/a"),
    "an explicit port": ("http://x:81/a?b#c", Origin("http", "x", 81), "/a?b"),
}


@pytest.mark.parametrize(("url", "origin", "target"), ORIGINS.values(), ids=ORIGINS.keys())
def test_origin_and_target_of_a_url(url: str, origin: Origin, target: str) -> None:
    assert (origin_of(address(url)), request_target(address(url))) == (origin, target)


def test_is_worth_masking() -> None:
    assert [text for text in ("", "none", "EMPTY", "sk-abc") if is_worth_masking(text)] == [
        "sk-abc"
    ]
