"""The service as an ASGI application: the routes behind the edge."""

import logging
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from secrets import token_hex
from typing import Any

import anyio
import msgspec
from litestar import Litestar, Request, Response
from litestar.exceptions import ClientException, HTTPException

from affidavit.app.clock import now
from affidavit.app.service import AnswerService, ServiceConfig, api_key_file
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import service as faults
from affidavit.store.api_keys import ApiKeyFile
from affidavit.web.access import AccessControl, RateLimiter
from affidavit.web.handlers import Handlers, ServiceUseCases, request_state
from affidavit.web.middleware import RequestLog, RequestLogHandler, ServiceMiddleware
from affidavit.web.openapi import openapi_document
from affidavit.web.operations import methods_at
from affidavit.web.problems import MEDIA_TYPE, problem_from
from affidavit.web.settings import WebSettings


@dataclass(frozen=True, slots=True)
class ServiceDependencies:
    """What the application takes from outside: keys, log, clock, chance."""

    api_keys: ApiKeyFile
    journal: RequestLog
    seconds: Callable[[], float] = time.monotonic
    new_id: Callable[[], str] = lambda: f"req_{token_hex(8)}"


def application_from_plan(
    plan: ServiceConfig, settings: WebSettings, *, log_requests: bool
) -> ServiceMiddleware:
    """Return the service that a plan describes; what libraries log goes to its journal, too."""
    journal = RequestLog(sys.stderr, now, requests=log_requests)
    logging.getLogger().handlers[:] = [RequestLogHandler(journal)]
    around = ServiceDependencies(api_key_file(plan.project), journal)
    return build_application(AnswerService(plan), settings, around)


def build_application(
    counter: ServiceUseCases, settings: WebSettings, around: ServiceDependencies
) -> ServiceMiddleware:
    """Return the service over one counter."""
    openapi = msgspec.json.encode(openapi_document(settings))
    running = anyio.CapacityLimiter(settings.max_running)
    handlers = Handlers(counter, settings, openapi, running)
    routes = Litestar(
        handlers.routes(),
        openapi_config=None,
        request_max_body_size=settings.max_body_bytes,
        exception_handlers={Exception: _problem_response, HTTPException: _problem_response},
        logging_config=None,
    )
    door = AccessControl(
        around.api_keys,
        RateLimiter(settings.key_rate, around.seconds),
        RateLimiter(settings.address_rate, around.seconds),
        anonymous=settings.anonymous,
    )
    return ServiceMiddleware(routes, door, around.journal, around.new_id, around.seconds)


def _problem_response(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    visit = request_state(request)
    known = _error_from(error, request)
    problem = problem_from(known, visit.request_id)
    visit.error, visit.code = known, problem.code
    return Response(
        problem.body,
        status_code=problem.status,
        media_type=MEDIA_TYPE,
        headers=dict(problem.headers),
    )


def _error_from(error: Exception, request: Request[Any, Any, Any]) -> Exception:
    """Return what the framework raises as an error of the catalog."""
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
