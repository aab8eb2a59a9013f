"""What lint finds: which rule, where, and a fingerprint that outlives a second run."""

from dataclasses import dataclass
from typing import Final

from affidavit.base.digest import sha256_hex
from affidavit.packs.events import Event
from affidavit.packs.model import Severity

WHOLE_BUNDLE: Final = "global"


@dataclass(frozen=True, slots=True)
class EventLocation:
    """An event: its number in the run, its line, its type, and the field if there is one."""

    seq: int
    line: int
    event_type: str
    pointer: str | None = None

    def __str__(self) -> str:
        field = "" if self.pointer is None else f":{self.pointer}"
        return f"{self.seq}:{self.line}{field}"

    def as_wire(self) -> dict[str, object]:
        """Return the place as a report shows it."""
        return {
            "seq": self.seq,
            "line": self.line,
            "event_type": self.event_type,
            "pointer": self.pointer,
        }


def location_of(event: Event, pointer: str | None = None) -> EventLocation:
    """Return where an event stands, or a field of it."""
    return EventLocation(event.head.assayseq, event.line, event.head.type, pointer)


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One thing that a rule found. Without a location it is about the bundle as a whole."""

    rule_id: str
    severity: Severity
    message: str
    location: EventLocation | None
    fingerprint: str
    pack: str | None = None

    def as_wire(self) -> dict[str, object]:
        """Return the finding as a report shows it."""
        return {
            "rule_id": self.rule_id,
            "severity": self.severity.value,
            "message": self.message,
            "location": None if self.location is None else self.location.as_wire(),
            "fingerprint": self.fingerprint,
            "pack": self.pack,
        }


def finding_fingerprint(
    rule_id: str, location: EventLocation | None, digest: str | None = None
) -> str:
    """Return the digest of rule, place and pack: the same finding has the same one in every run.

    Origin: Assay's lint; the field is ours, for one event may hold several secrets.
    """
    parts = [rule_id, WHOLE_BUNDLE if location is None else str(location)]
    if digest is not None:
        parts.append(digest)
    return f"sha256:{sha256_hex(':'.join(parts).encode('utf-8', 'surrogatepass'))}"
