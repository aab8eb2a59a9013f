"""What a bundle says, in few words: its events by type, its tools, models, verdicts and policies.

Read from events by type and field, for Affidavit's types and for those of Assay's that say the
same. A value that was redacted is counted under that word.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from affidavit.app.evidence import event_types as kinds
from affidavit.app.evidence.commitments import is_commitment
from affidavit.seal.bundle.manifest import Manifest
from affidavit.seal.bundle.reading import BundleReader

Said = Callable[[Mapping[str, Any]], str | None]


def shown(value: object) -> str:
    """Return a value as one word of a table."""
    if is_commitment(value):
        return "(redacted)"
    return value if isinstance(value, str) else "(not a text)"


def _one(name: str) -> Said:
    def said(data: Mapping[str, Any]) -> str | None:
        return shown(data[name]) if name in data else None

    return said


def _two(first: str, second: str) -> Said:
    def said(data: Mapping[str, Any]) -> str | None:
        parts = [shown(data[name]) for name in (first, second) if name in data]
        return ": ".join(parts) or None

    return said


def _nested(outer: str, *inner: str) -> Said:
    def said(data: Mapping[str, Any]) -> str | None:
        within = data.get(outer)
        if not isinstance(within, dict):
            return shown(within) if outer in data else None
        return next((shown(within[name]) for name in inner if name in within), None)

    return said


# What of an event counts towards which section.
_SECTIONS: Final[Mapping[str, Mapping[str, Said]]] = {
    "models": {kinds.MODEL_CALL: _two("provider", "model")},
    "tools": {kinds.TOOL_CALL: _one("tool"), "assay.tool.decision": _one("tool")},
    "verdicts": {
        kinds.VERDICT: _one("verdict"),
        kinds.RECEIPT: _nested("receipt", "verdict"),
        kinds.GATE_REPORT: _nested("report", "decision"),
    },
    "policies": {
        kinds.POLICY_DECISION: _two("policy", "decision"),
        "assay.tool.decision": _two("policy_digest", "decision"),
    },
    "approvals": {kinds.HUMAN_APPROVAL: _two("approver", "decision")},
}
SECTIONS: Final = ("types", *_SECTIONS)


@dataclass(slots=True)
class Portrait:
    """Counts of what stands in a bundle; `contents` has every event by type and content hash."""

    manifest: Manifest
    first_at: str | None = None
    last_at: str | None = None
    counts: dict[str, Counter[str]] = field(
        default_factory=lambda: {name: Counter() for name in SECTIONS}
    )
    contents: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, event: Mapping[str, Any]) -> None:
        """Count one event."""
        kind, data = event["type"], event["data"]
        self.first_at = self.first_at or event["time"]
        self.last_at = event["time"]
        self.counts["types"][kind] += 1
        self.contents[kind, event["assaycontenthash"]] += 1
        for section, by_kind in _SECTIONS.items():
            said = by_kind[kind](data) if kind in by_kind and isinstance(data, dict) else None
            if said is not None:
                self.counts[section][said] += 1

    def as_wire(self) -> dict[str, object]:
        """Return the portrait as machines get it."""
        sections = {name: dict(sorted(self.counts[name].items())) for name in SECTIONS}
        return {
            "manifest": dict(self.manifest.value),
            "first_at": self.first_at,
            "last_at": self.last_at,
            **sections,
        }


def portrait_of(reader: BundleReader) -> Portrait:
    """Read a whole bundle, and count what stands in it."""
    portrait = Portrait(reader.manifest)
    for _, event in reader.events():
        portrait.add(event)
    return portrait
