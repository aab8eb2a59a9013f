"""What differs between two bundles: events, types, models, tools, verdicts, policies, approvals.

Two events are the same if their content hashes are: when they happened, and in which run, is no
difference. How often counts: a tool that was called once more is one. So does the order.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from affidavit.app.evidence.bundle_files import opened_bundle
from affidavit.app.evidence.changed_events import ChangedEvent, changed_events
from affidavit.app.evidence.portrait import SECTIONS, Portrait, portrait_of
from affidavit.seal.bundle.limits import DEFAULT_LIMITS, BundleLimits


@dataclass(frozen=True, slots=True)
class Difference:
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
class Comparison:
    """Two bundles side by side."""

    left: Portrait
    right: Portrait
    differences: tuple[Difference, ...]
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


def compare_bundles(left: Path, right: Path, limits: BundleLimits = DEFAULT_LIMITS) -> Comparison:
    """Verify two bundles and return what differs. One that does not verify is not compared."""
    portraits = []
    for path in (left, right):
        with opened_bundle(path, limits) as reader:
            portraits.append(portrait_of(reader))
    first, second = portraits
    differences = tuple(_differences(first, second))
    only = (first.contents - second.contents, second.contents - first.contents)
    changed = changed_events((left, only[0]), (right, only[1]), limits) if any(only) else ()
    return Comparison(first, second, differences, tuple(changed))


def _differences(left: Portrait, right: Portrait) -> list[Difference]:
    found = [
        each
        for section in SECTIONS
        for each in _in_section(section, left.counts[section], right.counts[section])
    ]
    events = _contents(left.contents, right.contents)
    flags = _in_section("finished", Counter(_ending(left)), Counter(_ending(right)))
    return [*found, *_in_section("events", *events), *_order(left, right), *flags]


def _order(left: Portrait, right: Portrait) -> list[Difference]:
    """Return that the same events stand in another order, which their run roots tell."""
    sides = left.manifest.known, right.manifest.known
    if left.contents != right.contents or sides[0].run_root == sides[1].run_root:
        return []
    return [Difference("order", "the same events", *(each.event_count for each in sides))]


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
) -> list[Difference]:
    names = sorted({*left, *right})
    pairs = ((name, left.get(name, 0), right.get(name, 0)) for name in names)
    is_events = section == "events"
    return [
        Difference(section, name, first, second)
        for name, first, second in pairs
        # Of events only those are counted that the other bundle does not have.
        if is_events or first != second
    ]


def _ending(portrait: Portrait) -> list[str]:
    ours = portrait.manifest.known.ours
    if ours is None or ours.finished is None:
        return []
    return ["finished" if ours.finished else "unfinished"]
