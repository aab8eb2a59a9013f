"""The log of a run before it is sealed: JSON lines, each on the disk before the next is taken.

The first line says whose run it is; every other line is an event without its place. A process that
is killed leaves a whole log, or one whose last line is torn: it has no line feed.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from affidavit.base.canonical import jcs
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import recordings as faults
from affidavit.base.files import open_to_read
from affidavit.base.json_limits import JsonLimits, JsonValue
from affidavit.base.json_lines import read_lines
from affidavit.base.strict_json import decode
from affidavit.seal.bundle.drafting import Draft, Run
from affidavit.seal.bundle.limits import DEFAULT_LIMITS

VERSION: Final = 1
# What the envelope of an event adds to the line of the log, and some more.
_ENVELOPE_BYTES: Final = 4096
MAX_LINE_BYTES: Final = DEFAULT_LIMITS.max_line_bytes - _ENVELOPE_BYTES
_LIMITS: Final = JsonLimits(MAX_LINE_BYTES, DEFAULT_LIMITS.max_json_depth - 1)


class HeaderV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first line of a log."""

    affidavit_run: int
    id: str
    source: str
    producer: str
    producer_version: str
    git: str


class EntryV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Any other line of a log."""

    type: str
    time: str
    data: Any
    subject: str | None = None
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
    return jcs({"affidavit_run": VERSION, **asdict(run)})


def entry_line(entry: EntryV1) -> bytes:
    """Return the line of an event, without its line feed; refuse what a bundle could not hold."""
    said = {name: getattr(entry, name) for name in entry.__struct_fields__}
    line = jcs({name: value for name, value in said.items() if name == "data" or value})
    if len(line) > MAX_LINE_BYTES:
        raise AffidavitError(faults.RECORD_TOO_LARGE, Where(field="data"), limit=MAX_LINE_BYTES)
    return line


@contextmanager
def open_log(path: Path) -> Iterator[OpenLog]:
    """Open the log of a run, to be read once."""
    with open_to_read(path) as stream:
        try:
            lines = read_lines(stream, MAX_LINE_BYTES + 1)
            first = next(lines, b"")
            if not first.endswith(b"\n"):
                raise _malformed("its first line is missing or torn")
            log = OpenLog(_run(_value(first, 1)), iter(()))
            log.drafts = _drafts(lines, log)
            yield log
        except AffidavitError as error:
            raise error.at(file=str(path)) from None


def _drafts(lines: Iterator[bytes], log: OpenLog) -> Iterator[Draft]:
    for number, line in enumerate(lines, 2):
        if not line.endswith(b"\n"):
            log.torn_bytes = len(line)
            return
        try:
            entry = msgspec.convert(_value(line, number), EntryV1)
        except msgspec.ValidationError as error:
            raise _malformed(str(error)).at(line=number) from None
        yield Draft(
            entry.type,
            entry.time,
            entry.data,
            entry.subject,
            has_personal_data=entry.personal_data,
            has_secrets=entry.secrets,
        )


def _value(line: bytes, number: int) -> JsonValue:
    return decode(line.removesuffix(b"\n"), _LIMITS, number)


def _run(value: JsonValue) -> Run:
    try:
        header = msgspec.convert(value, HeaderV1)
    except msgspec.ValidationError as error:
        raise _malformed(str(error)).at(line=1) from None
    if header.affidavit_run != VERSION:
        raise _malformed(f"it is of version {header.affidavit_run}, not {VERSION}").at(line=1)
    return Run(header.id, header.source, header.producer, header.producer_version, header.git)


def _malformed(problem: str) -> AffidavitError:
    return AffidavitError(faults.RUN_LOG, problem=problem)
