"""Spans and events as protobuf messages of OTLP, with the classes of opentelemetry-proto.

What is received is read as a whole. If that fails, because of one deep attribute or a text that is
not UTF-8, it is read record by record and field by field, so that the rest is not lost.

The library is part of the extra `otel` and is imported when a function is called.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from affidavit.telemetry.otlp_json import OtlpFormatError, ReceivedRecord
from affidavit.telemetry.spans import (
    MAX_INT64,
    MIN_INT64,
    SCOPE,
    AttributeValue,
    LogEvent,
    SpanEvent,
    SpanLink,
    TraceResource,
    TraceSpan,
)

if TYPE_CHECKING:
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue


def trace_request(
    resource: TraceResource, scope_version: str, schema_url: str, spans: Iterable[TraceSpan]
) -> "ExportTraceServiceRequest":
    """Return spans as the request that OTLP/HTTP and gRPC send."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    request = ExportTraceServiceRequest()
    owner = request.resource_spans.add()
    _set_attributes(owner.resource.attributes, resource.attributes)
    scope = owner.scope_spans.add(schema_url=schema_url)
    scope.scope.name, scope.scope.version = SCOPE, scope_version
    for span in spans:
        made = scope.spans.add(
            trace_id=bytes.fromhex(span.trace_id),
            span_id=bytes.fromhex(span.span_id),
            parent_span_id=bytes.fromhex(span.parent_id or ""),
            name=span.name,
            trace_state=span.trace_state,
            start_time_unix_nano=span.start_ns,
            end_time_unix_nano=span.end_ns,
        )
        # The enums of protobuf take their numbers.
        made.kind = span.kind
        made.status.code = span.status
        made.status.message = span.status_message
        _set_attributes(made.attributes, span.attributes)
        for event in span.events:
            added = made.events.add(name=event.name, time_unix_nano=event.time_ns)
            _set_attributes(added.attributes, event.attributes)
        for link in span.links:
            pointed = made.links.add(
                trace_id=_id_bytes(link.trace_id), span_id=_id_bytes(link.span_id)
            )
            _set_attributes(pointed.attributes, link.attributes)
    return request


def logs_request(
    resource: TraceResource, scope_version: str, schema_url: str, events: Iterable[LogEvent]
) -> "ExportLogsServiceRequest":
    """Return events as the request that OTLP/HTTP and gRPC send."""
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

    request = ExportLogsServiceRequest()
    owner = request.resource_logs.add()
    _set_attributes(owner.resource.attributes, resource.attributes)
    scope = owner.scope_logs.add(schema_url=schema_url)
    scope.scope.name, scope.scope.version = SCOPE, scope_version
    for event in events:
        made = scope.log_records.add(
            time_unix_nano=event.time_ns,
            event_name=event.name,
            trace_id=_id_bytes(event.trace_id),
            span_id=_id_bytes(event.span_id),
        )
        made.severity_number = event.severity
        _set_attributes(made.attributes, event.attributes)
        if event.body is not None:
            _set_value(made.body, event.body)
    return request


def _id_bytes(text: str) -> bytes:
    """Return the bytes of an id; an id that is not hexadecimal is left out."""
    try:
        return bytes.fromhex(text)
    except ValueError:
        return b""


def _set_attributes(target: Any, attributes: Mapping[str, AttributeValue]) -> None:
    for name, value in attributes.items():
        _set_value(target.add(key=name).value, value)


def _set_value(target: "AnyValue", value: AttributeValue) -> None:
    if isinstance(value, int) and not MIN_INT64 <= value <= MAX_INT64:
        value = str(value)
    name = _MEMBERS.get(type(value))
    if name is not None:
        setattr(target, name, value)
    elif isinstance(value, Mapping):
        target.kvlist_value.SetInParent()
        _set_attributes(target.kvlist_value.values, value)
    elif isinstance(value, list | tuple):
        target.array_value.SetInParent()
        for one in value:
            _set_value(target.array_value.values.add(), one)


