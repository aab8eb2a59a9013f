"""The outermost layer of the service.

It gives every request an id, a caller, a rate limit, response headers and one line in the log, and
turns every error into a problem document.
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from anyio.to_thread import run_sync
from msgspec import Struct

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import service as faults
from affidavit.store.roles import SignIn
from affidavit.web.access import AccessControl, Caller
from affidavit.web.connections import OpenConnections
from affidavit.web.metrics import RequestCounters
from affidavit.web.problems import MEDIA_TYPE, problem_from
from affidavit.web.request_log import RequestLog
from affidavit.web.routes import UNLIMITED_PATHS, methods_at
from affidavit.web.sign_in import SESSION_COOKIE, find_cookie, require_own_request

if TYPE_CHECKING:
    from litestar.types import ASGIApp, Message, Receive, Scope, Send

REQUEST_STATE_KEY: Final = "affidavit.request_state"
_REQUEST_ID_PATTERN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

RESPONSE_HEADERS: Final = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
)
"""Headers of every response that does not set them itself."""


class RequestState(Struct, kw_only=True):
    """What is known about a request while it is handled, for the log and the guards."""

    request_id: str
    method: str
    path: str
    caller: Caller
    status: int | None = None
    sent_bytes: int = 0
    error: BaseException | None = None
    code: str | None = None
    receipt_id: str | None = None
    anchor_problem: str | None = None


class ServiceMiddleware(Struct, frozen=True, kw_only=True):
    """Wraps the routes. `new_id` creates request ids, `seconds` is a monotonic clock."""

    app: "ASGIApp"
    access: AccessControl
    log: RequestLog
    connections: OpenConnections
    new_id: Callable[[], str]
    seconds: Callable[[], float]
    counters: RequestCounters
    find_sign_in: Callable[[str], SignIn | None] | None = None

    def refusal(
        self, error: AffidavitError, address: str, *, is_logged: bool
    ) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
        """Return status, headers and problem document for a connection without a valid request."""
        request_id = self.new_id()
        problem = problem_from(error, request_id)
        if is_logged:
            self.log.request(
                request_id=request_id, status=problem.status, client=address, code=problem.code
            )
        own = [(name.encode(), value.encode()) for name, value in problem.headers]
        return problem.status, _with_headers(own, request_id), problem.body

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Handle a request. Lifespan events are passed on."""
        kind: str = scope["type"]
        if kind == "http":
            await self._handle(scope, receive, send)
        elif kind == "lifespan":
            await self.app(scope, receive, send)

    async def _handle(self, scope: Any, receive: "Receive", send: "Send") -> None:
        began = self.seconds()
        headers = _headers_of(scope)
        client = scope.get("client")
        address = str(client[0]) if client else "unknown"
        given = headers.get("x-request-id", "")
        request_id = given if _REQUEST_ID_PATTERN.fullmatch(given) else self.new_id()
        state = RequestState(
            request_id=request_id,
            method=scope["method"],
            path=scope["path"],
            caller=Caller(address),
        )
        scope[REQUEST_STATE_KEY] = state

        async def send_with_headers(message: "Message") -> None:
            if message["type"] == "http.response.start":
                state.status = message["status"]
                message["headers"] = _with_headers(message["headers"], request_id)
            elif message["type"] == "http.response.body":
                state.sent_bytes += len(message["body"])
            await send(message)

        try:
            state.caller = await self._identify(address, headers)
            require_own_request(state.caller, scope["method"], state.path, headers)
            if state.path not in UNLIMITED_PATHS:
                self.access.require_rate(state.caller)
            await self.app(_scope_for_routes(scope), receive, send_with_headers)
        except Exception as error:
            state.error = error
            if state.status is None:
                await _send_problem(error, state, send_with_headers)
        finally:
            taken = self.seconds() - began
            self.counters.add(state.status or 0, taken)
            self._log_request(state, taken)

    async def _identify(self, address: str, headers: dict[str, str]) -> Caller:
        caller = self.access.identify(address, headers)
        token = find_cookie(headers, SESSION_COOKIE)
        if token is None or self.find_sign_in is None or "authorization" in headers:
            return caller
        user = await run_sync(self.find_sign_in, token)
        return caller if user is None else Caller(address, user=user, token=token)

    def _log_request(self, state: RequestState, seconds: float) -> None:
        key = state.caller.key
        hidden = state.error is not None and state.code in _SERVER_FAULT_CODES
        self.log.request(
            request_id=state.request_id,
            method=state.method,
            path=state.path,
            status=state.status,
            ms=round(seconds * 1000, 1),
            bytes=state.sent_bytes,
            client=state.caller.address,
            key=None if key is None else key.id,
            user=None if state.caller.user is None else state.caller.user.name,
            code=state.code,
            receipt_id=state.receipt_id,
            anchor_problem=state.anchor_problem,
        )
        if hidden:
            self.log.write(
                "failure",
                request_id=state.request_id,
                error=type(state.error).__name__,
                said=str(state.error),
                place=_defect_location(state.error),
            )


_SERVER_FAULT_CODES: Final = frozenset({faults.NOT_READY.code, "AF004", None})
"""The caller only gets the code, so the log has the details."""


def _scope_for_routes(scope: Any) -> Any:
    """Return the scope that is passed to the routes.

    HEAD is handled as GET; the server omits the body. OPTIONS is refused, because it only serves
    requests from other origins, and these are not allowed.
    """
    if scope["method"] == "HEAD":
        return {**scope, "method": "GET"}
    if scope["method"] == "OPTIONS":
        allowed = methods_at(scope["path"])
        if not allowed:
            raise AffidavitError(faults.NO_SUCH_ADDRESS)
        raise AffidavitError(faults.NO_SUCH_METHOD, allowed=", ".join(allowed))
    return scope


async def _send_problem(error: Exception, state: RequestState, send: "Send") -> None:
    problem = problem_from(error, state.request_id)
    state.code = problem.code
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
    """Return the headers by name. The values of a repeated header are joined by a comma."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        found[key] = f"{found[key]}, {text}" if key in found else text
    return found


def _with_headers(own: Any, request_id: str) -> list[tuple[bytes, bytes]]:
    headers = [(bytes(name), bytes(value)) for name, value in own]
    names = {name.lower() for name, _ in headers}
    headers.extend((name, value) for name, value in RESPONSE_HEADERS if name not in names)
    headers.append((b"x-request-id", request_id.encode()))
    return headers


def _defect_location(error: BaseException | None) -> str | None:
    """Return the module and line where an unexpected error was raised."""
    if isinstance(error, AffidavitError) or error is None or error.__traceback__ is None:
        return None
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno}"
