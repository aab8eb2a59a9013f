"""Makes bundles: seals the log of a run, or imports receipts, ledgers, reports and events.

An imported file is recognised by its content. A document becomes one event, with the time that the
document states; results become one event for each test; a file of events, one for each line.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import affidavit
from affidavit.app.bundles import WrittenBundle, write_bundle
from affidavit.app.recording import (
    entry_line,
    header_line,
    open_log,
    receipt_data,
)
from affidavit.base.digest import sha256_hex
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import bundles as faults
from affidavit.base.files import open_to_read, read_bounded
from affidavit.base.json_values import DOCUMENT_LIMITS, JsonValue
from affidavit.base.strict_json import decode, decode_lines, read_lines
from affidavit.base.text import excerpt
from affidavit.base.validation import nearest_name
from affidavit.packs import event_types as kinds
from affidavit.packs.events import ENVELOPE
from affidavit.packs.model import Pack
from affidavit.seal.bundle.commitments import SALT_BYTES
from affidavit.seal.bundle.manifest import ManifestDetails
from affidavit.seal.bundle.writer import EventDraft, EventWriter, RunIdentity


@dataclass(frozen=True, slots=True)
class SealedRun:
    """A bundle that was written. It lacks the torn line at the end of the log, if there is one."""

    written: WrittenBundle
    torn_bytes: int

    @property
    def finished(self) -> bool:
        """Whether the last event says that the run has finished."""
        return self.written.contents.finished is True

    def as_wire(self) -> dict[str, object]:
        """Return the result for `--json`."""
        return {
            **self.written.as_wire(),
            "finished": self.finished,
            "torn_bytes": self.torn_bytes,
        }


def seal_run(log_path: Path, target: Path, packs: Sequence[Pack] = ()) -> SealedRun:
    """Write the bundle of a log. The run is finished if its last event says so."""
    with open_log(log_path) as log:
        writer = EventWriter(log.run)

        def details() -> ManifestDetails:
            return ManifestDetails(producer=log.run.producer_as_wire(), torn_bytes=log.torn_bytes)

        written = write_bundle(target, writer, map(writer.append, log.drafts), details, packs)
        return SealedRun(written, log.torn_bytes)


LINE_ENDINGS: Final = (".jsonl", ".ndjson")
PROMPTFOO: Final = "promptfoo.result"
_MAX_SECRET_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class _DocumentKind:
    """A kind of document: its schema, the event that it becomes, and the member with its time."""

    schema: str
    event: str
    field: str
    time: str = "generated_at"


_DOCUMENTS: Final = (
    _DocumentKind("answer/v1", kinds.RECEIPT, "receipt"),
    _DocumentKind("affidavit.ledger/1", kinds.LEDGER, "ledger"),
    _DocumentKind("affidavit.ledger/2", kinds.LEDGER, "ledger"),
    _DocumentKind("affidavit-gate/1", kinds.GATE_REPORT, "report"),
)


def imported_run(
    run_id: str | None, source: str, output: Path, salt: Path | None = None
) -> RunIdentity:
    """Return the run of an import; by default it has the name of the output.

    `salt` is a file with a secret, from which the lines are salted.
    """
    name = run_id if run_id is not None else output.name.partition(".")[0]
    secret = "" if salt is None else secret_of(salt)
    return RunIdentity(name, source, "affidavit", affidavit.__version__, salt=secret)


def secret_of(path: Path) -> str:
    """Return the secret of a run that a file holds."""
    secret = read_bounded(path, _MAX_SECRET_BYTES)
    if len(secret) < SALT_BYTES:
        raise AffidavitError(faults.SALT_SHORT, Where(file=str(path)), wanted=SALT_BYTES)
    return sha256_hex(secret)


@dataclass(slots=True)
class ImportChanges:
    """What a bundle does not have as the files had it, with the number of events or documents.

    `dropped` members have no place in a bundle, `replaced` ones state the run, the order or the
    hash of the new bundle, and `stamped` events had no time and got that of the import.
    """

    dropped: Counter[str] = field(default_factory=Counter)
    replaced: Counter[str] = field(default_factory=Counter)
    stamped: int = 0

    def as_wire(self) -> dict[str, object]:
        """Return the changes for `--json`."""
        return {
            "dropped": dict(sorted(self.dropped.items())),
            "replaced": dict(sorted(self.replaced.items())),
            "stamped": self.stamped,
        }

    def lines(self) -> Iterator[str]:
        """Yield the changes in words."""
        for verb, counts in (("dropped", self.dropped), ("replaced", self.replaced)):
            if counts:
                named = ", ".join(f"{name} ({count})" for name, count in sorted(counts.items()))
                yield f"{verb}: {named}"
        if self.stamped:
            yield f"stamped with the time of the import: {self.stamped}"


def import_files(
    files: Sequence[Path], target: Path, run: RunIdentity, at: str, packs: Sequence[Pack] = ()
) -> tuple[WrittenBundle, ImportChanges]:
    """Write a bundle of the contents of files; `at` is the time of what has none."""
    header_line(run)
    writer = EventWriter(run)
    changes = ImportChanges()
    drafts = (draft for file in files for draft in _placed(file, at, changes))
    details = ManifestDetails(producer=run.producer_as_wire())
    written = write_bundle(target, writer, map(writer.append, drafts), lambda: details, packs)
    return written, changes


def _placed(file: Path, at: str, changes: ImportChanges) -> Iterator[EventDraft]:
    try:
        yield from drafts_of_file(file, at, changes)
    except AffidavitError as error:
        raise error.at(file=str(file)) from None


def drafts_of_file(file: Path, at: str, changes: ImportChanges) -> Iterator[EventDraft]:
    """Yield the events of a file."""
    if file.suffix.lower() in LINE_ENDINGS:
        with open_to_read(file) as stream:
            for number, value in decode_lines(read_lines(stream)):
                try:
                    yield from _checked(drafts_of_value(value, at, changes))
                except AffidavitError as error:
                    raise error.at(line=number) from None
        return
    value = decode(read_bounded(file, DOCUMENT_LIMITS.max_bytes))
    yield from _checked(drafts_of_value(value, at, changes))


def _checked(drafts: Iterable[EventDraft]) -> Iterator[EventDraft]:
    """Yield the events; raise if one is too large or too deep for a bundle."""
    for draft in drafts:
        entry_line(draft)
        yield draft


def drafts_of_value(value: JsonValue, at: str, changes: ImportChanges) -> Iterator[EventDraft]:
    """Yield the events of a document."""
    if not isinstance(value, dict):
        raise _unknown("it is not a JSON object")
    schema = value.get("schema") or value.get("schema_version")
    for kind in _DOCUMENTS:
        if schema == kind.schema:
            time = value.get(kind.time)
            changes.stamped += not isinstance(time, str)
            data: dict[str, JsonValue] = {kind.field: value}
            if kind.event == kinds.RECEIPT:
                data = receipt_data(value)
            yield EventDraft(kind.event, time if isinstance(time, str) else at, data)
            return
    if isinstance(value.get("type"), str) and "data" in value:
        yield _event(value, at, changes)
        return
    tests = _promptfoo_tests(value)
    if tests is None:
        raise _unknown(_described(value))
    changes.dropped.update(key for key in value if key != "results")
    changes.stamped += len(tests)
    for test in tests:
        yield EventDraft(PROMPTFOO, at, test)


# The members of an event that a bundle keeps, and those that it states itself.
_KEPT: Final = frozenset(("type", "time", "data", "subject", "assaypii", "assaysecrets"))
_STATED: Final = frozenset(
    (
        "specversion",
        "datacontenttype",
        "id",
        "source",
        "assayrunid",
        "assayseq",
        "assayproducer",
        "assayproducerversion",
        "assaygit",
        "assaycontenthash",
    )
)
_KNOWN: Final = ENVELOPE | {"dataschema"}  # An attribute of CloudEvents that bundles do not have.


def _event(value: Mapping[str, Any], at: str, changes: ImportChanges) -> EventDraft:
    for name in value.keys() - _KEPT:
        if name not in _KNOWN and (nearest := nearest_name(name, _KNOWN)) is not None:
            advice = f"did you mean {nearest}?"
            raise AffidavitError(
                faults.IMPORT_MEMBER, Where(field=excerpt(name)), name=excerpt(name), advice=advice
            )
        (changes.replaced if name in _STATED else changes.dropped)[excerpt(name)] += 1
    changes.stamped += "time" not in value
    for name, kind in _KINDS.items():
        if name in value and not isinstance(value[name], kind):
            wanted = "true or false" if kind is bool else "a text"
            problem = f"it is not {wanted}"
            raise AffidavitError(faults.IMPORT_UNKNOWN, Where(field=name), problem=problem)
    return EventDraft(
        value["type"],
        value.get("time", at),
        value["data"],
        value.get("subject"),
        personal_data=value.get("assaypii", False),
        secrets=value.get("assaysecrets", False),
    )


_KINDS: Final[Mapping[str, Any]] = {
    "time": str,
    "subject": str | None,
    "assaypii": bool,
    "assaysecrets": bool,
}


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
