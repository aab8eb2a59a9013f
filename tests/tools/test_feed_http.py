"""JSON over HTTP: every server fault ends in a failure, in time, and shows no secret."""

import socket
import ssl
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.faulty_server import (
    JSON,
    Behaviour,
    answers,
    breaks_off,
    breaks_off_in_a_chunk,
    drips,
    hangs,
    no_http,
    pours,
    serving,
)
from tests.own_certificate import certificate_for, secure
from tests.tools.feed_server import SOURCE, feed_of, feed_to, request

from affidavit.base import http_client
from affidavit.base.json_values import JsonValue
from affidavit.tools.allow_list import allow_list_from
from affidavit.tools.feed import SourceFailedError
from affidavit.tools.http_feed import AnyUrlFeed, HttpFeed, HttpSourceClient
from affidavit.tools.observation_time import ObservationTime, ObservedAt
from affidavit.tools.settings import EnvironmentSecret

FAULTS: dict[str, tuple[Behaviour, str]] = {
    "an error of the server": (answers(503, b"{}"), "status: HTTP 503"),
    "nothing found": (answers(404, b"{}"), "status: HTTP 404"),
    "no content is not an answer": (answers(204), "status: HTTP 204"),
    "a page for people": (
        answers(200, b"<html>", "text/html; charset=utf-8"),
        "content: the answer says it is text/html, not JSON",
    ),
    "JSON that calls itself text": (
        answers(200, b"{}", "text/plain"),
        "content: the answer says it is text/plain, not JSON",
    ),
    "a type that would not be shown": (
        answers(200, b"{}", "<script>"),
        "content: the answer says it is nothing, not JSON",
    ),
    "a text declared as Latin-1": (
        answers(200, b"{}", f"{JSON}; charset=iso-8859-1"),
        "content: the answer says that its text is not UTF-8",
    ),
    "compressed without being asked": (
        answers(200, b"{}", Content_Encoding="gzip"),
        "content: the answer is compressed, which was not asked for",
    ),
    "ten megabytes, announced": (
        answers(200, b"", Content_Length="10000000"),
        "too-large: the answer has more than 1000000 bytes",
    ),
    "ten megabytes, not announced": (pours, "too-large: the answer has more than 1000000 bytes"),
    "NaN": (
        answers(200, b'{"a": NaN}'),
        "malformed: the body is not strict JSON (json.number_domain)",
    ),
    "two equal keys": (
        answers(200, b'{"a": 1, "a": 2}'),
        "malformed: the body is not strict JSON (json.duplicate_key)",
    ),
    "a number beyond doubles": (
        answers(200, b"9007199254740993"),
        "malformed: the body is not strict JSON (json.number_domain)",
    ),
    "bytes that are no UTF-8": (
        answers(200, b'"\xff"'),
        "malformed: the body is not strict JSON (json.unicode)",
    ),
    "UTF-16 under the name of JSON": (
        answers(200, "{}".encode("utf-16")),
        "malformed: the body is not strict JSON (json.encoding)",
    ),
    "an empty body": (answers(200), "malformed: the body is not strict JSON (json.syntax)"),
    "an end within the body": (
        breaks_off,
        "broken-off: the answer ended before it was whole",
    ),
    "an end within a chunk": (
        breaks_off_in_a_chunk,
        "broken-off: the answer ended before it was whole",
    ),
    "another protocol": (no_http, "malformed: the server does not speak HTTP as it should"),
    "a redirect to nowhere": (
        answers(302, Location="mailto:x@example.com"),
        "redirect: the redirect leads to no address",
    ),
    "a redirect to another host": (
        answers(302, Location="http://169.254.169.254/latest/meta-data"),
        "forbidden: 169.254.169.254:80 is not among allow_hosts, so it was not asked",
    ),
    "a redirect in a circle": (answers(301, Location="/0"), "redirect: more than 3 redirects"),
    "a redirect without a target": (answers(302), "status: HTTP 302"),
}


