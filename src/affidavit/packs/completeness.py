"""Completeness: what the packs need to be recorded, and what of it a bundle has.

Origin: ADR-025, track 2 and its closure-v1 schema. The three lists divide what is required; the
list `unknown` holds what is missing as well as what nothing could show, and `by_signal` says which.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from affidavit.packs.detection import Sighting, State
from affidavit.packs.model import Pack


@dataclass(frozen=True, slots=True)
class Completeness:
    """The required signals with their states, sorted by name."""

    sightings: tuple[Sighting, ...]

    def names(self, *states: State) -> list[str]:
        """Return the signals that are in one of some states."""
        return [each.signal for each in self.sightings if each.state in states]

    def as_wire(self) -> dict[str, object]:
        """Return it as the ADR's schema has it."""
        return {
            "required": [each.signal for each in self.sightings],
            "captured": self.names(State.CAPTURED),
            "redacted": self.names(State.REDACTED),
            "unknown": self.names(State.MISSING, State.UNKNOWN),
            "by_signal": {each.signal: each.as_wire() for each in self.sightings},
        }


def completeness_of(packs: Iterable[Pack], sightings: Mapping[str, Sighting]) -> Completeness:
    """Return how much of what the packs require a bundle has."""
    required = sorted({name for pack in packs for name in pack.signals})
    return Completeness(tuple(sightings[name] for name in required))