_MEMBERS: Final[Mapping[type, str]] = {
    bool: "bool_value",
    int: "int_value",
    float: "double_value",
    str: "string_value",
    bytes: "bytes_value",
}


def attributes_from(pairs: "Iterable[KeyValue]") -> dict[str, AttributeValue]:
    """Return attributes as plain values."""
    return {pair.key: _plain(pair.value) for pair in pairs}


def _plain(value: "AnyValue") -> AttributeValue:
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    if kind == "array_value":
        return [_plain(one) for one in value.array_value.values]
    if kind == "kvlist_value":
        return attributes_from(value.kvlist_value.values)
    return getattr(value, kind)


def spans_from(
    request: "ExportTraceServiceRequest",
) -> Iterator[tuple[dict[str, AttributeValue], str, TraceSpan]]:
    """Yield each span with the attributes of its resource and the name of its scope."""
    for owner in request.resource_spans:
        resource = attributes_from(owner.resource.attributes)
        for scope in owner.scope_spans:
            for span in scope.spans:
                yield (
                    resource,
                    scope.scope.name,
                    TraceSpan(
                        trace_id=span.trace_id.hex(),
                        span_id=span.span_id.hex(),
                        parent_id=span.parent_span_id.hex() or None,
                        name=span.name,
                        kind=int(span.kind),
                        start_ns=span.start_time_unix_nano,
                        end_ns=span.end_time_unix_nano,
                        attributes=attributes_from(span.attributes),
                        status=int(span.status.code),
                        status_message=span.status.message,
                        trace_state=span.trace_state,
                        events=[
                            SpanEvent(one.name, one.time_unix_nano, attributes_from(one.attributes))
                            for one in span.events
                        ],
                        links=[
                            SpanLink(
                                one.trace_id.hex(),
                                one.span_id.hex(),
                                attributes_from(one.attributes),
                            )
                            for one in span.links
                        ],
                        dropped=span.dropped_attributes_count
                        + span.dropped_events_count
                        + span.dropped_links_count,
                    ),
                )


def logs_from(
    request: "ExportLogsServiceRequest",
) -> Iterator[tuple[dict[str, AttributeValue], str, LogEvent]]:
    """Yield each log record with the attributes of its resource and the name of its scope."""
    for owner in request.resource_logs:
        resource = attributes_from(owner.resource.attributes)
        for scope in owner.scope_logs:
            for record in scope.log_records:
                attributes = attributes_from(record.attributes)
                name = record.event_name or attributes.pop("event.name", "")
                yield (
                    resource,
                    scope.scope.name,
                    LogEvent(
                        name=str(name),
                        time_ns=record.time_unix_nano or record.observed_time_unix_nano,
                        trace_id=record.trace_id.hex(),
                        span_id=record.span_id.hex(),
                        severity=int(record.severity_number),
                        body=_plain(record.body),
                        attributes=attributes,
                    ),
                )


def received_records(raw: bytes, *, of_logs: bool) -> Iterator[ReceivedRecord]:
    """Yield the records of an export request; raise OtlpFormatError if it is none."""
    if of_logs:
        logs = decode_logs(raw)
        found: Any = None if logs is None else logs_from(logs)
    else:
        traces = decode_traces(raw)
        found = None if traces is None else spans_from(traces)
    if found is None:
        yield from _salvaged_records(raw, of_logs=of_logs)
        return
    for resource, scope, record in found:
        yield ReceivedRecord(resource, scope, record)


