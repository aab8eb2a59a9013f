"""`affidavit proxy` in front of a stub of a provider, with httpx as the program's client."""

import json
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.cli.running import REAL, run, start

SECRET = "sk-" + "not-for-any-log"
CALL = {"id": "call_1", "type": "function", "function": {"name": "leave", "arguments": '{"d": 1}'}}


class Provider(BaseHTTPRequestHandler):
    """A stub of the API: chat as a whole and in pieces, a model list, a refusal."""

    protocol_version = "HTTP/1.1"
    seen: list[str]
    go_on: threading.Event

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        self._answer(200, {"data": []})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        type(self).seen.append(str(self.headers["Authorization"]))
        asked = json.loads(raw)
        if asked["model"] == "unknown":
            self._answer(404, {"error": {"message": "no such model"}})
        elif asked.get("stream"):
            self._stream()
        else:
            is_last = any(one["role"] == "tool" for one in asked["messages"])
            message: dict[str, Any] = {"role": "assistant", "content": "12" if is_last else None}
            if not is_last:
                message["tool_calls"] = [CALL]
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            usage = {"prompt_tokens": 5, "completion_tokens": 1}
            self._answer(200, {"id": "c", "model": "m", "choices": [choice], "usage": usage})

    def _answer(self, status: int, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number, word in enumerate(("one ", "two")):
            if number:
                type(self).go_on.wait(20)
            piece = {"choices": [{"index": 0, "delta": {"content": word}}]}
            self._chunk(b"data: " + json.dumps(piece).encode() + b"\n\n")
        self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()


@contextmanager
def provider() -> Iterator[str]:
    """Run the stub; yield its base address."""
    Provider.seen, Provider.go_on = [], threading.Event()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def proxied(to: str, log: Path) -> Iterator[httpx.Client]:
    """Run the proxy, and yield a client that knows only its address; then stop it."""
    process: subprocess.Popen[bytes] = start(
        REAL, "proxy", "--to", to, "-o", str(log), "--port", "0", "--json"
    )
    assert process.stdout is not None
    text = b""
    while b"}" not in text:
        line = process.stdout.readline()
        assert line, process.communicate()[1].decode()
        text += line
    with httpx.Client(
        base_url=json.loads(text)["url"],
        headers={"Authorization": f"Bearer {SECRET}"},
        timeout=30,
        trust_env=False,
    ) as client:
        yield client
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    process.communicate()


def events_in(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text("utf-8").splitlines()[1:]]


def test_a_program_that_is_not_changed_is_recorded(tmp_path: Path) -> None:
    log, bundle = tmp_path / "run.jsonl", tmp_path / "run.tar.gz"
    messages: list[dict[str, Any]] = [{"role": "user", "content": "How many days?"}]
    with provider() as address, proxied(address, log) as client:
        asked = {"model": "m", "messages": messages, "seed": 7, "temperature": 0}
        first = client.post("chat/completions", json=asked).json()
        message = first["choices"][0]["message"]
        messages += [message, {"role": "tool", "tool_call_id": "call_1", "content": "12"}]
        second = client.post("chat/completions?key=hidden", json=asked).json()
        assert second["choices"][0]["message"]["content"] == "12"
        with client.stream("POST", "chat/completions", json={**asked, "stream": True}) as response:
            pieces = response.iter_raw()
            assert b"one " in next(pieces)  # The second piece was not even sent yet.
            Provider.go_on.set()
            assert b"[DONE]" in b"".join(pieces)
        assert client.get("models").json() == {"data": []}
        refused = client.post("chat/completions", json={"model": "unknown", "messages": []})
        assert refused.status_code == 404
        assert Provider.seen == [f"Bearer {SECRET}"] * 4
    events = events_in(log)
    assert [one["type"].removeprefix("affidavit.") for one in events] == [
        *("run.started", "model.call", "tool.call", "model.call", "model.call", "step"),
        *("model.call", "run.finished"),
    ]
    tool, streamed, failed = (events[at]["data"] for at in (2, 4, 6))
    assert (tool["tool"], tool["input"], tool["output"]) == ("leave", {"d": 1}, "12")
    assert streamed["output"] == [{"role": "assistant", "content": "one two"}]
    assert (failed["error"], failed["model"]) == ("404", "unknown")
    call = events[1]["data"]
    assert call["usage"] == {"input_tokens": 5, "output_tokens": 1}
    assert call["parameters"] == {"seed": 7, "temperature": 0}
    assert call["provider"] == "127.0.0.1"
    text = log.read_text("utf-8")
    assert (SECRET in text, "hidden" in text, "uthorization" in text) == (False, False, False)
    assert run("evidence", "seal", str(log), "-o", str(bundle)).exit_code == 0
    assert run("evidence", "verify", str(bundle)).exit_code == 0


def test_a_service_that_is_away_is_a_call_that_failed(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with proxied(f"http://127.0.0.1:{port}/v1", log) as client:
        reply = client.post("chat/completions", json={"model": "m", "messages": []})
        assert reply.status_code == 502
        assert "no answer" in reply.json()["error"]["message"]
    (call,) = [one["data"] for one in events_in(log) if one["type"] == "affidavit.model.call"]
    assert call["error"]


def test_an_answer_that_is_cut_off_is_not_ended_by_the_proxy(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
            time.sleep(0.1)
            connection.close()

        thread = threading.Thread(target=serve)
        thread.start()
        with (
            proxied(f"http://127.0.0.1:{server.getsockname()[1]}/v1", log) as client,
            pytest.raises(httpx.RemoteProtocolError),
        ):
            client.post("chat/completions", json={"model": "m", "messages": []})
        thread.join()
    (call,) = [one["data"] for one in events_in(log) if one["type"] == "affidavit.model.call"]
    assert call["error"].startswith("cut off")


REFUSED = {
    "no address": (("--to", "ftp://x"), "AF812"),
    "a log of another name": (("--to", "http://127.0.0.1:1", "-o", "run.txt"), "ends in .jsonl"),
}


@pytest.mark.parametrize(("options", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_a_proxy_that_cannot_start(tmp_path: Path, options: tuple[str, ...], said: str) -> None:
    more = () if "-o" in options else ("-o", str(tmp_path / "run.jsonl"))
    result = run("proxy", *options, *more)
    assert (result.exit_code, said in result.output) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_a_port_that_is_taken_and_a_log_that_exists(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        options = ("proxy", "--to", "http://127.0.0.1:1", "-o", str(tmp_path / "run.jsonl"))
        result = run(*options, "--port", port)
        assert (result.exit_code, "AF813" in result.output) == (2, True)
    (tmp_path / "run.jsonl").touch()
    result = run(*options, "--port", "0")
    assert result.exit_code == 2
    assert "Traceback" not in result.output
