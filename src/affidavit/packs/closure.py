"""Completeness and closure: required signals, the replay score, and uncontrolled dependencies."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from affidavit.base.statistics.arithmetic import rounded
from affidavit.base.text import excerpt
from affidavit.packs.evaluators import EventConsumer
from affidavit.packs.events import Event, FieldProbe
from affidavit.packs.model import Pack
from affidavit.packs.pointers import ABSENT, pointer_from
from affidavit.packs.signal_detection import SignalDetail, SignalState
from affidavit.packs.signals import REGISTRY, REPLAY_CRITICAL, TOTAL_WEIGHT

# What a run depended on that the bundle does not hold still: the closure's uncontrolled part.

MAX_NAMED: Final = 100
_SUBJECT_KINDS: Final = {"assay.net.connect": "network", "assay.process.exec": "process"}
_MODEL_CALL: Final = "affidavit.model.call"
_TOOL_CALL: Final = "affidavit.tool.call"
_TEMPERATURE: Final = pointer_from("/parameters/temperature")
_SEED: Final = pointer_from("/parameters/seed")
_OUTPUT: Final = FieldProbe(["output"])
# A temperature that is not 0, as canonical JSON writes it.
_NONZERO_TEMPERATURE: Final = re.compile(rb'"temperature":(?!0[,}])')


class DependencyCollector:
    """Collects what a replay would have to ask again: live tools, the network, drawn answers.

    The rule, event by event: a network connection and a process that was started, by subject; a
    tool call without its output; a model call with a temperature above 0 and no seed.
    """

    def __init__(self) -> None:
        self._named: set[str] = set()
        self._has_more = False

    def consumer_for(self, event_type: str) -> EventConsumer | None:
        """Return what looks at the events of a type, if they can be such a dependency."""
        are_harmless = _HARMLESS.get(event_type)
        return None if are_harmless is None else _TypeCollector(self, are_harmless)

    def note(self, named: str) -> None:
        """Remember a dependency, if there is room."""
        if named not in self._named:
            if len(self._named) < MAX_NAMED:
                self._named.add(named)
            else:
                self._has_more = True

    def finish(self) -> tuple[str, ...]:
        """Return the dependencies, sorted; the first hundred met are named."""
        more = (f"and others: the first {MAX_NAMED} are named",) if self._has_more else ()
        return (*sorted(self._named), *more)


class _TypeCollector:
    """The events of one type; most can be told to be harmless from their payloads together."""

    def __init__(
        self, all_types: DependencyCollector, are_harmless: Callable[[bytes], bool]
    ) -> None:
        self._all_types = all_types
        self._are_harmless = are_harmless

    def takes(self, payloads: bytes, count: int) -> bool:
        """Take events of which none is a dependency."""
        return self._are_harmless(payloads)

    def feed(self, event: Event) -> bool:
        """Note what an event depends on."""
        named = _dependency(event)
        if named is not None:
            self._all_types.note(named)
        return False


def _have_zero_temperature(payloads: bytes) -> bool:
    # An escape could spell the key in another way.
    return _NONZERO_TEMPERATURE.search(payloads) is None and payloads.find(b"\\u") < 0


def _never_harmless(payloads: bytes) -> bool:
    return False


_HARMLESS: Final[Mapping[str, Callable[[bytes], bool]]] = {
    _TOOL_CALL: _OUTPUT.has_all,
    _MODEL_CALL: _have_zero_temperature,
    **dict.fromkeys(_SUBJECT_KINDS, _never_harmless),
}


def _dependency(event: Event) -> str | None:
    kind = event.head.type
    if kind in _SUBJECT_KINDS:
        return f"{_SUBJECT_KINDS[kind]}: {excerpt(event.head.subject or 'unnamed')}"
    data: Any = event.data
    if not isinstance(data, dict):
        return None
    if kind == _TOOL_CALL:
        return None if "output" in data else f"live tool: {_name(data, 'tool')}"
    temperature = _TEMPERATURE.find(data)
    is_drawn = isinstance(temperature, int | float) and temperature > 0
    has_seed = _SEED.find(data) not in (ABSENT, None)
    return f"sampled model: {_name(data, 'model')}" if is_drawn and not has_seed else None


def _name(data: dict[str, Any], key: str) -> str:
    name = data.get(key)
    return excerpt(name) if isinstance(name, str) and name else "unnamed"


# Completeness: what the packs need to be recorded, and what of it a bundle has.
#
# Origin: ADR-025, track 2 and its closure-v1 schema. The three lists divide what is required; the
# list `unknown` holds what is missing as well as what nothing could show, and `by_signal` says
# which.


@dataclass(frozen=True, slots=True)
class Completeness:
    """The required signals with their states, sorted by name."""

    sightings: tuple[SignalDetail, ...]

    def names(self, *states: SignalState) -> list[str]:
        """Return the signals that are in one of some states."""
        return [each.signal for each in self.sightings if each.state in states]

    def as_wire(self) -> dict[str, object]:
        """Return it as the ADR's schema has it."""
        return {
            "required": [each.signal for each in self.sightings],
            "captured": self.names(SignalState.CAPTURED),
            "redacted": self.names(SignalState.REDACTED),
            "unknown": self.names(SignalState.MISSING, SignalState.UNKNOWN),
            "by_signal": {each.signal: each.as_wire() for each in self.sightings},
        }