@pytest.mark.parametrize(("behaviour", "wanted"), FAULTS.values(), ids=FAULTS.keys())
def test_a_faulty_server_gives_a_failure_reason(behaviour: Behaviour, wanted: str) -> None:
    with serving(behaviour) as server, pytest.raises(SourceFailedError) as failure:
        feed_of(server).ask({}, request())
    assert str(failure.value) == wanted


@pytest.mark.parametrize("behaviour", [hangs, drips])
def test_an_abandoned_request_ends_at_once(behaviour: Behaviour) -> None:
    one = request(30)
    with serving(behaviour) as server:
        threading.Timer(0.2, one.abandon).start()
        start = time.monotonic()
        with pytest.raises(SourceFailedError, match=r"^late: "):
            feed_of(server).ask({}, one)
        assert time.monotonic() - start < 5


def test_a_server_that_hangs_is_late() -> None:
    with serving(hangs) as server, pytest.raises(SourceFailedError, match=r"^late: "):
        feed_of(server).ask({}, request(0.2))


def test_a_closed_port_is_reported() -> None:
    with serving(answers(200)) as server:
        feed = feed_of(server)
    with pytest.raises(SourceFailedError, match=r"^unreachable: no connection to 127"):
        feed.ask({}, request())


def test_a_response_gives_its_json_and_its_time() -> None:
    headers = {"Date": "Sat, 31 Jan 2026 14:29:00 GMT"}
    body = '{"a": [1, "ü"]}'.encode()
    with serving(answers(200, body, "application/hal+json; charset=UTF-8", **headers)) as server:
        reply = feed_of(server).ask({}, request())
    assert reply.raw == {"a": [1, "ü"]}
    assert reply.observed_at == "2026-01-31T14:29:00Z"


def test_last_modified_takes_precedence_over_date() -> None:
    changed = answers(
        200,
        b"1",
        Last_Modified="Fri, 30 Jan 2026 00:00:00 GMT",
        Date="Sat, 31 Jan 2026 14:29:00 GMT",
    )
    with serving(changed, answers(200, b"1")) as server:
        assert feed_of(server).ask({}, request()).observed_at == "2026-01-30T00:00:00Z"
        caller = feed_of(server).client
        sent = HttpFeed(SOURCE, server.url(), {}, caller, ObservationTime(ObservedAt.ANSWERED))
        assert sent.ask({}, request()).observed_at == "2026-01-31T14:29:00Z"
        without = HttpFeed(SOURCE, server.url(1), {}, caller, ObservationTime())
        assert without.ask({}, request()).observed_at is None


def test_redirects_within_the_list_are_followed() -> None:
    behaviours = (
        answers(302, Location="/1"),
        answers(307, Location="2"),
        answers(308, Location="/3"),
        answers(200, b'"here"'),
    )
    with serving(*behaviours) as server:
        assert feed_of(server).ask({}, request()).raw == "here"
        assert server.paths == ["/0", "/1", "/2", "/3"]


SLOTS = {
    "an argument is one part of the path": ("/0/{a}", "x/y?z#", "/0/x%2Fy%3Fz%23"),
    "and one part of the query": ("/0?q={a}&b=1", "1&b=2", "/0?q=1%26b%3D2&b=1"),
    "a number is its text": ("/0/{a}", 5, "/0/5"),
    "letters beyond ASCII are UTF-8": ("/0/{a}", "ü", "/0/%C3%BC"),
}


@pytest.mark.parametrize(("url", "value", "wanted"), SLOTS.values(), ids=SLOTS.keys())
def test_slots_of_an_address(url: str, value: str | int, wanted: str) -> None:
    with serving(answers(200, b"1")) as server:
        allow = (f"127.0.0.1:{server.port}",)
        feed_to(f"http://127.0.0.1:{server.port}{url}", allow).ask({"a": value}, request())
        assert server.paths == [wanted]


@pytest.mark.parametrize("value", [".", "..", "x/../../y"])
def test_an_argument_cannot_change_the_path(value: str) -> None:
    with pytest.raises(SourceFailedError, match=r"^argument: an argument would lead"):
        feed_to("http://127.0.0.1:1/a/{a}/b", ("127.0.0.1:1",)).ask({"a": value}, request())


