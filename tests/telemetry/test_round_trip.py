"""Export, then import: every field comes back as it was, or the loss report names it."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from affidavit.base.canonical import jcs
from affidavit.base.strict_json import decode
from affidavit.packs import event_types as kinds
from affidavit.seal.bundle.writer import EventDraft
from affidavit.telemetry.conventions import conventions
from affidavit.telemetry.exporting import ExportedRun, RunExporter
from affidavit.telemetry.fields import DEFAULT_OPERATIONS, NESTED_IN, OBJECTS, targets_of
from affidavit.telemetry.importing import TraceImporter, identity_of, traces_of
from affidavit.telemetry.loss import MappingLossReport
from affidavit.telemetry.otlp_json import records_in
from affidavit.telemetry.protobuf import (
    decode_logs,
    decode_traces,
    logs_from,
    logs_request,
    spans_from,
    trace_request,
)
from affidavit.telemetry.spans import LogEvent, OtlpJson, TraceSpan

RUN = ExportedRun(run_id="r-1", source="urn:x:y", producer="agent", producer_version="2.0")
AT = "2026-01-31T14:30:00.123456789Z"


def exported(
    *events: Mapping[str, Any], include_content: bool = True
) -> tuple[list[TraceSpan], list[LogEvent], MappingLossReport]:
    exporter = RunExporter(RUN, include_content=include_content)
    mapped = list(exporter.export(events))
    spans = [one for one in mapped if isinstance(one, TraceSpan)]
    logs = [one for one in mapped if isinstance(one, LogEvent)]
    return spans, logs, exporter.loss.report()


def imported(spans: list[TraceSpan], logs: list[LogEvent]) -> list[EventDraft]:
    """Return the events after a way through OTLP/JSON."""
    wire = OtlpJson(RUN.resource, "0", conventions().schema_url)
    received = [*records_in(wire.traces(spans)), *records_in(wire.logs(logs))]
    assert [one.finding for one in received if one.record is None] == []
    (trace,) = traces_of(
        (one.resource, one.scope, one.record) for one in received if one.record is not None
    )
    run = identity_of(trace)
    assert (run.id, run.source, run.producer, run.producer_version) == (
        *("r-1", "urn:x:y"),
        *("agent", "2.0"),
    )
    return list(TraceImporter(trace).drafts())


def event(kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": kind, "time": AT, "data": data}


STARTED = event(kinds.RUN_STARTED, {})
FINISHED = event(kinds.RUN_FINISHED, {"status": "ok"})


def flat(data: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return the fields, those of nested objects under dotted names."""
    found = {}
    for name, value in data.items():
        if isinstance(value, dict) and value and name in OBJECTS:
            found.update({f"{name}.{inner}": held for inner, held in value.items()})
        else:
            found[name] = value
    return found


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53) + 1, 2**53 - 1),
    st.floats(-1e15, 1e15),
    texts,
    st.sampled_from(["{}", '{"a":1}', "[1,2", '"quoted"', "null", "true", "12", "\x00\x1b"]),
)
ascii_names = st.text("abcxyz._", min_size=1, max_size=8)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ascii_names, inner, max_size=3),
    max_leaves=6,
)
messages = st.lists(
    st.fixed_dictionaries(
        {
            "role": st.sampled_from(["user", "assistant", "tool"]),
            "parts": st.lists(st.fixed_dictionaries({"type": st.just("text"), "content": texts})),
        }
    ),
    min_size=1,
    max_size=2,
)
operations = {
    kinds.MODEL_CALL: st.sampled_from(["chat", "embeddings", "execute_tool", "other"]),
    kinds.TOOL_CALL: st.sampled_from(["execute_tool", "chat"]),
    kinds.RETRIEVAL: st.sampled_from(["retrieval", "plan"]),
    kinds.STEP: st.sampled_from(["invoke_workflow", "invoke_agent", "plan", "retrieval", "mine"]),
}


