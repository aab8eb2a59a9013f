"""Makes the lines of a bundle from what happened: each event gets its number, id and hash."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from affidavit.base.canonical import jcs
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults.recordings import RECORD_VALUE
from affidavit.base.json_limits import JsonValue
from affidavit.seal.bundle.event import CONTENT_TYPE, Moment, content_hash
from affidavit.seal.bundle.event_batches import FLAGS, Pattern, written_name, written_subject
from affidavit.seal.bundle.merkle import marked_lines
from affidavit.seal.bundle.totals import Totals

_PORTION: Final = 512  # Lines that are summed up at a time.


@dataclass(frozen=True, slots=True)
class Run:
    """What all events of a run say of it."""

    id: str
    source: str
    producer: str
    producer_version: str
    git: str = "unknown"

    def __post_init__(self) -> None:
        if not self.id or ":" in self.id:
            raise _invalid("a run id is a text without a colon, and not empty", "run_id")
        if self.source.find(":") < 1:
            raise _invalid("a source is an address like urn:example:run", "source")

    def producer_as_wire(self) -> dict[str, JsonValue]:
        """Return who wrote it, as the manifest names it."""
        named: dict[str, JsonValue] = {"name": self.producer, "version": self.producer_version}
        return named if self.git == "unknown" else {**named, "git": self.git}


@dataclass(frozen=True, slots=True)
class Draft:
    """An event before it has a place: what happened, when, and of what kind it is."""

    type: str
    time: str
    data: JsonValue
    subject: str | None = None
    has_personal_data: bool = False
    has_secrets: bool = False


class Drafting:
    """Turns drafts into lines, one after another, and keeps count for the manifest."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.totals = Totals()
        self._count = 0
        self._lines: list[bytes] = []
        self._hashes: list[bytes] = []
        self._pattern = _pattern_of(run)
        self._form = self._pattern.form() + b"\n"

    def line(self, draft: Draft) -> bytes:
        """Return the line of the next event, with its line feed."""
        data, kind = jcs(draft.data), written_name(draft.type)
        subject, number = written_subject(draft.subject), b"%d" % self._count
        hashed = b'{"data":%b%b%b,"type":%b}' % (data, self._pattern.hashed, subject, kind)
        content = hashlib.sha256(hashed).hexdigest().encode()
        time = checked_time(draft.time).encode()
        flags = FLAGS[draft.has_personal_data], FLAGS[draft.has_secrets]
        values = (content, *flags, number, data, number, subject, time, kind)
        return self._added(self._form % values, content)

    def rewritten(self, event: Mapping[str, JsonValue]) -> bytes:
        """Return the line of a whole event, which keeps all but its content hash."""
        said = content_hash(event)
        line = jcs({**event, "assaycontenthash": said}) + b"\n"
        return self._added(line, said.removeprefix("sha256:").encode())

    def finished_totals(self) -> Totals:
        """Return what all lines come to."""
        self._sum_up()
        return self.totals

    def _added(self, line: bytes, content: bytes) -> bytes:
        self._count += 1
        self._lines.append(line)
        self._hashes.append(content)
        if len(self._lines) == _PORTION:
            self._sum_up()
        return line

    def _sum_up(self) -> None:
        if self._lines:
            text = b"".join(self._lines)
            self.totals.add(text, self._hashes, marked_lines(text))
        self._lines, self._hashes = [], []


def _pattern_of(run: Run) -> Pattern:
    """Return what all events of a run have in common."""
    return Pattern.of(run.id, run.source, run.producer, run.producer_version, run.git, CONTENT_TYPE)


def checked_time(text: str) -> str:
    """Return a time that events can have: RFC 3339, with its zone."""
    try:
        msgspec.convert(text, Moment)
    except msgspec.ValidationError:
        problem = "it is not a time like 2026-01-31T14:30:00Z"
        raise _invalid(problem, "time") from None
    return text


def _invalid(problem: str, field: str) -> AffidavitError:
    return AffidavitError(RECORD_VALUE, Where(field=field), problem=problem)
