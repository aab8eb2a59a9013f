"""Builds the ASGI application of the service: the routes behind the middleware."""

import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

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
from affidavit.base.json_values import JsonLimits
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
    from affidavit.app.ledger_store import LedgerStore
    from affidavit.app.trace_receiving import ReceiverConfig
    from affidavit.web.account_handlers import AccountHandlers


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
    use_cases = AnswerService(config)
    return build_application(
        use_cases, settings, dependencies, ledgers, project=config.project, otlp=otlp
    )


def build_application(
    use_cases: ServiceUseCases,
    settings: WebSettings,
    dependencies: ServiceDependencies,
    ledgers: "LedgerService | None" = None,
    project: Path | None = None,
    otlp: "ReceiverConfig | None" = None,
) -> ServiceMiddleware:
    """Return the service over some use cases; without a store it has no ledgers and no users."""
    slots = CallerSlots(settings.max_running)
    limiter = anyio.CapacityLimiter(settings.max_running)
    on_ledgers, on_pages, on_accounts, find_sign_in = None, None, None, None
    if ledgers is not None:
        from affidavit.app.review_pages import ReviewPages
        from affidavit.web.ledger_handlers import LedgerHandlers
        from affidavit.web.page_handlers import PageHandlers

        json_limits = settings.request_limits.json
        on_ledgers = LedgerHandlers(ledgers, json_limits, limiter, slots)
        on_pages = PageHandlers(ReviewPages(ledgers), limiter, slots)
        if project is not None:
            on_accounts = _account_handlers(ledgers.store, project, json_limits, limiter, slots)
            find_sign_in = on_accounts.accounts.find
    counters = RequestCounters()
    handlers = Handlers(
        *(use_cases, settings, limiter, slots),
        ledgers=on_ledgers,
        pages=on_pages,
        accounts=on_accounts,
        counters=counters,
    )
    routes = handlers.routes()
    openapi = cache(lambda: msgspec.json.encode(openapi_document(routes, settings.max_deadline_ms)))
    app: ASGIApp = Litestar(
        routes,
        request_class=ServiceRequest,
        state=State(
            {
                "body_seconds": settings.body_seconds,
                "openapi": openapi,
                "has_users": on_accounts is not None,
            }
        ),
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
        find_sign_in=find_sign_in,
    )


def _account_handlers(
    store: "LedgerStore",
    project: Path,
    limits: JsonLimits,
    limiter: anyio.CapacityLimiter,
    slots: CallerSlots,
) -> "AccountHandlers":
    from affidavit.app.account_admin import AccountAdmin
    from affidavit.app.accounts import Accounts
    from affidavit.app.keys import random_bytes
    from affidavit.app.oidc import OidcClient, find_oidc_settings
    from affidavit.app.project import Project
    from affidavit.web.account_handlers import AccountHandlers

    provider = find_oidc_settings(project)
    return AccountHandlers(
        Accounts(store, random_bytes),
        AccountAdmin(store, Project(project)),
        None if provider is None else OidcClient(provider, lambda: store.export_secret),
        *(limits, limiter, slots),
    )


def _problem_response(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
    state = request_state(request)
    known = _catalogued_error(error, request)
    if _asks_to_sign_in(request, known):
        path = quote(state.path)
        return Response("", status_code=303, headers={"location": f"/sign-in?next={path}"})
    problem = problem_from(known, state.request_id)
    state.error, state.code = known, problem.code
    if "text/html" in request.headers.get("accept", ""):
        from affidavit.web.pages import problem_page

        return problem_page(problem)
    return Response(
        problem.body,
        status_code=problem.status,
        media_type=MEDIA_TYPE,
        headers=dict(problem.headers),
    )


def _asks_to_sign_in(request: Request[Any, Any, Any], error: Exception) -> bool:
    """Say whether a browser asked for a page that needs somebody who is signed in."""
    is_needed = isinstance(error, AffidavitError) and error.fault is faults.KEY_NEEDED
    is_browser = "text/html" in request.headers.get("accept", "")
    has_users = request.app.state.get("has_users", False)
    return bool(is_needed and is_browser and has_users and request.method == "GET")


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
