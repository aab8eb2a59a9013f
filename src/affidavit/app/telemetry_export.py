"""Exports bundles, logs of runs, ledgers, gate reports and soaks as OTLP: to files or an endpoint.

The files are `traces.jsonl` and `logs.jsonl`, one OTLP message in each line, and
`mapping_loss.json`. Memory does not grow with the bundle.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Final

import msgspec

import affidavit
from affidavit.app.bundles import open_bundle
from affidavit.app.recording import open_log
from affidavit.base.canonical import jcs
from affidavit.base.digest import sha256_hex
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import telemetry as faults
from affidavit.base.faults.input import FILE_UNWRITABLE
from affidavit.base.files import open_to_read, read_bounded, write_atomically
from affidavit.base.json_values import JsonLimits, JsonValue
from affidavit.base.strict_json import decode
from affidavit.base.text import excerpt
from affidavit.packs import event_types as kinds
from affidavit.seal.bundle.container import DEFAULT_LIMITS, BundleLimits
from affidavit.seal.bundle.writer import RunIdentity
from affidavit.telemetry.conventions import conventions
from affidavit.telemetry.exporting import (
    ExportedRun,
    RunExporter,
    list_of_objects,
    objects,
    with_events_on_spans,
)
from affidavit.telemetry.loss import MappingLossReport
from affidavit.telemetry.sending import OtlpProtocol, OtlpSender, SenderSettings, sender_to
from affidavit.telemetry.spans import LogEvent, OtlpJson, TraceSpan

TRACES: Final = "traces.jsonl"
LOGS: Final = "logs.jsonl"
LOSS: Final = "mapping_loss.json"
PORTION: Final = 512
"""Spans of one message. gRPC refuses messages above 4 MiB, so those of large ones are fewer."""
MAX_PORTION_BYTES: Final = 2 * 1024 * 1024
_LONG: Final = 1024
_GZIP: Final = b"\x1f\x8b"
_LOG_START: Final = b'{"affidavit_run"'
_MAX_DOCUMENT: Final = 512 * 1024 * 1024
_COPIED_BYTES: Final = 1 << 20

Events = Iterator[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class ExportedSubject:
    """What is exported: its run, its events, to be read once, and what was found on reading."""

    run: ExportedRun
    events: Events
    findings: list[str] = field(default_factory=list)


@contextmanager
def exported_subject(
    path: Path, limits: BundleLimits = DEFAULT_LIMITS
) -> Iterator[ExportedSubject]:
    """Open what is exported."""
    with open_to_read(path) as stream:
        start = stream.peek(len(_LOG_START))[: len(_LOG_START)]
    if start[: len(_GZIP)] == _GZIP:
        opened: AbstractContextManager[ExportedSubject] = _bundle(path, limits)
    elif start == _LOG_START:
        opened = _log(path)
    else:
        opened = _document(path)
    with opened as subject:
        yield subject


@contextmanager
def _bundle(path: Path, limits: BundleLimits) -> Iterator[ExportedSubject]:
    with open_bundle(path, limits) as reader:
        events = (event for _, event in reader.events())
        first = next(events, None)
        if first is None:
            raise AffidavitError(faults.EXPORT_SUBJECT, problem="it has no events")
        run = ExportedRun(
            run_id=reader.manifest.known.run_id,
            source=str(first["source"]),
            producer=str(first["assayproducer"]),
            producer_version=str(first["assayproducerversion"]),
            git=str(first["assaygit"]),
        )
        yield ExportedSubject(run, _with_first(first, events))


def _with_first(first: Mapping[str, Any], others: Events) -> Events:
    yield first
    yield from others


@contextmanager
def _log(path: Path) -> Iterator[ExportedSubject]:
    with open_log(path) as log:
        findings: list[str] = []

        def events() -> Events:
            for one in log.drafts:
                yield {"type": one.type, "time": one.time, "data": one.data, "subject": one.subject}
            if log.torn_bytes:
                findings.append(
                    f"the last line of the log is torn: its {log.torn_bytes} bytes are left out"
                )

        yield ExportedSubject(exported_run(log.run), events(), findings)


def exported_run(run: RunIdentity) -> ExportedRun:
    """Return what an export says about a run."""
    return ExportedRun(
        run_id=run.id,
        source=run.source,
        producer=run.producer,
        producer_version=run.producer_version,
        git=run.git,
    )


@contextmanager
def _document(path: Path) -> Iterator[ExportedSubject]:
    raw = read_bounded(path, _MAX_DOCUMENT)
    try:
        value = decode(raw, JsonLimits(max_bytes=_MAX_DOCUMENT))
        found = list(_events_of_document(value))
    except AffidavitError as error:
        raise error.at(file=str(path)) from None
    run = ExportedRun(
        run_id=sha256_hex(raw)[:32],
        source="urn:affidavit:document",
        producer="affidavit",
        producer_version=affidavit.__version__,
    )
    yield ExportedSubject(run, iter(found))


_EPOCH: Final = "1970-01-01T00:00:00Z"


def _events_of_document(value: JsonValue) -> Events:
    """Yield the events of a ledger, a gate report or one of the two documents of a soak."""
    document = objects(value)
    schema = document.get("schema_version") or document.get("schema")
    time_at = document.get("generated_at")
    at = time_at if isinstance(time_at, str) else _EPOCH

    def event(kind: str, data: dict[str, Any]) -> Mapping[str, Any]:
        return {"type": kind, "time": at, "data": data}

    if schema in ("affidavit.ledger/1", "affidavit.ledger/2"):
        yield event(kinds.LEDGER, {"ledger": document})
    elif schema == "affidavit-gate/1":
        yield event(kinds.GATE_REPORT, {"report": document})
    elif schema == "answer/v1":
        yield event(kinds.RECEIPT, {"receipt": document})
    elif schema in ("soak-report-v1", "affidavit-soak/1"):
        results = objects(document.get("results")) or document
        passed = "pass" if results.get("pass_all") is True else "fail"
        verdict = {"subject": "soak.pass_all", "verdict": passed}
        rate = results.get("pass_rate")
        measured = {} if rate is None else {"score": rate}
        yield event(kinds.VERDICT, {**verdict, **measured})
        for trial in list_of_objects(document.get("runs") or document.get("trials")):
            yield event(kinds.SOAK_TRIAL, {"trial": trial})
    else:
        found = excerpt(", ".join(sorted(document)[:6])) or "none"
        raise AffidavitError(faults.EXPORT_SUBJECT, problem=f"its members are {found}")


def export_to_folder(
    path: Path, folder: Path, *, include_content: bool, limits: BundleLimits = DEFAULT_LIMITS
) -> MappingLossReport:
    """Write the spans, the events and the loss report of a subject to a folder.

    Nothing is written unless the whole subject is read: a bundle is verified on the way.
    """
    with exported_subject(path, limits) as subject:
        exporter = RunExporter(subject.run, include_content=include_content)
        wire = OtlpJson(subject.run.resource, affidavit.__version__, conventions().schema_url)
        with TemporaryFile() as traces, TemporaryFile() as logs:
            for spans, records in portions(exporter.export(subject.events)):
                if spans:
                    traces.write(wire.traces(spans) + b"\n")
                if records:
                    logs.write(wire.logs(records) + b"\n")
            report = _report(exporter, subject, path)
            make_folder(folder)
            write_atomically(folder / TRACES, _pieces(traces))
            write_atomically(folder / LOGS, _pieces(logs))
    write_atomically(folder / LOSS, jcs(msgspec.to_builtins(report)) + b"\n")
    return report


def _report(exporter: RunExporter, subject: ExportedSubject, path: Path) -> MappingLossReport:
    """Return what was lost, at the end of the subject; raise if nothing was exported."""
    for finding in subject.findings:
        exporter.loss.add_finding(finding)
    report = exporter.loss.report()
    if not report.spans and not report.events:
        unknown = excerpt(", ".join(report.unknown_events))
        said = subject.findings[0] if subject.findings else "it has no events"
        problem = f"the conventions have no place for {unknown}" if unknown else said
        raise AffidavitError(faults.EXPORT_EMPTY, Where(file=str(path)), problem=problem)
    return report


def make_folder(folder: Path) -> None:
    """Create a folder, unless it exists."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise AffidavitError(FILE_UNWRITABLE, Where(file=str(folder)), reason=reason) from error


