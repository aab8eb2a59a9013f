"""The log of a run before it is sealed: JSON lines, each on the disk before the next is taken.

The first line says whose run it is; every other line is an event without its place. A process that
is killed leaves a whole log, or one whose last line is torn: it has no line feed.

A line is read back by the same rules before it is written, so that what was recorded can be sealed,
and what was sealed verifies: a run is not lost for one value, long after it was made.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from affidavit.base.canonical import jcs, require_canonical
from affidavit.base.errors import AffidavitError, Fault, Where
from affidavit.base.faults import recordings as faults
from affidavit.base.files import open_to_read
from affidavit.base.json_lines import read_lines
from affidavit.base.strict_json import decode
from affidavit.seal.bundle.drafting import Draft, Run, checked_time
from affidavit.seal.bundle.limits import DEFAULT_LIMITS
from affidavit.seal.bundle.wire_places import place_and_problem

VERSION: Final = 1
# What the envelope of an event adds to the line of the log: whose run it is, its id twice, and some
# four hundred bytes more.
_ENVELOPE_BYTES: Final = 4096
MAX_HEADER_BYTES: Final = 1536
MAX_LINE_BYTES: Final = DEFAULT_LIMITS.max_line_bytes - _ENVELOPE_BYTES
_LIMITS: Final = DEFAULT_LIMITS.for_json(MAX_LINE_BYTES)
_Text = Annotated[str, msgspec.Meta(min_length=1)]
_OMITTED: Final[Mapping[str, object]] = {"subject": None, "personal_data": False, "secrets": False}


class HeaderV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first line of a log."""

    affidavit_run: int
    id: str
    source: str
    producer: str
    producer_version: str
    git: str


class EntryV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Any other line of a log."""

    type: _Text
    time: str
    data: Any
    subject: _Text | None = None
    personal_data: bool = False
    secrets: bool = False


@dataclass(slots=True)
class OpenLog:
    """A log that is being read. What is torn off its end is known when its last entry was read."""

    run: Run
    drafts: Iterator[Draft]
    torn_bytes: int = 0


def header_line(run: Run) -> bytes:
    """Return the first line of a log, without its line feed."""
    line = jcs({"affidavit_run": VERSION, **asdict(run)})
    if len(line) > MAX_HEADER_BYTES:
        problem = f"id, source, producer and git have more than {MAX_HEADER_BYTES} bytes in all"
        raise AffidavitError(faults.RECORD_VALUE, Where(field="run_id"), problem=problem)
    return line


def entry_line(draft: Draft) -> bytes:
    """Return the line of an event, without its line feed; refuse what a bundle could not hold."""
    said: dict[str, object] = {
        "type": draft.type,
        "time": draft.time,
        "data": draft.data,
        "subject": draft.subject,
        "personal_data": draft.has_personal_data,
        "secrets": draft.has_secrets,
    }
    line = jcs({name: said[name] for name in said if said[name] is not _OMITTED.get(name, said)})
    if len(line) > MAX_LINE_BYTES:
        raise AffidavitError(faults.RECORD_TOO_LARGE, Where(field="data"), limit=MAX_LINE_BYTES)
    try:
        checked_time(_draft(line, faults.RECORD_VALUE).time)
    except AffidavitError as error:
        # The line is none that the caller knows of; the field is.
        where = Where(field=error.where.field)
        raise AffidavitError(error.fault, where, **error.values) from None
    return line


@contextmanager
def open_log(path: Path) -> Iterator[OpenLog]:
    """Open the log of a run, to be read once."""
    with open_to_read(path) as stream:
        try:
            lines = read_lines(stream, MAX_LINE_BYTES + 1)
            first = next(lines, b"")
            if not first.endswith(b"\n"):
                problem = "its first line is missing or torn"
                raise AffidavitError(faults.RUN_LOG, problem=problem)
            log = OpenLog(_first(first), iter(()))
            log.drafts = _drafts(lines, log)
            yield log
        except AffidavitError as error:
            raise error.at(file=str(path)) from None


def _first(line: bytes) -> Run:
    try:
        return run_from(decode(line.removesuffix(b"\n"), _LIMITS), faults.RUN_LOG)
    except AffidavitError as error:
        raise error.at(line=1) from None


def _drafts(lines: Iterator[bytes], log: OpenLog) -> Iterator[Draft]:
    for number, line in enumerate(lines, 2):
        if not line.endswith(b"\n"):
            log.torn_bytes = len(line)
            return
        try:
            yield _draft(line.removesuffix(b"\n"), faults.RUN_LOG)
        except AffidavitError as error:
            where = Where(line=number, field=error.where.field)
            raise AffidavitError(error.fault, where, **error.values) from None


def _draft(line: bytes, fault: Fault) -> Draft:
    try:
        entry = msgspec.convert(require_canonical(line, _LIMITS), EntryV1)
    except msgspec.ValidationError as error:
        raise _refused(error, fault) from None
    return Draft(
        entry.type,
        entry.time,
        entry.data,
        entry.subject,
        has_personal_data=entry.personal_data,
        has_secrets=entry.secrets,
    )


def run_from(value: object, fault: Fault = faults.RECORD_VALUE) -> Run:
    """Return the run that the first line of a log describes."""
    try:
        header = msgspec.convert(value, HeaderV1)
    except msgspec.ValidationError as error:
        raise _refused(error, fault) from None
    if header.affidavit_run != VERSION:
        problem = f"it is of version {header.affidavit_run}, not {VERSION}"
        raise AffidavitError(fault, problem=problem)
    return Run(header.id, header.source, header.producer, header.producer_version, header.git)


def _refused(error: msgspec.ValidationError, fault: Fault) -> AffidavitError:
    field, problem = place_and_problem(error)
    return AffidavitError(fault, Where(field=field), problem=problem)
