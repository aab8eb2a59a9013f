"""Closure: how much of a run could be run again from its bundle alone.

Origin: ADR-025, track 3. `weighted_ratio_v1`: the weights of the captured signals over the weights
of all that a replay needs (signals.py), rounded to six decimals by the one rule of reports. What is
redacted cannot be replayed, so it counts as missing until it is revealed.

Confidence is about the record, not about the score. High: every run that started has finished, and
no signal is unknown. Medium: one of the two holds. Low: neither.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from affidavit.base.statistics.rounding import rounded
from affidavit.packs.detection import Sighting, State
from affidavit.packs.signals import REGISTRY, REPLAY_CRITICAL, TOTAL_WEIGHT

METHOD: Final = "weighted_ratio_v1"


class Confidence(StrEnum):
    """How far the record itself can be relied on."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class Closure:
    """The score with all that it is made of, signals in the order of the registry."""

    sightings: tuple[Sighting, ...]
    is_whole: bool
    uncontrolled: tuple[str, ...]

    @property
    def weight(self) -> int:
        """The weights of what is captured."""
        return sum(
            REGISTRY[each.signal].weight for each in self.sightings if each.state is State.CAPTURED
        )

    @property
    def score(self) -> float:
        """The share of what a replay needs that the bundle holds."""
        return rounded(self.weight / TOTAL_WEIGHT)

    @property
    def confidence(self) -> Confidence:
        """How far the record can be relied on."""
        nothing_unknown = all(each.state is not State.UNKNOWN for each in self.sightings)
        held = self.is_whole + nothing_unknown
        return (Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH)[held]

    def as_wire(self) -> dict[str, object]:
        """Return it as the ADR's schema has it."""
        captured = {each.signal for each in self.sightings if each.state is State.CAPTURED}
        names = sorted(each.signal for each in self.sightings)
        return {
            "score": self.score,
            "confidence": self.confidence.value,
            "captured": [name for name in names if name in captured],
            "missing": [name for name in names if name not in captured],
            "uncontrolled_dependencies": list(self.uncontrolled),
            "scoring": {
                "method": METHOD,
                "weights": {name: REGISTRY[name].weight for name in names},
            },
        }


def gain_of(signal: str) -> float:
    """Return what capturing a signal adds to the score."""
    return rounded(REGISTRY[signal].weight / TOTAL_WEIGHT)


def closure_of(
    sightings: Mapping[str, Sighting], *, is_whole: bool, uncontrolled: tuple[str, ...]
) -> Closure:
    """Return the closure of a bundle whose signals were counted."""
    critical = tuple(sightings[signal.name] for signal in REPLAY_CRITICAL)
    return Closure(critical, is_whole, uncontrolled)
