"""Maps the events of a run to spans and evaluation events of the conventions.

A model call, a tool call, a retrieval and a step are one span each; the run is the span above them.
A verdict, a gate report, a ledger, a receipt and a trial of a soak are evaluation events. Every
other event has no place in the conventions and is counted as unknown. Ids that a run does not have
follow from its name and the number of the event, so the same run gives the same bytes.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from affidavit.base.timestamps import find_nanoseconds, find_offset_nanoseconds
from affidavit.packs import event_types as kinds
from affidavit.packs.pointers import commitment_in
from affidavit.telemetry.conventions import (
    EVALUATION,
    INVOKE_WORKFLOW,
    MCP_CLIENT,
    OPERATION,
    conventions,
    required_of,
    span_type_of,
)
from affidavit.telemetry.fields import (
    AGENT_NAME,
    AGENT_OPERATIONS,
    DEFAULT_OPERATIONS,
    FIELDS,
    MESSAGE_FIELDS,
    OBJECTS,
    FieldTarget,
    event_type_of_operation,
    is_messages,
    messages_from,
    targets_of,
    typed_value,
)
from affidavit.telemetry.loss import LossReason, MappingLoss
from affidavit.telemetry.spans import (
    ERROR_STATUS,
    KINDS,
    OK_STATUS,
    UNSET_STATUS,
    LogEvent,
    SpanEvent,
    SpanLink,
    TraceResource,
    TraceSpan,
)

RUN_ID: Final = "affidavit.run.id"
RUN_SOURCE: Final = "affidavit.run.source"
_ROLES: Final = {"input": "user", "output": "assistant"}
_STATUSES: Final = {"unset": UNSET_STATUS, "ok": OK_STATUS, "error": ERROR_STATUS}
STATUS_NAMES: Final = {value: name for name, value in _STATUSES.items()}
# The members of `data.span` that are members of a span, and not attributes.
_SPAN_MEMBERS: Final = frozenset(
    (
        "trace_id",
        "span_id",
        "parent_id",
        "name",
        "kind",
        "start_ns",
        "end_ns",
        "status",
        "message",
        "trace_state",
        "events",
        "links",
    )
)


_ABSENT: Final = object()


class ExportedRun(Struct, frozen=True, kw_only=True):
    """What the events of a run have in common."""

    run_id: str
    source: str
    producer: str
    producer_version: str
    git: str = "unknown"

    @property
    def resource(self) -> TraceResource:
        """The resource of the spans."""
        attributes = {
            "service.name": self.producer,
            "service.version": self.producer_version,
            RUN_ID: self.run_id,
            RUN_SOURCE: self.source,
        }
        if self.git != "unknown":
            attributes["vcs.ref.head.revision"] = self.git
        return TraceResource(attributes)

    @property
    def trace_id(self) -> str:
        """The id of the trace, unless the events state one."""
        return hashlib.sha256(f"trace:{self.run_id}".encode()).hexdigest()[:32]

    def span_id(self, number: int) -> str:
        """Return the id of the span of an event that states none."""
        return f"{self._span_prefix}{number:08x}"

    @property
    def _span_prefix(self) -> str:
        return hashlib.sha256(f"span:{self.run_id}".encode()).hexdigest()[:8]


class RunExporter:
    """Turns the events of one run into spans and events, one by one."""

    def __init__(self, run: ExportedRun, *, include_content: bool = False) -> None:
        self.run = run
        self.loss = MappingLoss(conventions().target())
        self._includes_content = include_content
        self._spans = conventions().spans
        self._trace_id = run.trace_id
        self._span_prefix = run.span_id(0)[:8]
        self._root_id: str | None = None
        self._root: TraceSpan | None = None
        self._end_ns = 0

    def export(self, events: Iterable[Mapping[str, Any]]) -> Iterator[TraceSpan | LogEvent]:
        """Yield the spans and events; the span of the run comes last."""
        for number, event in enumerate(events):
            yield from self._mapped(number, event)
        if self._root is not None:
            self._root.end_ns = max(self._root.start_ns, self._end_ns)
            yield self._counted(self._root, INVOKE_WORKFLOW)

    def _mapped(self, number: int, event: Mapping[str, Any]) -> Iterator[TraceSpan | LogEvent]:
        kind, data = event["type"], event["data"]
        text = event["time"]
        time_ns = (find_nanoseconds(text) or find_offset_nanoseconds(text)) or 0
        if time_ns > self._end_ns:
            self._end_ns = time_ns
        if kind in FIELDS and isinstance(data, dict):
            yield self._span(number, kind, data, time_ns)
        elif kind == kinds.RUN_STARTED and self._root is None and isinstance(data, dict):
            self._start(number, data, time_ns)
        elif kind == kinds.RUN_FINISHED and self._root is not None and isinstance(data, dict):
            self._finish(data)
        elif kind in _EVALUATIONS and isinstance(data, dict):
            yield from self._evaluations(kind, data, time_ns)
        else:
            self.loss.add_unknown(kind)
        if event.get("subject") is not None:
            self.loss.add("subject", LossReason.NO_TARGET)

    def _start(self, number: int, data: dict[str, Any], time_ns: int) -> None:
        attributes: dict[str, Any] = {OPERATION: "invoke_workflow"}
        place = self._place(number, data, time_ns)
        self._root = TraceSpan(
            trace_id=place["trace_id"],
            span_id=place["span_id"],
            parent_id=place.get("parent_id"),
            name="",
            start_ns=place["start_ns"],
            end_ns=place["end_ns"],
            attributes=attributes,
        )
        attributes["gen_ai.workflow.name"] = self.run.run_id
        self._trace_id, self._root_id = self._root.trace_id, self._root.span_id
        self._add_run_fields(data, attributes)

    def _finish(self, data: dict[str, Any]) -> None:
        root = self._root
        if root is None:
            return
        status = data.get("status")
        if status in ("ok", "error"):
            root.status = _STATUSES[status]
        elif "status" in data:
            self.loss.add("status", LossReason.VALUE_UNMAPPED)
        self._add_run_fields({k: v for k, v in data.items() if k != "status"}, root.attributes)

    def _add_run_fields(self, data: dict[str, Any], attributes: dict[str, Any]) -> None:
        """Add input, output and error of the run; the other fields have no attribute."""
        targets = targets_of(kinds.STEP)
        for name, value in data.items():
            if name in ("input", "output", "error"):
                self._set(attributes, name, targets[name], value)
            elif name != kinds.SPAN:
                self.loss.add(name, LossReason.NO_TARGET)

    def _place(self, number: int, data: dict[str, Any], time_ns: int) -> dict[str, Any]:
        """Return where an event stands in its trace, as it states it or as it follows."""
        stated = data.get(kinds.SPAN)
        if not isinstance(stated, dict):
            return {
                "trace_id": self._trace_id,
                "span_id": f"{self._span_prefix}{number:08x}",
                "parent_id": self._root_id,
                "start_ns": time_ns,
                "end_ns": time_ns,
            }
        span = stated
        for name in span.keys() - _SPAN_MEMBERS:
            self.loss.add(f"span.{name}", LossReason.NO_TARGET)
        start, end = _nanoseconds(span.get("start_ns")), _nanoseconds(span.get("end_ns"))
        end_ns = time_ns if end is None else end
        place = {
            **span,
            "trace_id": _id(span.get("trace_id"), 32) or self._trace_id,
            "span_id": _id(span.get("span_id"), 16) or f"{self._span_prefix}{number:08x}",
            "start_ns": end_ns if start is None else start,
            "end_ns": end_ns,
        }
        parent = _id(span.get("parent_id"), 16)
        place["parent_id"] = parent if parent or "span_id" in span else self._root_id
        return place

    def _span(self, number: int, kind: str, data: dict[str, Any], time_ns: int) -> TraceSpan:
        attributes = self._attributes(kind, data)
        span_type = span_type_of(attributes)
        if kind == kinds.TOOL_CALL and "mcp.method.name" in attributes:
            span_type = MCP_CLIENT
        place = self._place(number, data, time_ns)
        span = TraceSpan(
            trace_id=place["trace_id"],
            span_id=place["span_id"],
            parent_id=place["parent_id"],
            name="",
            start_ns=place["start_ns"],
            end_ns=place["end_ns"],
            attributes=attributes,
            kind=0,
        )
        if kinds.SPAN in data:
            self._add_details(span, place)
        if "error.type" in attributes:
            span.status = ERROR_STATUS
        return self._counted(span, span_type)

    def _add_details(self, span: TraceSpan, place: dict[str, Any]) -> None:
        """Add what the event states about its span besides ids and times."""
        span.name = text_or_empty(place.get("name"))
        span.kind = KINDS.get(text_or_empty(place.get("kind")), 0)
        span.status = _STATUSES.get(text_or_empty(place.get("status")), UNSET_STATUS)
        span.status_message = text_or_empty(place.get("message"))
        span.trace_state = text_or_empty(place.get("trace_state"))
        if not self._includes_content:
            # What the attributes of an event hold is not known, so it counts as content.
            for name in ("events", "links"):
                if name in place:
                    self.loss.add(f"span.{name}", LossReason.OPT_IN_DISABLED)
            return
        span.events = [
            SpanEvent(
                text_or_empty(one.get("name")),
                _nanoseconds(one.get("time_ns")) or 0,
                objects(one.get("attributes")),
            )
            for one in list_of_objects(place.get("events"))
        ]
        span.links = [
            SpanLink(
                text_or_empty(one.get("trace_id")),
                text_or_empty(one.get("span_id")),
                objects(one.get("attributes")),
            )
            for one in list_of_objects(place.get("links"))
        ]

    def _attributes(self, kind: str, data: dict[str, Any]) -> dict[str, Any]:
        attributes: dict[str, Any] = {}
        targets = targets_of(kind)
        operation = data.get("operation")
        if not isinstance(operation, str) or event_type_of_operation(operation) != kind:
            attributes[OPERATION] = operation = DEFAULT_OPERATIONS[kind]
        is_agent = operation in AGENT_OPERATIONS
        for name, value in data.items():
            target = targets.get(name)
            if target is None:
                if name != kinds.SPAN:
                    self._set_others(attributes, name, targets, value)
            elif name != "name" or not is_agent:
                self._set(attributes, name, target, value)
        if is_agent and "name" in data and data["name"] != attributes.get(AGENT_NAME, _ABSENT):
            # The conventions have no name for a step of an agent but that of the agent.
            self._set(attributes, "name", targets["agent.name"], data["name"])
        return attributes

    def _set_others(
        self, attributes: dict[str, Any], name: str, targets: Mapping[str, FieldTarget], value: Any
    ) -> None:
        """Add a field that is no attribute by itself: an object of them, or one without a place."""
        if not isinstance(value, dict) or not value or name not in OBJECTS:
            self.loss.add(name, LossReason.NO_TARGET)
        elif name == "attributes":
            self._set_raw(attributes, value)
        else:
            for inner, held in value.items():
                dotted = f"{name}.{inner}"
                target = targets.get(dotted)
                if target is None:
                    self.loss.add(dotted, LossReason.NO_TARGET)
                else:
                    self._set(attributes, dotted, target, held)

    def _set_raw(self, attributes: dict[str, Any], others: dict[str, Any]) -> None:
        """Add the attributes of an imported span that have no field. They may hold content."""
        for name, value in others.items():
            if not self._includes_content:
                self.loss.add(f"attributes.{name}", LossReason.OPT_IN_DISABLED)
            elif name in attributes or name in conventions().attributes:
                self.loss.add(f"attributes.{name}", LossReason.VALUE_UNMAPPED)
            else:
                attributes[name] = value

    def _set(self, attributes: dict[str, Any], name: str, target: FieldTarget, value: Any) -> None:
        if target.is_content and not self._includes_content:
            self.loss.add(name, LossReason.OPT_IN_DISABLED)
            return
        attribute = target.attribute
        kind: object = type(value)
        if kind is target.exact and not target.is_renamed and attribute not in attributes:
            attributes[attribute] = value
            return
        if commitment_in(value) is not None:
            self.loss.add(name, LossReason.VALUE_UNMAPPED)
            return
        is_changed = False
        if name in MESSAGE_FIELDS and target.attribute.endswith(".messages"):
            is_changed = not is_messages(value)
            value = messages_from(value, _ROLES[name]) if is_changed else value
        converted, has_new_type = typed_value(value, target.type)
        self._store(attributes, name, target, converted, is_changed=is_changed or has_new_type)

    def _store(
        self,
        attributes: dict[str, Any],
        name: str,
        target: FieldTarget,
        converted: Any,
        *,
        is_changed: bool,
    ) -> None:
        attribute = target.attribute
        if converted is None or attribute in attributes:
            # Another name of the field may have had the same value; then nothing is lost.
            is_there = converted is not None and attributes[attribute] == converted
            if target.is_renamed or is_changed or not is_there:
                self.loss.add(name, LossReason.VALUE_UNMAPPED)
            return
        attributes[attribute] = converted
        if target.is_renamed:
            self.loss.add(name, LossReason.RENAMED, attribute)
        if is_changed:
            self.loss.add(name, LossReason.TYPE_CHANGED, attribute)

    def _counted(self, span: TraceSpan, span_type: str | None) -> TraceSpan:
        """Give a span its name and kind, and count what it lacks."""
        convention = self._spans.get(span_type or "")
        self.loss.spans += 1
        if convention is None or span_type is None:
            span.name = span.name or str(span.attributes.get(OPERATION, "step"))
            span.kind = span.kind or KINDS["internal"]
            return span
        span.name = span.name or span_name(span.attributes, convention.name)
        span.kind = span.kind or KINDS[convention.kind]
        for name in required_of(span_type):
            if name not in span.attributes:
                self.loss.add_missing(span_type, name)
        return span

    def _evaluations(self, kind: str, data: dict[str, Any], time_ns: int) -> Iterator[LogEvent]:
        stated = objects(data.get(kinds.SPAN))
        if kind != kinds.VERDICT:
            self.loss.add(kind, LossReason.TYPE_CHANGED, EVALUATION)
        for found in _EVALUATIONS[kind](data, self.loss):
            self.loss.events += 1
            if not self._includes_content and "gen_ai.evaluation.explanation" in found:
                del found["gen_ai.evaluation.explanation"]
                self.loss.add("reason", LossReason.OPT_IN_DISABLED)
            yield LogEvent(
                name=EVALUATION,
                time_ns=time_ns,
                trace_id=_id(stated.get("trace_id"), 32) or self._trace_id,
                span_id=_id(stated.get("span_id"), 16) or self._root_id or "",
                attributes=found,
            )


def with_events_on_spans(
    mapped: Iterable[TraceSpan | LogEvent], run: ExportedRun
) -> Iterator[TraceSpan]:
    """Yield the spans; the last, which is that of the run, has the events as events of its own.

    It is for services that take no log records. Events without any span get one.
    """
    last: TraceSpan | None = None
    held: list[LogEvent] = []
    for each in mapped:
        if isinstance(each, LogEvent):
            held.append(each)
            continue
        if last is not None:
            yield last
        last = each
    if last is None and held:
        times = [one.time_ns for one in held]
        last = TraceSpan(
            trace_id=run.trace_id,
            span_id=run.span_id(0),
            name="evaluation",
            start_ns=min(times),
            end_ns=max(times),
            attributes={},
        )
    if last is not None:
        added = [SpanEvent(one.name, one.time_ns, one.attributes) for one in held]
        last.events = [*last.events, *added]
        yield last


def span_name(attributes: Mapping[str, Any], parts: tuple[str, ...]) -> str:
    """Return the name that the conventions give a span."""
    first, last = attributes.get(parts[0]), attributes.get(parts[-1])
    if last is None and parts[-1] == "gen_ai.workflow.name":
        last = attributes.get(AGENT_NAME)
    if not isinstance(first, str):
        return text_or_empty(last)
    return f"{first} {last}" if isinstance(last, str) else first


def _nanoseconds(value: object) -> int | None:
    is_text = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 20
    return int(value) if isinstance(value, str) and is_text else None


def _id(value: object, digits: int) -> str | None:
    if not isinstance(value, str) or len(value) != digits:
        return None
    return value if _HEXADECIMAL.fullmatch(value) else None


_HEXADECIMAL: Final = re.compile("[0-9a-f]+")


def text_or_empty(value: object) -> str:
    """Return a text; an empty one for any other value."""
    return value if isinstance(value, str) else ""


def objects(value: object) -> dict[str, Any]:
    """Return an object; an empty one for any other value."""
    return value if isinstance(value, dict) else {}


def list_of_objects(value: object) -> list[dict[str, Any]]:
    """Return the objects of a list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


