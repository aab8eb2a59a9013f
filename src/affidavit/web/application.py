"""Builds the ASGI application of the service: the routes behind the middleware."""

import sys
import time
from collections.abc import Callable
from functools import cache
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import anyio
import msgspec
from litestar import Litestar, Request, Response
from litestar.datastructures import State
from litestar.exceptions import ClientException, HTTPException
from litestar.types import ASGIApp

from affidavit.app.clock import now
from affidavit.app.service import AnswerService, ServiceConfig, api_key_file
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import service as faults
from affidavit.store.api_keys import ApiKeyFile
from affidavit.web.access import AccessControl, CallerSlots, RateLimiter
from affidavit.web.bodies import ServiceRequest, request_state
from affidavit.web.connections import OpenConnections, connection_limit
from affidavit.web.handlers import Handlers, ServiceUseCases
from affidavit.web.metrics import RequestCounters
from affidavit.web.middleware import ServiceMiddleware
from affidavit.web.openapi import openapi_document
from affidavit.web.problems import MEDIA_TYPE, problem_from
from affidavit.web.request_log import RequestLog, log_libraries
from affidavit.web.routes import methods_at
from affidavit.web.settings import WebSettings

if TYPE_CHECKING:
    from affidavit.app.ledger_service import LedgerService
    from affidavit.app.trace_receiving import ReceiverConfig


class ServiceDependencies(msgspec.Struct, frozen=True):
    """What the application gets from outside: API keys, log, clock, request ids."""

    api_keys: ApiKeyFile
    log: RequestLog
    seconds: Callable[[], float] = time.monotonic
    new_id: Callable[[], str] = lambda: f"req_{token_hex(8)}"


def application_from_config(
    config: ServiceConfig,
    settings: WebSettings,
    *,
    log_requests: bool,
    otlp: "ReceiverConfig | None" = None,
) -> ServiceMiddleware:
    """Return the configured service. Messages of libraries go to its log, too."""
    log = RequestLog(sys.stderr, now, requests=log_requests)
    log_libraries(log)
    dependencies = ServiceDependencies(api_key_file(config.project), log)
    ledgers = None
    if config.store is not None:
        from affidavit.app.ledger_service import LedgerService, UploadLimits
        from affidavit.app.ledger_store import LedgerStore

        limits = UploadLimits(max_bytes=settings.max_upload_bytes)
        ledgers = LedgerService(LedgerStore(config.store), limits)
    return build_application(AnswerService(config), settings, dependencies, ledgers, otlp)


def build_application(
    use_cases: ServiceUseCases,
    settings: WebSettings,
    dependencies: ServiceDependencies,
    ledgers: "LedgerService | None" = None,
    otlp: "ReceiverConfig | None" = None,
) -> ServiceMiddleware:
    """Return the service over some use cases; without a store it has no ledgers."""
    slots = CallerSlots(settings.max_running)
    limiter = anyio.CapacityLimiter(settings.max_running)
    on_ledgers = None
    if ledgers is not None:
        from affidavit.web.ledger_handlers import LedgerHandlers

        json_limits = settings.request_limits.json
        on_ledgers = LedgerHandlers(ledgers, json_limits, limiter, slots)
    counters = RequestCounters()
    handlers = Handlers(use_cases, settings, limiter, slots, ledgers=on_ledgers, counters=counters)
    routes = handlers.routes()
    openapi = cache(lambda: msgspec.json.encode(openapi_document(routes, settings.max_deadline_ms)))
    app: ASGIApp = Litestar(
        routes,
        request_class=ServiceRequest,
        state=State({"body_seconds": settings.body_seconds, "openapi": openapi}),
        openapi_config=None,
        request_max_body_size=settings.max_body_bytes,
        exception_handlers={Exception: _problem_response, HTTPException: _problem_response},
        logging_config=None,
    )
    if otlp is not None:
        from affidavit.app.trace_receiving import SpanReceiver
        from affidavit.web.otlp import OtlpApplication

        spans = RateLimiter(otlp.key_spans, dependencies.seconds)
        app = OtlpApplication(app, SpanReceiver(otlp), slots, spans, settings.body_seconds)
    access = AccessControl(
        dependencies.api_keys,
        RateLimiter(settings.key_rate, dependencies.seconds),
        RateLimiter(settings.address_rate, dependencies.seconds),
        anonymous=settings.anonymous,
    )
    return ServiceMiddleware(
        app=app,
        access=access,
        log=dependencies.log,
        connections=OpenConnections(connection_limit(), dependencies.log),
        new_id=dependencies.new_id,
        seconds=dependencies.seconds,
        counters=counters,
    )


def _problem_response(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    state = request_state(request)
    known = _catalogued_error(error, request)
    problem = problem_from(known, state.request_id)
    state.error, state.code = known, problem.code
    return Response(
        problem.body,
        status_code=problem.status,
        media_type=MEDIA_TYPE,
        headers=dict(problem.headers),
    )


def _catalogued_error(error: Exception, request: Request[Any, Any, Any]) -> Exception:
    """Return an error of the catalog for an HTTP error of the framework."""
    if not isinstance(error, HTTPException):
        return error
    match error.status_code:
        case 404:
            return AffidavitError(faults.NO_SUCH_ADDRESS)
        case 405:
            allowed = ", ".join(methods_at(request.scope["path"]))
            return AffidavitError(faults.NO_SUCH_METHOD, allowed=allowed)
        case 413:
            limit = request.route_handler.resolve_request_max_body_size()
            return AffidavitError(faults.BODY_TOO_LARGE, limit=limit)
        case _ if isinstance(error, ClientException):
            return AffidavitError(faults.BAD_REQUEST)
        case _:
            return error
