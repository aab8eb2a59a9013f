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
    has_form: bool = False
    """The body is what an HTML form sends."""
    is_page: bool = False
    """It is for browsers, and not part of the API."""

    @property
    def has_json_body(self) -> bool:
        """Whether the body of a request is JSON."""
        is_other = self.has_upload or self.has_form
        return self.method in ("POST", "PATCH", "PUT") and not is_other

    def possible_faults(self, *, anonymous: bool) -> Iterator[Fault]:
        """Yield every fault that a caller may receive."""
        if self.path not in UNLIMITED_PATHS:
            yield service.TOO_OFTEN
        if self.scope is not None:
            yield service.KEY_NEEDED
            yield service.SCOPE_NEEDED
            yield service.ROLE_NEEDED
            if self.method != "GET":
                yield service.CSRF_TOKEN
                yield service.CROSS_SITE
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
_VIEW: Final = (_NONE, store.DOCUMENT_NOT_READY, store.PAGE_FAILED, service.BAD_REQUEST)

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
    _ledger_route(
        "GET",
        f"{_DOCUMENT}/pages/{{page}}",
        "document_page",
        *_VIEW,
        store.PAGE_UNKNOWN,
        media_type="image/png",
    ),
    _ledger_route("GET", f"{_DOCUMENT}/quote", "document_quote", *_VIEW, store.QUOTE_RANGE),
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


def _page_route(
    path: str,
    handler: str,
    scope: ApiKeyScope | None = ApiKeyScope.LEDGERS,
    method: Literal["GET", "POST"] = "GET",
    media_type: str = "text/html",
) -> ServiceRoute:
    return ServiceRoute(
        method=method,
        path=path,
        handler=handler,
        scope=scope,
        media_type=media_type,
        is_page=True,
    )


PAGE_ROUTES: Final = (
    _page_route("/", "home"),
    _page_route("/new", "new_check"),
    _page_route("/sessions/{session_id}", "session"),
    _page_route("/sessions/{session_id}/claims/{claim_key}", "claim"),
    _page_route("/labels.jsonl", "labels", media_type="application/jsonl"),
    _page_route("/example", "load_example", ApiKeyScope.EDIT, "POST", JSON),
    _page_route("/assets/{name}", "asset", None),
)
"""The pages for people, and what they consist of."""


def _account_route(
    method: Literal["GET", "POST", "PATCH", "PUT", "DELETE"],
    path: str,
    handler: str,
    *found: Fault,
    scope: ApiKeyScope | None = ApiKeyScope.ADMIN,
    media_type: str = JSON,
) -> ServiceRoute:
    slots = () if method in ("POST", "PATCH", "PUT") else (service.SHARE_USED, service.BUSY)
    return ServiceRoute(
        method=method,
        path=f"/api/v1/{path}",
        handler=handler,
        scope=scope,
        faults=(service.NOT_READY, *slots, *found),
        media_type=media_type,
    )


def _account_page(
    method: Literal["GET", "POST"], path: str, handler: str, scope: ApiKeyScope | None = None
) -> ServiceRoute:
    return ServiceRoute(
        method=method,
        path=path,
        handler=handler,
        scope=scope,
        media_type="text/html",
        has_form=method == "POST",
        is_page=True,
    )


_USER: Final = (service.USER_PASSWORD, store.REQUEST_INVALID)

ACCOUNT_ROUTES: Final = (
    _account_route("GET", "me", "me", service.KEY_NEEDED, scope=None),
    _account_route("GET", "users", "list_users"),
    _account_route("POST", "users", "add_user", service.USER_NAME, *_USER),
    _account_route(
        "PATCH", "users/{user_id}", "change_user", service.USER_UNKNOWN, service.USER_CHANGE, *_USER
    ),
    _account_route("GET", "apikeys", "list_api_keys"),
    _account_route("POST", "apikeys", "new_api_key", service.API_KEY_NAME, store.EXPIRY),
    _account_route("DELETE", "apikeys/{key_id}", "revoke_api_key", service.API_KEY_UNKNOWN),
    _account_route("GET", "audit", "export_audit", media_type="application/jsonl"),
    _account_page("GET", "/sign-in", "sign_in_page"),
    _account_page("POST", "/sign-in", "sign_in"),
    _account_page("POST", "/sign-out", "sign_out"),
    _account_page("POST", "/workspace", "switch_workspace"),
    _account_page("GET", "/sign-in/oidc", "begin_oidc"),
    _account_page("GET", "/sign-in/oidc/callback", "finish_oidc"),
    _account_page("GET", "/users", "users_page", ApiKeyScope.ADMIN),
    _account_page("POST", "/users", "users_form", ApiKeyScope.ADMIN),
)
"""Signing in, users, API keys and the audit log."""


def is_form_path(path: str) -> bool:
    """Say whether a path takes what an HTML form sends."""
    return any(route.has_form and route.path == path for route in ACCOUNT_ROUTES)


def methods_at(path: str) -> tuple[str, ...]:
    """Return the methods that a path accepts. HEAD is accepted where GET is."""
    every = (*ROUTES, *LEDGER_ROUTES, *PAGE_ROUTES, *ACCOUNT_ROUTES)
    found = [route.method for route in every if _is_at(route.path, path.rstrip("/"))]
    return tuple(sorted({*found, "HEAD"} if "GET" in found else found))


def _is_at(pattern: str, path: str) -> bool:
    wanted, given = pattern.split("/"), path.split("/")
    return len(wanted) == len(given) and all(
        part == found or (part.startswith("{") and found != "")
        for part, found in zip(wanted, given, strict=True)
    )