# Evaluation events. What a document holds besides stays in the document.


def _evaluation(name: str, label: object, score: object, explanation: object) -> dict[str, Any]:
    found: dict[str, Any] = {"gen_ai.evaluation.name": name}
    if isinstance(score, int | float) and not isinstance(score, bool):
        found["gen_ai.evaluation.score.value"] = float(score)
    if isinstance(label, str):
        found["gen_ai.evaluation.score.label"] = label
    if isinstance(explanation, str):
        found["gen_ai.evaluation.explanation"] = explanation
    return found


VERDICT_NAME: Final = "affidavit.verdict"


def _verdict(data: dict[str, Any], loss: MappingLoss) -> Iterator[dict[str, Any]]:
    subject = data.get("subject")
    for name, value in data.items():
        wanted: Any = {"verdict": str, "reason": str, "subject": str, "score": int | float}.get(
            name
        )
        if wanted is None and name != kinds.SPAN:
            loss.add(name, LossReason.NO_TARGET)
        elif wanted is not None and (isinstance(value, bool) or not isinstance(value, wanted)):
            loss.add(name, LossReason.VALUE_UNMAPPED)
    name = subject if isinstance(subject, str) and subject else VERDICT_NAME
    yield _evaluation(name, data.get("verdict"), data.get("score"), data.get("reason"))


