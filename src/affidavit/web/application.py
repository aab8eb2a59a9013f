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

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import service as faults
from affidavit.store.api_keys import ApiKeyFile
from affidavit.web.door import Door
from affidavit.web.edge import Edge
from affidavit.web.handlers import Counter, Handlers, visit_of
from affidavit.web.journal import Journal, JournalHandler
from affidavit.web.openapi import openapi_document
from affidavit.web.operations import methods_at
from affidavit.web.problems import MEDIA_TYPE, problem_from
from affidavit.web.rates import Rates
from affidavit.wiring.clock import now
from affidavit.wiring.service import ProjectCounter, ServicePlan, api_key_file
from affidavit.wiring.web_settings import WebSettings


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the application takes from outside: keys, log, clock, chance."""

    api_keys: ApiKeyFile
    journal: Journal
    seconds: Callable[[], float] = time.monotonic
    new_id: Callable[[], str] = lambda: f"req_{token_hex(8)}"


def served(plan: ServicePlan, settings: WebSettings, *, log_requests: bool) -> Edge:
    """Return the service that a plan describes; what libraries log goes to its journal, too."""
    journal = Journal(sys.stderr, now, requests=log_requests)
    logging.getLogger().handlers[:] = [JournalHandler(journal)]
    around = Surroundings(api_key_file(plan.project), journal)
    return application(ProjectCounter(plan), settings, around)


def application(counter: Counter, settings: WebSettings, around: Surroundings) -> Edge:
    """Return the service over one counter."""
    openapi = msgspec.json.encode(openapi_document(settings))
    running = anyio.CapacityLimiter(settings.max_running)
    handlers = Handlers(counter, settings, openapi, running)
    routes = Litestar(
        handlers.routes(),
        openapi_config=None,
        request_max_body_size=settings.max_body_bytes,
        exception_handlers={Exception: _told, HTTPException: _told},
        logging_config=None,
    )
    door = Door(
        around.api_keys,
        Rates(settings.key_rate, around.seconds),
        Rates(settings.address_rate, around.seconds),
        anonymous=settings.anonymous,
    )
    return Edge(routes, door, around.journal, around.new_id, around.seconds)


def _told(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    visit = visit_of(request)
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