def _salvaged_records(raw: bytes, *, of_logs: bool) -> Iterator[ReceivedRecord]:
    """Yield the records of a request that cannot be read as a whole.

    Resources are its field 1, their scopes field 2, and the records field 2 of these.
    """
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    for owner in _members(raw, 1):
        for scope in _members(owner, 2):
            for number, record in enumerate(_members(scope, 2), 1):
                request: Any = (
                    ExportLogsServiceRequest() if of_logs else ExportTraceServiceRequest()
                )
                held: Any = (request.resource_logs if of_logs else request.resource_spans).add()
                records = (held.scope_logs if of_logs else held.scope_spans).add()
                kept = (records.log_records if of_logs else records.spans).add()
                for part in _members(owner, 1):
                    _salvage(held.resource, part)
                for part in _members(scope, 1):
                    _salvage(records.scope, part)
                lost = _salvage(kept, record)
                made: Any = logs_from(request) if of_logs else spans_from(request)
                (one,) = made
                what = f"{'log record' if of_logs else 'span'} {number} of a scope"
                finding = f"{what}: {lost} of its fields cannot be read" if lost else ""
                if not of_logs:
                    one[2].dropped += lost
                yield ReceivedRecord(one[0], one[1], one[2], finding)


def _salvage(message: Any, raw: bytes) -> int:
    """Read the fields of a message that can be read; return how many cannot."""
    from google.protobuf.message import DecodeError

    lost = 0
    for _, whole, _ in _fields_in(raw):
        try:
            type(message).FromString(whole)
        except DecodeError:
            lost += 1
        else:
            message.MergeFromString(whole)
    return lost


def _members(raw: bytes, wanted: int) -> Iterator[bytes]:
    """Yield the messages that are in one field of a message."""
    for number, _, value in _fields_in(raw):
        if number == wanted and value is not None:
            yield value


_FIXED: Final = {1: 8, 5: 4}
_MAX_VARINT: Final = 10


def _fields_in(raw: bytes) -> Iterator[tuple[int, bytes, bytes | None]]:
    """Yield number, bytes and content of each field of a message; raise OtlpFormatError.

    Only fields with a length have a content.
    """
    at = 0
    while at < len(raw):
        start = at
        tag, at = _varint(raw, at)
        kind, value = tag & 7, None
        if kind == 0:
            _, at = _varint(raw, at)
        elif kind in _FIXED:
            at += _FIXED[kind]
        elif kind == 2:
            size, at = _varint(raw, at)
            value = raw[at : at + size]
            at += size
        else:
            raise OtlpFormatError("it is not a message of protobuf")
        if at > len(raw):
            raise OtlpFormatError("it ends in the middle of a field")
        yield tag >> 3, raw[start:at], value


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    number = 0
    for place in range(_MAX_VARINT):
        if at >= len(raw):
            break
        byte = raw[at]
        at += 1
        number |= (byte & 127) << (7 * place)
        if byte < 128:
            return number, at
    raise OtlpFormatError("it ends in the middle of a number")


def export_response(rejected: int, message: str, *, of_logs: bool) -> bytes:
    """Return the answer to an export request that was taken, in whole or in part."""
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    if not rejected and not message:
        return b""
    if of_logs:
        answer = ExportLogsServiceResponse()
        answer.partial_success.rejected_log_records = rejected
        answer.partial_success.error_message = message
        return bytes(answer.SerializeToString())
    traced = ExportTraceServiceResponse()
    traced.partial_success.rejected_spans = rejected
    traced.partial_success.error_message = message
    return bytes(traced.SerializeToString())


def decode_traces(raw: bytes) -> "ExportTraceServiceRequest | None":
    """Return the request of some bytes; None if they are not one."""
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    request = ExportTraceServiceRequest()
    try:
        request.ParseFromString(raw)
    except DecodeError:
        return None
    return request


def decode_logs(raw: bytes) -> "ExportLogsServiceRequest | None":
    """Return the request of some bytes; None if they are not one."""
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

    request = ExportLogsServiceRequest()
    try:
        request.ParseFromString(raw)
    except DecodeError:
        return None
    return request


def rejected_of(raw: bytes, *, of_logs: bool) -> tuple[int, str]:
    """Return how many records a receiver refused although it answered well, and its message."""
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    try:
        if of_logs:
            partial = ExportLogsServiceResponse.FromString(raw).partial_success
            return partial.rejected_log_records, partial.error_message
        part = ExportTraceServiceResponse.FromString(raw).partial_success
        return part.rejected_spans, part.error_message
    except DecodeError:
        return 0, ""


Portion = Sequence[TraceSpan] | Sequence[LogEvent]
