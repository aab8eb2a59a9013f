"""Makes bundles: seals the log of a run, or imports receipts, ledgers, reports and events from
files.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from affidavit.app import recording as kinds
from affidavit.app.bundles import ManifestFields, write_bundle
from affidavit.app.recording import (
    RUN_FINISHED,
    OpenLog,
    entry_line,
    header_line,
    open_log,
    receipt_data,
)
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import bundles as faults
from affidavit.base.files import open_to_read, read_bounded
from affidavit.base.json_values import DOCUMENT_LIMITS, JsonValue
from affidavit.base.strict_json import decode, decode_lines, read_lines
from affidavit.base.text import excerpt
from affidavit.packs.model import Pack
from affidavit.seal.bundle.manifest import ManifestContents
from affidavit.seal.bundle.writer import EventDraft, EventWriter, RunIdentity

# What a manifest says of the packs that a run is held to.
#
# Origin: ADR-025, data contract 3: `x-assay.packs_applied` and `x-assay.mappings`. A mapping says
# which part of a framework a rule speaks to; rules without a reference have none.

PackEntry: TypeAlias = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class PacksBlock:
    """The two lists of the block, in the order of the packs and of their rules."""

    packs_applied: tuple[PackEntry, ...] = ()
    mappings: tuple[PackEntry, ...] = ()


NO_PACKS: Final = PacksBlock()


def packs_block(packs: Sequence[Pack]) -> PacksBlock:
    """Return the block for some packs."""
    return PacksBlock(tuple(map(_applied_pack, packs)), tuple(_mappings(packs)))


def _applied_pack(pack: Pack) -> PackEntry:
    entry: PackEntry = {
        "name": pack.name,
        "version": pack.version,
        "digest": pack.digest,
        "kind": pack.kind.value,
    }
    return entry if pack.source_url is None else {**entry, "source_url": pack.source_url}


def _mappings(packs: Sequence[Pack]) -> list[PackEntry]:
    return [
        {
            "rule": pack.canonical_id(rule),
            "framework": rule.framework or pack.name,
            "ref": rule.article_ref,
        }
        for pack in packs
        for rule in pack.rules
        if rule.article_ref is not None
    ]


# Seals the log of a run into a bundle, finished or not.


@dataclass(frozen=True, slots=True)
class SealedRun:
    """A bundle that was written. A torn line at the end of the log is not in it."""

    contents: ManifestContents
    finished: bool
    torn_bytes: int

    def as_wire(self) -> dict[str, object]:
        """Return what was sealed, as machines get it."""
        return {
            "bundle_id": self.contents.run_root,
            "run_id": self.contents.run_id,
            "event_count": self.contents.count,
            "merkle_root": self.contents.merkle_root,
            "finished": self.finished,
            "torn_bytes": self.torn_bytes,
        }


@dataclass(slots=True)
class _RunSealing:
    """What is learned while the log goes by."""

    log: OpenLog
    writer: EventWriter
    packs: PacksBlock
    finished: bool = False

    def lines(self) -> Iterator[bytes]:
        for draft in self.log.drafts:
            self.finished = draft.type == RUN_FINISHED
            yield self.writer.append(draft)

    def about(self) -> ManifestFields:
        torn = self.log.torn_bytes
        return ManifestFields(
            self.finished,
            {"torn_bytes": torn} if torn else None,
            packs_applied=self.packs.packs_applied,
            mappings=self.packs.mappings,
        )


def seal_run(log_path: Path, target: Path, packs: PacksBlock = NO_PACKS) -> SealedRun:
    """Write the bundle of a run's log. A run whose last event is not its end is unfinished."""
    with open_log(log_path) as log:
        sealing = _RunSealing(log, EventWriter(log.run), packs)
        contents = write_bundle(target, sealing.writer, sealing.lines(), sealing.about)
        return SealedRun(contents, sealing.finished, log.torn_bytes)


# Turns what was kept as files into a bundle: receipts, ledgers, gate reports, results, events.
#
# What a file is, is told from its content. A document becomes one event, results one for each test,
# and a line of events one each. Where a document says when it was made, that is the event's time.