def completeness_of(packs: Iterable[Pack], sightings: Mapping[str, SignalDetail]) -> Completeness:
    """Return how much of what the packs require a bundle has."""
    required = sorted({name for pack in packs for name in pack.signals})
    return Completeness(tuple(sightings[name] for name in required))


# Closure: how much of a run could be run again from its bundle alone.
#
# Origin: ADR-025, track 3. `weighted_ratio_v1`: the weights of the captured signals over the
# weights of all that a replay needs (signals.py), rounded to six decimals by the one rule of
# reports. What is redacted cannot be replayed, so it counts as missing until it is revealed.
#
# Confidence is about the record, not about the score. High: every run that started has finished,
# and no signal is unknown. Medium: one of the two holds. Low: neither.

METHOD: Final = "weighted_ratio_v1"


class ClosureConfidence(StrEnum):
    """How far the record itself can be relied on."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class Closure:
    """The score with all that it is made of, signals in the order of the registry."""

    sightings: tuple[SignalDetail, ...]
    is_whole: bool
    uncontrolled: tuple[str, ...]

    @property
    def weight(self) -> int:
        """The weights of what is captured."""
        return sum(
            REGISTRY[each.signal].weight
            for each in self.sightings
            if each.state is SignalState.CAPTURED
        )

    @property
    def score(self) -> float:
        """The share of what a replay needs that the bundle holds."""
        return rounded(self.weight / TOTAL_WEIGHT)

    @property
    def confidence(self) -> ClosureConfidence:
        """How far the record can be relied on."""
        nothing_unknown = all(each.state is not SignalState.UNKNOWN for each in self.sightings)
        held = self.is_whole + nothing_unknown
        return (ClosureConfidence.LOW, ClosureConfidence.MEDIUM, ClosureConfidence.HIGH)[held]

    def as_wire(self) -> dict[str, object]:
        """Return it as the ADR's schema has it."""
        captured = {each.signal for each in self.sightings if each.state is SignalState.CAPTURED}
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


def score_gain(signal: str) -> float:
    """Return what capturing a signal adds to the score."""
    return rounded(REGISTRY[signal].weight / TOTAL_WEIGHT)


def closure_of(
    sightings: Mapping[str, SignalDetail], *, is_whole: bool, uncontrolled: tuple[str, ...]
) -> Closure:
    """Return the closure of a bundle whose signals were counted."""
    critical = tuple(sightings[signal.name] for signal in REPLAY_CRITICAL)
    return Closure(critical, is_whole, uncontrolled)
