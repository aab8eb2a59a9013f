"""Spans of other programs: hostile ones, and each dialect with its own names."""

import json
from typing import Any

import msgspec
import pytest

from affidavit.packs import event_types as kinds
from affidavit.seal.bundle.container import DEFAULT_LIMITS
from affidavit.seal.bundle.writer import EventDraft, EventWriter
from affidavit.telemetry.dialects import dialect_of
from affidavit.telemetry.importing import TraceImporter, identity_of, traces_of
from affidavit.telemetry.loss import MappingLossReport
from affidavit.telemetry.otlp_json import OtlpFormatError, records_in
from affidavit.telemetry.spans import any_value

TRACE, ROOT, CHILD = "ab" * 16, "01" * 8, "02" * 8


def pairs(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": any_value(value)} for name, value in attributes.items()]


def span(attributes: Any, **members: Any) -> dict[str, Any]:
    listed = pairs(attributes) if isinstance(attributes, dict) else attributes
    usual = {"traceId": TRACE, "spanId": CHILD, "parentSpanId": ROOT, "name": "s"}
    times = {"startTimeUnixNano": "1000000000", "endTimeUnixNano": "2000000000"}
    return {**usual, **times, "attributes": listed, **members}


ROOT_SPAN = span({}, spanId=ROOT, parentSpanId="", name="agent", endTimeUnixNano="3000000000")


def message(*spans: Any, logs: Any = (), **resource: Any) -> bytes:
    owner = {"resource": {"attributes": pairs({"service.name": "shop", **resource})}}
    wire = {
        "resourceSpans": [{**owner, "scopeSpans": [{"scope": {"name": "s"}, "spans": spans}]}],
        "resourceLogs": [{**owner, "scopeLogs": [{"logRecords": logs}]}],
    }
    return msgspec.json.encode(wire)


def run_of(raw: bytes, dialect: str | None = None) -> tuple[list[EventDraft], MappingLossReport]:
    received = list(records_in(raw))
    (trace,) = traces_of(
        (one.resource, one.scope, one.record) for one in received if one.record is not None
    )
    importer = TraceImporter(trace, dialect)
    for one in received:
        if one.record is None:
            importer.loss.add_finding(one.finding)
    drafts = list(importer.drafts())
    writer = EventWriter(identity_of(trace))
    # Every event fits into a bundle, whatever was sent.
    assert all(len(writer.append(draft)) < DEFAULT_LIMITS.max_line_bytes for draft in drafts)
    return drafts, importer.loss.report()


def data_of(drafts: list[EventDraft], kind: str) -> dict[str, Any]:
    (found,) = [one.data for one in drafts if one.type == kind]
    assert isinstance(found, dict)
    return found


CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1"}


def nested(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    return value


HOSTILE: dict[str, Any] = {
    "an attribute of 10 MB": span({**CHAT, "gen_ai.input.messages": "x" * 10_000_000}),
    "a hundred thousand attributes": span({f"a{n}": n for n in range(100_000)} | CHAT),
    "many large attributes": span({f"a{n}": "y" * 100_000 for n in range(20)} | CHAT),
    "a key of a megabyte": span({"k" * 1_000_000: 1, **CHAT}),
}


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_span_costs_one_finding(hostile: Any) -> None:
    good = span({**CHAT, "gen_ai.request.model": "m-2"}, spanId="03" * 8)
    drafts, report = run_of(message(ROOT_SPAN, hostile, good))
    assert len(report.findings) == 1
    assert CHILD in report.findings[0]
    models = [one.data.get("model") for one in drafts if one.type == kinds.MODEL_CALL]
    assert sorted(map(str, models)) in (["m-1", "m-2"], ["None", "m-2"])


HARMLESS: dict[str, Any] = {
    "control characters": span({**CHAT, "x": "\x00\x1b[2J"}),
    "a deep value": span({**CHAT, "x": nested(60)}),
    "other types than the conventions have": span(
        {**CHAT, "gen_ai.usage.input_tokens": "many", "gen_ai.request.seed": 1.5}
    ),
    "values that are no AnyValue": span(
        [*pairs(CHAT), {"key": "a", "value": 7}, {"key": 5}, {"value": {}}, {"key": "b"}]
    ),
    "numbers that JSON has not": span(
        {**CHAT, "x": float("nan"), "y": 2**62, "z": b"\xff", "w": float("inf")}
    ),
}


@pytest.mark.parametrize("odd", HARMLESS.values(), ids=HARMLESS.keys())
def test_an_odd_span_is_an_event_all_the_same(odd: Any) -> None:
    drafts, report = run_of(message(ROOT_SPAN, odd))
    assert report.findings == ()
    assert data_of(drafts, kinds.MODEL_CALL)["model"] == "m-1"


REFUSED: dict[str, Any] = {
    "an id that is no id": span(CHAT, spanId="xyz"),
    "no trace": {"spanId": CHILD},
    "a time of the wrong type": span(CHAT, startTimeUnixNano=[]),
    "a time before 1970": span(CHAT, startTimeUnixNano="-1"),
    "not an object": 5,
}


@pytest.mark.parametrize("bad", REFUSED.values(), ids=REFUSED.keys())
def test_a_malformed_span_is_left_out_with_a_finding(bad: Any) -> None:
    drafts, report = run_of(message(ROOT_SPAN, bad))
    assert [one.type for one in drafts] == [
        kinds.RUN_STARTED,
        kinds.ENVIRONMENT,
        kinds.RUN_FINISHED,
    ]
    assert len(report.findings) == 1
    assert "is left out" in report.findings[0]


@pytest.mark.parametrize(
    "raw", [b"", b"[]", b"{}", b"\xff", b'{"resourceSpans":5}', b"[" * 100_000]
)
def test_what_is_not_otlp_is_refused(raw: bytes) -> None:
    with pytest.raises(OtlpFormatError):
        list(records_in(raw))


OPENINFERENCE = {
    "openinference.span.kind": "LLM",
    "llm.model_name": "gpt-4o",
    "llm.provider": "mistralai",
    "llm.token_count.prompt": 12,
    "llm.token_count.completion": 3,
    "llm.token_count.total": 15,
    "llm.invocation_parameters": '{"temperature": 0, "seed": 7, "user": "ann"}',
    "llm.input_messages.0.message.role": "user",
    "llm.input_messages.0.message.content": "How many days?",
    "llm.output_messages.0.message.role": "assistant",
    "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c-1",
    "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "days",
    "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"of": "leave"}',
}
ASKED = [{"role": "user", "parts": [{"type": "text", "content": "How many days?"}]}]
CALLED = [
    {
        "role": "assistant",
        "parts": [{"type": "tool_call", "id": "c-1", "name": "days", "arguments": {"of": "leave"}}],
    }
]
TRACELOOP = {
    "llm.request.type": "chat",
    "gen_ai.system": "openai",
    "gen_ai.request.model": "gpt-4o",
    "gen_ai.usage.prompt_tokens": 12,
    "gen_ai.usage.completion_tokens": 3,
    "gen_ai.request.temperature": 0,
    "gen_ai.prompt.0.role": "user",
    "gen_ai.prompt.0.content": "How many days?",
    "gen_ai.completion.0.role": "assistant",
    "gen_ai.completion.0.finish_reason": "tool_calls",
    "gen_ai.completion.0.tool_calls.0.id": "c-1",
    "gen_ai.completion.0.tool_calls.0.name": "days",
    "gen_ai.completion.0.tool_calls.0.arguments": '{"of": "leave"}',
}
LANGFUSE = {
    "langfuse.observation.type": "generation",
    "langfuse.observation.model.name": "gpt-4o",
    "langfuse.observation.model.parameters": '{"temperature": 0}',
    "langfuse.observation.usage_details": '{"input": 12, "output": 3}',
    "langfuse.observation.input": '[{"role": "user", "content": "How many days?"}]',
    "langfuse.observation.output": json.dumps(
        {
            "role": "assistant",
            "tool_calls": [
                {"id": "c-1", "function": {"name": "days", "arguments": '{"of": "leave"}'}}
            ],
        }
    ),
}
DIALECTS: dict[str, dict[str, Any]] = {
    "openinference": OPENINFERENCE,
    "traceloop": TRACELOOP,
    "langfuse": LANGFUSE,
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_model_call_in_each_dialect(dialect: str) -> None:
    attributes = DIALECTS[dialect]
    assert dialect_of(attributes) == dialect
    drafts, report = run_of(message(ROOT_SPAN, span(attributes)))
    call = data_of(drafts, kinds.MODEL_CALL)
    assert (call["model"], call["operation"]) == ("gpt-4o", "chat")
    assert (call["input"], call["output"]) == (ASKED, CALLED)
    assert call["usage"] == {"input_tokens": 12, "output_tokens": 3}
    assert call["parameters"]["temperature"] == 0
    assert report.changed > 4
    assert report.dropped == 0
    kept = call.get("attributes", {})
    if dialect == "openinference":
        assert call["provider"] == "mistral_ai"
        assert call["parameters"]["seed"] == 7
        assert kept == {
            "llm.token_count.total": 15,
            "llm.invocation_parameters": {"user": "ann"},
        }


STEPS: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "a tool of OpenInference": (
        {
            "openinference.span.kind": "TOOL",
            "tool.name": "days",
            "input.value": '{"of": "leave"}',
            "output.value": "12",
        },
        kinds.TOOL_CALL,
        {"tool": "days", "input": {"of": "leave"}, "output": "12"},
    ),
    "a retriever of OpenInference": (
        {
            "openinference.span.kind": "RETRIEVER",
            "input.value": "days?",
            "retrieval.documents.0.document.id": "d-1",
            "retrieval.documents.0.document.content": "12 days",
        },
        kinds.RETRIEVAL,
        {"query": "days?", "results": [{"id": "d-1", "content": "12 days"}]},
    ),
    "a tool of Traceloop": (
        {
            "traceloop.span.kind": "tool",
            "traceloop.entity.name": "days",
            "traceloop.entity.input": '{"of": "leave"}',
            "traceloop.entity.output": '{"days": 12}',
        },
        kinds.TOOL_CALL,
        {"tool": "days", "input": {"of": "leave"}, "output": {"days": 12}},
    ),
    "a retriever of Langfuse": (
        {
            "langfuse.observation.type": "retriever",
            "langfuse.observation.input": "days?",
            "langfuse.observation.output": '[{"content": "12 days"}]',
        },
        kinds.RETRIEVAL,
        {"query": "days?", "results": [{"content": "12 days"}]},
    ),
    "a reranker has no operation": (
        {"openinference.span.kind": "RERANKER"},
        kinds.STEP,
        {"name": "s"},
    ),
    "a tool of MCP": (
        {
            "mcp.method.name": "tools/call",
            "gen_ai.tool.name": "days",
            "gen_ai.tool.call.arguments": "{}",
            "mcp.session.id": "x",
        },
        kinds.TOOL_CALL,
        {"tool": "days", "input": {}, "mcp": {"method.name": "tools/call", "session.id": "x"}},
    ),
    "an agent": (
        {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"},
        kinds.STEP,
        {"name": "helper", "agent": {"name": "helper"}},
    ),
    "names of earlier versions of the conventions": (
        {**CHAT, "gen_ai.system": "openai", "gen_ai.usage.prompt_tokens": 5},
        kinds.MODEL_CALL,
        {"provider": "openai", "usage": {"input_tokens": 5}},
    ),
    "a span of another library": ({"http.method": "GET"}, kinds.STEP, {"name": "s"}),
}


@pytest.mark.parametrize(("attributes", "kind", "wanted"), STEPS.values(), ids=STEPS.keys())
def test_a_span_becomes_an_event(
    attributes: dict[str, Any], kind: str, wanted: dict[str, Any]
) -> None:
    drafts, _ = run_of(message(ROOT_SPAN, span(attributes)))
    data = data_of(drafts, kind)
    assert {name: data.get(name) for name in wanted} == wanted


def test_the_root_is_the_run() -> None:
    root = span(
        {"openinference.span.kind": "CHAIN", "input.value": "days?", "output.value": "12"},
        **{"spanId": ROOT, "parentSpanId": "", "name": "agent"},
        status={"code": 2, "message": "late"},
    )
    resource = {"service.version": "1.2", "process.runtime.version": "3.11"}
    drafts, _ = run_of(message(root, span(CHAT), **resource))
    assert [one.type for one in drafts] == [
        kinds.RUN_STARTED,
        kinds.CODE_VERSION,
        kinds.ENVIRONMENT,
        kinds.MODEL_CALL,
        kinds.RUN_FINISHED,
    ]
    assert drafts[0].data["input"][0]["parts"][0]["content"] == "days?"
    assert drafts[0].time == "1970-01-01T00:00:01Z"
    assert drafts[-1].data["status"] == "error"
    assert drafts[-1].data["output"][0]["parts"][0]["content"] == "12"
    assert drafts[1].data == {"version": "1.2", "service": "shop"}


def test_a_model_call_alone_is_a_run_with_its_input() -> None:
    lone = span(OPENINFERENCE, parentSpanId="")
    drafts, _ = run_of(message(lone))
    assert drafts[0].data["input"] == ASKED
    assert data_of(drafts, kinds.MODEL_CALL)["output"] == CALLED
    assert data_of(drafts, kinds.RUN_FINISHED)["status"] == "ok"


def test_messages_that_were_logged_beside_the_span() -> None:
    place = {"traceId": TRACE, "spanId": CHILD, "timeUnixNano": "1500000000"}
    asked = {"eventName": "gen_ai.user.message", "body": any_value({"content": "How many days?"})}
    said = {
        "eventName": "gen_ai.choice",
        "body": any_value({"index": 0, "message": {"role": "assistant", "content": "12"}}),
    }
    other = {"eventName": "my.event", "body": any_value("x")}
    logs = tuple({**place, **one} for one in (asked, said, other))
    drafts, report = run_of(message(ROOT_SPAN, span(CHAT), logs=logs))
    call = data_of(drafts, kinds.MODEL_CALL)
    assert call["input"] == ASKED
    assert call["output"][0]["parts"] == [{"type": "text", "content": "12"}]
    assert report.unknown_events == {"my.event": 1}


def test_evaluations_in_events_of_a_span() -> None:
    result = {
        "name": "gen_ai.evaluation.result",
        "timeUnixNano": "1",
        "attributes": pairs(
            {"gen_ai.evaluation.name": "faith", "gen_ai.evaluation.score.value": 0.5, "by": "x"}
        ),
    }
    error = {"name": "exception", "timeUnixNano": "1", "attributes": pairs({"exception.type": "E"})}
    drafts, _ = run_of(message(ROOT_SPAN, span(CHAT, events=[result, error])))
    verdict = data_of(drafts, kinds.VERDICT)
    assert (verdict["subject"], verdict["score"]) == ("faith", 0.5)
    assert verdict["attributes"] == {"by": "x"}
    (kept,) = data_of(drafts, kinds.MODEL_CALL)["span"]["events"]
    assert kept["name"] == "exception"


def test_another_service_of_the_trace_is_named() -> None:
    other = json.loads(message(span(CHAT)))
    other["resourceSpans"][0]["resource"]["attributes"] = pairs({"service.name": "model-gateway"})
    first = json.loads(message(ROOT_SPAN))
    first["resourceSpans"] += other["resourceSpans"]
    drafts, _ = run_of(json.dumps(first).encode())
    assert data_of(drafts, kinds.MODEL_CALL)["span"]["service"] == "model-gateway"
    assert [one.type for one in drafts].count(kinds.ENVIRONMENT) == 2
