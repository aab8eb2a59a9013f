"""Reads OTLP/JSON as receivers do: unknown members are ignored, ids may be in either case.

A span that is malformed is left out with one finding; the spans beside it are read.
"""

import base64
import binascii
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from affidavit.telemetry.recordable import MAX_DEPTH, unrecorded
from affidavit.telemetry.spans import LogEvent, SpanEvent, SpanLink, TraceSpan

Attributes = dict[str, Any]


class _Resource(Struct):
    attributes: list[Any] = []


class _Scope(Struct):
    name: str = ""


class _ScopeSpans(Struct):
    scope: _Scope | None = None
    spans: list[Raw] = []


class _ScopeLogs(Struct):
    scope: _Scope | None = None
    logRecords: list[Raw] = []


class _ResourceSpans(Struct):
    resource: _Resource | None = None
    scopeSpans: list[_ScopeSpans] = []


class _ResourceLogs(Struct):
    resource: _Resource | None = None
    scopeLogs: list[_ScopeLogs] = []


class _Message(Struct):
    """A message of either signal; a file may have both, in different lines."""

    resourceSpans: list[_ResourceSpans] | None = None
    resourceLogs: list[_ResourceLogs] | None = None


_Number = int | str


class _Status(Struct):
    code: _Number = 0
    message: str = ""


class _Event(Struct):
    name: str = ""
    timeUnixNano: _Number = 0
    attributes: list[Any] = []


class _Link(Struct):
    traceId: str = ""
    spanId: str = ""
    attributes: list[Any] = []


class _Span(Struct):
    traceId: str
    spanId: str
    name: str = ""
    parentSpanId: str = ""
    kind: _Number = 1
    startTimeUnixNano: _Number = 0
    endTimeUnixNano: _Number = 0
    attributes: list[Any] = []
    status: _Status | None = None
    traceState: str = ""
    events: list[_Event] = []
    links: list[_Link] = []
    droppedAttributesCount: int = 0


class _Log(Struct):
    timeUnixNano: _Number = 0
    observedTimeUnixNano: _Number = 0
    severityNumber: _Number = 0
    eventName: str = ""
    body: Any = None
    attributes: list[Any] = []
    traceId: str = ""
    spanId: str = ""


class OtlpFormatError(ValueError):
    """Why some bytes are not a message of OTLP."""


class ReceivedRecord(Struct):
    """A span or a log record as it was sent, or the finding that stands for one."""

    resource: Attributes
    scope: str
    record: TraceSpan | LogEvent | None
    finding: str = ""


_decode_message = msgspec.json.Decoder(_Message).decode
_decode_span = msgspec.json.Decoder(_Span).decode
_decode_log = msgspec.json.Decoder(_Log).decode
_FAULTS: Final = (msgspec.MsgspecError, ValueError, RecursionError, OverflowError)


def records_in(raw: bytes) -> Iterator[ReceivedRecord]:
    """Yield the spans and log records of a message, or raise OtlpFormatError."""
    message = _message_of(raw)
    if message.resourceSpans is None and message.resourceLogs is None:
        raise OtlpFormatError("it has neither resourceSpans nor resourceLogs")
    for spans in message.resourceSpans or ():
        resource = _attributes_of_resource(spans.resource)
        for scope in spans.scopeSpans:
            yield from _each(resource, scope.scope, scope.spans, is_span=True)
    for logs in message.resourceLogs or ():
        resource = _attributes_of_resource(logs.resource)
        for log_scope in logs.scopeLogs:
            yield from _each(resource, log_scope.scope, log_scope.logRecords, is_span=False)


def _message_of(raw: bytes) -> _Message:
    try:
        try:
            return _decode_message(raw)
        except RecursionError:
            return _decode_message(_without_deep_parts(raw))
    except _FAULTS as error:
        raise OtlpFormatError(str(error)[:200] or type(error).__name__) from None


_TOKEN: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)
_DEEPEST: Final = 8 * MAX_DEPTH
"""Of brackets. A value of an attribute has up to four for each level of its own."""


def _without_deep_parts(raw: bytes) -> bytes:
    """Return JSON with null for what is nested too deep, so that it costs only itself."""
    pieces: list[bytes] = []
    depth = start = 0
    for token in _TOKEN.finditer(raw):
        bracket = token.group()
        if bracket in (b"{", b"["):
            depth += 1
            if depth == _DEEPEST:
                pieces += (raw[start : token.start()], b"null")
        elif bracket in (b"}", b"]"):
            if depth == _DEEPEST:
                start = token.end()
            depth -= 1
    return b"".join((*pieces, raw[start:])) if depth < _DEEPEST else raw


def _attributes_of_resource(resource: _Resource | None) -> Attributes:
    return {} if resource is None else attributes_of(resource.attributes)


def _each(
    resource: Attributes, scope: _Scope | None, held: list[Raw], *, is_span: bool
) -> Iterator[ReceivedRecord]:
    name = "" if scope is None else scope.name
    for number, one in enumerate(held, 1):
        yield _received(resource, name, number, one, is_span=is_span)