@pytest.mark.parametrize("value", [["x"], {"x": 1}])
def test_only_scalar_values_can_fill_a_url(value: JsonValue) -> None:
    with pytest.raises(SourceFailedError, match=r"^argument: the argument a is a"):
        feed_to("http://127.0.0.1:1/{a}", ("127.0.0.1:1",)).ask({"a": value}, request())


SECRET = 'tok"en-\\123456'  # noqa: S105 - one of the test's own
ENV = EnvironmentSecret("FEED_TOKEN", "Bearer ")


def secret_feed(url: str, *allow: str) -> HttpFeed:
    environment = {"FEED_TOKEN": SECRET}
    caller = HttpSourceClient(
        allow_list_from(allow), 1_000_000, {"Authorization": ENV}, environment
    )
    query: dict[str, EnvironmentSecret | str] = {
        "key": EnvironmentSecret("FEED_TOKEN"),
        "q": "{a}",
    }
    return HttpFeed(SOURCE, url, query, caller, ObservationTime())


def test_a_secret_is_sent_and_not_shown() -> None:
    with serving(answers(200, b"1")) as server:
        feed = secret_feed(server.url(), f"127.0.0.1:{server.port}")
        feed.ask({"a": "x y"}, request())
        assert server.headers[0]["authorization"] == f"Bearer {SECRET}"
        assert server.paths[0] == "/0?key=tok%22en-%5C123456&q=x%20y"
    assert SECRET not in repr(feed)


@pytest.mark.parametrize(
    "body", [b'{"you": "Bearer tok\\"en-\\\\123456"}', b'["\\u0074ok\\"en-\\\\123456"]']
)
def test_a_response_that_repeats_the_secret_is_refused(body: bytes) -> None:
    with serving(answers(200, body)) as server, pytest.raises(SourceFailedError) as failure:
        secret_feed(server.url(), f"127.0.0.1:{server.port}").ask({"a": 1}, request())
    assert str(failure.value).startswith("secret: the answer repeats")
    assert SECRET not in str(failure.value)


def test_a_secret_is_not_sent_to_another_host() -> None:
    with serving(answers(200, b"1")) as other:
        elsewhere = answers(302, Location=other.url())
        with serving(elsewhere) as server:
            allow = (f"127.0.0.1:{server.port}", f"127.0.0.1:{other.port}")
            secret_feed(server.url(), *allow).ask({"a": 1}, request())
            assert "authorization" in server.headers[0]
            assert "authorization" not in other.headers[0]
            assert "key=" not in other.paths[0]


@pytest.mark.parametrize("value", ["", "  ", "zwei\nzeilen", "ü"])
def test_a_secret_that_cannot_be_sent(value: str) -> None:
    caller = HttpSourceClient(
        allow_list_from(("127.0.0.1:1",)), 9, {"X": ENV}, {"FEED_TOKEN": value}
    )
    with pytest.raises(
        SourceFailedError, match=r"^secret: the environment variable FEED_TOKEN holds"
    ):
        caller.get("http://127.0.0.1:1/", request())


ADDRESSES = {
    "a file is not an address": "file:///etc/passwd",
    "a script is not an address": "javascript:alert(1)",
    "a user in it": "http://user@127.0.0.1/",
    "a password in it": "http://:word@127.0.0.1/",
    "a line break": "http://127.0.0.1/\r\nX: y",
    "a space": "http://127.0.0.1/a b",
    "a backslash, which browsers take for a slash": "http://127.0.0.1\\@example.com/",
    "a port that is none": "http://127.0.0.1:99999/",
    "the port zero": "http://127.0.0.1:0/",
    "no host": "http:///x",
    "half an IPv6 address": "http://[::1/",
    "nothing": "",
}


@pytest.mark.parametrize("url", ADDRESSES.values(), ids=ADDRESSES.keys())
def test_invalid_urls_are_refused(url: str) -> None:
    feed = AnyUrlFeed(
        SOURCE, HttpSourceClient(allow_list_from(("127.0.0.1",)), 9), ObservationTime()
    )
    with pytest.raises(SourceFailedError, match=r"^argument: the address"):
        feed.ask({"url": url}, request())


