"""Maps the spans of a trace to the events of a run.

A span of a model, a tool or a retriever is the event of that name, and every other span is a step.
The root span is the run: its input starts the run, and its output and status finish it. Attributes
with a field become that field; all others are kept in `data.attributes` and are counted. Nothing is
made up: what a program did not send is missing, and lint shows it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from msgspec import Struct

from affidavit.base.digest import digest_of
from affidavit.base.timestamps import NANOSECONDS
from affidavit.packs import event_types as kinds
from affidavit.seal.bundle.writer import EventDraft, RunIdentity
from affidavit.telemetry.conventions import EVALUATION, OPERATION, conventions
from affidavit.telemetry.dialects import OTLP, dialect_of, normalised
from affidavit.telemetry.exporting import RUN_ID, RUN_SOURCE, STATUS_NAMES, VERDICT_NAME, span_name
from affidavit.telemetry.fields import (
    AGENT_OPERATIONS,
    NESTED_IN,
    event_type_of_operation,
    fields_by_attribute,
    is_of_type,
    messages_from,
    value_from_text,
)
from affidavit.telemetry.loss import LossReason, MappingLoss
from affidavit.telemetry.recordable import fitted, recordable, unrecorded
from affidavit.telemetry.spans import KINDS, SCOPE, LogEvent, SpanEvent, TraceSpan

MAX_ATTRIBUTES: Final = 1000
MAX_EVENT_BYTES: Final = 960 * 1024
"""A line of a bundle has a mebibyte, and its envelope takes a part of it."""
MAX_TEXT: Final = 900 * 1024
_MAX_NAME: Final = 500
_KIND_NAMES: Final = {value: name for name, value in KINDS.items()} | {
    4: "producer",
    5: "consumer",
}


class OwnedSpan(Struct):
    """A span with the resource and the scope that sent it."""

    resource: Mapping[str, Any]
    scope: str
    span: TraceSpan


class TraceRecords(Struct):
    """The spans and log records of one trace, in the order in which they were received."""

    trace_id: str
    spans: list[OwnedSpan] = []
    logs: list[LogEvent] = []

    @property
    def root(self) -> OwnedSpan | None:
        """The first span whose parent is not in the trace; None if there is none."""
        known = {one.span.span_id for one in self.spans}
        roots = [one for one in self.spans if one.span.parent_id not in known]
        return min(roots, key=lambda one: one.span.start_ns, default=None)


def identity_of(trace: TraceRecords, run_id: str | None = None, salt: str = "") -> RunIdentity:
    """Return the run that a trace is: its service is the producer."""
    owner = trace.root or next(iter(trace.spans), None)
    resource: Mapping[str, Any] = {} if owner is None else owner.resource

    def text(name: str, other: str) -> str:
        value = resource.get(name)
        kept = value[:_MAX_NAME] if isinstance(value, str) else ""
        return kept.encode("utf-8", "replace").decode() or other

    service = text("service.name", "unknown_service")
    own = text(RUN_ID, "").replace(":", "_")
    source = text(RUN_SOURCE, "urn:otel:trace")
    return RunIdentity(
        id=run_id or own or trace.trace_id,
        source=source if source.find(":") > 0 else "urn:otel:trace",
        producer=service,
        producer_version=text("service.version", "unknown"),
        git=text("vcs.ref.head.revision", "unknown"),
        salt=salt,
    )


def time_text(nanoseconds: int) -> str:
    """Return a time as RFC 3339, with the fraction of a second that it has."""
    seconds, rest = divmod(nanoseconds, NANOSECONDS)
    whole = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    fraction = f".{rest:09}".rstrip("0") if rest else ""
    return f"{whole.replace(tzinfo=None).isoformat()}{fraction}Z"


class TraceImporter:
    """Turns one trace into drafts of events."""

    def __init__(
        self,
        trace: TraceRecords,
        dialect: str | None = None,
        absent_signals: Mapping[str, Any] | None = None,
    ) -> None:
        self._absent = dict(absent_signals or {})
        self.loss = MappingLoss(conventions().target())
        self._trace = trace
        self._dialect = dialect
        self._root = trace.root
        self._service = None if self._root is None else self._root.resource.get("service.name")
        self._logs: dict[str, list[LogEvent]] = {}
        for log in trace.logs:
            self._logs.setdefault(log.span_id, []).append(log)

    def drafts(self) -> Iterator[EventDraft]:
        """Yield the events in the order of their ends; the run begins first and ends last."""
        root = self._root
        mapped = sorted(self._mapped(), key=lambda one: one[0])
        held = [draft for _, draft in mapped]
        start, finish = self._run_events(root)
        yield from start
        yield from self._surroundings()
        yield from held
        yield from finish

    def _mapped(self) -> Iterator[tuple[int, EventDraft]]:
        for owned in self._trace.spans:
            span = owned.span
            yield from self._evaluations_of(span)
            if owned is self._root and self._is_run(owned):
                continue
            self.loss.spans += 1
            kind, data = self._read(owned, self.loss)
            end = max(span.end_ns, span.start_ns)
            yield end, EventDraft(kind, time_text(end), data)
        for log in self._trace.logs:
            yield from self._event_of_log(log)

    # The run and its surroundings.

    def _is_run(self, owned: OwnedSpan) -> bool:
        """Whether the root is nothing but the run: a step, and no model or tool by itself."""
        attributes = self._normalised(owned, MappingLoss({}))
        return event_type_of(attributes) == kinds.STEP

    def _run_events(
        self, root: OwnedSpan | None
    ) -> tuple[tuple[EventDraft, ...], tuple[EventDraft, ...]]:
        if root is None:
            return (), ()
        is_run = self._is_run(root)
        counted = self.loss if is_run else MappingLoss({})
        counted.spans += 1
        kind, data = self._read(root, counted)
        span = root.span
        started = {}
        for name in ("input", "span"):
            if name in data:
                started[name] = data[name]
        if kind == kinds.RETRIEVAL and "query" in data:
            started["input"] = data["query"]
        status = "error" if span.status == 2 or "error" in data else "ok"
        kept = ("output", "error") if not is_run else tuple(data)
        finished = {
            name: value
            for name, value in data.items()
            if name in kept and name not in ("input", "span")
        }
        if self._is_ours(root):
            # The exporter named the span of the run; the run has no such fields.
            for name in ("name", "operation"):
                finished.pop(name, None)
        begin = EventDraft(kinds.RUN_STARTED, time_text(span.start_ns), started)
        end_ns = max(span.start_ns, span.end_ns)
        if self._absent:
            finished["absent_signals"] = self._absent
        end = EventDraft(kinds.RUN_FINISHED, time_text(end_ns), {**finished, "status": status})
        return (begin,), (end,)

    def _is_ours(self, owned: OwnedSpan) -> bool:
        return owned.scope == SCOPE and RUN_ID in owned.resource

    def _surroundings(self) -> Iterator[EventDraft]:
        """Yield what each resource says about code and environment, once for each of them."""
        seen: list[dict[str, Any]] = []
        # Spans of one message share one object.
        owners = {id(one.resource): one for one in reversed(self._trace.spans)}
        for owned in reversed(owners.values()):
            resource = dict(owned.resource)
            if resource in seen or self._is_ours(owned):
                continue
            seen.append(resource)
            at = time_text(owned.span.start_ns)
            version = resource.pop("service.version", None)
            service = resource.get("service.name")
            if isinstance(version, str) and version:
                data = {"version": version, "service": recordable(service)}
                yield EventDraft(kinds.CODE_VERSION, at, _bounded(data))
            values = recordable(resource)
            if resource and isinstance(values, dict):
                yield EventDraft(kinds.ENVIRONMENT, at, {"values": _bounded(values)})

    # Spans.

    def _normalised(self, owned: OwnedSpan, loss: MappingLoss) -> dict[str, Any]:
        attributes = owned.span.attributes
        dialect = dialect_of(attributes)
        if self._dialect not in (None, OTLP) and dialect == OTLP:
            dialect = str(self._dialect)
        found = normalised(attributes, dialect, loss)
        self._add_logged_content(owned.span.span_id, found, loss)
        return found

    def _add_logged_content(
        self, span_id: str, attributes: dict[str, Any], loss: MappingLoss
    ) -> None:
        """Add the messages that an instrumentation sent as log records beside the span."""
        asked, answered = [], []
        for log in self._logs.get(span_id, ()):
            if log.name == _DETAILS:
                held = {**log.attributes, **(log.body if isinstance(log.body, dict) else {})}
                for name, value in held.items():
                    attributes.setdefault(name, value)
            elif log.name == "gen_ai.choice":
                answered.append(_choice(log.body))
            elif log.name.startswith("gen_ai.") and log.name.endswith(".message"):
                role = log.name.removeprefix("gen_ai.").removesuffix(".message")
                body = log.body if isinstance(log.body, dict) else {"content": log.body}
                asked.append({"role": role, **_tool_calls_named(body)})
        for name, messages, role in (
            ("gen_ai.input.messages", asked, "user"),
            ("gen_ai.output.messages", answered, "assistant"),
        ):
            if messages and name not in attributes:
                attributes[name] = messages_from(messages, role)
                loss.add("log records", LossReason.RENAMED, name, len(messages))

    def _read(self, owned: OwnedSpan, loss: MappingLoss) -> tuple[str, dict[str, Any]]:
        """Return the type and the data of the event of a span.

        Hostile attributes cost one finding.
        """
        span = owned.span
        problems = _cut_attributes(span)
        attributes = self._normalised(owned, loss)
        kind = event_type_of(attributes)
        data = self._fields(kind, attributes, loss)
        if kind == kinds.STEP:
            agent = data.get("agent", {}).get("name") if _is_agent(attributes) else None
            data.setdefault("name", agent or span.name or "step")
        data[kinds.SPAN] = self._place(owned, attributes, kind)
        kept, cut = _fitted(data)
        problems += [f"{name} is too large" for name in cut]
        if problems:
            loss.add_finding(f"span {span.span_id}: {'; '.join(problems[:3])}")
        return kind, kept

    def _fields(
        self, kind: str, attributes: Mapping[str, Any], loss: MappingLoss
    ) -> dict[str, Any]:
        """Return the fields of an event, and under `attributes` what has no field."""
        data: dict[str, Any] = {}
        others: dict[str, Any] = {}
        known, fields = conventions().attributes, fields_by_attribute(kind)
        for name, value in attributes.items():
            field = fields.get(name)
            if field is None:
                others[name] = value
                loss.add(name, LossReason.NO_TARGET, "data.attributes")
            elif not is_of_type(value, known[name].type):
                others[name] = value
                loss.add(name, LossReason.VALUE_UNMAPPED, "data.attributes")
            else:
                _set_field(data, field, _decoded(name, value), kind)
        if others:
            data["attributes"] = others
        return data

    def _place(self, owned: OwnedSpan, attributes: Mapping[str, Any], kind: str) -> dict[str, Any]:
        span = owned.span
        place: dict[str, Any] = {"trace_id": span.trace_id, "span_id": span.span_id}
        if span.parent_id is not None:
            place["parent_id"] = span.parent_id
        place["start_ns"], place["end_ns"] = str(span.start_ns), str(span.end_ns)
        convention = conventions().spans.get(_SPAN_TYPES[kind])
        if "mcp.method.name" in attributes:
            convention = conventions().spans["mcp.client"]
        usual = None if convention is None else span_name(attributes, convention.name)
        if span.name and span.name != usual:
            place["name"] = span.name
        kind_name = _KIND_NAMES.get(span.kind)
        if kind_name is not None and (convention is None or kind_name != convention.kind):
            place["kind"] = kind_name
        has_error = "error.type" in attributes
        if span.status and not (has_error and span.status == 2):
            place["status"] = STATUS_NAMES.get(span.status, "unset")
        for name, value in (("message", span.status_message), ("trace_state", span.trace_state)):
            if value:
                place[name] = value
        self._add_details(place, owned)
        return place

    def _add_details(self, place: dict[str, Any], owned: OwnedSpan) -> None:
        span = owned.span
        others = [one for one in span.events if one.name != EVALUATION]
        if others:
            place["events"] = [
                {"name": one.name, "time_ns": str(one.time_ns), "attributes": one.attributes}
                for one in others[:MAX_ATTRIBUTES]
            ]
        if span.links:
            place["links"] = [
                {
                    "trace_id": one.trace_id,
                    "span_id": one.span_id,
                    "attributes": one.attributes,
                }
                for one in span.links[:MAX_ATTRIBUTES]
            ]
        service = owned.resource.get("service.name")
        if service != self._service and isinstance(service, str):
            place["service"] = service
        if span.dropped:
            place["dropped"] = span.dropped

    # Evaluations.

    def _evaluations_of(self, span: TraceSpan) -> Iterator[tuple[int, EventDraft]]:
        for one in span.events:
            if one.name == EVALUATION:
                yield self._verdict(one, span.trace_id, span.span_id)

    def _event_of_log(self, log: LogEvent) -> Iterator[tuple[int, EventDraft]]:
        if log.name == EVALUATION:
            moment = SpanEvent(log.name, log.time_ns, log.attributes)
            yield self._verdict(moment, log.trace_id, log.span_id)
        elif not log.name.startswith("gen_ai."):
            self.loss.add_unknown(log.name or "(log record without a name)")

    def _verdict(self, one: SpanEvent, trace_id: str, span_id: str) -> tuple[int, EventDraft]:
        self.loss.events += 1
        data: dict[str, Any] = {}
        others = {}
        for name, value in one.attributes.items():
            field = _VERDICT_FIELDS.get(name)
            known = conventions().attributes.get(name)
            if field is None or known is None or not is_of_type(value, known.type):
                others[name] = value
                self.loss.add(name, LossReason.NO_TARGET, "data.attributes")
            else:
                data[field] = value
        if data.get("subject") == VERDICT_NAME:
            del data["subject"]
        if others:
            data["attributes"] = others
        data[kinds.SPAN] = {"trace_id": trace_id, "span_id": span_id}
        kept, _ = _fitted(data)
        return one.time_ns, EventDraft(kinds.VERDICT, time_text(one.time_ns), kept)


_DETAILS: Final = "gen_ai.client.inference.operation.details"
_VERDICT_FIELDS: Final = {
    "gen_ai.evaluation.name": "subject",
    "gen_ai.evaluation.score.value": "score",
    "gen_ai.evaluation.score.label": "verdict",
    "gen_ai.evaluation.explanation": "reason",
}
_SPAN_TYPES: Final = {
    kinds.MODEL_CALL: "gen_ai.inference.client",
    kinds.TOOL_CALL: "gen_ai.execute_tool.internal",
    kinds.RETRIEVAL: "gen_ai.retrieval.client",
    kinds.STEP: "gen_ai.invoke_workflow.internal",
}


def event_type_of(attributes: Mapping[str, Any]) -> str:
    """Return the type of event that a span becomes."""
    operation = attributes.get(OPERATION)
    if operation is None and attributes.get("mcp.method.name") == "tools/call":
        return kinds.TOOL_CALL
    return event_type_of_operation(str(operation))


def _is_agent(attributes: Mapping[str, Any]) -> bool:
    return attributes.get(OPERATION) in AGENT_OPERATIONS


def _set_field(data: dict[str, Any], field: str, value: Any, kind: str) -> None:
    outer, dot, inner = field.partition(".")
    if dot and outer in NESTED_IN[kind]:
        data.setdefault(outer, {})[inner] = value
    else:
        data[field] = value


def _decoded(name: str, value: Any) -> Any:
    """Return the value of an attribute that the conventions allow to be JSON text."""
    is_any = conventions().attributes[name].type == "any"
    return value_from_text(value) if is_any and isinstance(value, str) else value


def _choice(body: Any) -> dict[str, Any]:
    held = body if isinstance(body, dict) else {}
    message = held.get("message")
    named = message if isinstance(message, dict) else {"content": message}
    return {"role": "assistant", **_tool_calls_named(named)}


def _tool_calls_named(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a message, with the id of a tool message where chat messages have it."""
    held = dict(body)
    if "id" in held:
        held["tool_call_id"] = held.pop("id")
    return held


