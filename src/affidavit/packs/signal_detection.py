"""Detects in one pass which signals a bundle captured, redacted or misses."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from affidavit.packs.evaluators import EventConsumer
from affidavit.packs.events import Event, FieldMask, FieldProbe
from affidavit.packs.pointers import ABSENT, JsonPointer, commitment_in, pointer_from
from affidavit.packs.signals import (
    DECLARED_ABSENT,
    RECORDER_PREFIX,
    REGISTRY,
    RUN_FINISHED,
    Carrier,
    carriers_of,
)

# What the events of one type show of signals: looked at one by one, or by their masks.
#
# What an event shows follows from which fields it has, so it is worked out for the first events of
# each mask, and only counted for the others.

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
class SignalRequirement:
    """One signal in the events of one type: every group, by any of its pointers."""

    count: SignalCount
    expected: bool
    groups: tuple[tuple[JsonPointer, ...], ...]


class _SignalEffect(StrEnum):
    CAPTURED = "captured"
    REDACTED = "redacted"
    GAP = "gap"
    NOTHING = "nothing"


class TypeSignalCounter:
    """The events of one type. What a mask of fields means is worked out with the first of them."""

    def __init__(self, needs: tuple[SignalRequirement, ...], paths: frozenset[str]) -> None:
        self._needs = needs
        self._probe = FieldProbe(paths)
        self._seen: dict[FieldMask, int] = {}
        self._effects: dict[FieldMask, tuple[_SignalEffect, ...]] = {}
        self._last: FieldMask | None = None

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

    def _look(self, event: Event, *, has_redactions: bool) -> tuple[_SignalEffect, ...]:
        return tuple(_count_signal(need, event, has_redactions) for need in self._needs)

    def finish(self) -> None:
        """Add what was told from masks alone."""
        for mask, seen in self._seen.items():
            for need, effect in zip(self._needs, self._effects[mask], strict=True):
                more = max(0, seen - MAX_PATHS)
                need.count.captured += more * (effect is _SignalEffect.CAPTURED)
                need.count.gaps += more * (effect is _SignalEffect.GAP)


def _count_signal(need: SignalRequirement, event: Event, has_redactions: bool) -> _SignalEffect:
    """Count what one event shows of one signal, and remember where."""
    count, data = need.count, event.data
    commitment, found_at = None, "/data"
    for group in need.groups:
        pointer, value = _first_found(group, data)
        if pointer is None:
            if not need.expected:
                return _SignalEffect.NOTHING
            count.gaps += 1
            count.first_gap = count.first_gap or evidence_path(event, f"/data{group[0].text}")
            return _SignalEffect.GAP
        found_at = f"/data{pointer.text}"
        if has_redactions:
            commitment = commitment or _commitment_within(value)
    if len(count.paths) < MAX_PATHS:
        count.paths.append(evidence_path(event, found_at))
    if commitment is None:
        count.captured += 1
        return _SignalEffect.CAPTURED
    count.redacted += 1
    count.commitment = count.commitment or commitment
    return _SignalEffect.REDACTED


def _first_found(group: tuple[JsonPointer, ...], data: Any) -> tuple[JsonPointer | None, Any]:
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


def evidence_path(event: Event, pointer: str) -> str:
    """Return where a field of an event stands in a bundle."""
    return f"{EVENTS_FILE}:{event.line}{pointer}"


# Which signals a bundle has: counted over the events in one pass, by type and field.
#
# Four states. Captured: every event that has to show it does. Redacted: the same, but some value
# was replaced by a commitment. Missing: an event that had to show it does not, or a recorder that
# could have recorded it did not. Unknown: nothing in the bundle could have shown it.


class SignalState(StrEnum):
    """How much of a signal a bundle has."""

    CAPTURED = "captured"
    REDACTED = "redacted"
    MISSING = "missing"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class SignalDetail:
    """A signal in a bundle: its state, why, and where it stands or should stand."""

    signal: str
    state: SignalState
    reason: str
    paths: tuple[str, ...] = ()
    commitment: Mapping[str, Any] | None = None

    def as_wire(self) -> dict[str, object]:
        """Return the detail as the ADR's schema has it."""
        wire: dict[str, object] = {
            "status": self.state.value,
            "reason": self.reason,
            "evidence_paths": list(self.paths),
        }
        if self.commitment is not None:
            known = ("alg", "digest", "size_bytes")
            wire["commitment"] = {
                key: self.commitment[key] for key in known if key in self.commitment
            }
        return wire