LINE_ENDINGS: Final = (".jsonl", ".ndjson")
PROMPTFOO: Final = "promptfoo.result"


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of document: how it is known, what event it becomes, and where its time stands."""

    schema: str
    event: str
    field: str
    time: str = "generated_at"


_DOCUMENTS: Final = (
    _Kind("answer/v1", kinds.RECEIPT, "receipt"),
    _Kind("affidavit.ledger/1", kinds.LEDGER, "ledger"),
    _Kind("affidavit-gate/1", kinds.GATE_REPORT, "report"),
)


def import_files(
    files: Sequence[Path], target: Path, run: RunIdentity, at: str, packs: PacksBlock = NO_PACKS
) -> ManifestContents:
    """Write a bundle of what stands in some files; `at` is the time of what has none."""
    header_line(run)
    writer = EventWriter(run)
    bounds = _Bounds()
    drafts = (draft for file in files for draft in _placed(file, at))
    lines = (writer.append(draft) for draft in bounds.watched(drafts))

    def about() -> ManifestFields:
        return ManifestFields(
            bounds.finished, packs_applied=packs.packs_applied, mappings=packs.mappings
        )

    return write_bundle(target, writer, lines, about)


@dataclass(slots=True)
class _Bounds:
    """Whether a run has finished, as far as events say: they need not be of a run at all."""

    finished: bool | None = None

    def watched(self, drafts: Iterable[EventDraft]) -> Iterator[EventDraft]:
        for draft in drafts:
            if draft.type == kinds.RUN_FINISHED:
                self.finished = True
            elif draft.type == kinds.RUN_STARTED or self.finished is not None:
                self.finished = False
            yield draft


def _placed(file: Path, at: str) -> Iterator[EventDraft]:
    try:
        yield from drafts_of_file(file, at)
    except AffidavitError as error:
        raise error.at(file=str(file)) from None


def drafts_of_file(file: Path, at: str) -> Iterator[EventDraft]:
    """Yield the events that a file becomes."""
    if file.suffix.lower() in LINE_ENDINGS:
        with open_to_read(file) as stream:
            for number, value in decode_lines(read_lines(stream)):
                try:
                    yield from _keepable(drafts_of_value(value, at))
                except AffidavitError as error:
                    raise error.at(line=number) from None
        return
    value = decode(read_bounded(file, DOCUMENT_LIMITS.max_bytes))
    yield from _keepable(drafts_of_value(value, at))


def _keepable(drafts: Iterable[EventDraft]) -> Iterator[EventDraft]:
    """Yield events that a bundle can hold; what is larger or deeper is refused, with its place."""
    for draft in drafts:
        entry_line(draft)
        yield draft


def drafts_of_value(value: JsonValue, at: str) -> Iterator[EventDraft]:
    """Yield the events that a document becomes."""
    if not isinstance(value, dict):
        raise _unknown("it is not a JSON object")
    schema = value.get("schema") or value.get("schema_version")
    for kind in _DOCUMENTS:
        if schema == kind.schema:
            time = value.get(kind.time)
            data: dict[str, JsonValue] = {kind.field: value}
            if kind.event == kinds.RECEIPT:
                data = receipt_data(value)
            yield EventDraft(kind.event, time if isinstance(time, str) else at, data)
            return
    if isinstance(value.get("type"), str) and "data" in value:
        yield _event(value, at)
        return
    tests = _promptfoo_tests(value)
    if tests is None:
        raise _unknown(_described(value))
    for test in tests:
        yield EventDraft(PROMPTFOO, at, test)


def _event(value: Mapping[str, Any], at: str) -> EventDraft:
    time, subject = value.get("time", at), value.get("subject")
    if not isinstance(time, str):
        raise AffidavitError(faults.IMPORT_UNKNOWN, Where(field="time"), problem="it is not a text")
    if subject is not None and not isinstance(subject, str):
        raise AffidavitError(
            faults.IMPORT_UNKNOWN, Where(field="subject"), problem="it is not a text"
        )
    return EventDraft(
        value["type"],
        time,
        value["data"],
        subject,
        has_personal_data=value.get("assaypii") is True,
        has_secrets=value.get("assaysecrets") is True,
    )


def _promptfoo_tests(value: Mapping[str, JsonValue]) -> list[JsonValue] | None:
    """Return the results of a promptfoo file, versions 2 to 4: a list within `results`."""
    inner: JsonValue = dict(value)
    for _ in range(2):
        if isinstance(inner, dict) and "results" in inner:
            inner = inner["results"]
    return inner if isinstance(inner, list) else None


def _described(value: Mapping[str, JsonValue]) -> str:
    if "affidavit_run" in value:
        return "it is the log of a run, which `affidavit evidence seal` makes a bundle of"
    return f"its members are {excerpt(', '.join(sorted(value)[:6])) or 'none'}"


def _unknown(problem: str) -> AffidavitError:
    return AffidavitError(faults.IMPORT_UNKNOWN, problem=problem)
