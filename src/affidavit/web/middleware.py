"""Middleware around every request: request id, caller, rate limit, headers, one log line, problem
documents.
"""

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TextIO

import orjson

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import service as faults
from affidavit.web.access import AccessControl, Caller
from affidavit.web.operations import UNLIMITED_PATHS, methods_at
from affidavit.web.problems import MEDIA_TYPE, problem_from

if TYPE_CHECKING:
    from litestar.types import ASGIApp, Message, Receive, Scope, Send

# The log: a JSON object a line, on standard error. No secret and no body ever stands in it.

MAX_LOGGED_CHARACTERS = 300


class RequestLog:
    """Writes events. `now` gives the time as text."""

    def __init__(self, stream: TextIO, now: Callable[[], str], *, requests: bool = True) -> None:
        self._stream = stream
        self._now = now
        self._requests = requests

    def request(self, **said: object) -> None:
        """Write a line about a request, unless the user wants none."""
        if self._requests:
            self.write("request", **said)

    def write(self, event: str, **said: object) -> None:
        """Write one line; what is not known is left out, and long texts are cut."""
        known = {name: _truncate(value) for name, value in said.items() if value is not None}
        line = orjson.dumps({"at": self._now(), "event": event, **known}, default=str)
        self._stream.write(line.decode() + "\n")
        self._stream.flush()


class RequestLogHandler(logging.Handler):
    """Turns what libraries log into lines of the journal."""

    def __init__(self, journal: RequestLog) -> None:
        super().__init__(logging.WARNING)
        self._journal = journal

    def emit(self, record: logging.LogRecord) -> None:
        """Write what a library says."""
        kind = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else None
        level = record.levelname.lower()
        self._journal.write(
            "library", level=level, name=record.name, said=record.getMessage(), error=kind
        )


def _truncate(value: object) -> object:
    if isinstance(value, str):
        text = value.encode("utf-8", "backslashreplace").decode()
        return text if len(text) <= MAX_LOGGED_CHARACTERS else f"{text[:MAX_LOGGED_CHARACTERS]} ..."
    return value


# The outermost part of the service: what holds for every request, whatever becomes of it.
#
# Every request gets an id, a caller, a rate, the headers of every response, and one line in the
# log; and whatever goes wrong behind it ends in a problem document.

REQUEST_STATE_KEY: Final = "affidavit.visit"
_REQUEST_ID_PATTERN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

RESPONSE_HEADERS: Final = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
)
"""Headers of every response that does not set them itself."""


@dataclass(slots=True)
class RequestState:
    """What is known of a request while it lasts, for the log and for guards."""

    request_id: str
    method: str
    path: str
    caller: Caller
    status: int | None = None
    sent_bytes: int = 0
    error: BaseException | None = None
    code: str | None = None


@dataclass(frozen=True, slots=True)
class ServiceMiddleware:
    """Wraps the routes. `new_id` makes request ids, `seconds` is a clock that never goes back."""

    app: "ASGIApp"
    door: AccessControl
    journal: RequestLog
    new_id: Callable[[], str]
    seconds: Callable[[], float]

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Handle a request; the life of the server itself is passed on."""
        kind: str = scope["type"]
        if kind == "http":
            await self._visit(scope, receive, send)
        elif kind == "lifespan":
            await self.app(scope, receive, send)

    async def _visit(self, scope: Any, receive: "Receive", send: "Send") -> None:
        began = self.seconds()
        headers = _headers_of(scope)
        client = scope.get("client")
        address = str(client[0]) if client else "unknown"
        given = headers.get("x-request-id", "")
        request_id = given if _REQUEST_ID_PATTERN.fullmatch(given) else self.new_id()
        visit = RequestState(request_id, scope["method"], scope["path"], Caller(address))
        scope[REQUEST_STATE_KEY] = visit

        async def send_marked(message: "Message") -> None:
            if message["type"] == "http.response.start":
                visit.status = message["status"]
                message["headers"] = _with_headers(message["headers"], request_id)
            elif message["type"] == "http.response.body":
                visit.sent_bytes += len(message["body"])
            await send(message)

        try:
            visit.caller = self.door.caller(address, headers)
            if visit.path not in UNLIMITED_PATHS:
                self.door.require_patience(visit.caller)
            await self.app(_scope_for_routes(scope), receive, send_marked)
        except Exception as error:
            visit.error = error
            if visit.status is None:
                await _send_problem(error, visit, send_marked)
        finally:
            self._note(visit, self.seconds() - began)

    def _note(self, visit: RequestState, seconds: float) -> None:
        key = visit.caller.key
        hidden = visit.error is not None and visit.code in _SERVER_FAULT_CODES
        self.journal.request(
            request_id=visit.request_id,
            method=visit.method,
            path=visit.path,
            status=visit.status,
            ms=round(seconds * 1000, 1),
            bytes=visit.sent_bytes,
            client=visit.caller.address,
            key=None if key is None else key.id,
            code=visit.code,
        )
        if hidden:
            self.journal.write(
                "failure",
                request_id=visit.request_id,
                error=type(visit.error).__name__,
                said=str(visit.error),
                place=_defect_location(visit.error),
            )


_SERVER_FAULT_CODES: Final = frozenset({faults.NOT_READY.code, "AF004", None})
"""What is told by number only, so that the log has to say what it was."""


def _scope_for_routes(scope: Any) -> Any:
    """Return the request as the routes see it.

    HEAD is GET, of which the server sends the head alone. OPTIONS would only serve other origins,
    which are not let in, so it is a method that nothing takes.
    """
    if scope["method"] == "HEAD":
        return {**scope, "method": "GET"}
    if scope["method"] == "OPTIONS":
        allowed = methods_at(scope["path"])
        if not allowed:
            raise AffidavitError(faults.NO_SUCH_ADDRESS)
        raise AffidavitError(faults.NO_SUCH_METHOD, allowed=", ".join(allowed))
    return scope


async def _send_problem(error: Exception, visit: RequestState, send: "Send") -> None:
    problem = problem_from(error, visit.request_id)
    visit.code = problem.code
    headers = [
        (b"content-type", MEDIA_TYPE.encode()),
        (b"content-length", str(len(problem.body)).encode()),
        *((name.encode(), value.encode()) for name, value in problem.headers),
    ]
    start: Any = {"type": "http.response.start", "status": problem.status, "headers": headers}
    body: Any = {"type": "http.response.body", "body": problem.body, "more_body": False}
    await send(start)
    await send(body)


def _headers_of(scope: Any) -> dict[str, str]:
    """Return the headers by name. A name that stands twice keeps what cannot be taken for one."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        found[key] = f"{found[key]}, {text}" if key in found else text
    return found


def _with_headers(given: Any, request_id: str) -> list[tuple[bytes, bytes]]:
    headers = [(bytes(name), bytes(value)) for name, value in given]
    names = {name.lower() for name, _ in headers}
    headers.extend((name, value) for name, value in RESPONSE_HEADERS if name not in names)
    headers.append((b"x-request-id", request_id.encode()))
    return headers


def _defect_location(error: BaseException | None) -> str | None:
    """Return where in the program a defect showed itself."""
    if isinstance(error, AffidavitError) or error is None or error.__traceback__ is None:
        return None
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno}"
