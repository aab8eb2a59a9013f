"""The request handlers: each reads the body, calls one use case in a thread and returns its result.

Litestar derives the OpenAPI document from the signatures and docstrings of the handlers.
"""

import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final, Protocol, TypeVar, cast

import anyio
import msgspec
from anyio.to_thread import run_sync
from litestar import Request, Response
from litestar.connection import ASGIConnection
from litestar.datastructures import State
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
from affidavit.reports.pages import api_page, verify_page, verify_page_policy
from affidavit.seal.keys import RegistryV1
from affidavit.seal.receipts import LinkedVerification, ReceiptVerification
from affidavit.store.api_keys import ApiKeyScope
from affidavit.web.access import Caller, CallerSlots
from affidavit.web.bodies import (
    NO_BODY,
    EncodedJson,
    PageResponse,
    RawBody,
    RawBodyDTO,
    request_state,
)
from affidavit.web.metrics import OPEN_METRICS, RequestCounters
from affidavit.web.openapi import API_KEY_SCHEME, ServiceOperation
from affidavit.web.problems import (
    BODY_FIELD,
    MEDIA_TYPE,
    STATUSES,
    ProblemV1,
)
from affidavit.web.routes import ACCOUNT_ROUTES, LEDGER_ROUTES, PAGE_ROUTES, ROUTES, ServiceRoute
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

if TYPE_CHECKING:
    from affidavit.web.account_handlers import AccountHandlers
    from affidavit.web.ledger_handlers import LedgerHandlers
    from affidavit.web.page_handlers import PageHandlers

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


@dataclass(frozen=True, slots=True)
class Handlers:
    """The handlers of one service."""

    use_cases: ServiceUseCases
    settings: WebSettings
    limiter: anyio.CapacityLimiter
    slots: CallerSlots
    ledgers: "LedgerHandlers | None" = None
    pages: "PageHandlers | None" = None
    accounts: "AccountHandlers | None" = None
    counters: RequestCounters = field(default_factory=RequestCounters)
    short_tasks: ShortTaskThread = field(default_factory=ShortTaskThread)

    def routes(self) -> list[HTTPRouteHandler]:
        """Return the handlers as routes."""
        ledgers = () if self.ledgers is None else LEDGER_ROUTES
        pages = () if self.pages is None else PAGE_ROUTES
        accounts = () if self.accounts is None else ACCOUNT_ROUTES
        return [
            *(self._route(route, self) for route in ROUTES),
            *(self._route(route, self.ledgers) for route in ledgers),
            *(self._route(route, self.pages) for route in pages),
            *(self._route(route, self.accounts) for route in accounts),
        ]

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
        """Report whether receipts can be signed and verified now, and the store can be used."""
        await run_sync(self.use_cases.require_ready)
        if self.ledgers is not None:
            await run_sync(self.ledgers.use_cases.require_ready)
        return EncodedJson(b'{"status":"ready"}')

    async def metrics(self, request: Request[Any, Any, Any]) -> Response[str]:
        """Return figures about requests, jobs and the store, in OpenMetrics."""
        figures = None
        if self.ledgers is not None:
            figures = await self._run_in_thread(request, self.ledgers.use_cases.figures)
        return Response(self.counters.text(figures), media_type=OPEN_METRICS)

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

    def _max_bytes(self, route: ServiceRoute) -> int:
        if route.has_upload and self.ledgers is not None:
            return self.ledgers.use_cases.limits.max_bytes
        return self.settings.max_body_bytes

    def _route(self, route: ServiceRoute, owner: object) -> HTTPRouteHandler:
        handler: Callable[..., Awaitable[Response[Any]]] = getattr(owner, route.handler)
        anonymous = self.settings.anonymous
        description, guards = None, None
        security: list[dict[str, list[str]]] | None = None
        if route.scope is not None:
            local = " From this machine it needs none." if anonymous else ""
            description = f"Needs a key with the scope `{route.scope.value}`.{local}"
            security = [{API_KEY_SCHEME: []}, *([{}] if anonymous else [])]
            guards = [_scope_guard(route.scope)]
        return HTTPRouteHandler(
            route.path.replace("}", ":str}"),
            http_method=route.method,
            status_code=200,
            media_type=route.media_type,
            dto=RawBodyDTO if route.has_json_body else None,
            request_max_body_size=self._max_bytes(route),
            guards=guards,
            include_in_schema=not route.is_page,
            operation_class=ServiceOperation,
            operation_id=route.handler,
            summary=(handler.__doc__ or "").strip(),
            description=description,
            security=security,
            response_description="Done.",
            responses=_problem_responses(route.possible_faults(anonymous=anonymous)),
        )(handler)


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
