"""Telemetry: recording beside OpenTelemetry's batch processor, the lag of a loop, the export."""

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

import affidavit
from affidavit.app.bundles import write_bundle
from affidavit.app.telemetry_export import export_to_folder
from affidavit.seal.bundle.manifest import ManifestDetails
from affidavit.seal.bundle.writer import EventDraft, EventWriter, RunIdentity
from benchmarks.figure import Figure

CALLS, QUICK_CALLS = 5_000, 1_000
EVENTS, QUICK_EVENTS = 100_000, 10_000
AGENTS = 10
ROUNDS = 5


def measure(quick: bool = False) -> list[Figure]:
    """Measure the targets of the recorder and of the export."""
    return [
        *recording(QUICK_CALLS if quick else CALLS),
        lag(40 if quick else 200),
        export(QUICK_EVENTS if quick else EVENTS),
    ]


class _Nowhere(SpanExporter):
    """Takes spans and does nothing with them."""

    def export(self, spans: object) -> SpanExportResult:
        return SpanExportResult.SUCCESS


def recording(calls: int) -> list[Figure]:
    """Compare a tool call in `batch` mode with a span of the same content, on this thread."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(_Nowhere(), max_queue_size=4 * CALLS))
    tracer = provider.get_tracer("benchmark")

    def spans() -> None:
        for number in range(calls):
            with tracer.start_as_current_span("execute_tool search") as span:
                span.set_attribute("gen_ai.operation.name", "execute_tool")
                span.set_attribute("gen_ai.tool.name", "search")
                span.set_attribute("gen_ai.tool.call.arguments", f'{{"q": {number}}}')
                span.set_attribute("gen_ai.tool.call.result", '[{"text": "twelve days"}]')

    best: dict[str, float] = {}
    for _ in range(ROUNDS):
        with (
            tempfile.TemporaryDirectory() as folder,
            affidavit.record(Path(folder, "run.jsonl"), durability="batch") as run,
        ):

            def events(run: "affidavit.app.recording.Recorder" = run) -> None:
                for number in range(calls):
                    run.tool_call("search", input={"q": number}, output=[{"text": "twelve days"}])

            for name, work in (("spans", spans), ("events", events)):
                cpu, wall = time.thread_time(), time.perf_counter()
                work()
                for clock, used in (
                    ("CPU", time.thread_time() - cpu),
                    ("wall", time.perf_counter() - wall),
                ):
                    key = f"{name} {clock}"
                    best[key] = min(best.get(key, used), used)
    provider.shutdown()
    return [
        Figure(
            f"recording an event in batch mode, {clock} of the caller's thread",
            "at most 1.0x a span of the SDK's batch processor",
            best[f"events {clock}"] / best[f"spans {clock}"],
            "lower",
            1.0,
            f"{best[f'events {clock}'] / calls * 1e6:.1f} us for an event, "
            f"{best[f'spans {clock}'] / calls * 1e6:.1f} us for a span",
        )
        for clock in ("CPU", "wall")
    ]


def lag(turns: int) -> Figure:
    """Measure how late a timer of an event loop is while ten agents record."""
    late: list[float] = []

    async def agent(run: "affidavit.app.recording.Recorder", number: int) -> None:
        for turn in range(turns):
            with run.step(f"agent {number}", input={"turn": turn}) as step:
                run.tool_call("search", input={"q": turn}, output="x" * 500)
                step.output = turn
            await asyncio.sleep(0.005)

    async def watch() -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.001)
            late.append(time.perf_counter() - before - 0.001)

    async def main(run: "affidavit.app.recording.Recorder") -> None:
        watcher = asyncio.create_task(watch())
        await asyncio.gather(*(agent(run, number) for number in range(AGENTS)))
        watcher.cancel()

    with (
        tempfile.TemporaryDirectory() as folder,
        affidavit.record(Path(folder, "run.jsonl"), durability="batch") as run,
    ):
        asyncio.run(main(run))
    median = statistics.median(late) * 1000
    return Figure(
        "lag of an event loop with 10 agents that record, median ms",
        "under 1 ms",
        median,
        "lower",
        1.0,
        f"{len(late)} timers, the latest {max(late) * 1000:.1f} ms",
    )


def export(events: int) -> Figure:
    """Export a bundle of model and tool calls to OTLP/JSON files, with the verification."""
    run = RunIdentity("benchmark", "urn:affidavit:benchmark", "agent", "1.0")
    call = {
        "model": "m-1",
        "provider": "openai",
        "input": "How many days of leave?",
        "output": "You get twelve days.",
        "parameters": {"temperature": 0.2, "seed": 7, "max_tokens": 100},
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }
    tool = {"tool": "search", "input": {"q": "leave"}, "output": [{"text": "twelve"}]}
    at = "2026-01-31T14:30:00Z"
    with tempfile.TemporaryDirectory() as folder:
        bundle = Path(folder, "run.tar.gz")
        writer = EventWriter(run)
        drafts = (
            EventDraft("affidavit.model.call" if number % 2 else "affidavit.tool.call", at, data)
            for number in range(events)
            for data in ((call if number % 2 else tool),)
        )
        details = ManifestDetails(producer=run.producer_as_wire())
        write_bundle(bundle, writer, map(writer.append, drafts), lambda: details)
        best = float("inf")
        for _ in range(2):
            used = time.process_time()
            report = export_to_folder(bundle, Path(folder, "otel"), include_content=False)
            best = min(best, time.process_time() - used)
    return Figure(
        f"export of {events} events to OTLP/JSON, spans per CPU second",
        "at least 50,000",
        report.spans / best,
        "higher",
        50_000,
        f"{report.spans} spans in {best:.2f} s of CPU, verification included",
    )
