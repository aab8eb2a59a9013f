"""Spans and log records, and their OTLP/JSON encoding.

Origin: the JSON encoding of opentelemetry-proto: names in lowerCamelCase, ids in hexadecimal
digits, 64-bit integers as decimal text, enums as integers; one message per line in a file.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
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


def key_values(attributes: Mapping[str, AttributeValue]) -> list[dict[str, Any]]:
    """Return attributes as a list of keys with values."""
    return [
        {
            "key": name,
            "value": {"stringValue": value} if type(value) is str else any_value(value),
        }
        for name, value in attributes.items()
    ]


def span_as_wire(span: TraceSpan) -> dict[str, Any]:
    """Return a span as OTLP/JSON has it; empty members are left out, as proto3 does."""
    wire: dict[str, Any] = {"traceId": span.trace_id, "spanId": span.span_id}
    if span.parent_id is not None:
        wire["parentSpanId"] = span.parent_id
    wire["name"] = span.name
    wire["kind"] = span.kind
    wire["startTimeUnixNano"] = str(span.start_ns)
    wire["endTimeUnixNano"] = str(span.end_ns)
    wire["attributes"] = key_values(span.attributes)
    if span.status or span.status_message:
        status: dict[str, Any] = {"code": span.status}
        if span.status_message:
            status["message"] = span.status_message
        wire["status"] = status
    if span.trace_state:
        wire["traceState"] = span.trace_state
    if span.events:
        wire["events"] = [
            {
                "name": event.name,
                "timeUnixNano": str(event.time_ns),
                "attributes": key_values(event.attributes),
            }
            for event in span.events
        ]
    if span.links:
        wire["links"] = [
            {
                "traceId": link.trace_id,
                "spanId": link.span_id,
                "attributes": key_values(link.attributes),
            }
            for link in span.links
        ]
    return wire


def log_as_wire(event: LogEvent) -> dict[str, Any]:
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
    return wire


_encode = msgspec.json.Encoder().encode


class OtlpJson:
    """Writes portions of spans or events as lines of OTLP/JSON, for one resource and one scope."""

    def __init__(self, resource: TraceResource, scope_version: str, schema_url: str) -> None:
        self._resource = {"attributes": key_values(resource.attributes)}
        self._scope = {"name": SCOPE, "version": scope_version}
        self._schema_url = schema_url

    def traces(self, spans: Iterable[TraceSpan]) -> bytes:
        """Return a TracesData message, without a line feed."""
        return self._message("Spans", "spans", [span_as_wire(span) for span in spans])

    def logs(self, events: Iterable[LogEvent]) -> bytes:
        """Return a LogsData message, without a line feed."""
        return self._message("Logs", "logRecords", [log_as_wire(event) for event in events])

    def _message(self, signal: str, members: str, held: list[dict[str, Any]]) -> bytes:
        scope = {"scope": self._scope, members: held, "schemaUrl": self._schema_url}
        return _encode(
            {f"resource{signal}": [{"resource": self._resource, f"scope{signal}": [scope]}]}
        )
