"""A project to serve, and a client for its service in the same process."""

import io
import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from tests.repository import ROOT

from affidavit.app.clock import datetime_of
from affidavit.app.keys import create_key, key_folder, random_bytes
from affidavit.app.ledger_service import LedgerService
from affidavit.app.service import AnswerService, ServiceConfig, api_key_file, create_api_key
from affidavit.store.api_keys import ApiKeyScope
from affidavit.web.application import ServiceDependencies, build_application
from affidavit.web.middleware import ServiceMiddleware
from affidavit.web.request_log import RequestLog
from affidavit.web.settings import WebSettings

AT = "2026-01-01T00:00:00Z"
JSON = {"content-type": "application/json"}
LOCAL = ("127.0.0.1", 50_000)
CHECKS = json.loads((ROOT / "samples" / "answers" / "checks.json").read_bytes())

SLOW_TOOL = """
[tools.slow]
optional_args = ["seconds"]
description = "Takes its time"
sources = [{ kind = "python", name = "slow", call = "tests.web.slow_tool:wait" }]

[tools.held]
sources = [{ kind = "python", name = "held", call = "tests.web.slow_tool:hold" }]
"""


def make_project(folder: Path) -> Path:
    """Copy the sample tools into a folder, with a tool that is slow and a key to sign with."""
    shutil.copytree(ROOT / "samples" / "answers", folder, dirs_exist_ok=True)
    with (folder / "affidavit.toml").open("a", encoding="utf-8") as file:
        file.write(SLOW_TOOL)
    create_key(key_folder(folder), "af", None, lambda size: bytes(range(size)), datetime_of(None))
    return folder


def make_api_key(project: Path, name: str, *scopes: ApiKeyScope) -> str:
    """Return a new API key."""
    return create_api_key(api_key_file(project), name, scopes, random_bytes=random_bytes, at=AT).key


@dataclass(frozen=True, slots=True)
class Reply:
    """A response."""

    status: int
    headers: dict[str, str]
    body: bytes
    set_cookies: tuple[str, ...] = ()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(slots=True)
class Service:
    """A service in this process, with its log and a clock that is set by hand."""

    project: Path
    settings: WebSettings = field(default_factory=WebSettings)
    config: ServiceConfig | None = None
    seconds: float = 0.0
    log: io.StringIO = field(default_factory=io.StringIO)
    ledgers: LedgerService | None = None
    app: ServiceMiddleware = field(init=False)

    def __post_init__(self) -> None:
        dependencies = ServiceDependencies(
            api_key_file(self.project), RequestLog(self.log, lambda: AT), lambda: self.seconds
        )
        use_cases = AnswerService(self.config or ServiceConfig(project=self.project))
        self.app = build_application(
            use_cases, self.settings, dependencies, self.ledgers, self.project
        )

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The lines of the log."""
        return [json.loads(line) for line in self.log.getvalue().splitlines()]

    def note(self, event: str, **members: object) -> None:
        """Write a line into the log, as a worker does."""
        RequestLog(self.log, lambda: AT).write(event, **members)

    def ask(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: dict[str, str] | None = None,
        client: tuple[str, int] = LOCAL,
    ) -> Reply:
        """Send one request."""
        return ask(self.app, method, path, body=body, headers=headers, client=client)

    def post(self, path: str, value: object, **headers: str) -> Reply:
        """Send JSON."""
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        return self.ask("POST", path, json.dumps(value).encode(), {**JSON, **named})


def ask(
    app: ServiceMiddleware,
    method: str,
    path: str,
    *,
    body: bytes = b"",
    headers: dict[str, str] | None = None,
    client: tuple[str, int] = LOCAL,
    body_comes: bool = True,
) -> Reply:
    """Send one request to an application, as a server would."""

    async def once() -> Reply:
        return await ask_async(
            app, method, path, body=body, headers=headers, client=client, body_comes=body_comes
        )

    return anyio.run(once)


async def ask_async(
    app: ServiceMiddleware,
    method: str,
    path: str,
    *,
    body: bytes = b"",
    headers: dict[str, str] | None = None,
    client: tuple[str, int] = LOCAL,
    body_comes: bool = True,
) -> Reply:
    """Send one request within a running event loop."""
    given = {"host": "127.0.0.1:8320", **(headers or {})}
    path, _, query = path.partition("?")
    scope: Any = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.encode(), text.encode("latin-1")) for name, text in given.items()],
        "client": client,
        "server": ("127.0.0.1", 8320),
    }
    sent: list[Any] = []

    async def receive() -> Any:
        if not body_comes:
            await anyio.sleep_forever()
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    start, *rest = sent
    names = {name.decode(): text.decode() for name, text in start["headers"]}
    cookies = tuple(text.decode() for name, text in start["headers"] if name == b"set-cookie")
    return Reply(start["status"], names, b"".join(part["body"] for part in rest), cookies)
