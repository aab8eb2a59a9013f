"""Imports traces as bundles: OTLP files to one bundle for each trace, with what was lost.

A file is OTLP/JSON (one message, or one in each line, also packed by gzip) or OTLP as protobuf.
"""

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from affidavit.app.bundles import ENDING, WrittenBundle, write_bundle
from affidavit.app.telemetry_export import make_folder
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import telemetry as faults
from affidavit.base.files import read_bounded
from affidavit.packs.model import Pack
from affidavit.seal.bundle.manifest import ManifestDetails
from affidavit.seal.bundle.writer import EventWriter
from affidavit.telemetry.conventions import conventions
from affidavit.telemetry.dialects import OTLP, dialect_of
from affidavit.telemetry.importing import TraceImporter, TraceRecords, identity_of, traces_of
from affidavit.telemetry.loss import MappingLoss
from affidavit.telemetry.otlp_json import OtlpFormatError, records_in
from affidavit.telemetry.spans import LogEvent, TraceSpan

MAX_FILE_BYTES: Final = 512 * 1024 * 1024
_GZIP: Final = b"\x1f\x8b"
_PROTOBUF_ENDINGS: Final = (".pb", ".bin", ".binpb")

Record = tuple[Mapping[str, Any], str, TraceSpan | LogEvent]


@dataclass(frozen=True, slots=True)
class ImportedTrace:
    """A bundle that was made of a trace."""

    bundle: Path
    written: WrittenBundle


def import_traces(
    files: Sequence[Path],
    output: Path,
    *,
    dialect: str = OTLP,
    trace: str | None = None,
    run_id: str | None = None,
    salt: str = "",
    packs: Sequence[Pack] = (),
) -> tuple[tuple[ImportedTrace, ...], MappingLoss]:
    """Write a bundle for each trace of some files: `output` is a bundle, or a folder of them."""
    loss = MappingLoss(conventions().target())
    traces = [one for one in traces_of(_records(files, loss)) if one.spans]
    if not traces:
        raise AffidavitError(faults.OTLP_EMPTY, files=", ".join(map(str, files)))
    if trace is not None:
        traces = _chosen(traces, trace)
    _require_dialect(traces, dialect)
    is_single = output.name.endswith((ENDING, ".tgz"))
    if is_single and len(traces) > 1:
        raise AffidavitError(faults.OTLP_TRACES, count=len(traces), first=traces[0].trace_id)
    if not is_single:
        make_folder(output)
    written = []
    for one in traces:
        target = output if is_single else output / f"{one.trace_id}{ENDING}"
        named = run_id if len(traces) == 1 else None
        sealed = seal_trace(
            one, target, loss, dialect=dialect, run_id=named, salt=salt, packs=packs
        )
        written.append(ImportedTrace(target, sealed))
    return tuple(written), loss


def seal_trace(
    trace: TraceRecords,
    target: Path,
    loss: MappingLoss,
    *,
    dialect: str = OTLP,
    run_id: str | None = None,
    salt: str = "",
    packs: Sequence[Pack] = (),
    absent_signals: Mapping[str, Any] | None = None,
) -> WrittenBundle:
    """Write the bundle of one trace, and add what was lost to the counts."""
    run = identity_of(trace, run_id, salt)
    importer = TraceImporter(trace, dialect, absent_signals)
    writer = EventWriter(run)
    details = ManifestDetails(producer=run.producer_as_wire())
    drafts = importer.drafts()
    written = write_bundle(target, writer, map(writer.append, drafts), lambda: details, packs)
    loss.merge(importer.loss)
    return written


def _chosen(traces: Iterable[TraceRecords], wanted: str) -> list[TraceRecords]:
    held = list(traces)
    found = [one for one in held if one.trace_id == wanted.lower()]
    if not found:
        raise AffidavitError(faults.OTLP_TRACE, trace=wanted, first=held[0].trace_id)
    return found


def _require_dialect(traces: Iterable[TraceRecords], wanted: str) -> None:
    """Refuse spans of another convention than the user named."""
    found = {dialect_of(one.span.attributes) for trace in traces for one in trace.spans}
    if wanted != OTLP and wanted not in found:
        marker = conventions().dialects[wanted].marker
        raise AffidavitError(
            faults.OTLP_DIALECT,
            marker=marker,
            dialect=wanted,
            found=", ".join(f"--from {name}" for name in sorted(found)),
        )


def _records(files: Sequence[Path], loss: MappingLoss) -> Iterator[Record]:
    for file in files:
        try:
            yield from _records_of_file(file, loss)
        except OtlpFormatError as error:
            raise AffidavitError(
                faults.OTLP_FORMAT, Where(file=str(file)), problem=str(error)
            ) from None


def _records_of_file(file: Path, loss: MappingLoss) -> Iterator[Record]:
    raw = read_bounded(file, MAX_FILE_BYTES)
    if raw.startswith(_GZIP):
        raw = _unpacked(raw)
    name = file.name.removesuffix(".gz")
    if name.endswith(_PROTOBUF_ENDINGS):
        yield from records_of_protobuf(raw)
        return
    try:
        messages = [list(records_in(raw))]
    except OtlpFormatError:
        lines = [line for line in raw.split(b"\n") if line.strip()]
        if len(lines) < 2 and name.endswith(".json"):
            raise
        messages = [_records_of_line(line, number) for number, line in enumerate(lines, 1)]
    for held in messages:
        for one in held:
            if one.record is None:
                loss.add_finding(one.finding)
            else:
                yield one.resource, one.scope, one.record


def _records_of_line(line: bytes, number: int) -> list[Any]:
    try:
        return list(records_in(line))
    except OtlpFormatError as error:
        raise OtlpFormatError(f"line {number}: {error}") from None


def _unpacked(raw: bytes) -> bytes:
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        data = unpacker.decompress(raw, MAX_FILE_BYTES + 1)
    except zlib.error as error:
        raise OtlpFormatError(f"it cannot be unpacked: {error}") from None
    if len(data) > MAX_FILE_BYTES:
        raise OtlpFormatError(f"it has more than {MAX_FILE_BYTES} bytes unpacked")
    return data


def records_of_protobuf(raw: bytes, *, of_logs: bool | None = None) -> Iterator[Record]:
    """Yield the spans, or the log records, of an export request or of a file of one message."""
    from affidavit.telemetry.protobuf import decode_logs, decode_traces, logs_from, spans_from

    traces = None if of_logs else decode_traces(raw)
    spans = [] if traces is None else list(spans_from(traces))
    logs = decode_logs(raw) if of_logs or (of_logs is None and not spans) else None
    if traces is None and logs is None:
        raise OtlpFormatError("it is not a message of protobuf with spans or log records")
    yield from spans
    if logs is not None:
        yield from logs_from(logs)
