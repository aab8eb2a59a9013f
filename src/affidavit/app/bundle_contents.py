"""Summarises what a bundle holds, and compares two bundles."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, Final

from affidavit.app import recording as kinds
from affidavit.app.bundle_disclosure import is_commitment
from affidavit.app.bundles import open_bundle
from affidavit.base.canonical import jcs
from affidavit.seal.bundle.events import HASHED_FIELDS
from affidavit.seal.bundle.limits import DEFAULT_LIMITS, BundleLimits
from affidavit.seal.bundle.manifest import Manifest
from affidavit.seal.bundle.reader import BundleReader

# What a bundle says, in few words: its events by type, its tools, models, verdicts and policies.
#
# Read from events by type and field, for Affidavit's types and for those of Assay's that say the
# same. A value that was redacted is counted under that word.

EventLabel = Callable[[Mapping[str, Any]], str | None]


def label_of_value(value: object) -> str:
    """Return a value as one word of a table."""
    if is_commitment(value):
        return "(redacted)"
    return value if isinstance(value, str) else "(not a text)"


def _one(name: str) -> EventLabel:
    def said(data: Mapping[str, Any]) -> str | None:
        return label_of_value(data[name]) if name in data else None

    return said


def _two(first: str, second: str) -> EventLabel:
    def said(data: Mapping[str, Any]) -> str | None:
        parts = [label_of_value(data[name]) for name in (first, second) if name in data]
        return ": ".join(parts) or None

    return said


def _nested(outer: str, *inner: str) -> EventLabel:
    def said(data: Mapping[str, Any]) -> str | None:
        within = data.get(outer)
        if not isinstance(within, dict):
            return label_of_value(within) if outer in data else None
        return next((label_of_value(within[name]) for name in inner if name in within), None)

    return said


# What of an event counts towards which section.
_SECTIONS: Final[Mapping[str, Mapping[str, EventLabel]]] = {
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
class BundleSummary:
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


def summarise_bundle(reader: BundleReader) -> BundleSummary:
    """Read a whole bundle, and count what stands in it."""
    portrait = BundleSummary(reader.manifest)
    for _, event in reader.events():
        portrait.add(event)
    return portrait


# Shows a bundle: what stands in it, counted, and the events that are asked for.


def show_bundle(
    path: Path,
    is_listed: Callable[[str], bool] | None = None,
    limits: BundleLimits = DEFAULT_LIMITS,
) -> tuple[BundleSummary, list[dict[str, Any]]]:
    """Return what a bundle holds, and its events of the types that are to be listed.

    Both are returned only when the whole bundle has been verified.
    """
    listed = []
    with open_bundle(path, limits) as reader:
        portrait = BundleSummary(reader.manifest)
        for _, event in reader.events():
            portrait.add(event)
            if is_listed is not None and is_listed(str(event["type"])):
                listed.append(event)
    return portrait, listed


# Which events differ between two bundles, and where.
#
# Events that stand in one bundle only are set side by side: of each type the first of the left with
# the first of the right, and so on. Of a pair it is said at which places the two differ, not what
# stands there: values belong to the bundles.

MAX_CHANGED_EVENTS: Final = 100  # Pairs; and of one pair at most so many places.
_MAX_PATHS: Final = 20
ContentCounts = Counter[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class ChangedEvent:
    """Two events that stand for one another, by number; None where one side has none left."""

    type: str
    left: int | None
    right: int | None
    paths: tuple[str, ...] = ()

    def as_wire(self) -> dict[str, object]:
        """Return the pair as machines get it."""
        return {
            "type": self.type,
            "left": self.left,
            "right": self.right,
            "paths": list(self.paths),
        }


def changed_events(
    left: tuple[Path, ContentCounts], right: tuple[Path, ContentCounts], limits: BundleLimits
) -> list[ChangedEvent]:
    """Return the first pairs of events that differ; each side is a bundle and what it alone has."""
    sides = [_first_of_each_type(path, only, limits) for path, only in (left, right)]
    kinds = sorted({*sides[0], *sides[1]})
    pairs = (
        _changed(kind, first, second)
        for kind in kinds
        for first, second in zip_longest(*(side.get(kind, []) for side in sides))
    )
    return list(islice(pairs, MAX_CHANGED_EVENTS))


def _first_of_each_type(
    path: Path, only: ContentCounts, limits: BundleLimits
) -> dict[str, list[dict[str, Any]]]:
    left = Counter(only)
    found: dict[str, list[dict[str, Any]]] = {}
    with open_bundle(path, limits) as reader:
        for _, event in reader.events():
            key = str(event["type"]), str(event["assaycontenthash"])
            if left[key] > 0:
                left[key] -= 1
                held = found.setdefault(key[0], [])
                if len(held) < MAX_CHANGED_EVENTS:
                    held.append(event)
    return found


def _changed(kind: str, left: dict[str, Any] | None, right: dict[str, Any] | None) -> ChangedEvent:
    if left is None or right is None:
        return ChangedEvent(kind, _number(left), _number(right))
    paths = differing_paths(_compared(left), _compared(right))
    return ChangedEvent(kind, left["assayseq"], right["assayseq"], tuple(islice(paths, _MAX_PATHS)))


def _number(event: dict[str, Any] | None) -> int | None:
    return None if event is None else event["assayseq"]


def _compared(event: dict[str, Any]) -> dict[str, Any]:
    return {key: event[key] for key in HASHED_FIELDS if key in event}


def differing_paths(left: Any, right: Any, path: str = "") -> Iterator[str]:
    """Yield the JSON pointers of the smallest parts in which two values differ."""
    if isinstance(left, dict) and isinstance(right, dict):
        for key in sorted({*left, *right}):
            below = f"{path}/{key.replace('~', '~0').replace('/', '~1')}"
            if key in left and key in right:
                yield from differing_paths(left[key], right[key], below)
            else:
                yield below
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for index, (first, second) in enumerate(zip(left, right, strict=True)):
            yield from differing_paths(first, second, f"{path}/{index}")
    elif jcs(left) != jcs(right):
        yield path


# What differs between two bundles: events, types, models, tools, verdicts, policies, approvals.
#
# Two events are the same if their content hashes are: when they happened, and in which run, is no
# difference. How often counts: a tool that was called once more is one. So does the order.


@dataclass(frozen=True, slots=True)
class BundleDifference:
    """One thing that stands more often in one bundle than in the other."""

    section: str
    what: str
    left: int
    right: int

    def as_wire(self) -> dict[str, object]:
        """Return the difference as machines get it."""
        return {
            "section": self.section,
            "what": self.what,
            "left": self.left,
            "right": self.right,
        }


@dataclass(frozen=True, slots=True)
class BundleComparison:
    """Two bundles side by side."""

    left: BundleSummary
    right: BundleSummary
    differences: tuple[BundleDifference, ...]
    changed: tuple[ChangedEvent, ...] = ()

    def as_wire(self) -> dict[str, object]:
        """Return the comparison as machines get it."""
        sides = {"left": self.left, "right": self.right}
        ids = {side: portrait.manifest.known.bundle_id for side, portrait in sides.items()}
        differences = [each.as_wire() for each in self.differences]
        return {
            "bundle_ids": ids,
            "same": not differences,
            "differences": differences,
            "changed_events": [each.as_wire() for each in self.changed],
        }


def compare_bundles(
    left: Path, right: Path, limits: BundleLimits = DEFAULT_LIMITS
) -> BundleComparison:
    """Verify two bundles and return what differs. One that does not verify is not compared."""
    portraits = []
    for path in (left, right):
        with open_bundle(path, limits) as reader:
            portraits.append(summarise_bundle(reader))
    first, second = portraits
    differences = tuple(_differences(first, second))
    only = (first.contents - second.contents, second.contents - first.contents)
    changed = changed_events((left, only[0]), (right, only[1]), limits) if any(only) else ()
    return BundleComparison(first, second, differences, tuple(changed))


def _differences(left: BundleSummary, right: BundleSummary) -> list[BundleDifference]:
    found = [
        each
        for section in SECTIONS
        for each in _in_section(section, left.counts[section], right.counts[section])
    ]
    events = _contents(left.contents, right.contents)
    flags = _in_section("finished", Counter(_ending(left)), Counter(_ending(right)))
    return [*found, *_in_section("events", *events), *_order(left, right), *flags]


def _order(left: BundleSummary, right: BundleSummary) -> list[BundleDifference]:
    """Return that the same events stand in another order, which their run roots tell."""
    sides = left.manifest.known, right.manifest.known
    if left.contents != right.contents or sides[0].run_root == sides[1].run_root:
        return []
    return [BundleDifference("order", "the same events", *(each.event_count for each in sides))]


def _contents(
    left: Counter[tuple[str, str]], right: Counter[tuple[str, str]]
) -> tuple[Counter[str], Counter[str]]:
    """Return how many events of each type stand in one bundle only."""
    sides: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    for side, only in zip(sides, (left - right, right - left), strict=True):
        for (kind, _), count in only.items():
            side[kind] += count
    return sides


def _in_section(
    section: str, left: Mapping[str, int], right: Mapping[str, int]
) -> list[BundleDifference]:
    names = sorted({*left, *right})
    pairs = ((name, left.get(name, 0), right.get(name, 0)) for name in names)
    is_events = section == "events"
    return [
        BundleDifference(section, name, first, second)
        for name, first, second in pairs
        # Of events only those are counted that the other bundle does not have.
        if is_events or first != second
    ]


def _ending(portrait: BundleSummary) -> list[str]:
    ours = portrait.manifest.known.affidavit
    if ours is None or ours.finished is None:
        return []
    return ["finished" if ours.finished else "unfinished"]
