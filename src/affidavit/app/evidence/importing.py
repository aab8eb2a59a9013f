"""Turns what was kept as files into a bundle: receipts, ledgers, gate reports, results, events.

What a file is, is told from its content. A document becomes one event, results one for each test,
and a line of events one each. Where a document says when it was made, that is the event's time.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from affidavit.app.evidence import event_types as kinds
from affidavit.app.evidence.bundle_files import About, write_bundle
from affidavit.app.evidence.exact_receipts import receipt_data
from affidavit.app.evidence.packs_block import NO_PACKS, PacksBlock
from affidavit.app.evidence.run_log import entry_line, header_line
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import recordings as faults
from affidavit.base.files import open_to_read, read_bounded
from affidavit.base.json_limits import DOCUMENT_LIMITS, JsonValue
from affidavit.base.json_lines import decode_lines, read_lines
from affidavit.base.places import excerpt
from affidavit.base.strict_json import decode
from affidavit.seal.bundle.drafting import Draft, Drafting, Run
from affidavit.seal.bundle.manifest import Contents

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
    files: Sequence[Path], target: Path, run: Run, at: str, packs: PacksBlock = NO_PACKS
) -> Contents:
    """Write a bundle of what stands in some files; `at` is the time of what has none."""
    header_line(run)
    drafting = Drafting(run)
    bounds = _Bounds()
    drafts = (draft for file in files for draft in _placed(file, at))
    lines = (drafting.line(draft) for draft in bounds.watched(drafts))

    def about() -> About:
        return About(bounds.finished, packs_applied=packs.packs_applied, mappings=packs.mappings)

    return write_bundle(target, drafting, lines, about)


@dataclass(slots=True)
class _Bounds:
    """Whether a run has finished, as far as events say: they need not be of a run at all."""

    finished: bool | None = None

    def watched(self, drafts: Iterable[Draft]) -> Iterator[Draft]:
        for draft in drafts:
            if draft.type == kinds.RUN_FINISHED:
                self.finished = True
            elif draft.type == kinds.RUN_STARTED or self.finished is not None:
                self.finished = False
            yield draft


def _placed(file: Path, at: str) -> Iterator[Draft]:
    try:
        yield from drafts_of_file(file, at)
    except AffidavitError as error:
        raise error.at(file=str(file)) from None


def drafts_of_file(file: Path, at: str) -> Iterator[Draft]:
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


def _keepable(drafts: Iterable[Draft]) -> Iterator[Draft]:
    """Yield events that a bundle can hold; what is larger or deeper is refused, with its place."""
    for draft in drafts:
        entry_line(draft)
        yield draft


def drafts_of_value(value: JsonValue, at: str) -> Iterator[Draft]:
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
            yield Draft(kind.event, time if isinstance(time, str) else at, data)
            return
    if isinstance(value.get("type"), str) and "data" in value:
        yield _event(value, at)
        return
    tests = _promptfoo_tests(value)
    if tests is None:
        raise _unknown(_described(value))
    for test in tests:
        yield Draft(PROMPTFOO, at, test)


def _event(value: Mapping[str, Any], at: str) -> Draft:
    time, subject = value.get("time", at), value.get("subject")
    if not isinstance(time, str):
        raise AffidavitError(faults.IMPORT_UNKNOWN, Where(field="time"), problem="it is not a text")
    if subject is not None and not isinstance(subject, str):
        raise AffidavitError(
            faults.IMPORT_UNKNOWN, Where(field="subject"), problem="it is not a text"
        )
    return Draft(
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
