"""The request handlers: each reads the body, calls one use case in a thread and returns its result.

Litestar derives the OpenAPI document from the signatures and docstrings of the handlers.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Generic, Protocol, TypeVar, cast

import anyio
import msgspec
from anyio.to_thread import run_sync
from litestar import MediaType, Request, Response
from litestar.connection import ASGIConnection
from litestar.datastructures import State
from litestar.dto import AbstractDTO
from litestar.exceptions import InternalServerException
from litestar.handlers import HTTPRouteHandler
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import Example
from litestar.params import JSONBody, Parameter
from litestar.types import Guard

from affidavit.app.service import IssuedReceipt, RequestLimits
from affidavit.base.errors import AffidavitError, Fault
from affidavit.base.faults import CATALOG
from affidavit.base.faults import service as faults
from affidavit.base.json_values import JsonLimits
from affidavit.checks.routes import CoverageV1
from affidavit.reports.api_page import api_page
from affidavit.reports.verify_page import verify_page, verify_page_policy
from affidavit.seal.keys import RegistryV1
from affidavit.seal.receipts import LinkedVerification, ReceiptVerification
from affidavit.store.api_keys import ApiKeyScope
from affidavit.web.access import Caller, CallerSlots
from affidavit.web.middleware import REQUEST_STATE_KEY, RequestState
from affidavit.web.openapi import API_KEY_SCHEME, ServiceOperation
from affidavit.web.problems import (
    BODY_FIELD,
    MEDIA_TYPE,
    STATUSES,
    ProblemV1,
)
from affidavit.web.routes import JSON, ROUTES, ServiceRoute
from affidavit.web.schemas import (
    AnswerReceiptV1,
    Checks,
    ChecksRequestV1,
    FaultV1,
    LinkedAnswersV1,
    LinkedReceiptsV1,
    QuestionRequestV1,
    ReceiptV1,
    RefusalReceiptV1,
    StatusV1,
)
from affidavit.web.settings import WebSettings
from affidavit.web.task_thread import ShortTaskThread

FaultCode = Annotated[
    str,
    # Not `pattern`: an unknown code is answered with 404, not 400.
    Parameter(schema_extra={"pattern": "^AF[0-9]{3}$"}, examples=[Example(value="AF302")]),
]
Result = TypeVar("Result")
Model = TypeVar("Model")

KEYS_MAX_AGE_SECONDS: Final = 300
MAX_SHORT_TASK_BYTES: Final = 65_536
"""A longer request is not given to the thread that runs one short task after another."""


class ServiceUseCases(Protocol):
    """The use cases behind the service. Several threads call them at the same time."""

    def answer(
        self, raw: bytes, limits: RequestLimits, caller: str, started_at: float
    ) -> IssuedReceipt:
        """Return the signed receipt for a request. Its deadline counts from `started_at`."""
        ...

    def answer_immediately(self, raw: bytes, limits: RequestLimits) -> IssuedReceipt | None:
        """Return the signed receipt, or None if a source may take time to respond."""
        ...

    def verify(
        self, raw: bytes, limits: JsonLimits, name: str
    ) -> ReceiptVerification | LinkedVerification:
        """Return the verification of a receipt, or of linked ones; raise if one is unreadable."""
        ...

    @property
    def coverage(self) -> bytes:
        """The coverage manifest."""
        ...

    def public_keys(self, *, lifecycles: bool) -> bytes:
        """Return the flat document of public keys, or the registry."""
        ...

    def require_ready(self) -> None:
        """Raise the reason why nothing can be signed or verified now."""
        ...


class EncodedJson(Response[Model]):
    """A response whose body is the JSON text of a `Model`, encoded by the use case."""

    def __init__(self, body: bytes, max_age_seconds: int = 0) -> None:
        headers = {"cache-control": f"public, max-age={max_age_seconds}"} if max_age_seconds else {}
        super().__init__(cast(Any, body), media_type=JSON, headers=headers)


_NO_SCRIPT: Final = "default-src 'none'; style-src 'unsafe-inline'"


class PageResponse(Response[str]):
    """An HTML page, which loads nothing and runs nothing but what its policy allows."""

    def __init__(self, page: str, policy: str = _NO_SCRIPT) -> None:
        headers = {"content-security-policy": f"{policy}; frame-ancestors 'none'"}
        super().__init__(page, media_type=MediaType.HTML, headers=headers)


@dataclass(frozen=True, slots=True)
class RawBody(Generic[Model]):
    """The undecoded body of a request, which should be a `Model`.

    The use case decodes it by the rules of strict JSON, in a thread.
    """

    raw: bytes


NO_BODY: Final[RawBody[Any]] = RawBody(b"")


class RawBodyDTO(AbstractDTO[Any]):
    """Passes the body to a handler as `RawBody`, and documents the model that it names."""

    @classmethod
    def create_for_field_definition(cls, *_: Any, **__: Any) -> None:
        """Prepare nothing: Litestar does not decode the body."""

    @classmethod
    def is_supported_model_type_field(cls, field_definition: Any) -> bool:
        """Keep out of the response."""
        return False

    @classmethod
    def create_openapi_schema(
        cls, field_definition: Any, handler_id: str, schema_creator: Any
    ) -> Any:
        """Return the schema of the model."""
        return schema_creator.for_field_definition(field_definition.inner_types[0])

    def decode_bytes(self, value: bytes) -> RawBody[Any]:
        """Return the body as it was sent."""
        return RawBody(value)


class ServiceRequest(Request[Any, Any, Any]):
    """A request whose body must be JSON and must arrive in time."""

    async def body(self) -> bytes:
        """Return the body, or raise why it is not accepted."""
        _require_json(self)
        seconds = self.app.state.body_seconds
        try:
            async with asyncio.timeout(seconds):
                return await super().body()
        except TimeoutError:
            raise AffidavitError(faults.BODY_LATE, seconds=f"{seconds:g}") from None
        except InternalServerException:  # Litestar raises it if the client has disconnected.
            raise AffidavitError(faults.BODY_INCOMPLETE) from None


@dataclass(frozen=True, slots=True)
class Handlers:
    """The handlers of one service."""

    use_cases: ServiceUseCases
    settings: WebSettings
    limiter: anyio.CapacityLimiter
    slots: CallerSlots
    short_tasks: ShortTaskThread = field(default_factory=ShortTaskThread)

    def routes(self) -> list[HTTPRouteHandler]:
        """Return the handlers as routes."""
        return [self._route(route) for route in ROUTES]

    async def answer(
        self,
        request: Request[Any, Any, Any],
        data: JSONBody[RawBody[ChecksRequestV1 | QuestionRequestV1 | Checks]] = NO_BODY,
    ) -> EncodedJson[AnswerReceiptV1 | RefusalReceiptV1 | LinkedAnswersV1]:
        """Evaluate checks, or a question, and sign a receipt, or with `split` linked ones."""
        raw, limits, started_at = data.raw, self.settings.request_limits, time.monotonic()
        state = request_state(request)
        receipt = await self._run_task(
            state.caller,
            raw,
            lambda: self.use_cases.answer_immediately(raw, limits),
            lambda: self.use_cases.answer(raw, limits, state.caller.name, started_at),
        )
        state.receipt_id, state.anchor_problem = receipt.id, receipt.anchor_problem
        return EncodedJson(receipt.text)

    async def coverage(self, request: Request[Any, Any, Any]) -> EncodedJson[CoverageV1]:
        """List what can be asked: tools, operators, routes."""
        return EncodedJson(await self._run_in_thread(request, lambda: self.use_cases.coverage))

    async def verify(
        self,
        request: Request[Any, Any, Any],
        data: JSONBody[RawBody[ReceiptV1 | LinkedReceiptsV1]] = NO_BODY,
    ) -> EncodedJson[ReceiptVerification | LinkedVerification]:
        """Verify a receipt, or linked ones, in five numbered steps, with the service's keys."""

        def verify() -> ReceiptVerification | LinkedVerification:
            return self.use_cases.verify(data.raw, self.settings.receipt_limits, BODY_FIELD)

        state = request_state(request)
        verification = await self._run_task(state.caller, data.raw, verify, verify)
        state.receipt_id = verification.receipt_id
        return EncodedJson(msgspec.json.encode(verification))

    async def keys(self, request: Request[Any, Any, Any]) -> EncodedJson[dict[str, str]]:
        """Return the public keys by id, for verifiers."""
        body = await self._run_in_thread(
            request, lambda: self.use_cases.public_keys(lifecycles=False)
        )
        return EncodedJson(body, KEYS_MAX_AGE_SECONDS)

    async def registry(self, request: Request[Any, Any, Any]) -> EncodedJson[RegistryV1]:
        """Return the lifecycle of each key: active, retired or compromised, and since when."""
        body = await self._run_in_thread(
            request, lambda: self.use_cases.public_keys(lifecycles=True)
        )
        return EncodedJson(body, KEYS_MAX_AGE_SECONDS)

    async def schema(self, state: State) -> EncodedJson[dict[str, Any]]:
        """Return this OpenAPI document."""
        return EncodedJson(await run_sync(state.openapi))

    async def page(self, state: State) -> Response[str]:
        """Describe the service on a page for people."""
        return PageResponse(api_page(msgspec.json.decode(await run_sync(state.openapi))))

    async def verify_page(self) -> Response[str]:
        """Verify attestations, bundles and proofs in the browser; nothing is sent."""
        return PageResponse(verify_page(), verify_page_policy())

    async def problem(self, code: FaultCode) -> EncodedJson[FaultV1]:
        """Explain the code of a problem."""
        fault = CATALOG.get(code)
        if fault is None:
            raise AffidavitError(faults.NO_SUCH_ADDRESS)
        explained = FaultV1(
            code=fault.code,
            name=fault.name,
            message=fault.message,
            next=fault.next_step,
            status=STATUSES.get(fault),
        )
        return EncodedJson(msgspec.json.encode(explained))

    async def health(self) -> EncodedJson[StatusV1]:
        """Report that the process is alive."""
        return EncodedJson(b'{"status":"alive"}')

    async def readiness(self) -> EncodedJson[StatusV1]:
        """Report whether receipts can be signed and verified now."""
        await run_sync(self.use_cases.require_ready)
        return EncodedJson(b'{"status":"ready"}')

    async def _run_task(
        self,
        caller: Caller,
        raw: bytes,
        short: Callable[[], Result | None],
        long: Callable[[], Result],
    ) -> Result:
        """Run the short version of a task; if it has no result, run the long one in a thread."""
        with self.slots.take(caller.name):
            if len(raw) <= MAX_SHORT_TASK_BYTES:
                found = await self.short_tasks.run(short)
                if found is not None:
                    return found
            return await run_sync(long, limiter=self.limiter)

    async def _run_in_thread(
        self, request: Request[Any, Any, Any], work: Callable[[], Result]
    ) -> Result:
        with self.slots.take(request_state(request).caller.name):
            return await run_sync(work, limiter=self.limiter)

    def _route(self, route: ServiceRoute) -> HTTPRouteHandler:
        handler: Callable[..., Awaitable[Response[Any]]] = getattr(self, route.handler)
        anonymous = self.settings.anonymous
        description, guards = None, None
        security: list[dict[str, list[str]]] | None = None
        if route.scope is not None:
            local = " From this machine it needs none." if anonymous else ""
            description = f"Needs a key with the scope `{route.scope.value}`.{local}"
            security = [{API_KEY_SCHEME: []}, *([{}] if anonymous else [])]
            guards = [_scope_guard(route.scope)]
        return HTTPRouteHandler(
            route.path.replace("{code}", "{code:str}"),
            http_method=route.method,
            status_code=200,
            media_type=route.media_type,
            dto=RawBodyDTO if route.method == "POST" else None,
            guards=guards,
            operation_class=ServiceOperation,
            operation_id=route.handler,
            summary=(handler.__doc__ or "").strip(),
            description=description,
            security=security,
            response_description="Done.",
            responses=_problem_responses(route.possible_faults(anonymous=anonymous)),
        )(handler)


