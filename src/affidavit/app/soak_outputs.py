"""Turns what a trial wrote into a bundle, by the rule of docs/soak.md.

1. A bundle is taken as it is, and the log of a run is sealed as it is. There may be one of them.
2. Otherwise every JSON file becomes events, in the order of the names: an OTLP export by its spans,
   our documents and events as `affidavit evidence import` reads them, rows of a trace as the
   importers read them, and anything else as one `soak.output`.
3. A target that wrote no file is read from its standard output, if that is JSON.
4. The last event says how the target ended.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from shutil import copyfile
from typing import Any, Final

import affidavit
from affidavit.app import recording as kinds
from affidavit.app.bundle_sealing import ImportChanges, drafts_of_value, seal_run
from affidavit.app.bundles import ENDING, write_bundle
from affidavit.app.recording import entry_line
from affidavit.base.errors import AffidavitError
from affidavit.base.faults.bundles import IMPORT_UNKNOWN
from affidavit.base.files import read_bounded
from affidavit.base.json_values import DOCUMENT_LIMITS, JsonValue
from affidavit.base.strict_json import decode
from affidavit.base.timestamps import timestamp_text
from affidavit.importers.otlp import END_KEY, START_KEY, spans_in_export, step_of
from affidavit.importers.reader import read_rows
from affidavit.importers.tool_format import RowProblem
from affidavit.seal.bundle.manifest import ManifestDetails
from affidavit.seal.bundle.writer import EventDraft, EventWriter, RunIdentity

OUTPUT: Final = "soak.output"
ANSWER: Final = "soak.answer"
SPAN: Final = "otel.span"
_BUNDLE_ENDINGS: Final = (ENDING, ".tgz")
_LINE_ENDINGS: Final = (".jsonl", ".ndjson")
_JSON_ENDINGS: Final = (".json", *_LINE_ENDINGS)
_LOG_START: Final = b'{"affidavit_run"'
_MAX_FILES: Final = 1000
_MAX_DEPTH: Final = 50


class InvalidOutputError(Exception):
    """What a target wrote cannot be its evidence."""


@dataclass(frozen=True, slots=True)
class WrittenOutput:
    """The files of one trial, how it ended, and when."""

    folder: Path
    stdout: Path
    code: int
    run: RunIdentity
    at: str


def bundle_of_output(written: WrittenOutput, target: Path) -> None:
    """Write the bundle of a trial; raise InvalidOutputError or AffidavitError if it has none."""
    files = _files_below(written.folder)
    whole = [path for path in files if path.name.endswith(_BUNDLE_ENDINGS) or _is_log(path)]
    if len(whole) > 1:
        names = " and ".join(path.name for path in whole[:2])
        raise InvalidOutputError(f"it wrote more than one bundle or log of a run: {names}")
    if whole and whole[0].name.endswith(_BUNDLE_ENDINGS):
        copyfile(whole[0], target, follow_symlinks=False)
    elif whole:
        seal_run(whole[0], target)
    else:
        _write_events(written, files, target)


def _files_below(folder: Path) -> list[Path]:
    """Return the regular files below a folder, in order. Links and devices are left alone."""
    found: list[Path] = []
    # Not os.walk, which recurses: a target may nest folders as deep as it likes.
    folders = [(folder, 0)]
    while folders:
        place, depth = folders.pop()
        with os.scandir(place) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
        below = [Path(entry) for entry in listed if entry.is_dir(follow_symlinks=False)]
        folders += [(path, depth + 1) for path in reversed(below)]
        found += [Path(entry) for entry in listed if entry.is_file(follow_symlinks=False)]
        if len(found) > _MAX_FILES:
            raise InvalidOutputError(f"it wrote more than {_MAX_FILES} files")
        if depth > _MAX_DEPTH:
            raise InvalidOutputError(f"its folders are nested deeper than {_MAX_DEPTH}")
    return found


def _is_log(path: Path) -> bool:
    if not path.name.endswith(_LINE_ENDINGS):
        return False
    with suppress(OSError), path.open("rb") as stream:
        return stream.read(len(_LOG_START)) == _LOG_START
    return False


def _write_events(written: WrittenOutput, files: list[Path], target: Path) -> None:
    writer = EventWriter(written.run)
    details = ManifestDetails(producer=written.run.producer_as_wire())
    drafts = [*_drafts(written, files), exit_draft(written.code, written.at)]
    for draft in drafts:
        entry_line(draft)
    write_bundle(target, writer, map(writer.append, drafts), lambda: details)


def exit_draft(code: int, at: str) -> EventDraft:
    """Return the event that says how a command ended."""
    return EventDraft(kinds.PROCESS_EXITED, at, {"code": code})


def _drafts(written: WrittenOutput, files: Iterable[Path]) -> Iterator[EventDraft]:
    read = [path for path in files if path.name.endswith(_JSON_ENDINGS)]
    for path in read:
        yield from _drafts_of_json(path, _values_of(path), written.at)
    if not read:
        values = _printed_values(written.stdout)
        yield from _drafts_of_json(written.stdout, values, written.at)


def _values_of(path: Path) -> list[JsonValue]:
    """Return the values of a JSON file; one that is not JSON is no evidence."""
    raw = read_bounded(path, DOCUMENT_LIMITS.max_bytes)
    if path.name.endswith(_LINE_ENDINGS):
        return [decode(line) for line in raw.splitlines() if line.strip()]
    return [decode(raw)]


def _printed_values(stdout: Path) -> list[JsonValue]:
    """Return the JSON that a target printed: one document, or lines; anything else is a log."""
    with suppress(AffidavitError):
        raw = read_bounded(stdout, DOCUMENT_LIMITS.max_bytes)
        with suppress(AffidavitError):
            value = decode(raw)
            return [value] if isinstance(value, dict | list) else []
        values = [decode(line) for line in raw.splitlines() if line.strip()]
        return values if all(isinstance(value, dict) for value in values) else []
    return []


def _drafts_of_json(path: Path, values: list[JsonValue], at: str) -> Iterator[EventDraft]:
    exports = [spans for value in values if (spans := spans_in_export(value)) is not None]
    if exports:
        yield from _drafts_of_spans([span for spans in exports for span in spans], path.name, at)
        return
    known = _known_documents(values, at)
    if known is not None:
        yield from known
    elif rows := _trace_rows(path):
        for row in rows:
            yield from _drafts_of_row(row, at)
    else:
        for value in values:
            yield EventDraft(OUTPUT, at, value)


def _known_documents(values: list[JsonValue], at: str) -> list[EventDraft] | None:
    """Return the events of documents of ours; None if one is of another kind."""
    changes = ImportChanges()
    try:
        return [draft for value in values for draft in drafts_of_value(value, at, changes)]
    except AffidavitError as error:
        if error.fault is not IMPORT_UNKNOWN:
            raise
        return None


def _drafts_of_spans(spans: list[Any], name: str, at: str) -> Iterator[EventDraft]:
    try:
        for span in sorted(spans, key=lambda span: str(span.get(START_KEY)).zfill(20)):
            yield from _drafts_of_span(span, at)
    except RowProblem as problem:
        raise InvalidOutputError(f"a span of {name}: {problem}") from None


def _trace_rows(path: Path) -> list[Mapping[str, Any]]:
    """Return the rows of a trace in any format that the importers know; none if there are none."""
    with suppress(AffidavitError):
        return [row.trace for row in read_rows(path, role="trace") if row.trace is not None]
    return []


def _drafts_of_row(row: Mapping[str, Any], at: str) -> Iterator[EventDraft]:
    retrieved = row.get("retrieved_ids")
    if retrieved is not None:
        results = [{"id": each} for each in retrieved]
        yield EventDraft(kinds.RETRIEVAL, at, {"query": row.get("q", ""), "results": results})
    yield EventDraft(ANSWER, at, dict(row))


_MODEL_KEYS: Final = ("gen_ai.request.model", "gen_ai.response.model", "llm.model_name")
_TOOL_KEYS: Final = ("gen_ai.tool.name", "tool.name")
_TOOL_INPUTS: Final = ("gen_ai.tool.call.arguments", "tool.parameters", "input.value")
_TOOL_OUTPUTS: Final = ("gen_ai.tool.call.result", "output.value")


def _drafts_of_span(span: Any, at: str) -> Iterator[EventDraft]:
    """Yield the event of a span: a tool call, a model call, a retrieval, or the span itself."""
    time = _time_of(span, at)
    tool, model = _first(span, _TOOL_KEYS), _first(span, _MODEL_KEYS)
    step = step_of(span)
    if tool is not None:
        call = {"input": _first(span, _TOOL_INPUTS), "output": _first(span, _TOOL_OUTPUTS)}
        yield EventDraft(kinds.TOOL_CALL, time, {"tool": tool, **call})
    elif model is not None and step.is_model:
        call = {"input": step.asked, "output": step.answered}
        yield EventDraft(kinds.MODEL_CALL, time, {"model": model, **call})
    elif step.found is not None:
        results = [
            {key: value for key, value in (("id", each.id), ("text", each.text)) if value}
            for each in step.found
        ]
        yield EventDraft(kinds.RETRIEVAL, time, {"query": step.asked, "results": results})
    else:
        yield EventDraft(SPAN, time, dict(span))


def _first(span: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((span[name] for name in names if name in span), None)


def _time_of(span: Mapping[str, Any], at: str) -> str:
    try:
        seconds, rest = divmod(int(span[END_KEY]), 1_000_000_000)
        moment = datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest // 1000)
    except (KeyError, TypeError, ValueError, OverflowError, OSError):
        return at
    return timestamp_text(moment)


def trial_run(seed: int, index: int) -> RunIdentity:
    """Return the run of a trial, as the bundles that we write name it."""
    return RunIdentity(
        f"soak-{seed}-{index}", "urn:affidavit:soak", "affidavit", affidavit.__version__
    )
