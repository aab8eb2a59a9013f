"""Which signals a bundle has: counted over the events in one pass, by type and field.

Four states. Captured: every event that has to show it does. Redacted: the same, but some value was
replaced by a commitment. Missing: an event that had to show it does not, or a recorder that could
have recorded it did not. Unknown: nothing in the bundle could have shown it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from affidavit.packs.events import Event
from affidavit.packs.pointers import pointer_from
from affidavit.packs.signals import (
    DECLARED_ABSENT,
    RECORDER_PREFIX,
    REGISTRY,
    RUN_FINISHED,
    Carrier,
    carriers_of,
)
from affidavit.packs.type_signals import Need, SignalCount, TypeSignals, path_to
from affidavit.packs.watching import Consumer


class State(StrEnum):
    """How much of a signal a bundle has."""

    CAPTURED = "captured"
    REDACTED = "redacted"
    MISSING = "missing"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Sighting:
    """A signal in a bundle: its state, why, and where it stands or should stand."""

    signal: str
    state: State
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


class SignalWatch:
    """Counts the signals of the events that it is fed."""

    def __init__(self) -> None:
        self._counts = {name: SignalCount() for name in REGISTRY}
        self._watches: dict[str, TypeSignals] = {}
        self._declared: dict[str, str] = {}
        self._by_recorder = False

    def consumer_for(self, event_type: str) -> Consumer | None:
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
            watch = self._watches[event_type] = TypeSignals(needs, frozenset(paths))
        return watch

    def _need(self, name: str, carrier: Carrier) -> Need:
        groups = (tuple(pointer_from(f"/{path}") for path in group) for group in carrier.needs)
        return Need(self._counts[name], carrier.expected, tuple(groups))

    def takes(self, payloads: bytes, count: int) -> bool:
        """Take none together: each end of a run is listened to."""
        return False

    def feed(self, event: Event) -> bool:
        """Hear what the end of a run says that it had none of."""
        declared = event.data.get(DECLARED_ABSENT) if isinstance(event.data, dict) else None
        for name in declared if isinstance(declared, list) else ():
            if isinstance(name, str) and name in REGISTRY:
                self._declared.setdefault(name, path_to(event, f"/data/{DECLARED_ABSENT}"))
        return False

    def finish(self) -> Mapping[str, Sighting]:
        """Return the state of every signal of the registry, in its order."""
        for watch in self._watches.values():
            watch.finish()
        return {name: self._sighting(name, count) for name, count in self._counts.items()}

    def _sighting(self, name: str, count: SignalCount) -> Sighting:
        seen = count.captured + count.redacted + count.gaps
        paths = tuple(count.paths)
        if count.gaps:
            reason = f"{count.gaps} of {seen} events that should show it do not"
            return Sighting(name, State.MISSING, reason, (str(count.first_gap),))
        if count.redacted:
            reason = f"{count.redacted} of {seen} are redacted, each with a commitment"
            return Sighting(name, State.REDACTED, reason, paths, count.commitment)
        if count.captured:
            return Sighting(name, State.CAPTURED, f"found in {_events(seen)}", paths)
        if name in self._declared:
            reason = "the run says that it had none"
            return Sighting(name, State.CAPTURED, reason, (self._declared[name],))
        wanted = _hints(name)
        if self._by_recorder:
            return Sighting(name, State.MISSING, "no event of the run shows it", wanted)
        return Sighting(name, State.UNKNOWN, "no event could have shown it", wanted)


def _hints(name: str) -> tuple[str, ...]:
    """Return where a signal should stand: the first carrier's type and fields."""
    carrier = REGISTRY[name].carriers[0]
    fields = [f"/data/{group[0]}" for group in carrier.needs] or ["/data"]
    return tuple(f"{carrier.event_type}{pointer}" for pointer in fields)


def _events(count: int) -> str:
    return "1 event" if count == 1 else f"{count} events"