def data_of(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    """Return data with fields of the table, right and wrong values, and fields of no table."""
    known = targets_of(kind)
    plain = {name: values for name in known if "." not in name}
    plain["operation"] = operations[kind]
    for name in ("input", "output"):
        if name in plain and kind != kinds.TOOL_CALL:
            plain[name] = values | messages
    nested = {}
    for outer in NESTED_IN[kind]:
        inner = [name.partition(".")[2] for name in known if name.startswith(f"{outer}.")]
        if inner:
            nested[outer] = st.dictionaries(st.sampled_from([*inner, "zzz"]), values, max_size=4)
    others = {"custom": values, "attributes": st.dictionaries(ascii_names, values, max_size=3)}
    return st.fixed_dictionaries({}, optional={**plain, **nested, **others})


@pytest.mark.parametrize("kind", DEFAULT_OPERATIONS)
def test_a_round_trip_loses_exactly_what_the_report_says(kind: str) -> None:
    @settings(max_examples=50, deadline=None)
    @given(data_of(kind))
    @example({"operation": "invoke_agent", "name": None})
    @example({"parameters": {"stop": [], "stop_sequences": []}})
    def law(data: dict[str, Any]) -> None:
        # A bundle holds canonical JSON, in which 1.0 is 1.
        before = decode(jcs(data))
        assert isinstance(before, dict)
        spans, logs, report = exported(STARTED, event(kind, before), FINISHED)
        drafts = imported(spans, logs)
        assert [one.type for one in drafts] == [kinds.RUN_STARTED, kind, kinds.RUN_FINISHED]
        assert drafts[1].time == AT
        after = flat(drafts[1].data, kind)
        reported = {one.name for one in report.attributes}
        for name, value in flat(before, kind).items():
            is_same = name in after and jcs(after[name]) == jcs(value)
            assert is_same == (name not in reported), (name, value, after.get(name))
        added = after.keys() - flat(before, kind).keys()
        renamed = {target.attribute for target in targets_of(kind).values()}
        assert all(
            name in ("span", "operation", "name")
            or (name in targets_of(kind) and targets_of(kind)[name].attribute in renamed)
            for name in added
        )

    law()


VERDICTS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "all that the conventions have": (
        {"verdict": "ship", "score": 0.5, "subject": "answer", "reason": "cited"},
        set(),
    ),
    "a field of no attribute is lost": ({"verdict": "ship", "by": "ann"}, {"by"}),
    "a score that is no number is lost": ({"verdict": "ship", "score": "high"}, {"score"}),
}


@pytest.mark.parametrize(("data", "lost"), VERDICTS.values(), ids=VERDICTS.keys())
def test_a_verdict_is_an_evaluation(data: dict[str, Any], lost: set[str]) -> None:
    spans, logs, report = exported(STARTED, event(kinds.VERDICT, data), FINISHED)
    assert {one.name for one in report.attributes} == lost
    (verdict,) = [one for one in imported(spans, logs) if one.type == kinds.VERDICT]
    place = verdict.data.pop("span")
    assert verdict.data == {name: value for name, value in data.items() if name not in lost}
    assert place == {"trace_id": RUN.trace_id, "span_id": RUN.span_id(0)}


def test_protobuf_says_the_same_as_json() -> None:
    data = {
        "model": "m",
        "input": "q",
        "parameters": {"seed": 7, "temperature": 0.5, "stop_sequences": ["a", "b"]},
        "attributes": {"flag": True, "bag": {"n": [1, None, 2.5]}, "big": 2**60},
        "span": {
            **{"trace_id": "ab" * 16, "span_id": "cd" * 8, "parent_id": "ef" * 8},
            **{"start_ns": "17", "end_ns": "19", "status": "ok", "message": "fine"},
            "name": "mine",
            "kind": "server",
            "trace_state": "a=b",
            "events": [{"name": "e", "time_ns": "18", "attributes": {"x": 1}}],
            "links": [{"trace_id": "11" * 16, "span_id": "22" * 8, "attributes": {}}],
        },
    }
    spans, logs, _ = exported(
        event(kinds.MODEL_CALL, data), event(kinds.VERDICT, {"verdict": "ship", "score": 1})
    )
    schema = conventions().schema_url
    request = decode_traces(trace_request(RUN.resource, "0", schema, spans).SerializeToString())
    assert request is not None
    assert [one for _, _, one in spans_from(request)] == spans
    sent = decode_logs(logs_request(RUN.resource, "0", schema, logs).SerializeToString())
    assert sent is not None
    assert [one for _, _, one in logs_from(sent)] == logs
    wire = OtlpJson(RUN.resource, "0", schema)
    assert [one.record for one in records_in(wire.traces(spans))] == spans
    assert [one.record for one in records_in(wire.logs(logs))] == logs
    assert {one.resource["service.name"] for one in records_in(wire.traces(spans))} == {"agent"}


def test_what_follows_from_the_run_is_the_same_each_time() -> None:
    events = (STARTED, event(kinds.TOOL_CALL, {"tool": "t"}), FINISHED)
    assert exported(*events) == exported(*events)
    spans, _, _ = exported(*events)
    assert {one.trace_id for one in spans} == {RUN.trace_id}
    assert spans[0].parent_id == spans[1].span_id


def test_bytes_that_are_no_protobuf() -> None:
    assert decode_traces(b"\xff\xff\xff") is None
    assert decode_logs(b"\xff\xff\xff") is None