def _pieces(stream: IO[bytes]) -> Iterator[bytes]:
    stream.seek(0)
    while piece := stream.read(_COPIED_BYTES):
        yield piece


def portions(
    mapped: Iterator[TraceSpan | LogEvent],
) -> Iterator[tuple[list[TraceSpan], list[LogEvent]]]:
    """Yield spans and events in portions that fit into one message."""
    spans: list[TraceSpan] = []
    events: list[LogEvent] = []
    size = 0
    for each in mapped:
        if isinstance(each, TraceSpan):
            spans.append(each)
        else:
            events.append(each)
        for value in each.attributes.values():
            if type(value) is str and len(value) > _LONG:
                size += len(value)
        if len(spans) + len(events) >= PORTION or size > MAX_PORTION_BYTES:
            yield spans, events
            spans, events, size = [], [], 0
    yield spans, events


def export_to_endpoint(
    path: Path,
    url: str,
    protocol: OtlpProtocol,
    *,
    headers: Mapping[str, str],
    include_content: bool,
    events_on_spans: bool = False,
    limits: BundleLimits = DEFAULT_LIMITS,
    sleep: Callable[[float], None] = time.sleep,
) -> MappingLossReport:
    """Send the spans and events of a subject to an endpoint.

    The subject is read twice: first to the end, so that nothing of a bundle that does not verify is
    sent.
    """
    with exported_subject(path, limits) as subject:
        for _ in subject.events:
            pass
    with exported_subject(path, limits) as subject:
        exporter = RunExporter(subject.run, include_content=include_content)
        settings = SenderSettings(
            subject.run.resource, affidavit.__version__, conventions().schema_url, headers, sleep
        )
        sender: OtlpSender = sender_to(url, protocol, settings)
        try:
            mapped: Iterator[TraceSpan | LogEvent] = exporter.export(subject.events)
            if events_on_spans:
                mapped = with_events_on_spans(mapped, subject.run)
            for spans, records in portions(mapped):
                # Events first: services that refuse them should not have half of the run.
                if records:
                    sender.send_events(records)
                if spans:
                    sender.send_spans(spans)
        finally:
            sender.close()
        return _report(exporter, subject, path)
