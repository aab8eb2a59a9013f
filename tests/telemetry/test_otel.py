"""The span processor with the real SDK: every trace becomes a bundle, and nothing raises."""

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from opentelemetry._logs import LogRecord
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import SpanKind, Status, StatusCode
from tests.seal.bundle_making import members_of, verified

from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit
from affidavit.otel import SealingSpanProcessor
from affidavit.telemetry.importing import OwnedSpan

CHAT = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "m-1",
    "gen_ai.request.stop_sequences": ("a", "b"),
}


def provider_of(processor: SealingSpanProcessor) -> TracerProvider:
    resource = Resource.create({"service.name": "shop", "service.version": "1.2"})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(processor)
    return provider


def events_of(bundle: Path) -> list[dict[str, Any]]:
    raw = bundle.read_bytes()
    assert verified(raw).exit is Exit.YES
    return [json.loads(line) for line in members_of(raw)[1].splitlines()]


def test_every_trace_becomes_a_bundle(tmp_path: Path) -> None:
    processor = SealingSpanProcessor(tmp_path / "evidence", linger_seconds=0.01)
    provider = provider_of(processor)
    tracer = provider.get_tracer("agent")
    for question in ("one", "two"):
        with tracer.start_as_current_span("agent") as root:
            root.set_attribute("input.value", question)
            root.set_attribute("openinference.span.kind", "AGENT")
            with tracer.start_as_current_span(
                "chat m-1", kind=SpanKind.CLIENT, attributes=CHAT
            ) as span:
                span.add_event("note", {"x": 1})
                span.set_status(Status(StatusCode.ERROR, "late"))
    provider.shutdown()
    assert (processor.problems, len(processor.sealed)) == ((), 2)
    first = events_of(processor.sealed[0])
    assert [one["type"].removeprefix("affidavit.") for one in first] == [
        *("run.started", "code.version", "environment", "model.call", "run.finished")
    ]
    call = first[3]["data"]
    assert call["parameters"] == {"stop_sequences": ["a", "b"]}
    assert (call["span"]["status"], call["span"]["message"]) == ("error", "late")
    assert call["span"]["events"][0]["name"] == "note"
    assert "kind" not in call["span"]  # It is the usual one: client.
    assert first[0]["assayproducer"] == "shop"
    assert first[0]["affidavitsalt"]
    assert processor.mapping_loss.spans == 4


def test_threads_and_tasks_belong_to_their_trace(tmp_path: Path) -> None:
    processor = SealingSpanProcessor(tmp_path, linger_seconds=60)
    provider = provider_of(processor)
    tracer = provider.get_tracer("agent")

    async def one(number: int) -> None:
        with tracer.start_as_current_span("agent"):
            await asyncio.sleep(0)
            with tracer.start_as_current_span("tool") as span:
                span.set_attribute("gen_ai.operation.name", "execute_tool")
                span.set_attribute("gen_ai.tool.name", f"t{number}")

    async def main() -> None:
        await asyncio.gather(*map(one, range(10)))

    asyncio.run(main())
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: asyncio.run(one(number)), range(10)))
    assert provider.force_flush()
    assert len(processor.sealed) == 20
    for bundle in processor.sealed:
        assert [one["type"] for one in events_of(bundle)].count("affidavit.tool.call") == 1


def test_an_open_trace_is_sealed_when_the_program_ends(tmp_path: Path) -> None:
    processor = SealingSpanProcessor(tmp_path, linger_seconds=60)
    provider = provider_of(processor)
    tracer = provider.get_tracer("agent")
    with tracer.start_as_current_span("agent"):
        with tracer.start_as_current_span("child"):
            pass
        processor.force_flush()
        before = len(processor.sealed)
        processor.shutdown()
        assert (before, len(processor.sealed)) == (0, 1)
    processor.shutdown()
    assert len(processor.sealed) == 2
    assert processor.sealed[1].name.endswith("-2.tar.gz")


def test_messages_that_are_logged_belong_to_their_call(tmp_path: Path) -> None:
    processor = SealingSpanProcessor(tmp_path, linger_seconds=60)
    provider = provider_of(processor)
    logs = LoggerProvider(shutdown_on_exit=False)
    logs.add_log_record_processor(SimpleLogRecordProcessor(processor.log_exporter()))
    logger = logs.get_logger("agent")
    with provider.get_tracer("agent").start_as_current_span("chat", attributes=CHAT):
        logger.emit(LogRecord(event_name="gen_ai.user.message", body={"content": "days?"}))
        message: Any = {"index": 0, "message": {"role": "assistant", "content": "12"}}
        logger.emit(LogRecord(event_name="gen_ai.choice", body=message))
    logger.emit(LogRecord(event_name="no.trace", body="x"))
    assert logs.force_flush()
    logs.shutdown()
    provider.shutdown()
    (bundle,) = processor.sealed
    (call,) = [one["data"] for one in events_of(bundle) if one["type"] == "affidavit.model.call"]
    assert call["input"][0]["parts"][0]["content"] == "days?"
    assert call["output"][0]["parts"][0]["content"] == "12"


def test_memory_is_bounded(tmp_path: Path) -> None:
    processor = SealingSpanProcessor(tmp_path, linger_seconds=60, max_spans=50)
    provider = provider_of(processor)
    tracer = provider.get_tracer("agent")
    with tracer.start_as_current_span("agent"):
        for _ in range(120):
            tracer.start_span("step").end()
        waited = threading.Event()
        for _ in range(500):
            if processor.sealed:
                break
            waited.wait(0.02)
        assert processor.sealed
    provider.shutdown()
    steps = [
        one
        for bundle in processor.sealed
        for one in events_of(bundle)
        if one["type"] == "affidavit.step"
    ]
    roots = len(processor.sealed)
    assert 120 - roots <= len(steps) <= 121


def test_a_trace_that_cannot_be_written_is_a_problem_and_no_error(tmp_path: Path) -> None:
    processor = SealingSpanProcessor(tmp_path / "evidence", linger_seconds=60)
    provider = provider_of(processor)
    (tmp_path / "evidence").rmdir()
    with provider.get_tracer("agent").start_as_current_span("agent"):
        pass
    provider.shutdown()
    assert processor.sealed == ()
    assert len(processor.problems) == 1


def test_a_span_that_cannot_be_read_is_a_problem_and_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(span: Any) -> OwnedSpan:
        raise RuntimeError("no")

    monkeypatch.setattr("affidavit.otel._span", fail)
    processor = SealingSpanProcessor(tmp_path, linger_seconds=60)
    provider = provider_of(processor)
    with provider.get_tracer("agent").start_as_current_span("agent"):
        pass
    provider.shutdown()
    assert len(processor.problems) == 1


def test_packs_and_declared_signals(tmp_path: Path) -> None:
    reasons = {"retrieved_evidence": "it retrieves nothing"}
    options: dict[str, Any] = {"packs": ["cicd-starter"], "absent_signals": reasons}
    processor = SealingSpanProcessor(tmp_path, linger_seconds=60, **options)
    provider = provider_of(processor)
    with provider.get_tracer("agent").start_as_current_span("agent"):
        pass
    provider.shutdown()
    last = events_of(processor.sealed[0])[-1]
    assert last["data"]["absent_signals"] == reasons
    manifest = json.loads(members_of(processor.sealed[0].read_bytes())[0])
    assert manifest["x-assay"]["packs_applied"][0]["name"] == "cicd-starter"
    with pytest.raises(AffidavitError):
        SealingSpanProcessor(tmp_path, absent_signals={"nothing": "x"})
