"""What the events of one type show of signals: looked at one by one, or by their masks.

What an event shows follows from which fields it has, so it is worked out for the first events of
each mask, and only counted for the others.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from affidavit.packs.events import Event
from affidavit.packs.pointers import ABSENT, Pointer, commitment_in
from affidavit.packs.probing import Mask, Probe

EVENTS_FILE: Final = "events.ndjson"
MAX_PATHS: Final = 3  # Places that a report names for each signal.
_REDACTED_MARK: Final = b'"$redacted"'


@dataclass(slots=True)
class SignalCount:
    """How often a signal was seen, redacted, and not there where it should be."""

    captured: int = 0
    redacted: int = 0
    gaps: int = 0
    first_gap: str | None = None
    paths: list[str] = field(default_factory=list)
    commitment: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Need:
    """One signal in the events of one type: every group, by any of its pointers."""

    count: SignalCount
    expected: bool
    groups: tuple[tuple[Pointer, ...], ...]


class _Effect(StrEnum):
    CAPTURED = "captured"
    REDACTED = "redacted"
    GAP = "gap"
    NOTHING = "nothing"


class TypeSignals:
    """The events of one type. What a mask of fields means is worked out with the first of them."""

    def __init__(self, needs: tuple[Need, ...], paths: frozenset[str]) -> None:
        self._needs = needs
        self._probe = Probe(paths)
        self._seen: dict[Mask, int] = {}
        self._effects: dict[Mask, tuple[_Effect, ...]] = {}
        self._last: Mask | None = None

    def takes(self, payloads: bytes, count: int) -> bool:
        """Take events that all have the mask of the one before them."""
        mask = self._last
        if mask is None or self._seen[mask] < MAX_PATHS or payloads.find(_REDACTED_MARK) >= 0:
            return False
        is_same = self._probe.all_have(mask, payloads)
        self._seen[mask] += count * is_same
        return is_same

    def feed(self, event: Event) -> bool:
        """Count what an event shows, by its mask if enough of its kind were looked at."""
        raw = bytes(event.head.data)
        has_redactions = raw.find(_REDACTED_MARK) >= 0
        mask = None if has_redactions else self._probe.mask(raw)
        if mask is None:
            self._look(event, has_redactions=has_redactions)
            return False
        self._last = mask
        seen = self._seen.get(mask, 0)
        if seen < MAX_PATHS:
            # The first of each kind leave their places in the report.
            self._effects[mask] = self._look(event, has_redactions=False)
        self._seen[mask] = seen + 1
        return False

    def _look(self, event: Event, *, has_redactions: bool) -> tuple[_Effect, ...]:
        return tuple(_look(need, event, has_redactions) for need in self._needs)

    def finish(self) -> None:
        """Add what was told from masks alone."""
        for mask, seen in self._seen.items():
            for need, effect in zip(self._needs, self._effects[mask], strict=True):
                more = max(0, seen - MAX_PATHS)
                need.count.captured += more * (effect is _Effect.CAPTURED)
                need.count.gaps += more * (effect is _Effect.GAP)


def _look(need: Need, event: Event, has_redactions: bool) -> _Effect:
    """Count what one event shows of one signal, and remember where."""
    count, data = need.count, event.data
    commitment, found_at = None, "/data"
    for group in need.groups:
        pointer, value = _first_found(group, data)
        if pointer is None:
            if not need.expected:
                return _Effect.NOTHING
            count.gaps += 1
            count.first_gap = count.first_gap or path_to(event, f"/data{group[0].text}")
            return _Effect.GAP
        found_at = f"/data{pointer.text}"
        if has_redactions:
            commitment = commitment or _commitment_within(value)
    if len(count.paths) < MAX_PATHS:
        count.paths.append(path_to(event, found_at))
    if commitment is None:
        count.captured += 1
        return _Effect.CAPTURED
    count.redacted += 1
    count.commitment = count.commitment or commitment
    return _Effect.REDACTED


def _first_found(group: tuple[Pointer, ...], data: Any) -> tuple[Pointer | None, Any]:
    for pointer in group:
        value = pointer.find(data)
        if value is not ABSENT:
            return pointer, value
    return None, ABSENT


def _commitment_within(value: Any) -> Mapping[str, Any] | None:
    """Return the first commitment in a value, looking into lists and objects."""
    pending = [value]
    while pending:
        here = pending.pop()
        commitment = commitment_in(here)
        if commitment is not None:
            return commitment
        if isinstance(here, dict):
            pending.extend(reversed(here.values()))
        elif isinstance(here, list):
            pending.extend(reversed(here))
    return None


def path_to(event: Event, pointer: str) -> str:
    """Return where a field of an event stands in a bundle."""
    return f"{EVENTS_FILE}:{event.line}{pointer}"
