"""Telemetry: recording beside OpenTelemetry's batch processor, a loop's lag, export, receiver."""

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
from affidavit.app.trace_receiving import ReceivedTraceSealer, ReceiverConfig, SpanReceiver
from affidavit.base.errors import AffidavitError
from affidavit.seal.bundle.manifest import ManifestDetails
from affidavit.seal.bundle.writer import EventDraft, EventWriter, RunIdentity
from affidavit.telemetry.protobuf import trace_request
from affidavit.telemetry.spans import TraceResource, TraceSpan
from benchmarks.figure import Figure

CALLS, QUICK_CALLS = 5_000, 1_000
EVENTS, QUICK_EVENTS = 100_000, 10_000
REQUESTS, QUICK_REQUESTS = 100, 10
SPANS_OF_TRACE = 16
TRACES_OF_REQUEST = 32
AGENTS = 10
ROUNDS = 5


def measure(quick: bool = False) -> list[Figure]:
    """Measure the targets of the recorder and of the export."""
    return [
        *recording(QUICK_CALLS if quick else CALLS),
        lag(40 if quick else 200),
        export(QUICK_EVENTS if quick else EVENTS),
        receiving(QUICK_REQUESTS if quick else REQUESTS),
        overload(QUICK_REQUESTS if quick else REQUESTS),
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


def request_of(number: int) -> bytes:
    """Return a request as an exporter sends it: 512 spans of 32 whole traces, as protobuf."""
    spans = []
    for each in range(TRACES_OF_REQUEST):
        trace_id = f"{number * TRACES_OF_REQUEST + each + 1:032x}"
        for at in range(1, SPANS_OF_TRACE + 1):
            is_root = at == SPANS_OF_TRACE
            spans.append(
                TraceSpan(
                    trace_id=trace_id,
                    span_id=f"{at:016x}",
                    parent_id=None if is_root else f"{SPANS_OF_TRACE:016x}",
                    name="chat m-1",
                    start_ns=10**18 + at,
                    end_ns=10**18 + at + 5,
                    attributes={
                        "gen_ai.operation.name": "invoke_agent" if is_root else "chat",
                        "gen_ai.request.model": "m-1",
                        "gen_ai.provider.name": "openai",
                        "gen_ai.request.temperature": 0.2,
                        "gen_ai.usage.input_tokens": 10,
                        "gen_ai.input.messages": '[{"role":"user","parts":[]}]',
                        "gen_ai.output.messages": '[{"role":"assistant","parts":[]}]',
                    },
                )
            )
    resource = TraceResource({"service.name": "agent", "service.version": "1"})
    return bytes(trace_request(resource, "1", "", spans).SerializeToString())


def receiving(requests: int) -> Figure:
    """Receive requests and seal their traces; CPU time of both sides together."""
    bodies = [request_of(number) for number in range(requests)]
    spans = requests * TRACES_OF_REQUEST * SPANS_OF_TRACE
    with tempfile.TemporaryDirectory() as folder:
        config = ReceiverConfig(folder=Path(folder))
        receiver = SpanReceiver(config)
        sealer = ReceivedTraceSealer(config, lambda *_, **__: None)
        used = time.process_time()
        for raw in bodies:
            receiver.take(raw, is_json=False, of_logs=False)
        taken = time.process_time() - used
        sealer.close()
        sealed = time.process_time() - used - taken
        receiver.close()
        bundles = len(list(Path(folder).glob("*.tar.gz")))
    assert bundles == requests * TRACES_OF_REQUEST
    return Figure(
        "spans received, journalled and sealed per second of two cores, by their CPU time",
        "at least 5,000",
        2 * spans / (taken + sealed),
        "higher",
        5_000,
        f"{spans / taken:,.0f} received and {spans / sealed:,.0f} sealed per CPU second, "
        f"{SPANS_OF_TRACE} spans in a bundle",
    )


def overload(requests: int) -> Figure:
    """Send twice what there is room for; count what was acknowledged and is in no bundle."""
    bodies = [request_of(number) for number in range(requests)]
    with tempfile.TemporaryDirectory() as folder:
        config = ReceiverConfig(folder=Path(folder), max_journal_bytes=sum(map(len, bodies)))
        receiver = SpanReceiver(config)
        acknowledged = refused = 0
        for raw in bodies:
            try:
                receiver.take(raw, is_json=False, of_logs=False)
                acknowledged += TRACES_OF_REQUEST
            except AffidavitError:
                refused += TRACES_OF_REQUEST
        receiver.close()
        ReceivedTraceSealer(config, lambda *_, **__: None).close()
        bundles = len(list(Path(folder).glob("*.tar.gz")))
    assert refused
    return Figure(
        "traces that were acknowledged under overload and are in no bundle",
        "none",
        acknowledged - bundles,
        "lower",
        0.0,
        f"{acknowledged} acknowledged, {refused} refused",
    )
