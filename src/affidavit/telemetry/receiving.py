"""What a receiver of OTLP makes of a request: the spans and log records of each trace, as frames.

A record that cannot be used is rejected with a problem; the records beside it are taken. A frame
holds what one request said about one trace, and is what the journal of the receiver keeps.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final
from zlib import crc32

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from affidavit.telemetry.importing import OwnedSpan, TraceRecords
from affidavit.telemetry.otlp_json import OtlpFormatError, ReceivedRecord, records_in
from affidavit.telemetry.protobuf import received_records
from affidavit.telemetry.recordable import recordable
from affidavit.telemetry.spans import LogEvent, TraceSpan

MAX_FRAME_RECORDS: Final = 5000
"""A larger request about one trace becomes several frames, so that no frame exceeds a bundle."""
_PROBLEMS: Final = 5
_MAX_PROBLEM: Final = 300


class FrameHead(Struct, array_like=True, frozen=True):
    """What has to be known of a frame to collect it; its body is read when the trace is sealed."""

    workspace: str
    trace_id: str
    records: int
    has_root: bool
    """Whether a span without a parent is in it: the last one of a program to end."""


class _Body(Struct, array_like=True):
    resources: list[dict[str, Any]]
    spans: list[tuple[int, str, TraceSpan]]
    """Each with the number of its resource, and its scope."""
    logs: list[LogEvent]


class ReceivedRequest(Struct):
    """What a request held: the records of each trace, and what was rejected."""

    traces: list[TraceRecords]
    rejected: int = 0
    problems: list[str] = []

    @property
    def records(self) -> int:
        """How many records were taken."""
        return sum(len(one.spans) + len(one.logs) for one in self.traces)

    @property
    def message(self) -> str:
        """What the sender is told about records that were rejected or cut; empty for none."""
        return "; ".join(self.problems)


def read_request(raw: bytes, *, is_json: bool, of_logs: bool) -> ReceivedRequest:
    """Return what a request holds; raise OtlpFormatError if it is none."""
    found = (
        _records_of_json(raw, of_logs=of_logs)
        if is_json
        else received_records(raw, of_logs=of_logs)
    )
    traces: dict[str, TraceRecords] = {}
    request = ReceivedRequest([], 0, [])
    for one in found:
        record = one.record
        refusal = "" if record is None else _problem_of(record)
        problem = refusal or one.finding
        if problem and len(request.problems) < _PROBLEMS:
            request.problems.append(problem[:_MAX_PROBLEM])
        if record is None or refusal:
            request.rejected += 1
            continue
        trace = traces.get(record.trace_id)
        if trace is None:
            trace = traces[record.trace_id] = TraceRecords(record.trace_id, [], [])
        if isinstance(record, TraceSpan):
            trace.spans.append(OwnedSpan(one.resource, one.scope, record))
        else:
            trace.logs.append(record)
    request.traces = list(traces.values())
    return request


def _records_of_json(raw: bytes, *, of_logs: bool) -> Iterator[ReceivedRecord]:
    for one in records_in(raw):
        if one.record is not None and isinstance(one.record, LogEvent) is not of_logs:
            other = "log records" if not of_logs else "spans"
            raise OtlpFormatError(f"it has {other}, which have another address")
        yield one


_NO_TRACE: Final = "0" * 32
_NO_SPAN: Final = "0" * 16


def _problem_of(record: TraceSpan | LogEvent) -> str:
    """Return why a record belongs to no trace, or nothing."""
    if len(record.trace_id) != len(_NO_TRACE) or record.trace_id == _NO_TRACE:
        what = "log record" if isinstance(record, LogEvent) else "span"
        return f"{what} {record.name!a} is left out: it has no trace id"
    if isinstance(record, TraceSpan) and (
        len(record.span_id) != len(_NO_SPAN) or record.span_id == _NO_SPAN
    ):
        return f"span {record.name!a} is left out: it has no span id"
    return ""


# The frames of the journal: the lengths of head and body, a checksum of both, the head, the body.

_LENGTHS: Final = 12
_encode: Final = msgspec.msgpack.Encoder().encode
_decode_head: Final = msgspec.msgpack.Decoder(FrameHead).decode
_decode_body: Final = msgspec.msgpack.Decoder(_Body).decode


def frames_of(trace: TraceRecords, workspace: str) -> Iterator[bytes]:
    """Yield the frames of what a request said about a trace."""
    for start in range(0, max(len(trace.spans), len(trace.logs)), MAX_FRAME_RECORDS):
        spans = trace.spans[start : start + MAX_FRAME_RECORDS]
        logs = trace.logs[start : start + MAX_FRAME_RECORDS]
        has_root = any(one.span.parent_id is None for one in spans)
        head = _encode(FrameHead(workspace, trace.trace_id, len(spans) + len(logs), has_root))
        body = _encoded_body(spans, logs)
        lengths = len(head).to_bytes(4, "big") + len(body).to_bytes(4, "big")
        yield b"".join((lengths, crc32(body, crc32(head)).to_bytes(4, "big"), head, body))


def _encoded_body(spans: Sequence[OwnedSpan], logs: Sequence[LogEvent]) -> bytes:
    # Spans of one message share the object of their resource.
    numbers: dict[int, int] = {}
    resources: list[dict[str, Any]] = []
    for one in spans:
        if id(one.resource) not in numbers:
            numbers[id(one.resource)] = len(resources)
            resources.append(dict(one.resource))
    held = [(numbers[id(one.resource)], one.scope, one.span) for one in spans]
    try:
        return _encode(_Body(resources, held, list(logs)))
    except OverflowError:  # An integer of more than 64 bits, which only JSON can send.
        safe = [(number, scope, _with_json_values(span)) for number, scope, span in held]
        made = [_as_json(one) for one in resources]
        return _encode(_Body(made, safe, [_logged_as_json(one) for one in logs]))


def _as_json(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: recordable(value) for name, value in attributes.items()}


def _with_json_values(span: TraceSpan) -> TraceSpan:
    return replace(
        span,
        attributes=_as_json(span.attributes),
        events=[replace(one, attributes=_as_json(one.attributes)) for one in span.events],
        links=[replace(one, attributes=_as_json(one.attributes)) for one in span.links],
    )


def _logged_as_json(log: LogEvent) -> LogEvent:
    return replace(log, body=recordable(log.body), attributes=_as_json(log.attributes))


class FrameError(ValueError):
    """Some bytes are no frame: the journal is damaged."""


def head_at(data: bytes, start: int) -> tuple[FrameHead, int] | None:
    """Return the head of the frame at a place of a journal, and where it ends.

    None if the frame is not whole: it is being written, or its writer was killed.
    """
    if len(data) < start + _LENGTHS:
        return None
    size = int.from_bytes(data[start : start + 4], "big")
    end = start + _LENGTHS + size + int.from_bytes(data[start + 4 : start + 8], "big")
    if len(data) < end:
        return None
    checksum = int.from_bytes(data[start + 8 : start + _LENGTHS], "big")
    if crc32(memoryview(data)[start + _LENGTHS : end]) != checksum:
        raise FrameError("a checksum does not hold")
    return _decode_head(memoryview(data)[start + _LENGTHS : start + _LENGTHS + size]), end


def records_of(trace_id: str, frames: Iterable[bytes]) -> TraceRecords:
    """Return the records of the frames of a trace. A span that was sent twice is there once."""
    records = TraceRecords(trace_id, [], [])
    seen: dict[str, list[TraceSpan]] = {}
    heard: dict[tuple[str, int, str], list[LogEvent]] = {}
    for frame in frames:
        size = int.from_bytes(frame[:4], "big")
        body = _decode_body(memoryview(frame)[_LENGTHS + size :])
        for number, scope, span in body.spans:
            known = seen.setdefault(span.span_id, [])
            if span not in known:
                known.append(span)
                records.spans.append(OwnedSpan(body.resources[number], scope, span))
        for log in body.logs:
            same = heard.setdefault((log.span_id, log.time_ns, log.name), [])
            if log not in same:
                same.append(log)
                records.logs.append(log)
    return records
