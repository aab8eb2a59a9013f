"""The routes of the service: the table from which handlers are registered and access is decided."""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Final, Literal

from msgspec import Struct

from affidavit.base.errors import Fault
from affidavit.base.faults import evidence, gates, service, store
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

    method: Literal["GET", "POST", "PATCH", "PUT", "DELETE"]
    path: str
    handler: str
    scope: ApiKeyScope | None = None
    faults: tuple[Fault, ...] = (service.NOT_READY,)
    media_type: str = JSON
    has_upload: bool = False
    """The body is a document, and not JSON."""

    @property
    def has_json_body(self) -> bool:
        """Whether the body of a request is JSON."""
        return self.method in ("POST", "PATCH", "PUT") and not self.has_upload

    def possible_faults(self, *, anonymous: bool) -> Iterator[Fault]:
        """Yield every fault that a caller may receive."""
        if self.path not in UNLIMITED_PATHS:
            yield service.TOO_OFTEN
        if self.scope is not None:
            yield service.KEY_NEEDED
            yield service.SCOPE_NEEDED
            if anonymous:
                yield service.WRONG_HOST
        if self.has_json_body:
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
    ServiceRoute(
        method="GET",
        path="/metrics",
        handler="metrics",
        scope=ApiKeyScope.READ,
        media_type="text/plain",
    ),
)


def _ledger_route(
    method: Literal["GET", "POST", "PATCH", "PUT", "DELETE"],
    path: str,
    handler: str,
    *found: Fault,
    media_type: str = JSON,
    has_upload: bool = False,
) -> ServiceRoute:
    scope = ApiKeyScope.LEDGERS if method == "GET" else ApiKeyScope.EDIT
    if handler in ("change_claim", "approve_session"):
        scope = ApiKeyScope.REVIEW
    slots = () if method in ("POST", "PATCH", "PUT") else (service.SHARE_USED, service.BUSY)
    return ServiceRoute(
        method=method,
        path=f"/api/v1/{path}",
        handler=handler,
        scope=None if handler == "download_export" else scope,
        faults=(service.NOT_READY, *slots, *found),
        media_type=media_type,
        has_upload=has_upload,
    )


_NONE: Final = store.ITEM_UNKNOWN
_DOCUMENT: Final = "documents/{document_id}"
_SESSION: Final = "sessions/{session_id}"
_GATES: Final = (
    gates.GATE_SYNTAX,
    gates.GATE_TWICE,
    gates.GATE_DIRECTION,
    gates.GATE_METRIC,
    gates.GATE_RANGE,
    gates.GATE_CONFIDENCE,
)
_LEDGER: Final = (_NONE, store.SESSION_NOT_DONE, service.BAD_REQUEST)

LEDGER_ROUTES: Final = (
    _ledger_route(
        "POST",
        "documents",
        "upload_document",
        *(
            store.UPLOAD_NAME,
            store.UPLOAD_LIMIT,
            store.UPLOAD_TYPE,
            service.BODY_LATE,
            service.BODY_INCOMPLETE,
            service.BAD_REQUEST,
            service.SHARE_USED,
            service.BUSY,
        ),
        has_upload=True,
    ),
    _ledger_route("GET", "documents", "list_documents", _NONE),
    _ledger_route("GET", _DOCUMENT, "get_document", _NONE),
    _ledger_route("DELETE", _DOCUMENT, "delete_document", _NONE, store.ITEM_HELD),
    _ledger_route(
        "GET",
        f"{_DOCUMENT}/content",
        "document_content",
        _NONE,
        media_type="application/octet-stream",
    ),
    _ledger_route("PUT", f"{_DOCUMENT}/hold", "hold_document", _NONE),
    _ledger_route("POST", "sessions", "create_session"),
    _ledger_route("GET", "sessions", "list_sessions", _NONE),
    _ledger_route("GET", _SESSION, "get_session", _NONE),
    _ledger_route("DELETE", _SESSION, "delete_session", _NONE, store.ITEM_HELD),
    _ledger_route("PUT", f"{_SESSION}/hold", "hold_session", _NONE),
    _ledger_route("POST", f"{_SESSION}/runs", "run_session", _NONE),
    _ledger_route(
        "GET",
        f"{_SESSION}/progress",
        "session_progress",
        _NONE,
        media_type="text/event-stream",
    ),
    _ledger_route("GET", f"{_SESSION}/ledger", "get_ledger", *_LEDGER),
    _ledger_route("GET", f"{_SESSION}/ledger/sealed", "sealed_ledger", *_LEDGER),
    _ledger_route("GET", f"{_SESSION}/decisions", "list_decisions", *_LEDGER),
    _ledger_route(
        "GET",
        f"{_SESSION}/gates",
        "session_gates",
        *(_NONE, store.SESSION_NOT_DONE, *_GATES),
    ),
    _ledger_route(
        "GET",
        f"{_SESSION}/claims/{{claim_id}}",
        "get_claim",
        *(_NONE, store.SESSION_NOT_DONE),
    ),
    _ledger_route(
        "PATCH",
        f"{_SESSION}/claims/{{claim_id}}",
        "change_claim",
        *(
            _NONE,
            store.SESSION_NOT_DONE,
            store.DECISION_STALE,
        ),
    ),
    _ledger_route(
        "POST",
        f"{_SESSION}/approval",
        "approve_session",
        *(
            _NONE,
            store.SESSION_NOT_DONE,
            store.DECISION_STALE,
        ),
    ),
    _ledger_route(
        "POST", f"{_SESSION}/ledger/export", "export_ledger", _NONE, store.SESSION_NOT_DONE
    ),
    _ledger_route(
        "GET",
        "exports/{export_id}",
        "download_export",
        *(
            store.EXPORT_SIGNATURE,
            store.EXPORT_GONE,
            store.EXPORT_WAITING,
            service.BAD_REQUEST,
        ),
        media_type="application/octet-stream",
    ),
    _ledger_route(
        "GET",
        f"{_SESSION}/bundle",
        "session_bundle",
        _NONE,
        store.SESSION_NOT_DONE,
        media_type="application/gzip",
    ),
    _ledger_route("GET", "citations/{chunk_hash}", "resolve_citation", evidence.CITATION_SYNTAX),
)


def methods_at(path: str) -> tuple[str, ...]:
    """Return the methods that a path accepts. HEAD is accepted where GET is."""
    every = (*ROUTES, *LEDGER_ROUTES)
    found = [route.method for route in every if _is_at(route.path, path.rstrip("/"))]
    return tuple(sorted({*found, "HEAD"} if "GET" in found else found))


def _is_at(pattern: str, path: str) -> bool:
    wanted, given = pattern.split("/"), path.split("/")
    return len(wanted) == len(given) and all(
        part == found or (part.startswith("{") and found != "")
        for part, found in zip(wanted, given, strict=True)
    )
