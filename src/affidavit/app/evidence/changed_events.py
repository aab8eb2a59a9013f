"""Which events differ between two bundles, and where.

Events that stand in one bundle only are set side by side: of each type the first of the left with
the first of the right, and so on. Of a pair it is said at which places the two differ, not what
stands there: values belong to the bundles.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, Final

from affidavit.app.evidence.bundle_files import opened_bundle
from affidavit.base.canonical import jcs
from affidavit.seal.bundle.event import HASHED
from affidavit.seal.bundle.limits import BundleLimits

LISTED: Final = 100  # Pairs; and of one pair at most so many places.
_PLACES: Final = 20
Contents = Counter[tuple[str, str]]


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
    left: tuple[Path, Contents], right: tuple[Path, Contents], limits: BundleLimits
) -> list[ChangedEvent]:
    """Return the first pairs of events that differ; each side is a bundle and what it alone has."""
    sides = [_first_of_each_type(path, only, limits) for path, only in (left, right)]
    kinds = sorted({*sides[0], *sides[1]})
    pairs = (
        _changed(kind, first, second)
        for kind in kinds
        for first, second in zip_longest(*(side.get(kind, []) for side in sides))
    )
    return list(islice(pairs, LISTED))


def _first_of_each_type(
    path: Path, only: Contents, limits: BundleLimits
) -> dict[str, list[dict[str, Any]]]:
    left = Counter(only)
    found: dict[str, list[dict[str, Any]]] = {}
    with opened_bundle(path, limits) as reader:
        for _, event in reader.events():
            key = str(event["type"]), str(event["assaycontenthash"])
            if left[key] > 0:
                left[key] -= 1
                held = found.setdefault(key[0], [])
                if len(held) < LISTED:
                    held.append(event)
    return found


def _changed(kind: str, left: dict[str, Any] | None, right: dict[str, Any] | None) -> ChangedEvent:
    if left is None or right is None:
        return ChangedEvent(kind, _number(left), _number(right))
    paths = differing_paths(_compared(left), _compared(right))
    return ChangedEvent(kind, left["assayseq"], right["assayseq"], tuple(islice(paths, _PLACES)))


def _number(event: dict[str, Any] | None) -> int | None:
    return None if event is None else event["assayseq"]


def _compared(event: dict[str, Any]) -> dict[str, Any]:
    return {key: event[key] for key in HASHED if key in event}


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
