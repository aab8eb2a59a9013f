"""An MCP server over stdio with faults: `python -m affidavit.tools.mcp_fault_proxy SETTINGS`.

It starts the real server, passes every line on in both directions, and injects faults into calls of
tools. It is started by the target in place of the server. Each injected fault is a line of the log
that the settings name.
"""

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import IO, Any, Final

import msgspec

from affidavit.base.files import append_line_durably
from affidavit.soak.fault_plan import FaultKind, FaultPlan, ServiceKind, garbled, truncated
from affidavit.tools.fault_injection import (
    JITTERS,
    CallCounter,
    changed_body,
    changed_request,
    encoded,
)

_ERRORS: Final = {
    FaultKind.RATE_LIMIT: "429: rate limit exceeded (injected)",
    FaultKind.SERVER_ERROR: "503: service unavailable (injected)",
}


class McpProxySettings(msgspec.Struct, frozen=True):
    """The faults of a trial, the name of the service, the real server, and the log."""

    plan: FaultPlan
    name: str
    argv: tuple[str, ...]
    log: str


class McpFaultProxy:
    """Passes lines between a client and a server."""

    def __init__(self, settings: McpProxySettings, client: IO[bytes]) -> None:
        self._calls = CallCounter(settings.plan, ServiceKind.MCP, settings.name)
        self._log = Path(settings.log)
        self._client = client
        self._waiting: dict[Any, tuple[FaultKind, int]] = {}
        self._tools: dict[Any, str] = {}
        self._last: dict[str, Any] = {}
        self._server = subprocess.Popen(  # noqa: S603 - the user's own server, without a shell
            settings.argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def run(self, requests: IO[bytes]) -> int:
        """Serve until either side ends; return the exit code of the server."""
        answers = Thread(target=self._pass_answers, daemon=True)
        answers.start()
        into = self._server.stdin
        for line in requests:
            if into is None or self._server.poll() is not None:
                break
            into.write(self._request(line))
            into.flush()
        if into is not None:
            into.close()
        answers.join()
        return self._server.wait()

    def _inject(self, kind: FaultKind) -> None:
        self._calls.count(kind)
        append_line_durably(self._log, json.dumps(kind.value).encode())

    def _request(self, line: bytes) -> bytes:
        """Return the line to pass on, and remember which fault its answer gets."""
        message = _object(line)
        if message.get("method") != "tools/call" or "id" not in message:
            return line
        params = message.get("params")
        tool = str(params.get("name")) if isinstance(params, dict) else ""
        kind, word = self._calls.draw(f"tools/call {tool}")
        self._tools[message["id"]] = tool
        if kind is None:
            return line
        if kind in JITTERS and isinstance(params, dict):
            arguments = params.get("arguments")
            changed = changed_request(kind, arguments)
            if changed is arguments:
                return line
            self._inject(kind)
            return encoded({**message, "params": {**params, "arguments": changed}}) + b"\n"
        self._waiting[message["id"]] = (kind, word)
        return line

    def _pass_answers(self) -> None:
        for line in self._server.stdout or ():
            answer = self._answer(line)
            if answer is None:
                continue
            try:
                self._client.write(answer)
                self._client.flush()
            except OSError:
                return
        # A client that waits for an answer learns that the server has ended.
        self._client.close()

    def _answer(self, line: bytes) -> bytes | None:
        """Return the line to pass back; None if nothing is."""
        message = _object(line)
        number = message.get("id")
        if "method" in message or number not in self._tools:
            return line
        tool, before = self._tools.pop(number), None
        if "result" in message:
            before, self._last[tool] = self._last.get(tool), message["result"]
        if number not in self._waiting:
            return line
        kind, word = self._waiting.pop(number)
        return self._faulty(kind, word, message, before)

    def _faulty(
        self, kind: FaultKind, word: int, message: dict[str, Any], before: Any
    ) -> bytes | None:
        line = encoded(message)
        if kind is FaultKind.LATENCY:
            time.sleep(self._calls.plan.delay_ms / 1000)
        elif kind in (FaultKind.TIMEOUT, FaultKind.RESET):
            self._inject(kind)
            if kind is FaultKind.RESET:
                self._server.kill()
            return None
        else:
            changed = _changed_answer(kind, word, message, before)
            if changed == line:
                return line + b"\n"
            line = changed
        self._inject(kind)
        return line + b"\n"


def _changed_answer(kind: FaultKind, word: int, message: dict[str, Any], before: Any) -> bytes:
    """Return an answer with a fault of content; unchanged if the fault does not apply to it."""
    line = encoded(message)
    if kind in _ERRORS:
        content = [{"type": "text", "text": _ERRORS[kind]}]
        return _with_result(message, {"content": content, "isError": True})
    if kind is FaultKind.STALE:
        is_other = before is not None and before != message.get("result")
        return _with_result(message, before) if is_other else line
    if kind is FaultKind.DROPPED_RESULT:
        return _with_result(message, {"content": []})
    if kind is FaultKind.TRUNCATED:
        return truncated(line)
    if kind is FaultKind.GARBLED:
        return garbled(line, word).replace(b"\n", b" ")
    return _reordered(message, word)


def _with_result(message: dict[str, Any], result: Any) -> bytes:
    return encoded({"jsonrpc": "2.0", "id": message["id"], "result": result})


def _reordered(message: dict[str, Any], word: int) -> bytes:
    """Return an answer whose results are in another order, also within a text that is JSON."""
    result = message.get("result")
    if not isinstance(result, dict):
        return encoded(message)
    content = [
        {**part, "text": changed_body(FaultKind.REORDERED, part["text"].encode(), word).decode()}
        if isinstance(part, dict) and isinstance(part.get("text"), str)
        else part
        for part in result.get("content", [])
    ]
    line = _with_result(message, {**result, "content": content})
    return changed_body(FaultKind.REORDERED, line, word)


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def main(path: str) -> int:
    """Read the settings and serve."""
    settings = msgspec.json.decode(Path(path).read_bytes(), type=McpProxySettings)
    # Closing `sys.stdout` leaves its descriptor open, and a client would wait for more.
    client = os.fdopen(1, "wb")
    try:
        return McpFaultProxy(settings, client).run(sys.stdin.buffer)
    finally:
        with suppress(OSError):  # A client that has hung up.
            client.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
