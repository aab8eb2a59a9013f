"""The routes of the service: the table from which handlers are registered and access is decided."""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Final, Literal

from msgspec import Struct

from affidavit.base.errors import Fault
from affidavit.base.faults import service
from affidavit.store.api_keys import ApiKeyScope
from affidavit.web.problems import STATUSES

JSON: Final = "application/json"
_INVALID_BODY_STATUSES: Final = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)
_BODY_FAULTS: Final = (
    *(fault for fault, status in STATUSES.items() if status in _INVALID_BODY_STATUSES),
    service.BODY_TOO_LARGE,
    service.BODY_LATE,
    service.NOT_JSON,
    service.SHARE_USED,
    service.BUSY,
)


class ServiceRoute(Struct, frozen=True, kw_only=True):
    """One method of one path, the handler that serves it and the scope that it needs."""

    method: Literal["GET", "POST"]
    path: str
    handler: str
    scope: ApiKeyScope | None = None
    faults: tuple[Fault, ...] = (service.NOT_READY,)
    media_type: str = JSON

    def possible_faults(self, *, anonymous: bool) -> Iterator[Fault]:
        """Yield every fault that a caller may receive."""
        if self.path not in UNLIMITED_PATHS:
            yield service.TOO_OFTEN
        if self.scope is not None:
            yield service.KEY_NEEDED
            yield service.SCOPE_NEEDED
            if anonymous:
                yield service.WRONG_HOST
        if self.method == "POST":
            yield from _BODY_FAULTS
        yield from self.faults


UNLIMITED_PATHS: Final = frozenset({"/healthz", "/readyz"})
"""Probes are not counted against the rate limit."""

ROUTES: Final = (
    ServiceRoute(method="POST", path="/v1/answer", handler="answer", scope=ApiKeyScope.ANSWER),
    ServiceRoute(method="GET", path="/v1/answer", handler="coverage", scope=ApiKeyScope.READ),
    ServiceRoute(method="POST", path="/v1/verify", handler="verify", scope=ApiKeyScope.VERIFY),
    ServiceRoute(method="GET", path="/.well-known/keys", handler="keys"),
    ServiceRoute(method="GET", path="/.well-known/signing-key-registry.json", handler="registry"),
    ServiceRoute(method="GET", path="/schema", handler="schema", faults=()),
    ServiceRoute(method="GET", path="/docs", handler="page", faults=(), media_type="text/html"),
    ServiceRoute(
        method="GET",
        path="/verify.html",
        handler="verify_page",
        faults=(),
        media_type="text/html",
    ),
    ServiceRoute(
        method="GET",
        path="/problems/{code}",
        handler="problem",
        faults=(service.NO_SUCH_ADDRESS,),
    ),
    ServiceRoute(method="GET", path="/healthz", handler="health", faults=()),
    ServiceRoute(method="GET", path="/readyz", handler="readiness"),
)


def methods_at(path: str) -> tuple[str, ...]:
    """Return the methods that a path accepts. HEAD is accepted where GET is."""
    found = [route.method for route in ROUTES if _is_at(route.path, path.rstrip("/"))]
    return tuple(sorted({*found, "HEAD"} if "GET" in found else found))


def _is_at(pattern: str, path: str) -> bool:
    prefix, slot, _ = pattern.partition("{")
    value = path.removeprefix(prefix)
    if not slot:
        return path == pattern
    return path.startswith(prefix) and value != "" and "/" not in value