def _received(
    resource: Attributes, scope: str, number: int, raw: Raw, *, is_span: bool
) -> ReceivedRecord:
    try:
        record: TraceSpan | LogEvent = _span(raw) if is_span else _log(raw)
    except _FAULTS as error:
        what = "span" if is_span else "log record"
        problem = str(error)[:160] or type(error).__name__
        finding = f"{what} {number} of scope {scope!a} is left out: {problem}"
        return ReceivedRecord(resource, scope, None, finding)
    return ReceivedRecord(resource, scope, record)


def _span(raw: Raw) -> TraceSpan:
    span = _decode_span(raw)
    status = span.status or _Status()
    return TraceSpan(
        trace_id=_id(span.traceId, 32),
        span_id=_id(span.spanId, 16),
        parent_id=_id(span.parentSpanId, 16) if span.parentSpanId.strip("0") else None,
        name=span.name,
        kind=_enum(span.kind, _KINDS),
        start_ns=_nanoseconds(span.startTimeUnixNano),
        end_ns=_nanoseconds(span.endTimeUnixNano),
        attributes=attributes_of(span.attributes),
        status=_enum(status.code, _CODES),
        status_message=status.message,
        trace_state=span.traceState,
        events=[
            SpanEvent(one.name, _nanoseconds(one.timeUnixNano), attributes_of(one.attributes))
            for one in span.events
        ],
        links=[
            SpanLink(_id(one.traceId, 32), _id(one.spanId, 16), attributes_of(one.attributes))
            for one in span.links
        ],
        dropped=min(max(span.droppedAttributesCount, 0), _MAX_INT32),
    )


def _log(raw: Raw) -> LogEvent:
    log = _decode_log(raw)
    attributes = attributes_of(log.attributes)
    name = log.eventName or attributes.pop("event.name", "")
    return LogEvent(
        name=str(name),
        time_ns=_nanoseconds(log.timeUnixNano) or _nanoseconds(log.observedTimeUnixNano),
        trace_id=_id(log.traceId, 32) if log.traceId else "",
        span_id=_id(log.spanId, 16) if log.spanId else "",
        severity=_enum(log.severityNumber, {}),
        body=_plain(log.body, 0),
        attributes=attributes,
    )


_KINDS: Final = {
    "SPAN_KIND_UNSPECIFIED": 0,
    "SPAN_KIND_INTERNAL": 1,
    "SPAN_KIND_SERVER": 2,
    "SPAN_KIND_CLIENT": 3,
    "SPAN_KIND_PRODUCER": 4,
    "SPAN_KIND_CONSUMER": 5,
}
_CODES: Final = {"STATUS_CODE_UNSET": 0, "STATUS_CODE_OK": 1, "STATUS_CODE_ERROR": 2}


_MAX_INT32: Final = 2**31 - 1


def _enum(value: _Number, names: Mapping[str, int]) -> int:
    number = names.get(value, 0) if isinstance(value, str) else value
    return number if 0 <= number <= _MAX_INT32 else 0


def _id(text: str, digits: int) -> str:
    lower = text.lower()
    if len(lower) != digits or set(lower) - set("0123456789abcdef"):
        raise ValueError(f"an id has {digits} hexadecimal digits")
    return lower


def _nanoseconds(value: _Number) -> int:
    number = int(value)
    if not 0 <= number < 2**64:
        raise ValueError("a time is not in nanoseconds since 1970")
    return number


def attributes_of(pairs: list[Any]) -> Attributes:
    """Return attributes as plain values; a pair without a key is left out."""
    return {
        pair["key"]: _plain(pair.get("value"), 0)
        for pair in pairs
        if isinstance(pair, dict) and isinstance(pair.get("key"), str)
    }


def _plain(value: Any, depth: int) -> Any:
    """Return the value of an AnyValue."""
    if not isinstance(value, dict) or not value:
        return None
    if depth > MAX_DEPTH:
        return unrecorded("too_deep")
    ((kind, held), *_) = value.items()
    if kind == "arrayValue":
        return [_plain(one, depth + 1) for one in _listed(held)]
    if kind == "kvlistValue":
        return {
            one["key"]: _plain(one.get("value"), depth + 1)
            for one in _listed(held)
            if isinstance(one, dict) and isinstance(one.get("key"), str)
        }
    return _scalar(kind, held)


def _scalar(kind: str, held: Any) -> Any:
    if kind == "intValue":
        return int(held) if isinstance(held, str | int) and len(str(held)) <= 20 else None
    if kind == "doubleValue":
        number = float(held) if isinstance(held, str | int | float) else math.nan
        return number
    if kind == "bytesValue":
        try:
            return base64.b64decode(held, validate=True)
        except (binascii.Error, TypeError, ValueError):
            return None
    return held if isinstance(held, str | bool) else None


def _listed(held: Any) -> list[Any]:
    values = held.get("values") if isinstance(held, dict) else None
    return values if isinstance(values, list) else []
