"""Summarises what a bundle holds, and compares two bundles.

A summary counts types, models, tools, verdicts, policies and approvals, for Affidavit's event types
and for the equivalent ones of Assay. A redacted value is counted as such.

Two events are the same if their content hashes are equal: time and run do not matter, but number
and order do. Events that only one bundle has are paired by type, in order. The comparison names the
places where a pair differs, not the values: those belong to the bundles.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, Final

from affidavit.app.bundles import open_bundle
from affidavit.base.canonical import jcs
from affidavit.packs import event_types as kinds
from affidavit.packs.pointers import child_pointer
from affidavit.reports.bundle_text import (
    BundleComparison,
    BundleDifference,
    BundleSummary,
    ChangedEvent,
)
from affidavit.seal.bundle.commitments import is_commitment
from affidavit.seal.bundle.container import DEFAULT_LIMITS, BundleLimits
from affidavit.seal.bundle.events import HASHED_FIELDS

EventLabel = Callable[[Mapping[str, Any]], str | None]


def label_of_value(value: object) -> str:
    """Return the label of a value in a table."""
    if is_commitment(value):
        return "(redacted)"
    return value if isinstance(value, str) else "(not a text)"


def _fields(*names: str) -> EventLabel:
    def label(data: Mapping[str, Any]) -> str | None:
        labels = [label_of_value(data[name]) for name in names if name in data]
        return ": ".join(labels) if any(labels) or len(names) == len(labels) == 1 else None

    return label


def _nested(outer: str, inner: str) -> EventLabel:
    def label(data: Mapping[str, Any]) -> str | None:
        value = data.get(outer)
        if not isinstance(value, dict):
            return label_of_value(value) if outer in data else None
        return label_of_value(value[inner]) if inner in value else None

    return label


# The label of an event in each section, by event type.
_SECTIONS: Final[Mapping[str, Mapping[str, EventLabel]]] = {
    "models": {kinds.MODEL_CALL: _fields("provider", "model")},
    "tools": {kinds.TOOL_CALL: _fields("tool"), "assay.tool.decision": _fields("tool")},
    "verdicts": {
        kinds.VERDICT: _fields("verdict"),
        kinds.RECEIPT: _nested("receipt", "verdict"),
        kinds.GATE_REPORT: _nested("report", "decision"),
    },
    "policies": {
        kinds.POLICY_DECISION: _fields("policy", "decision"),
        "assay.tool.decision": _fields("policy_digest", "decision"),
    },
    "approvals": {kinds.HUMAN_APPROVAL: _fields("approver", "decision")},
}
SECTIONS: Final = ("types", *_SECTIONS)


def _count(summary: BundleSummary, event: Mapping[str, Any]) -> None:
    kind, data = event["type"], event["data"]
    summary.first_at = summary.first_at or event["time"]
    summary.last_at = event["time"]
    summary.counts["types"][kind] += 1
    summary.contents[kind, event["assaycontenthash"]] += 1
    for section, by_kind in _SECTIONS.items():
        label = by_kind[kind](data) if kind in by_kind and isinstance(data, dict) else None
        if label is not None:
            summary.counts[section][label] += 1


def show_bundle(
    path: Path,
    is_listed: Callable[[str], bool] | None = None,
    limits: BundleLimits = DEFAULT_LIMITS,
) -> tuple[BundleSummary, list[dict[str, Any]]]:
    """Return the summary of a bundle, and its events of the types to list.

    Nothing is returned unless the whole bundle verifies.
    """
    listed = []
    with open_bundle(path, limits) as reader:
        summary = BundleSummary(reader.manifest, {name: Counter() for name in SECTIONS})
        for _, event in reader.events():
            _count(summary, event)
            if is_listed is not None and is_listed(str(event["type"])):
                listed.append(event)
    return summary, listed


MAX_CHANGED_EVENTS: Final = 100  # Pairs.
_MAX_PATHS: Final = 20  # Places of one pair.
ContentCounts = Counter[tuple[str, str]]


def changed_events(
    left: tuple[Path, ContentCounts], right: tuple[Path, ContentCounts], limits: BundleLimits
) -> list[ChangedEvent]:
    """Return the first pairs of differing events; a side is a bundle and what only it has."""
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
    """Yield the JSON pointers of the smallest parts that differ between two values."""
    if isinstance(left, dict) and isinstance(right, dict):
        for key in sorted({*left, *right}):
            below = child_pointer(path, key)
            if key in left and key in right:
                yield from differing_paths(left[key], right[key], below)
            else:
                yield below
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for index, (first, second) in enumerate(zip(left, right, strict=True)):
            yield from differing_paths(first, second, f"{path}/{index}")
    elif jcs(left) != jcs(right):
        yield path


def compare_bundles(
    left: Path, right: Path, limits: BundleLimits = DEFAULT_LIMITS
) -> BundleComparison:
    """Verify two bundles and return their differences; raise if one does not verify."""
    first, second = (show_bundle(path, None, limits)[0] for path in (left, right))
    differences = tuple(_differences(first, second))
    only = (first.contents - second.contents, second.contents - first.contents)
    changed = changed_events((left, only[0]), (right, only[1]), limits) if any(only) else ()
    return BundleComparison(
        bundle_ids={
            "left": first.manifest.known.bundle_id,
            "right": second.manifest.known.bundle_id,
        },
        same=not differences,
        differences=differences,
        changed_events=tuple(changed),
    )


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
    """Return a difference if the same events have another order, as the run roots show."""
    sides = left.manifest.known, right.manifest.known
    if left.contents != right.contents or sides[0].run_root == sides[1].run_root:
        return []
    return [BundleDifference("order", "the same events", *(each.event_count for each in sides))]


def _contents(
    left: Counter[tuple[str, str]], right: Counter[tuple[str, str]]
) -> tuple[Counter[str], Counter[str]]:
    """Return how many events of each type only one bundle has."""
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
        # Only events that the other bundle lacks are counted.
        if is_events or first != second
    ]


def _ending(summary: BundleSummary) -> list[str]:
    ours = summary.manifest.known.affidavit
    if ours is None or ours.finished is None:
        return []
    return ["finished" if ours.finished else "unfinished"]