def _cut_attributes(span: TraceSpan) -> list[str]:
    """Cut what no event could hold; return what was cut, in words."""
    problems = []
    if len(span.attributes) > MAX_ATTRIBUTES:
        cut = len(span.attributes) - MAX_ATTRIBUTES
        # What the conventions know is kept, wherever it stands among the others.
        known = conventions().attributes
        names = sorted(span.attributes, key=lambda name: name not in known)[:MAX_ATTRIBUTES]
        span.attributes = {name: span.attributes[name] for name in names}
        problems.append(f"{cut} of its attributes are left out")
    for name, value in span.attributes.items():
        if isinstance(value, str | bytes) and len(value) > MAX_TEXT:
            raw = value.encode("utf-8", "replace") if isinstance(value, str) else value
            span.attributes[name] = unrecorded(
                "too_large", size_bytes=len(raw), digest=digest_of(raw)
            )
            problems.append(f"{name[:80]!a} has {len(raw)} bytes")
    return problems


def _fitted(data: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    made = recordable(data)
    if not isinstance(made, dict):
        return {}, ("everything",)
    return fitted(made, MAX_EVENT_BYTES)


def _bounded(data: dict[str, Any]) -> dict[str, Any]:
    return _fitted(data)[0]


def traces_of(
    records: Iterable[tuple[Mapping[str, Any], str, TraceSpan | LogEvent]],
) -> Sequence[TraceRecords]:
    """Return the traces in the order of their first span. A record without a trace is left out."""
    found: dict[str, TraceRecords] = {}
    for resource, scope, record in records:
        if isinstance(record, LogEvent) and not record.trace_id:
            continue
        trace = found.setdefault(record.trace_id, TraceRecords(record.trace_id))
        if isinstance(record, TraceSpan):
            trace.spans.append(OwnedSpan(resource, scope, record))
        else:
            trace.logs.append(record)
    return tuple(found.values())