def test_any_address_of_an_allowed_host() -> None:
    with serving(answers(200, b"[1]")) as server:
        caller = HttpSourceClient(allow_list_from((f"127.0.0.1:{server.port}",)), 9)
        feed = AnyUrlFeed(SOURCE, caller, ObservationTime())
        assert feed.ask({"url": server.url()}, request()).raw == [1]
        with pytest.raises(SourceFailedError, match=r"^forbidden: localhost:"):
            feed.ask({"url": f"http://localhost:{server.port}/0"}, request())


def test_the_connection_goes_to_the_address_that_was_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A host name is resolved once, so a different second answer has no effect."""
    asked = []

    def getaddrinfo(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        asked.append(host)
        address = "127.0.0.1" if len(asked) == 1 else "10.0.0.1"
        return [(2, 1, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", _only_for("api.example.com", getaddrinfo))
    with serving(answers(200, b"1")) as server:
        url = f"http://api.example.com:{server.port}/0"
        feed = feed_to(url, (f"api.example.com:{server.port}", "127.0.0.1"))
        assert feed.ask({}, request()).raw == 1
        assert server.headers[0]["host"] == f"api.example.com:{server.port}"
    assert asked == ["api.example.com"]


def _only_for(name: str, replaced: Callable[..., object]) -> Callable[..., object]:
    real = socket.getaddrinfo

    def chosen(host: str, *rest: Any, **options: Any) -> object:
        if host == name:
            return replaced(host, *rest, **options)
        return real(host, *rest, **options)

    return chosen


@pytest.mark.parametrize("address", ["10.0.0.1", "127.0.0.1", "169.254.169.254", "::ffff:10.0.0.1"])
def test_a_name_that_resolves_to_a_private_address_is_not_followed(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    family = 10 if ":" in address else 2
    found = [(2, 1, 6, "", ("93.184.216.34", 80)), (family, 1, 6, "", (address, 80))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    with pytest.raises(SourceFailedError, match=r"^forbidden: the host leads to "):
        feed_to("http://api.example.com/", ("api.example.com",)).ask({}, request())


TRUSTED = {
    "an authority that is trusted": ("localhost", True, None),
    "one that is not": ("localhost", False, "forbidden: the certificate of localhost"),
    "another host's certificate": ("example.com", True, "forbidden: the certificate of localhost"),
}


@pytest.mark.parametrize(("host", "is_trusted", "wanted"), TRUSTED.values(), ids=TRUSTED.keys())
def test_certificates_are_verified(
    host: str,
    is_trusted: bool,
    wanted: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    certificate, key = certificate_for(tmp_path, host)
    if is_trusted:
        trust = ssl.create_default_context(cafile=str(certificate))
        monkeypatch.setattr(http_client, "tls_context", lambda: trust)
    with serving(answers(200, b"1"), answers(302, Location="http://localhost/")) as server:
        secure(server, certificate, key)
        url = f"https://localhost:{server.port}/"
        allow = (f"localhost:{server.port}", "localhost")
        if wanted is None:
            assert feed_to(f"{url}0", allow).ask({}, request()).raw == 1
            assert server.headers[0]["host"] == f"localhost:{server.port}"
            with pytest.raises(SourceFailedError, match="from https to http"):
                feed_to(f"{url}1", allow).ask({}, request())
        else:
            with pytest.raises(SourceFailedError) as failure:
                feed_to(f"{url}0", allow).ask({}, request())
            assert str(failure.value).startswith(wanted)


def test_a_server_without_tls_is_not_used_for_https() -> None:
    with (
        serving(answers(200, b"1")) as server,
        pytest.raises(SourceFailedError, match=r"^unreachable: no TLS connection to localhost"),
    ):
        feed_to(f"https://localhost:{server.port}/", (f"localhost:{server.port}",)).ask(
            {}, request()
        )
