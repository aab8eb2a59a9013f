"""OTLP JSON exports: spans by trace, in the OpenInference, OTEL gen_ai and Langfuse conventions.

Origin: the OTLP JSON encoding of opentelemetry-proto (one document, or one per line);
openinference-semantic-conventions 0.1.42; OpenTelemetry's conventions for generative AI, which are
still in development; and the attributes that langfuse 5.0.4 sends.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from affidavit.importers.fields import (
    ASSISTANT_ROLES,
    USER_ROLES,
    chunk_from,
    decode_if_json,
    find_answer,
    find_question,
    last_text,
    milliseconds,
    row_in,
    rows_in,
    score_from,
    text,
)
from affidavit.importers.tool_format import (
    GOLD_AND_TRACE,
    TRACE_ONLY,
    ImportedChunk,
    Numbered,
    Record,
    RoleSet,
    Row,
    RowProblem,
    ToolFormat,
    ToolName,
    ToolScore,
    id_of,
    row_shaper,
)

# The spans of a trace may be anywhere in the file, so all spans are kept until its end. A trace
# without a span of a model or a retriever is not a question and is ignored.

TRACE_ID_KEY: Final = "otlp.trace_id"
SPAN_ID_KEY: Final = "otlp.span_id"
PARENT_ID_KEY: Final = "otlp.parent_span_id"
START_KEY: Final = "otlp.start"
END_KEY: Final = "otlp.end"
EVENTS_KEY: Final = "otlp.events"

CONVENTION_MARKERS: Final = ("openinference.span.kind", "gen_ai.operation.name", "gen_ai.system")
LANGFUSE_TYPE_KEY: Final = "langfuse.observation.type"


def spans_in_export(value: object) -> Iterable[object] | None:
    """Return the spans of an export, each as a flat object of its attributes and ids."""
    if not isinstance(value, Mapping) or not isinstance(value.get("resourceSpans"), list):
        return None
    return [
        _flat(span)
        for resource in _objects(value["resourceSpans"])
        for scope in _objects(resource.get("scopeSpans"))
        for span in _objects(scope.get("spans"))
    ]


def group_by_trace(rows: Iterable[Numbered]) -> Iterator[Numbered]:
    """Yield the spans of each trace, in the order of their start, with the line of the first."""
    traces: dict[str, list[Row]] = {}
    lines: dict[str, int] = {}
    for line, row in rows:
        span = row_in(row, "spans")
        trace = str(span[TRACE_ID_KEY])
        traces.setdefault(trace, []).append(span)
        lines.setdefault(trace, line)
    for trace, spans in traces.items():
        if any(mark in span for span in spans for mark in (*CONVENTION_MARKERS, LANGFUSE_TYPE_KEY)):
            yield lines[trace], {"spans": sorted(spans, key=_order)}


def roots_of(spans: list[Row]) -> list[Row]:
    """Return the root spans: those whose parent is not in the trace."""
    known = {str(span.get(SPAN_ID_KEY)) for span in spans}
    return [
        span
        for span in spans
        if span.get(PARENT_ID_KEY) is None or str(span.get(PARENT_ID_KEY)) not in known
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
    return _nanoseconds(span, START_KEY), str(span.get(SPAN_ID_KEY))


def _nanoseconds(span: Row, name: str) -> int:
    """Return a time of a span; 0 if it is not known."""
    time = str(span.get(name) or "0")
    return int(time) if time.isascii() and time.isdigit() else 0


def _time_between(spans: list[Row]) -> float | None:
    """Return the milliseconds from the first start to the last end of some spans."""
    starts = [_nanoseconds(span, START_KEY) for span in spans]
    ends = [_nanoseconds(span, END_KEY) for span in spans]
    return milliseconds(max(ends) - min(starts), 1e-6) if all((*starts, *ends)) else None


def _flat(span: Row) -> dict[str, object]:
    flat = attributes_of(span)
    flat[TRACE_ID_KEY] = span.get("traceId")
    flat[SPAN_ID_KEY] = span.get("spanId")
    flat[PARENT_ID_KEY] = span.get("parentSpanId") or None
    flat[START_KEY] = span.get("startTimeUnixNano")
    flat[END_KEY] = span.get("endTimeUnixNano")
    flat[EVENTS_KEY] = [
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
    """Return the value of an OTLP AnyValue, in which integers are written as strings."""
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


# From a trace to a record. The question and the answer are those of the root span. If it has none,
# the question is that of the retriever or the model, and the answer is the last one of a model. The
# retrieved passages are those of the last reranker, else those of the retrievers in their order.


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanStep:
    """The contents of one span, in any convention."""

    asked: str | None = None
    answered: str | None = None
    found: tuple[ImportedChunk, ...] | None = None
    is_model: bool = False
    is_reranker: bool = False


def record_from_trace(row: Row) -> Record:
    """Return the record of a trace."""
    spans = rows_in(row["spans"], "spans")
    steps = [step_of(span) for span in spans]
    first = roots_of(spans)
    roots = [step_of(span) for span in first]
    question = first_non_empty(step.asked for step in (*roots, *steps))
    qid = first_non_empty(_qid(span) for span in spans)
    if question is None and qid is None:
        raise RowProblem("its spans contain no question; the recording of texts may be disabled")
    models = (step.answered for step in reversed(steps) if step.is_model)
    expected = first_non_empty(
        text(span, "langfuse.experiment.item.expected_output") for span in spans
    )
    return Record(
        qid=qid,
        question=question,
        references=None if expected is None else (find_answer(expected) or expected,),
        is_run=True,
        answer=first_non_empty((*(step.answered for step in roots), *models)),
        retrieved=retrieved_chunks(steps),
        scores={name: score for span in spans for name, score in _scores(span).items()},
        latency_ms=_time_between(first or spans),
    )


def step_of(span: Row) -> SpanStep:
    """Return the contents of a span."""
    if LANGFUSE_TYPE_KEY in span:
        return _langfuse(span)
    return _openinference(span) if "openinference.span.kind" in span else _gen_ai(span)


def _openinference(span: Row) -> SpanStep:
    kind = span["openinference.span.kind"]
    is_reranker = kind == "RERANKER"
    prefix = "reranker.output_documents" if is_reranker else "retrieval.documents"
    found = tuple(
        ImportedChunk(text(one, "document.id"), text(one, "document.content"))
        for one in indexed(span, prefix)
    )
    asked = find_question(span.get("input.value")) or last_text(
        _messages(indexed(span, "llm.input_messages")), USER_ROLES
    )
    answered = last_text(_messages(indexed(span, "llm.output_messages")), ASSISTANT_ROLES)
    if answered is None and kind not in ("RETRIEVER", "RERANKER", "EMBEDDING"):
        answered = find_answer(span.get("output.value"))
    searched = found or (() if kind == "RETRIEVER" else None)
    return SpanStep(
        asked=asked,
        answered=answered,
        found=searched,
        is_model=kind == "LLM",
        is_reranker=is_reranker,
    )


def _messages(flattened: list[dict[str, object]]) -> list[object]:
    return [
        {"role": one.get("message.role"), "content": one.get("message.content")}
        for one in flattened
    ]


def _gen_ai(span: Row) -> SpanStep:
    operation = span.get("gen_ai.operation.name")
    asked = last_text(decode_if_json(span.get("gen_ai.input.messages")), USER_ROLES)
    answered = last_text(decode_if_json(span.get("gen_ai.output.messages")), ASSISTANT_ROLES)
    # The attributes of OpenLLMetry and of earlier versions of the conventions.
    asked = asked or last_text(indexed(span, "gen_ai.prompt"), USER_ROLES)
    answered = answered or last_text(indexed(span, "gen_ai.completion"), ASSISTANT_ROLES)
    documents = decode_if_json(span.get("gen_ai.retrieval.documents"))
    found = None
    if documents is not None or operation == "retrieval":
        asked = asked or text(span, "gen_ai.retrieval.query.text")
        found = _passages(documents, "gen_ai.retrieval.documents")
    is_model = operation not in ("retrieval", "execute_tool")
    return SpanStep(asked=asked, answered=answered, found=found, is_model=is_model)


def _langfuse(span: Row) -> SpanStep:
    return observation_step(
        span[LANGFUSE_TYPE_KEY],
        span.get("langfuse.observation.input"),
        span.get("langfuse.observation.output"),
    )


def observation_step(kind: object, asked: object, answered: object) -> SpanStep:
    """Return the contents of a Langfuse observation."""
    if str(kind).lower() == "retriever":
        found = _passages(decode_if_json(answered), "output")
        return SpanStep(asked=find_question(asked), found=found)
    is_model = str(kind).lower() == "generation"
    return SpanStep(asked=find_question(asked), answered=find_answer(answered), is_model=is_model)


def _passages(documents: object, name: str) -> tuple[ImportedChunk, ...] | None:
    if isinstance(documents, Mapping):
        documents = documents.get("documents", documents.get("results"))
    if not isinstance(documents, list):
        return None
    return tuple(chunk_from(one, name) for one in documents)


def retrieved_chunks(steps: list[SpanStep]) -> tuple[ImportedChunk, ...] | None:
    """Return the passages that the pipeline had when it answered."""
    reranked = [step.found for step in steps if step.is_reranker and step.found is not None]
    found = reranked[-1:] or [step.found for step in steps if step.found is not None]
    if not found:
        return None
    unique: dict[str, ImportedChunk] = {}
    for chunk in (one for part in found for one in part):
        unique.setdefault(id_of(chunk), chunk)
    return tuple(unique.values())


def _qid(span: Row) -> str | None:
    """Return the recorded qid of the question, if any."""
    named = text(span, "qid", "affidavit.qid", "langfuse.experiment.item.id")
    if named is not None:
        return named
    for name in ("metadata", "langfuse.observation.metadata", "langfuse.trace.metadata"):
        inside = decode_if_json(span.get(f"{name}.qid"))
        whole = decode_if_json(span.get(name))
        inside = whole.get("qid") if inside is None and isinstance(whole, Mapping) else inside
        if isinstance(inside, str | int):
            return str(inside)
    return None


def _scores(span: Row) -> dict[str, ToolScore]:
    """Return the results of evaluations: events of gen_ai, and attributes of OpenInference."""
    found: dict[str, ToolScore] = {}
    events = span.get(EVENTS_KEY)
    for event in events if isinstance(events, list) else ():
        if event.get("name") == "gen_ai.evaluation.result":
            name = text(event, "gen_ai.evaluation.name") or "unnamed"
            found[name] = _score(
                event.get("gen_ai.evaluation.score.value"),
                event.get("gen_ai.evaluation.score.label"),
            )
    for one in indexed(span, "evaluations"):
        name = text(one, "evaluation.name") or "unnamed"
        found[name] = _score(one.get("evaluation.score"), one.get("evaluation.label"))
    return found


def _score(value: object, label: object) -> ToolScore:
    for held in (value, label):
        if isinstance(held, str | int | float):
            return score_from(held)
    return None


def first_non_empty(found: Iterable[str | None]) -> str | None:
    """Return the first text that is not empty."""
    return next((one for one in found if one), None)


def _otlp_format(name: ToolName, *markers: str, holds: RoleSet = TRACE_ONLY) -> ToolFormat:
    return ToolFormat(
        format=name,
        signatures=tuple((TRACE_ID_KEY, marker) for marker in markers),
        shape=row_shaper(record_from_trace),
        unfold=spans_in_export,
        regroup=group_by_trace,
        holds=holds,
        appends=True,
        remedy="have the program record the documents of its retriever with their texts",
    )


# An experiment also records the expected output of an item.
LANGFUSE_SPANS: Final = _otlp_format(ToolName.LANGFUSE, LANGFUSE_TYPE_KEY, holds=GOLD_AND_TRACE)
OPENINFERENCE: Final = _otlp_format(ToolName.OPENINFERENCE, "openinference.span.kind")
GEN_AI: Final = _otlp_format(ToolName.GEN_AI, "gen_ai.operation.name", "gen_ai.system")
