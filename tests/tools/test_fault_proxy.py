"""The fault proxies: every kind of fault over HTTP, over MCP and in files."""

import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread, Timer
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
from tests.own_certificate import certificate_for, secure

from affidavit.base import http_client
from affidavit.soak.fault_plan import FaultKind, FaultLevel, FaultPlan
from affidavit.tools.fault_injection import changed_file, changed_request
from affidavit.tools.fault_proxy import HttpFaultProxy
from affidavit.tools.mcp_fault_proxy import McpProxySettings


def plan(kind: FaultKind | None, level: float = 1.0, delay_ms: int = 1) -> FaultPlan:
    levels = () if kind is None else (FaultLevel(kind, level),)
    return FaultPlan(levels, 1, 1, delay_ms)


class Service(BaseHTTPRequestHandler):
    """Answers with three results, the number of the call, and what it was sent."""

    protocol_version = "HTTP/1.1"
    calls = 0

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        Service.calls += 1
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        results = [{"id": name} for name in "abc"]
        sent = json.loads(raw) if raw else None
        body = json.dumps({"n": Service.calls, "path": self.path, "results": results, "sent": sent})
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    do_GET = do_POST


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


def ask(
    proxy: HttpFaultProxy, body: Any = None, path: str = "/search", seconds: float = 30
) -> tuple[int, bytes]:
    address = urlsplit(proxy.url)
    connection = http.client.HTTPConnection(str(address.netloc), timeout=seconds)
    try:
        raw = None if body is None else json.dumps(body).encode()
        connection.request("POST", address.path + path, raw)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


@pytest.fixture
def proxy_with(service: str) -> Iterator[Any]:
    opened: list[HttpFaultProxy] = []

    def make(kind: FaultKind | None, level: float = 1.0) -> HttpFaultProxy:
        opened.append(HttpFaultProxy(plan(kind, level), "API", urlsplit(service)))
        return opened[-1]

    yield make
    for proxy in opened:
        proxy.close()


def test_without_a_fault_everything_is_passed_on(proxy_with: Any) -> None:
    status, body = ask(proxy_with(None), {"q": 1}, "/search?x=1")
    found = json.loads(body)
    assert (status, found["path"], found["sent"]) == (200, "/v1/search?x=1", {"q": 1})


def test_a_body_in_chunks_is_passed_on(proxy_with: Any) -> None:
    proxy = proxy_with(None)
    address = urlsplit(proxy.url)
    connection = http.client.HTTPConnection(str(address.netloc), timeout=30)
    pieces = iter([b'{"q"', b": 2}"])
    connection.request("POST", "/v1/x", pieces, encode_chunked=True)
    assert json.loads(connection.getresponse().read())["sent"] == {"q": 2}
    connection.close()


