"""OpenTelemetry: a span processor that seals every trace of a program in an evidence bundle.

    from affidavit.otel import SealingSpanProcessor

    provider.add_span_processor(SealingSpanProcessor("evidence"))

The program and its instrumentations stay as they are. It needs opentelemetry-sdk (extra `otel`).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from opentelemetry.context import Context
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk._logs.export import LogRecordExporter, LogRecordExportResult
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor

from affidavit.app.recording import checked_signals
from affidavit.app.trace_sealing import LINGER_SECONDS, MAX_SPANS, TraceSealer, plain
from affidavit.telemetry.importing import OwnedSpan
from affidavit.telemetry.loss import MappingLossReport
from affidavit.telemetry.spans import LogEvent, SpanEvent, SpanLink, TraceSpan

__all__ = ["SealingLogExporter", "SealingSpanProcessor"]


class SealingSpanProcessor(SpanProcessor):
    """Seals every trace in `folder`, as `TRACE.tar.gz`, soon after its last span has ended.

    `packs` names packs to run over each bundle. `absent_signals` are kinds of evidence that the
    program has none of, each with the reason. `problems` says what could not be sealed, and
    `mapping_loss` what the spans had that a bundle has no field for.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        packs: Sequence[str] = (),
        absent_signals: Mapping[str, str] | None = None,
        linger_seconds: float = LINGER_SECONDS,
        max_spans: int = MAX_SPANS,
    ) -> None:
        self._sealer = TraceSealer(
            Path(folder),
            packs=_packs(packs),
            absent_signals=None if absent_signals is None else checked_signals(absent_signals),
            linger_seconds=linger_seconds,
            max_spans=max_spans,
        )
        self._resources: dict[int, tuple[Resource, dict[str, Any]]] = {}

    @property
    def sealed(self) -> tuple[Path, ...]:
        """The bundles that were written."""
        return tuple(self._sealer.sealed)

    @property
    def problems(self) -> tuple[str, ...]:
        """Why traces could not be sealed."""
        return tuple(self._sealer.problems)

    @property
    def mapping_loss(self) -> MappingLossReport:
        """What was lost on the way from spans to events."""
        return self._sealer.loss.report()

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Note that a span is open."""
        context = span.get_span_context()
        if context is not None:
            self._sealer.started(f"{context.trace_id:032x}")

    def on_end(self, span: ReadableSpan) -> None:
        """Take a span."""
        try:
            taken = _span(span)
        except Exception as error:
            self._sealer.problems.append(f"span {span.name!a}: {error}")
            return
        if taken is not None:
            scope = span.instrumentation_scope
            name = "" if scope is None else scope.name
            self._sealer.ended(OwnedSpan(self._resource(span.resource), name, taken))

    def _resource(self, resource: Resource) -> dict[str, Any]:
        """Return the attributes of a resource, the same object for the same resource."""
        held = self._resources.get(id(resource))
        if held is None or held[0] is not resource:
            held = resource, plain(dict(resource.attributes))
            self._resources[id(resource)] = held
        return held[1]

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Seal every complete trace."""
        self._sealer.flush()
        return True

    def shutdown(self) -> None:
        """Seal everything that is held."""
        self._sealer.close()

    def log_exporter(self) -> "SealingLogExporter":
        """Return an exporter of log records that belong to the traces of this processor."""
        return SealingLogExporter(self._sealer)


class SealingLogExporter(LogRecordExporter):
    """Adds log records, such as the messages of a model call, to the traces of a processor."""

    def __init__(self, sealer: TraceSealer) -> None:
        self._sealer = sealer

    def export(self, batch: Sequence[ReadableLogRecord]) -> LogRecordExportResult:
        """Take log records; those without a trace belong to no bundle."""
        for one in batch:
            record = one.log_record
            if record.trace_id:
                attributes = plain(dict(record.attributes or {}))
                name = record.event_name or attributes.pop("event.name", "")
                event = LogEvent(
                    name=str(name),
                    time_ns=record.timestamp or record.observed_timestamp or 0,
                    trace_id=f"{record.trace_id:032x}",
                    span_id=f"{record.span_id or 0:016x}",
                    body=plain(record.body),
                    attributes=attributes,
                )
                self._sealer.logged(event)
        return LogRecordExportResult.SUCCESS

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Everything is taken at once."""
        return True

    def shutdown(self) -> None:
        """The processor seals what is held."""


def _packs(names: Sequence[str]) -> Any:
    from affidavit.app.lint import packs_from_texts

    return packs_from_texts(names) if names else ()


def _span(span: ReadableSpan) -> TraceSpan | None:
    context = span.context
    if context is None:
        return None
    return TraceSpan(
        trace_id=f"{context.trace_id:032x}",
        span_id=f"{context.span_id:016x}",
        parent_id=None if span.parent is None else f"{span.parent.span_id:016x}",
        name=span.name,
        kind=span.kind.value + 1,  # The SDK counts from 0, OTLP from 1.
        start_ns=span.start_time or 0,
        end_ns=span.end_time or 0,
        attributes=plain(dict(span.attributes or {})),
        status=span.status.status_code.value,
        status_message=span.status.description or "",
        trace_state=context.trace_state.to_header(),
        events=[
            SpanEvent(one.name, one.timestamp, plain(dict(one.attributes or {})))
            for one in span.events
        ],
        links=[
            SpanLink(
                f"{one.context.trace_id:032x}",
                f"{one.context.span_id:016x}",
                plain(dict(one.attributes or {})),
            )
            for one in span.links
        ],
        dropped=span.dropped_attributes + span.dropped_events + span.dropped_links,
    )
