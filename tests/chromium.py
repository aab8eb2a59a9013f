"""A headless Chromium that runs a page: a small client of its debugging protocol (CDP)."""

import base64
import json
import os
import shutil
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


class Page:
    """A page that is open, over its WebSocket."""

    def __init__(self, address: str) -> None:
        place = urlsplit(address)
        self._socket = socket.create_connection((str(place.hostname), place.port or 80), 120)
        key = base64.b64encode(os.urandom(16)).decode()
        lines = (
            *(f"GET {place.path} HTTP/1.1", f"Host: {place.netloc}", "Upgrade: websocket"),
            *("Connection: Upgrade", f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13"),
        )
        self._socket.sendall("\r\n".join((*lines, "", "")).encode())
        self._stream = self._socket.makefile("rb")
        while self._stream.readline().strip():
            pass
        self._number = 0
        self.events: list[dict[str, Any]] = []

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()
        self._socket.close()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol and return its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        self._send(json.dumps(message).encode())
        while True:
            answer = json.loads(self._receive())
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression, which may be a promise."""
        result = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def visit(self, address: str) -> None:
        """Open an address, and wait until it is loaded."""
        self.evaluate("window.before = true")
        self.call("Page.navigate", url=address)
        self.wait("!window.before && document.readyState === 'complete'")

    def wait(self, condition: str, seconds: float = 60) -> Any:
        """Wait until an expression is true, and return its value."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            with suppress(AssertionError):  # The page is being replaced.
                if found := self.evaluate(condition):
                    return found
            time.sleep(0.05)
        raise TimeoutError(f"{condition} on {self.evaluate('document.body.innerText')}")

    def show_as(
        self, width: int, height: int = 800, *, dark: bool = False, zoom: float = 1
    ) -> None:
        """Change the size of the window in CSS pixels, and the colours that are preferred."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=zoom,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """Write what the window shows, or the whole page, as PNG."""
        shown = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shown["data"]))

    def press(self, key: str) -> None:
        """Press a key."""
        printable = {"text": key} if len(key) == 1 else {}
        if key == "Enter":
            printable = {"text": "\r"}
        code = {"Enter": 13, "Escape": 27}.get(key, 0)
        for kind in ("keyDown", "keyUp"):
            text = printable if kind == "keyDown" else {}
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **text
            )

    def choose_files(self, selector: str, *paths: Path) -> None:
        """Choose files in an input."""
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        node = self.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.call("DOM.setFileInputFiles", nodeId=node, files=[str(path) for path in paths])

    def requested(self) -> list[str]:
        """Return the addresses that were asked for since `Network.enable` was called."""
        self.evaluate("0")  # Reads the events that have arrived.
        return [
            each["params"]["request"]["url"]
            for each in self.events
            if each.get("method") == "Network.requestWillBeSent"
        ]

    def problems(self) -> list[str]:
        """Return the errors that the page logged since `Log.enable` was called."""
        self.evaluate("0")
        return [
            each["params"]["entry"]["text"]
            for each in self.events
            if each.get("method") == "Log.entryAdded"
            and each["params"]["entry"]["level"] == "error"
        ]

    def _send(self, data: bytes) -> None:
        mask = os.urandom(4)
        size = len(data)
        head = b"\x81" + (
            bytes([0x80 | size])
            if size < 126
            else b"\xfe" + struct.pack(">H", size)
            if size < 65536
            else b"\xff" + struct.pack(">Q", size)
        )
        masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(data))
        self._socket.sendall(head + mask + masked)

    def _receive(self) -> bytes:
        whole = b""
        while True:
            first, size = self._stream.read(2)
            size &= 0x7F
            if size == 126:
                (size,) = struct.unpack(">H", self._stream.read(2))
            elif size == 127:
                (size,) = struct.unpack(">Q", self._stream.read(8))
            whole += self._stream.read(size)
            if first & 0x80:
                return whole


@contextmanager
def open_page(path: Path, folder: Path) -> Iterator[Page]:
    """Open a file in Chromium; end the test if there is none: skipped at home, failed in CI."""
    with open_browser(folder, path.as_uri()) as page:
        # The empty page that comes before is complete at once.
        while page.evaluate("location.protocol + document.readyState") != "file:complete":
            time.sleep(0.05)
        yield page


@contextmanager
def open_browser(folder: Path, address: str = "about:blank") -> Iterator[Page]:
    """Start Chromium with its profile in a folder; end the test if there is none."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        say = pytest.fail if os.environ.get("CI") else pytest.skip
        say("there is no Chromium to open the page with")
    command = [
        *(program, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"),
        *("--remote-debugging-port=0", f"--user-data-dir={folder}", address),
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            page = Page(_address(folder))
            yield page
            page.close()
        finally:
            process.terminate()


def _address(folder: Path) -> str:
    port = folder / "DevToolsActivePort"
    for _ in range(600):
        if port.exists() and len(lines := port.read_text().splitlines()) > 1:
            with urlopen(f"http://127.0.0.1:{lines[0]}/json") as answer:
                pages = [each for each in json.load(answer) if each["type"] == "page"]
            if pages:
                return str(pages[0]["webSocketDebuggerUrl"])
        time.sleep(0.1)
    raise TimeoutError("Chromium did not start")