def _gate_report(data: dict[str, Any], loss: MappingLoss) -> Iterator[dict[str, Any]]:
    report = objects(data.get("report"))
    kind = f"gate.{text_or_empty(report.get('kind')) or 'unknown'}"
    reasons = report.get("reasons")
    said = "; ".join(one for one in reasons if isinstance(one, str)) if reasons else None
    yield _evaluation(kind, report.get("decision"), None, said)
    statuses = {
        one.get("metric"): one.get("status") for one in list_of_objects(report.get("gates"))
    }
    for name, figure in objects(report.get("metrics")).items():
        yield _evaluation(f"{kind}.{name}", statuses.get(name), objects(figure).get("value"), None)
    _count_others(report, ("kind", "decision", "reasons", "metrics", "schema_version"), loss)


def _ledger(data: dict[str, Any], loss: MappingLoss) -> Iterator[dict[str, Any]]:
    ledger = objects(data.get("ledger"))
    decision = objects(ledger.get("gates"))
    yield _evaluation("ledger", decision.get("decision"), None, None)
    for entry in list_of_objects(ledger.get("entries")):
        yield _evaluation(
            f"ledger.{text_or_empty(entry.get('claim_id')) or 'claim'}",
            entry.get("verdict"),
            entry.get("confidence_score"),
            None,
        )
    _count_others(ledger, ("gates", "entries", "schema_version"), loss)


def _receipt(data: dict[str, Any], loss: MappingLoss) -> Iterator[dict[str, Any]]:
    receipt = objects(data.get("receipt"))
    yield _evaluation("receipt", receipt.get("verdict"), receipt.get("confidence"), None)
    _count_others(receipt, ("verdict", "confidence", "schema"), loss)


def _soak_trial(data: dict[str, Any], loss: MappingLoss) -> Iterator[dict[str, Any]]:
    trial = objects(data.get("trial"))
    yield _evaluation("soak.trial", trial.get("status"), None, None)
    _count_others(trial, ("status",), loss)


def _count_others(document: Mapping[str, Any], mapped: tuple[str, ...], loss: MappingLoss) -> None:
    for name in document:
        if name not in mapped:
            loss.add(name, LossReason.NO_TARGET)


_EVALUATIONS: Final = {
    kinds.VERDICT: _verdict,
    kinds.GATE_REPORT: _gate_report,
    kinds.LEDGER: _ledger,
    kinds.RECEIPT: _receipt,
    kinds.SOAK_TRIAL: _soak_trial,
}