class SignalDetector:
    """Counts the signals of the events that it is fed."""

    def __init__(self) -> None:
        self._counts = {name: SignalCount() for name in REGISTRY}
        self._watches: dict[str, TypeSignalCounter] = {}
        self._declared: dict[str, str] = {}
        self._by_recorder = False

    def consumer_for(self, event_type: str) -> EventConsumer | None:
        """Return what looks at the events of a type, if they show a signal."""
        if event_type.startswith(RECORDER_PREFIX):
            self._by_recorder = True
        if event_type == RUN_FINISHED:
            return self
        watch = self._watches.get(event_type)
        carriers = list(carriers_of(event_type))
        if watch is None and carriers:
            needs = tuple(self._need(name, carrier) for name, carrier in carriers)
            paths = (path for _, each in carriers for group in each.needs for path in group)
            watch = self._watches[event_type] = TypeSignalCounter(needs, frozenset(paths))
        return watch

    def _need(self, name: str, carrier: Carrier) -> SignalRequirement:
        groups = (tuple(pointer_from(f"/{path}") for path in group) for group in carrier.needs)
        return SignalRequirement(self._counts[name], carrier.expected, tuple(groups))

    def takes(self, payloads: bytes, count: int) -> bool:
        """Take none together: each end of a run is listened to."""
        return False

    def feed(self, event: Event) -> bool:
        """Hear what the end of a run says that it had none of."""
        declared = event.data.get(DECLARED_ABSENT) if isinstance(event.data, dict) else None
        for name in declared if isinstance(declared, list) else ():
            if isinstance(name, str) and name in REGISTRY:
                self._declared.setdefault(name, evidence_path(event, f"/data/{DECLARED_ABSENT}"))
        return False

    def finish(self) -> Mapping[str, SignalDetail]:
        """Return the state of every signal of the registry, in its order."""
        for watch in self._watches.values():
            watch.finish()
        return {name: self._sighting(name, count) for name, count in self._counts.items()}

    def _sighting(self, name: str, count: SignalCount) -> SignalDetail:
        seen = count.captured + count.redacted + count.gaps
        paths = tuple(count.paths)
        if count.gaps:
            reason = f"{count.gaps} of {seen} events that should show it do not"
            return SignalDetail(name, SignalState.MISSING, reason, (str(count.first_gap),))
        if count.redacted:
            reason = f"{count.redacted} of {seen} are redacted, each with a commitment"
            return SignalDetail(name, SignalState.REDACTED, reason, paths, count.commitment)
        if count.captured:
            return SignalDetail(
                name, SignalState.CAPTURED, f"found in {_event_count_text(seen)}", paths
            )
        if name in self._declared:
            reason = "the run says that it had none"
            return SignalDetail(name, SignalState.CAPTURED, reason, (self._declared[name],))
        wanted = _expected_paths(name)
        if self._by_recorder:
            return SignalDetail(name, SignalState.MISSING, "no event of the run shows it", wanted)
        return SignalDetail(name, SignalState.UNKNOWN, "no event could have shown it", wanted)


def _expected_paths(name: str) -> tuple[str, ...]:
    """Return where a signal should stand: the first carrier's type and fields."""
    carrier = REGISTRY[name].carriers[0]
    fields = [f"/data/{group[0]}" for group in carrier.needs] or ["/data"]
    return tuple(f"{carrier.event_type}{pointer}" for pointer in fields)


def _event_count_text(count: int) -> str:
    return "1 event" if count == 1 else f"{count} events"