def request_state(connection: ASGIConnection[Any, Any, Any, Any]) -> RequestState:
    """Return what the middleware knows about a request."""
    found: RequestState = cast(Any, connection.scope)[REQUEST_STATE_KEY]
    return found


def _scope_guard(scope: ApiKeyScope) -> Guard:
    async def require_scope(connection: ASGIConnection[Any, Any, Any, Any], _: Any) -> None:
        request_state(connection).caller.require(scope)

    return require_scope


def _problem_responses(found: Iterable[Fault]) -> dict[int, ResponseSpec]:
    by_status: dict[int, list[str]] = {}
    for fault in found:
        by_status.setdefault(STATUSES[fault].value, []).append(f"{fault.code} {fault.name}")
    return {
        status: ResponseSpec(
            ProblemV1,
            description="; ".join(names),
            media_type=cast(Any, MEDIA_TYPE),
            generate_examples=False,
        )
        for status, names in sorted(by_status.items())
    }


def _require_json(request: ServiceRequest) -> None:
    given = request.headers.get("content-type", "")
    media_type, _, parameters = given.partition(";")
    charset = parameters.strip().lower().replace('"', "")
    encoding = request.headers.get("content-encoding", "identity").lower()
    if media_type.strip().lower() != JSON or charset not in ("", "charset=utf-8"):
        raise AffidavitError(faults.NOT_JSON, found=given[:60] or "of no stated type")
    if encoding != "identity":
        raise AffidavitError(faults.NOT_JSON, found=f"encoded as {encoding[:60]}")
