"""OTLP over HTTP: an application in front of the others, which takes /v1/traces and /v1/logs."""

import asyncio
from typing import TYPE_CHECKING, Any, Final

import anyio
from anyio.to_thread import run_sync

from affidavit.app.trace_receiving import MAX_BODY_BYTES, SpanReceiver, unpacked_body
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import service as service_faults
from affidavit.base.faults import telemetry as faults
from affidavit.store.api_keys import ApiKeyScope
from affidavit.telemetry.protobuf import export_response
from affidavit.telemetry.receiving import ReceivedRequest
from affidavit.web.access import Caller, CallerSlots, RateLimiter
from affidavit.web.middleware import REQUEST_STATE_KEY, RequestState

if TYPE_CHECKING:
    from litestar.types import ASGIApp, Receive, Scope, Send

PATHS: Final = {"/v1/traces": False, "/v1/logs": True}
"""Each with whether it takes log records."""
PROTOBUF: Final = "application/x-protobuf"
JSON: Final = "application/json"


def require_span_rate(limiter: RateLimiter, caller: Caller, records: int) -> None:
    """Raise if a caller sends more spans than its rate allows."""
    if seconds := limiter.seconds_to_wait(caller.name, records):
        rate = f"{limiter.rate:g} spans"
        raise AffidavitError(service_faults.TOO_OFTEN, who="sender", rate=rate, seconds=seconds)


class OtlpApplication:
    """Takes export requests, and passes every other request on. It runs behind the middleware."""

    def __init__(
        self,
        app: "ASGIApp",
        receiver: SpanReceiver,
        slots: CallerSlots,
        limiter: RateLimiter,
        body_seconds: float,
    ) -> None:
        self._app = app
        self._receiver = receiver
        self._slots = slots
        self._limiter = limiter
        self._body_seconds = body_seconds
        self._threads = anyio.CapacityLimiter(16)

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Handle a request."""
        of_logs = PATHS.get(scope.get("path", ""))
        if of_logs is None:
            await self._app(scope, receive, send)
            return
        held: Any = scope
        state: RequestState = held[REQUEST_STATE_KEY]
        state.caller.require(ApiKeyScope.SPANS)
        if held["method"] != "POST":
            raise AffidavitError(service_faults.NO_SUCH_METHOD, allowed="POST")
        headers = {name.lower(): value.decode("latin-1") for name, value in held["headers"]}
        is_json = _is_json(headers.get(b"content-type", ""))
        encoding = headers.get(b"content-encoding", "identity").strip().lower()
        with self._slots.take(state.caller.name), self._receiver.budget.hold() as take:
            raw = await self._body(receive, take)

            def work() -> ReceivedRequest:
                body = raw if encoding == "identity" else unpacked_body(raw, encoding, take)
                return self._receiver.take(
                    body,
                    is_json=is_json,
                    of_logs=bool(of_logs),
                    workspace=state.caller.workspace,
                    require_rate=lambda records: require_span_rate(
                        self._limiter, state.caller, records
                    ),
                )

            taken = await run_sync(work, limiter=self._threads)
        await _answer(send, taken, is_json=is_json, of_logs=of_logs)

    async def _body(self, receive: "Receive", take: Any) -> bytes:
        pieces, size = [], 0
        try:
            async with asyncio.timeout(self._body_seconds):
                while True:
                    message: Any = await receive()
                    if message["type"] == "http.disconnect":
                        raise AffidavitError(service_faults.BODY_INCOMPLETE)
                    piece = message.get("body", b"")
                    size += len(piece)
                    if size > MAX_BODY_BYTES:
                        raise AffidavitError(service_faults.BODY_TOO_LARGE, limit=MAX_BODY_BYTES)
                    take(len(piece))
                    pieces.append(piece)
                    if not message.get("more_body"):
                        return b"".join(pieces)
        except TimeoutError:
            seconds = f"{self._body_seconds:g}"
            raise AffidavitError(service_faults.BODY_LATE, seconds=seconds) from None


def _is_json(given: str) -> bool:
    media_type = given.partition(";")[0].strip().lower()
    if media_type not in (PROTOBUF, JSON):
        raise AffidavitError(faults.RECEIVED_TYPE, found=given[:60] or "of no stated type")
    return media_type == JSON


async def _answer(send: "Send", taken: ReceivedRequest, *, is_json: bool, of_logs: bool) -> None:
    if is_json:
        body = _json_response(taken, of_logs=of_logs)
    else:
        body = export_response(taken.rejected, taken.message, of_logs=of_logs)
    headers = [
        (b"content-type", (JSON if is_json else PROTOBUF).encode()),
        (b"content-length", str(len(body)).encode()),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def _json_response(taken: ReceivedRequest, *, of_logs: bool) -> bytes:
    import msgspec

    if not taken.rejected and not taken.message:
        return b"{}"
    name = "rejectedLogRecords" if of_logs else "rejectedSpans"
    partial = {name: str(taken.rejected), "errorMessage": taken.message}
    return msgspec.json.encode({"partialSuccess": partial})
