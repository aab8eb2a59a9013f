"""Problem documents of the service: RFC 9457, with our error codes and the next step.

A caller gets the details of its own mistakes, with the field. Of an error on our side it only gets
the code: details such as file names stay in the log.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

import msgspec

from affidavit.base.errors import AffidavitError, Fault, Where
from affidavit.base.faults import evidence, gates, receipts, service, store, telemetry
from affidavit.base.faults import input as input_faults

MEDIA_TYPE: Final = "application/problem+json"
TYPE_PREFIX: Final = "/problems/"
RETRY_AFTER_BUSY_SECONDS: Final = 1
BODY_FIELD: Final = "body"
"""The file name in errors of a request body. Every other file is on our side."""

_SYNTAX_FAULTS: Final = (
    input_faults.JSON_SYNTAX,
    input_faults.JSON_ENCODING,
    input_faults.JSON_UNICODE,
    input_faults.JSON_TRAILING,
    input_faults.JSON_DUPLICATE_KEY,
    input_faults.JSON_NUMBER_DOMAIN,
    input_faults.JSON_DEPTH,
    input_faults.JSON_TOO_LARGE,
    input_faults.JSON_TOO_MANY_KEYS,
    input_faults.JSON_LONG_STRING,
)
_VALIDATION_FAULTS: Final = (
    receipts.ANSWER_REQUEST,
    receipts.CHECK_FIELD,
    receipts.CHECK_ID_TWICE,
    receipts.CHECK_OPERATOR,
    receipts.CHECK_OPERAND,
    receipts.CHECK_PATH,
    receipts.CHECKS_NONE,
    receipts.CHECKS_NOT_A_LIST,
    receipts.CHECK_EXPECTATIONS,
    receipts.CHECK_ARGUMENT,
    receipts.CHECK_SCHEMA,
    receipts.CHECKS_TOO_MANY,
    receipts.RECEIPT_SIZE,
    receipts.QUESTION_SIZE,
    receipts.DEADLINE,
    receipts.RECEIPT_FORMAT,
    receipts.RECEIPT_VERSION,
    receipts.TST_ENCODING,
)

_LEDGER_FAULTS: Final = (
    evidence.ANSWER_NOT_TEXT,
    evidence.ANSWER_EMPTY,
    evidence.TIME_SYNTAX,
    evidence.CITATION_SYNTAX,
    gates.GATE_SYNTAX,
    gates.GATE_TWICE,
    gates.GATE_DIRECTION,
    gates.GATE_METRIC,
    gates.GATE_RANGE,
    gates.GATE_CONFIDENCE,
    store.REQUEST_INVALID,
    store.DECISION_INVALID,
    store.UPLOAD_NAME,
    store.QUOTE_RANGE,
    store.PAGE_FAILED,
)

STATUSES: Final[Mapping[Fault, HTTPStatus]] = {
    # 400: not strict JSON. 422: JSON, but not a valid request.
    **dict.fromkeys(_SYNTAX_FAULTS, HTTPStatus.BAD_REQUEST),
    **dict.fromkeys(_VALIDATION_FAULTS, HTTPStatus.UNPROCESSABLE_ENTITY),
    **dict.fromkeys(_LEDGER_FAULTS, HTTPStatus.UNPROCESSABLE_ENTITY),
    store.ITEM_UNKNOWN: HTTPStatus.NOT_FOUND,
    store.PAGE_UNKNOWN: HTTPStatus.NOT_FOUND,
    store.DOCUMENT_NOT_READY: HTTPStatus.CONFLICT,
    store.ITEM_HELD: HTTPStatus.CONFLICT,
    store.DECISION_STALE: HTTPStatus.CONFLICT,
    store.SESSION_NOT_DONE: HTTPStatus.CONFLICT,
    store.UPLOAD_TYPE: HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    store.UPLOAD_LIMIT: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    store.EXPORT_GONE: HTTPStatus.GONE,
    store.EXPORT_SIGNATURE: HTTPStatus.FORBIDDEN,
    store.EXPORT_WAITING: HTTPStatus.SERVICE_UNAVAILABLE,
    service.BAD_REQUEST: HTTPStatus.BAD_REQUEST,
    service.FRAMING: HTTPStatus.BAD_REQUEST,
    service.BODY_INCOMPLETE: HTTPStatus.BAD_REQUEST,
    service.KEY_NEEDED: HTTPStatus.UNAUTHORIZED,
    service.SCOPE_NEEDED: HTTPStatus.FORBIDDEN,
    service.SIGN_IN_NEEDED: HTTPStatus.UNAUTHORIZED,
    service.SIGN_IN_REFUSED: HTTPStatus.UNAUTHORIZED,
    service.SIGN_IN_WAIT: HTTPStatus.TOO_MANY_REQUESTS,
    service.CSRF_TOKEN: HTTPStatus.FORBIDDEN,
    service.CROSS_SITE: HTTPStatus.FORBIDDEN,
    service.ROLE_NEEDED: HTTPStatus.FORBIDDEN,
    service.USER_UNKNOWN: HTTPStatus.NOT_FOUND,
    service.USER_NAME: HTTPStatus.UNPROCESSABLE_ENTITY,
    service.USER_PASSWORD: HTTPStatus.UNPROCESSABLE_ENTITY,
    service.USER_CHANGE: HTTPStatus.CONFLICT,
    service.OIDC_CONFIG: HTTPStatus.SERVICE_UNAVAILABLE,
    service.OIDC_REFUSED: HTTPStatus.UNAUTHORIZED,
    service.API_KEY_UNKNOWN: HTTPStatus.NOT_FOUND,
    service.API_KEY_NAME: HTTPStatus.UNPROCESSABLE_ENTITY,
    store.EXPIRY: HTTPStatus.UNPROCESSABLE_ENTITY,
    service.NO_SUCH_ADDRESS: HTTPStatus.NOT_FOUND,
    service.NO_SUCH_METHOD: HTTPStatus.METHOD_NOT_ALLOWED,
    service.BODY_LATE: HTTPStatus.REQUEST_TIMEOUT,
    service.BODY_TOO_LARGE: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    service.NOT_JSON: HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    service.WRONG_HOST: HTTPStatus.MISDIRECTED_REQUEST,
    service.TOO_OFTEN: HTTPStatus.TOO_MANY_REQUESTS,
    service.SHARE_USED: HTTPStatus.TOO_MANY_REQUESTS,
    service.BUSY: HTTPStatus.SERVICE_UNAVAILABLE,
    service.NOT_READY: HTTPStatus.SERVICE_UNAVAILABLE,
    telemetry.RECEIVED_BODY: HTTPStatus.BAD_REQUEST,
    telemetry.RECEIVED_TYPE: HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    telemetry.RECEIVER_FULL: HTTPStatus.SERVICE_UNAVAILABLE,
    input_faults.DEFECT: HTTPStatus.INTERNAL_SERVER_ERROR,
}


class ProblemV1(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A problem document: RFC 9457, section 3.1. The members from `code` on are our own."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    next: str
    request_id: str
    field: str | None = None
    line: int | None = None


class ProblemResponse(msgspec.Struct, frozen=True):
    """A problem document with its status and headers."""

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...]
    code: str


def public_error(error: BaseException) -> AffidavitError:
    """Return the error that a caller gets: its own mistakes in full, others by code only."""
    if isinstance(error, AffidavitError):
        if error.where.file in (None, BODY_FIELD) and error.fault in STATUSES:
            place = Where(line=error.where.line, field=error.where.field)
            return AffidavitError(error.fault, place, **error.values)
        return AffidavitError(service.NOT_READY)
    return AffidavitError(input_faults.DEFECT, kind=type(error).__name__, detail="see the log")


def problem_from(error: BaseException, request_id: str) -> ProblemResponse:
    """Return the problem document for an error."""
    public = public_error(error)
    fault = public.fault
    status = STATUSES[fault]
    document = ProblemV1(
        type=TYPE_PREFIX + fault.code,
        title=fault.name,
        status=status.value,
        detail=public.message,
        code=fault.code,
        next=public.next_step,
        request_id=request_id,
        field=public.where.field,
        line=public.where.line,
    )
    headers = tuple(_headers(public))
    return ProblemResponse(status.value, msgspec.json.encode(document), headers, fault.code)


def _headers(error: AffidavitError) -> list[tuple[str, str]]:
    if error.fault is service.KEY_NEEDED:
        return [("www-authenticate", 'Bearer realm="affidavit"')]
    if error.fault is service.NO_SUCH_METHOD:
        return [("allow", str(error.values["allowed"]))]
    if error.fault in (
        service.TOO_OFTEN,
        service.SIGN_IN_WAIT,
        service.SHARE_USED,
        service.BUSY,
        store.EXPORT_WAITING,
        telemetry.RECEIVER_FULL,
    ):
        return [("retry-after", str(error.values["seconds"]))]
    return []