@pytest.fixture
def secure_service(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The same service over TLS, with the authority of its certificate."""
    certificate, key = certificate_for(tmp_path, "localhost")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    secure(server, certificate, key)
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"https://localhost:{server.server_port}/v1", certificate
    server.shutdown()
    server.server_close()


def test_a_service_over_https(
    secure_service: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The target speaks plain HTTP with the proxy, which verifies the certificate."""
    url, authority = secure_service
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    http_client.tls_context.cache_clear()
    try:
        for kind, names in ((None, "abc"), (FaultKind.REORDERED, "bca")):
            proxy = HttpFaultProxy(plan(kind), "API", urlsplit(url))
            status, body = ask(proxy, {"q": 1}, "/search?x=1")
            proxy.close()
            found = json.loads(body)
            assert (status, found["path"], found["sent"]) == (200, "/v1/search?x=1", {"q": 1})
            assert [each["id"] for each in found["results"]] == list(names)
    finally:
        http_client.tls_context.cache_clear()


def test_a_service_whose_certificate_nobody_trusts(secure_service: tuple[str, Path]) -> None:
    proxy = HttpFaultProxy(plan(None), "API", urlsplit(secure_service[0]))
    status, body = ask(proxy)
    proxy.close()
    assert (status, b"certificate does not hold" in body) == (502, True)


STATUSES = {
    "rate limit": (FaultKind.RATE_LIMIT, 429),
    "server error": (FaultKind.SERVER_ERROR, 503),
}


@pytest.mark.parametrize(("kind", "status"), STATUSES.values(), ids=STATUSES.keys())
def test_an_error_of_the_service(kind: FaultKind, status: int, proxy_with: Any) -> None:
    proxy = proxy_with(kind)
    assert ask(proxy)[0] == status
    assert proxy.calls.injected == {kind.value: 1}


BROKEN = {
    "reset": (FaultKind.RESET, (ConnectionError, http.client.RemoteDisconnected)),
    "timeout": (FaultKind.TIMEOUT, TimeoutError),
    "truncated": (FaultKind.TRUNCATED, http.client.IncompleteRead),
}


@pytest.mark.parametrize(("kind", "error"), BROKEN.values(), ids=BROKEN.keys())
def test_a_connection_that_breaks(kind: FaultKind, error: Any, proxy_with: Any) -> None:
    proxy = proxy_with(kind)
    with pytest.raises(error):
        ask(proxy, seconds=0.5 if kind is FaultKind.TIMEOUT else 30)
    assert proxy.calls.injected == {kind.value: 1}


def test_latency_changes_nothing_but_the_time(proxy_with: Any) -> None:
    proxy = proxy_with(FaultKind.LATENCY)
    assert ask(proxy)[0] == 200
    assert proxy.calls.injected == {"latency": 1}


def test_content_that_is_not_what_was_answered(proxy_with: Any) -> None:
    status, body = ask(proxy_with(FaultKind.GARBLED))
    assert status == 200
    with pytest.raises(json.JSONDecodeError):
        json.loads(body)
    assert json.loads(ask(proxy_with(FaultKind.DROPPED_RESULT))[1]) == {}
    reordered = json.loads(ask(proxy_with(FaultKind.REORDERED))[1])["results"]
    assert reordered[0] != {"id": "a"}
    assert sorted(each["id"] for each in reordered) == ["a", "b", "c"]


def test_stale_data_is_the_answer_before(proxy_with: Any) -> None:
    proxy = proxy_with(FaultKind.STALE)
    first, second = (json.loads(ask(proxy)[1])["n"] for _ in range(2))
    assert first == second
    assert proxy.calls.injected == {"stale": 1}


def test_a_jitter_changes_the_question_and_nothing_else(proxy_with: Any) -> None:
    proxy = proxy_with(FaultKind.JITTER_PUNCT)
    chat = {"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "Why?"}]}
    sent = json.loads(ask(proxy, chat)[1])["sent"]
    assert [each["content"] for each in sent["messages"]] == ["s", "Why ?"]
    assert json.loads(ask(proxy, {"n": 1})[1])["sent"] == {"n": 1}
    assert proxy.calls.injected == {"jitter-punct": 1}


def test_a_dropped_tool_result_of_a_chat(proxy_with: Any) -> None:
    chat = {"messages": [{"role": "tool", "content": "12 days"}, {"role": "user", "content": "?"}]}
    sent = json.loads(ask(proxy_with(FaultKind.DROPPED_RESULT), chat)[1])["sent"]
    assert sent["messages"][0]["content"] == ""


def test_the_same_calls_get_the_same_faults(proxy_with: Any) -> None:
    def statuses() -> list[int]:
        proxy = proxy_with(FaultKind.RATE_LIMIT, 0.5)
        return [ask(proxy, path=f"/{at % 2}")[0] for at in range(12)]

    first = statuses()
    assert first == statuses()
    assert {200, 429} == set(first)


def test_a_service_that_is_down_is_a_bad_gateway() -> None:
    proxy = HttpFaultProxy(plan(None), "API", urlsplit("http://127.0.0.1:9"))
    assert ask(proxy)[0] == 502
    proxy.close()


REQUESTS: dict[str, tuple[Any, Any]] = {
    "a query": ({"query": "a , b"}, {"query": "a, b"}),
    "nothing to change": ({"query": "a"}, {"query": "a"}),
    "no text": ({"query": 1}, {"query": 1}),
    "not an object": ([1], [1]),
    "messages without a user": ({"messages": [{"role": "system", "content": "a , b"}]}, None),
    "content in parts": ({"messages": [{"role": "user", "content": [1]}]}, None),
}


@pytest.mark.parametrize(("value", "wanted"), REQUESTS.values(), ids=REQUESTS.keys())
def test_which_text_of_a_request_is_jittered(value: Any, wanted: Any) -> None:
    assert changed_request(FaultKind.JITTER_WS, value) == (value if wanted is None else wanted)


FILES = {
    "truncated": (FaultKind.TRUNCATED, b"abcd", b"ab"),
    "stale": (FaultKind.STALE, b"1\n2\n3\n4\n", b"1\n2\n"),
    "dropped text": (FaultKind.DROPPED_RESULT, b"not json", b""),
    "dropped JSON": (FaultKind.DROPPED_RESULT, b"[1]", b"[]"),
    "reordered lines": (FaultKind.REORDERED, b"1\n2\n", b"2\n1\n"),
    "reordered JSON": (FaultKind.REORDERED, b'["a","b"]', b'["b","a"]'),
    "one line stays": (FaultKind.REORDERED, b"1\n", b"1\n"),
}


@pytest.mark.parametrize(("kind", "body", "wanted"), FILES.values(), ids=FILES.keys())
def test_a_file(kind: FaultKind, body: bytes, wanted: bytes) -> None:
    assert changed_file(kind, body, 0) == wanted


# An MCP server over stdio: the sample one, behind the proxy.

SERVER = Path(__file__).parents[2] / "samples" / "agent" / "tools_server.py"


def talk(folder: Path, kind: FaultKind | None, *kinds_of_leave: str) -> tuple[list[Any], list[str]]:
    """Call the tool once for each kind of leave; return the answers and the log of faults."""
    log = folder / "faults.log"
    settings = McpProxySettings(plan(kind), "LEAVE", (sys.executable, str(SERVER)), str(log))
    (folder / "settings.json").write_bytes(msgspec.json.encode(settings))
    calls = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}] + [
        {
            "jsonrpc": "2.0",
            "id": number,
            "method": "tools/call",
            "params": {"name": "leave_days", "arguments": {"kind": leave}},
        }
        for number, leave in enumerate(kinds_of_leave, 1)
    ]
    done = subprocess.run(
        [sys.executable, "-m", "affidavit.tools.mcp_fault_proxy", str(folder / "settings.json")],
        input="".join(json.dumps(call) + "\n" for call in calls).encode(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    lines = done.stdout.splitlines()
    faults = [json.loads(line) for line in log.read_bytes().splitlines()] if log.exists() else []
    return [_parsed(line) for line in lines[1:]], faults


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)["result"]
    except (ValueError, KeyError):
        return None


def days(number: int) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": json.dumps({"days": number})}]}


MCP: dict[str, tuple[FaultKind | None, list[Any], list[str]]] = {
    "no fault": (None, [days(12), days(25)], []),
    "latency": (FaultKind.LATENCY, [days(12), days(25)], ["latency", "latency"]),
    "timeout": (FaultKind.TIMEOUT, [], ["timeout", "timeout"]),
    "dropped": (
        FaultKind.DROPPED_RESULT,
        [{"content": []}, {"content": []}],
        ["dropped-result", "dropped-result"],
    ),
    "stale": (FaultKind.STALE, [days(12), days(12)], ["stale"]),
    "truncated": (FaultKind.TRUNCATED, [None, None], ["truncated", "truncated"]),
    "garbled": (FaultKind.GARBLED, [None, None], ["garbled", "garbled"]),
    "one result has no other order": (FaultKind.REORDERED, [days(12), days(25)], []),
    "no text to jitter": (FaultKind.JITTER_WS, [days(12), days(25)], []),
}


@pytest.mark.parametrize(("kind", "answers", "faults"), MCP.values(), ids=MCP.keys())
def test_a_tool_of_an_mcp_server(
    kind: FaultKind | None, answers: list[Any], faults: list[str], tmp_path: Path
) -> None:
    assert talk(tmp_path, kind, "parental", "annual") == (answers, faults)


def test_an_error_of_a_tool(tmp_path: Path) -> None:
    (answer,), faults = talk(tmp_path, FaultKind.RATE_LIMIT, "parental")
    assert (answer["isError"], "429" in answer["content"][0]["text"]) == (True, True)
    assert faults == ["rate-limit"]


def test_a_server_that_ends(tmp_path: Path) -> None:
    answers, faults = talk(tmp_path, FaultKind.RESET, "parental")
    assert (answers, faults) == ([], ["reset"])


def test_a_client_that_waits_learns_that_the_server_has_ended(tmp_path: Path) -> None:
    """It holds its end open, as clients do: only the end of the answers tells it."""
    talk(tmp_path, FaultKind.RESET)  # Writes the settings.
    command = [sys.executable, "-m", "affidavit.tools.mcp_fault_proxy"]
    with subprocess.Popen(
        [*command, str(tmp_path / "settings.json")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as proxy:
        ended: list[str] = []

        def end() -> None:
            ended.append("by the watchdog")
            proxy.kill()

        watchdog = Timer(30, end)
        watchdog.start()
        assert proxy.stdin is not None
        assert proxy.stdout is not None
        params = {"name": "leave_days", "arguments": {"kind": "parental"}}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        proxy.stdin.write(json.dumps(call).encode() + b"\n")
        proxy.stdin.flush()
        assert proxy.stdout.readline() == b""
        assert ended == []
        watchdog.cancel()
        proxy.stdin.close()
