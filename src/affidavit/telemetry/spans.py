"""Spans and log records, and their OTLP/JSON encoding.

Origin: the JSON encoding of opentelemetry-proto: names in lowerCamelCase, ids in hexadecimal
digits, 64-bit integers as decimal text, enums as integers; one message per line in a file.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec
from msgspec import Struct

SCOPE: Final = "affidavit"
UNSET_STATUS: Final = 0
OK_STATUS: Final = 1
ERROR_STATUS: Final = 2
KINDS: Final[Mapping[str, int]] = {"internal": 1, "server": 2, "client": 3}

MIN_INT64: Final = -(2**63)
MAX_INT64: Final = 2**63 - 1

AttributeValue = Any
"""A text, number, truth value, or bytes; or lists and objects of them."""


class SpanEvent(Struct):
    """Something at one moment of a span."""

    name: str
    time_ns: int
    attributes: dict[str, AttributeValue]


class SpanLink(Struct):
    """A pointer to a span of another trace."""

    trace_id: str
    span_id: str
    attributes: dict[str, AttributeValue]


class TraceSpan(Struct, kw_only=True):
    """A span with its ids in hexadecimal digits and its times in nanoseconds since 1970."""

    trace_id: str
    span_id: str
    name: str
    start_ns: int
    end_ns: int
    parent_id: str | None = None
    kind: int = 1
    attributes: dict[str, AttributeValue]
    status: int = UNSET_STATUS
    status_message: str = ""
    trace_state: str = ""
    events: Sequence[SpanEvent] = ()
    links: Sequence[SpanLink] = ()
    dropped: int = 0
    """How many attributes, events and links the sender says that it left out."""


class LogEvent(Struct, kw_only=True):
    """A log record with a name: an event."""

    name: str
    time_ns: int
    trace_id: str = ""
    span_id: str = ""
    severity: int = 9
    body: AttributeValue = None
    attributes: dict[str, AttributeValue]


class TraceResource(Struct, frozen=True):
    """What emitted spans: the attributes of its resource."""

    attributes: Mapping[str, AttributeValue]


def any_value(value: AttributeValue) -> dict[str, Any]:
    """Return a value as an AnyValue of OTLP/JSON. An integer that int64 cannot hold is a text."""
    kind = type(value)
    if kind is str:
        return {"stringValue": value}
    if kind is bool:
        return {"boolValue": value}
    if kind is int:
        is_held = MIN_INT64 <= value <= MAX_INT64
        return {"intValue" if is_held else "stringValue": str(value)}
    if kind is float:
        # Protobuf's JSON writes these as texts.
        return {"doubleValue": value if math.isfinite(value) else _NOT_FINITE[str(value)]}
    if kind is dict:
        return {"kvlistValue": {"values": key_values(value)}}
    if kind in (list, tuple):
        return {"arrayValue": {"values": [any_value(one) for one in value]}}
    if kind is bytes:
        return {"bytesValue": value}  # msgspec writes base64.
    return {}


_NOT_FINITE: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


_encode: Final = msgspec.json.Encoder().encode


def key_values(attributes: Mapping[str, AttributeValue]) -> list[dict[str, Any]]:
    """Return attributes as a list of keys with values."""
    return [{"key": name, "value": any_value(value)} for name, value in attributes.items()]


# Text is put together from bytes, because a dict for each value costs more than all the rest.


@lru_cache(4096)
def _key(name: str) -> bytes:
    return b'{"key":' + _encode(name) + b',"value":'


def _attributes(attributes: Mapping[str, AttributeValue]) -> bytes:
    """Return attributes as JSON."""
    pieces = []
    for name, value in attributes.items():
        kind = type(value)
        if kind is str:
            pieces.append(b'%b{"stringValue":%b}}' % (_key(name), _encode(value)))
        elif kind is int and MIN_INT64 <= value <= MAX_INT64:
            pieces.append(b'%b{"intValue":"%d"}}' % (_key(name), value))
        else:
            pieces.append(b"%b%b}" % (_key(name), _encode(any_value(value))))
    return b"[" + b",".join(pieces) + b"]"


def span_as_json(span: TraceSpan) -> bytes:
    """Return a span as OTLP/JSON has it; empty members are left out, as proto3 does."""
    parent = b"" if span.parent_id is None else b',"parentSpanId":"%b"' % span.parent_id.encode()
    line = (
        b'{"traceId":"%b","spanId":"%b"%b,"name":%b,"kind":%d,"startTimeUnixNano":"%d",'
        b'"endTimeUnixNano":"%d","attributes":%b'
        % (
            span.trace_id.encode(),
            span.span_id.encode(),
            parent,
            _encode(span.name),
            span.kind,
            span.start_ns,
            span.end_ns,
            _attributes(span.attributes),
        )
    )
    rare: dict[str, Any] = {}
    if span.status or span.status_message:
        rare["status"] = {"code": span.status}
        if span.status_message:
            rare["status"]["message"] = span.status_message
    if span.trace_state:
        rare["traceState"] = span.trace_state
    if span.events:
        rare["events"] = [
            {
                "name": event.name,
                "timeUnixNano": str(event.time_ns),
                "attributes": key_values(event.attributes),
            }
            for event in span.events
        ]
    if span.links:
        rare["links"] = [
            {
                "traceId": link.trace_id,
                "spanId": link.span_id,
                "attributes": key_values(link.attributes),
            }
            for link in span.links
        ]
    return b"%b,%b" % (line, _encode(rare)[1:]) if rare else line + b"}"


def log_as_json(event: LogEvent) -> bytes:
    """Return an event as a log record of OTLP/JSON."""
    wire: dict[str, Any] = {
        "timeUnixNano": str(event.time_ns),
        "severityNumber": event.severity,
        "eventName": event.name,
        "attributes": key_values(event.attributes),
    }
    if event.trace_id:
        wire["traceId"] = event.trace_id
    if event.span_id:
        wire["spanId"] = event.span_id
    if event.body is not None:
        wire["body"] = any_value(event.body)
    return _encode(wire)


class OtlpJson:
    """Writes portions of spans or events as lines of OTLP/JSON, for one resource and one scope."""

    def __init__(self, resource: TraceResource, scope_version: str, schema_url: str) -> None:
        self._resource = {"attributes": key_values(resource.attributes)}
        self._scope = {"name": SCOPE, "version": scope_version}
        self._schema_url = schema_url

    def traces(self, spans: Iterable[TraceSpan]) -> bytes:
        """Return a TracesData message, without a line feed."""
        return self._message("Spans", "spans", map(span_as_json, spans))

    def logs(self, events: Iterable[LogEvent]) -> bytes:
        """Return a LogsData message, without a line feed."""
        return self._message("Logs", "logRecords", map(log_as_json, events))

    def _message(self, signal: str, members: str, held: Iterable[bytes]) -> bytes:
        owner = b'{"resource%b":[{"resource":%b,"scope%b":[{"scope":%b,"%b":[' % (
            signal.encode(),
            _encode(self._resource),
            signal.encode(),
            _encode(self._scope),
            members.encode(),
        )
        return b'%b%b],"schemaUrl":%b}]}]}' % (owner, b",".join(held), _encode(self._schema_url))
