"""What each operation does: read the body, call one use case in a thread, give its result."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar, cast

import anyio
import msgspec
from anyio.to_thread import run_sync
from litestar import Request, Response
from litestar.connection import ASGIConnection
from litestar.handlers import HTTPRouteHandler

from affidavit.app.verify import ReceiptOutcome
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import CATALOG
from affidavit.base.faults import service as faults
from affidavit.base.json_values import JsonLimits
from affidavit.seal.verification import UnreadableInput
from affidavit.web import operations
from affidavit.web.middleware import REQUEST_STATE_KEY, RequestState
from affidavit.web.operations import JSON, Operation
from affidavit.web.problems import BODY_FIELD, STATUSES
from affidavit.web.schemas import FaultV1
from affidavit.web.settings import WebSettings
from affidavit.web.task_thread import ShortTaskThread

Result = TypeVar("Result")
ServiceRequest = Request[Any, Any, Any]
Handler = Callable[[ServiceRequest], Awaitable[Response[bytes]]]

RETRY_AFTER_BUSY_SECONDS: Final = 1
MAX_SHORT_TASK_BYTES: Final = 65_536
"""A longer request is not sent to the hand that does one thing after another."""


class ServiceUseCases(Protocol):
    """The use cases behind the service; threads use it at the same time."""

    def answer(self, raw: bytes, limits: JsonLimits, since: float) -> bytes:
        """Return the signed receipt for a request, whose deadline counts from `since`."""
        ...

    def find_answer_at_hand(self, raw: bytes, limits: JsonLimits) -> bytes | None:
        """Return the same if no source has to be waited for."""
        ...

    def verify(self, raw: bytes, name: str) -> ReceiptOutcome:
        """Return the steps of verifying a receipt."""
        ...

    @property
    def coverage(self) -> bytes:
        """What can be asked."""
        ...

    def public_keys(self, *, lifecycles: bool) -> bytes:
        """Return the flat document of public keys, or the registry."""
        ...

    def require_ready(self) -> None:
        """Raise why nothing could be signed or verified now."""
        ...


@dataclass(frozen=True, slots=True)
class Handlers:
    """The handlers over one counter."""

    counter: ServiceUseCases
    settings: WebSettings
    openapi: bytes
    running: anyio.CapacityLimiter
    hand: ShortTaskThread = field(default_factory=ShortTaskThread)

    def routes(self) -> list[HTTPRouteHandler]:
        """Return the routes of the table."""
        given: dict[Operation, Handler] = {
            operations.ANSWER: self.answer,
            operations.COVERAGE: self.coverage,
            operations.VERIFY: self.verify,
            operations.KEYS: self.keys,
            operations.REGISTRY: self.registry,
            operations.SCHEMA: self.schema,
            operations.PROBLEM: self.problem,
            operations.HEALTH: self.health,
            operations.READINESS: self.readiness,
        }
        return [_route(each, given[each]) for each in operations.OPERATIONS]

    async def answer(self, request: ServiceRequest) -> Response[bytes]:
        """Evaluate checks or a question, and sign what comes of it."""
        raw = await self._body(request)
        limits, since = self.settings.json_limits, time.monotonic()
        receipt = await self._done(
            raw,
            lambda: self.counter.find_answer_at_hand(raw, limits),
            lambda: self.counter.answer(raw, limits, since),
        )
        return _json(receipt)

    async def verify(self, request: ServiceRequest) -> Response[bytes]:
        """Verify a receipt. One that does not hold is a result; what is no receipt is a mistake."""
        raw = await self._body(request)

        def verified() -> ReceiptOutcome:
            return self.counter.verify(raw, BODY_FIELD)

        outcome = await self._done(raw, verified, verified)
        if isinstance(outcome, UnreadableInput):
            raise outcome.error
        report = outcome.as_wire()
        del report["receipt"]
        return _json(msgspec.json.encode(report))

    async def coverage(self, request: ServiceRequest) -> Response[bytes]:
        """Tell what can be asked."""
        return _json(await self._in_thread(lambda: self.counter.coverage))

    async def keys(self, request: ServiceRequest) -> Response[bytes]:
        """Tell the public keys."""
        body = await self._in_thread(lambda: self.counter.public_keys(lifecycles=False))
        return _json(body, operations.KEYS)

    async def registry(self, request: ServiceRequest) -> Response[bytes]:
        """Tell the lives of the keys."""
        body = await self._in_thread(lambda: self.counter.public_keys(lifecycles=True))
        return _json(body, operations.REGISTRY)

    async def schema(self, request: ServiceRequest) -> Response[bytes]:
        """Tell what the service does."""
        return _json(self.openapi)

    async def problem(self, request: ServiceRequest) -> Response[bytes]:
        """Tell what a code stands for."""
        fault = CATALOG.get(request.path_params["code"])
        if fault is None:
            raise AffidavitError(faults.NO_SUCH_ADDRESS)
        status = STATUSES.get(fault)
        told = FaultV1(fault.code, fault.name, fault.message, fault.next_step, status)
        return _json(msgspec.json.encode(told))

    async def health(self, request: ServiceRequest) -> Response[bytes]:
        """Tell that the process is alive."""
        return _json(b'{"status":"alive"}')

    async def readiness(self, request: ServiceRequest) -> Response[bytes]:
        """Tell that receipts can be signed and verified."""
        await run_sync(self.counter.require_ready)
        return _json(b'{"status":"ready"}')

    async def _body(self, request: ServiceRequest) -> bytes:
        _require_json(request)
        seconds = self.settings.body_seconds
        try:
            async with asyncio.timeout(seconds):
                return await request.body()
        except TimeoutError:
            raise AffidavitError(faults.BODY_LATE, seconds=f"{seconds:g}") from None

    async def _done(
        self, raw: bytes, soon: Callable[[], Result | None], otherwise: Callable[[], Result]
    ) -> Result:
        """Return what the quick hand finds; if it finds nothing, what a thread of its own does."""
        if len(raw) <= MAX_SHORT_TASK_BYTES:
            self._require_room()
            found = await self.hand.find(soon)
            if found is not None:
                return found
        return await self._in_thread(otherwise)

    async def _in_thread(self, work: Callable[[], Result]) -> Result:
        self._require_room()
        return await run_sync(work, limiter=self.running)

    def _require_room(self) -> None:
        if self.hand.waiting + self.running.borrowed_tokens >= self.settings.max_running:
            # To wait in a line that nobody sees is worse than to be told.
            raise AffidavitError(faults.BUSY, seconds=RETRY_AFTER_BUSY_SECONDS)


def request_state(connection: ASGIConnection[Any, Any, Any, Any]) -> RequestState:
    """Return what the edge knows of a request."""
    found: RequestState = cast(Any, connection.scope)[REQUEST_STATE_KEY]
    return found


def _route(operation: Operation, handler: Handler) -> HTTPRouteHandler:
    async def handle(request: ServiceRequest) -> Response[bytes]:
        # Here, not in a guard: for that the framework copies the request, and the route with it.
        if operation.scope is not None:
            request_state(request).caller.require(operation.scope)
        return await handler(request)

    path = operation.path.replace("{code}", "{code:str}")
    made = HTTPRouteHandler(path, http_method=operation.method, status_code=200, media_type=JSON)
    return made(handle)


def _json(body: bytes, operation: Operation | None = None) -> Response[bytes]:
    age = 0 if operation is None else operation.max_age_seconds
    headers = {"cache-control": f"public, max-age={age}"} if age else {}
    return Response(body, media_type=JSON, headers=headers)


def _require_json(request: ServiceRequest) -> None:
    given = request.headers.get("content-type", "")
    kind, _, rest = given.partition(";")
    charset = rest.strip().lower().replace('"', "")
    encoding = request.headers.get("content-encoding", "identity").lower()
    if kind.strip().lower() != JSON or charset not in ("", "charset=utf-8"):
        found = given[:60] or "of no stated type"
        raise AffidavitError(faults.NOT_JSON, found=found)
    if encoding != "identity":
        raise AffidavitError(faults.NOT_JSON, found=f"encoded as {encoding[:60]}")
