"""OTLP JSON: spans out of an export, put together by trace.

Origin: the OTLP JSON encoding of opentelemetry-proto (a document, or one on each line). The spans
of a trace may stand anywhere in the file, so all of them are kept until its end. A trace in which
no span is about a model or a retriever is no question, and is passed over.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from affidavit.formats.importing.dialect import Numbered
from affidavit.formats.importing.fields import Row, row_in

TRACE: Final = "otlp.trace_id"
SPAN: Final = "otlp.span_id"
PARENT: Final = "otlp.parent_span_id"
START: Final = "otlp.start"
EVENTS: Final = "otlp.events"

MARKS: Final = ("openinference.span.kind", "gen_ai.operation.name", "gen_ai.system")
LANGFUSE_MARK: Final = "langfuse.observation.type"


def unfold(value: object) -> Iterable[object] | None:
    """Return the spans of an export, each as its attributes and what it says of itself."""
    if not isinstance(value, Mapping) or not isinstance(value.get("resourceSpans"), list):
        return None
    return [
        _flat(span)
        for resource in _objects(value["resourceSpans"])
        for scope in _objects(resource.get("scopeSpans"))
        for span in _objects(scope.get("spans"))
    ]


def by_trace(rows: Iterable[Numbered]) -> Iterator[Numbered]:
    """Yield the spans of each trace, in the order of their start, with the line of the first."""
    traces: dict[str, list[Row]] = {}
    lines: dict[str, int] = {}
    for line, row in rows:
        span = row_in(row, "spans")
        trace = str(span[TRACE])
        traces.setdefault(trace, []).append(span)
        lines.setdefault(trace, line)
    for trace, spans in traces.items():
        if any(mark in span for span in spans for mark in (*MARKS, LANGFUSE_MARK)):
            yield lines[trace], {"spans": sorted(spans, key=_order)}


def roots_of(spans: list[Row]) -> list[Row]:
    """Return the spans whose parent is not in the trace: where the work began."""
    known = {str(span.get(SPAN)) for span in spans}
    return [
        span for span in spans if span.get(PARENT) is None or str(span.get(PARENT)) not in known
    ]


def indexed(span: Row, prefix: str) -> list[dict[str, object]]:
    """Return a list that was flattened into attributes, `prefix.0.name` and so on."""
    found: dict[int, dict[str, object]] = {}
    for name, value in span.items():
        if name.startswith(f"{prefix}."):
            number, _, rest = name[len(prefix) + 1 :].partition(".")
            if number.isascii() and number.isdigit() and len(number) <= 6:
                found.setdefault(int(number), {})[rest] = value
    return [found[number] for number in sorted(found)]


def _order(span: Row) -> tuple[int, str]:
    start = str(span.get(START) or "0")
    return int(start) if start.isascii() and start.isdigit() else 0, str(span.get(SPAN))


def _flat(span: Row) -> dict[str, object]:
    flat = attributes_of(span)
    flat[TRACE] = span.get("traceId")
    flat[SPAN] = span.get("spanId")
    flat[PARENT] = span.get("parentSpanId") or None
    flat[START] = span.get("startTimeUnixNano")
    flat[EVENTS] = [
        {"name": event.get("name"), **attributes_of(event)}
        for event in _objects(span.get("events"))
    ]
    return flat


def attributes_of(owner: Row) -> dict[str, object]:
    """Return the attributes of a span or an event as plain values."""
    return _pairs(owner.get("attributes"))


def _pairs(listed: object) -> dict[str, object]:
    return {str(one.get("key")): _plain(one.get("value")) for one in _objects(listed)}


def _plain(value: object) -> object:
    """Return what an AnyValue of OTLP means; integers are written as texts there."""
    if not isinstance(value, Mapping):
        return None
    for kind, held in value.items():
        if kind == "arrayValue":
            return [_plain(one) for one in _objects(_inside(held))]
        if kind == "kvlistValue":
            return {
                str(one.get("key")): _plain(one.get("value")) for one in _objects(_inside(held))
            }
        if kind == "intValue" and isinstance(held, str) and held.lstrip("-").isdigit():
            return int(held)
        return held
    return None


def _inside(held: object) -> object:
    return held.get("values") if isinstance(held, Mapping) else None


def _objects(value: object) -> list[Row]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
