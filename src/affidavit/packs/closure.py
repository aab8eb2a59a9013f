"""Completeness, closure, and the dependencies that a bundle does not control.

Origin: ADR-025, tracks 2 and 3. The score is `weighted_ratio_v1`: the weights of the captured
signals over the weights of all signals that a replay needs, rounded to six decimals. A redacted
signal cannot be replayed, so it counts as missing until it is revealed.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final

from affidavit.base.statistics import rounded
from affidavit.base.text import excerpt
from affidavit.packs.checks import EventConsumer
from affidavit.packs.events import Event, FieldProbe
from affidavit.packs.model import Pack
from affidavit.packs.pointers import ABSENT, has_content, may_lack_content, pointer_from
from affidavit.packs.report import (
    METHOD,
    Closure,
    ClosureConfidence,
    Completeness,
    Scoring,
    SignalDetail,
    SignalState,
)
from affidavit.packs.signals import REGISTRY, REPLAY_CRITICAL, TOTAL_WEIGHT

MAX_NAMED: Final = 100
_SUBJECT_KINDS: Final = {"assay.net.connect": "network", "assay.process.exec": "process"}
_MODEL_CALL: Final = "affidavit.model.call"
_TOOL_CALL: Final = "affidavit.tool.call"
_TEMPERATURE: Final = pointer_from("/parameters/temperature")
_SEED: Final = pointer_from("/parameters/seed")
_OUTPUT: Final = FieldProbe(["output"])
# A temperature other than 0 in canonical JSON.
_NONZERO_TEMPERATURE: Final = re.compile(rb'"temperature":(?!0[,}])')


class DependencyCollector:
    """Collects what a replay would have to ask again.

    These are network connections and started processes, by subject; tool calls without an output;
    and model calls with a temperature above 0 and no seed.
    """

    def __init__(self) -> None:
        self._named: set[str] = set()
        self._has_more = False

    def consumer_for(self, event_type: str) -> EventConsumer | None:
        """Return the consumer of a type's events; None if they cannot be dependencies."""
        are_harmless = _HARMLESS.get(event_type)
        return None if are_harmless is None else _TypeCollector(self, are_harmless)

    def add(self, named: str) -> None:
        """Add a dependency; beyond MAX_NAMED only remember that there are more."""
        if len(self._named) < MAX_NAMED:
            self._named.add(named)
        elif named not in self._named:
            self._has_more = True

    def finish(self) -> tuple[str, ...]:
        """Return the dependencies, sorted."""
        more = (f"and others: the first {MAX_NAMED} are named",) if self._has_more else ()
        return (*sorted(self._named), *more)


class _TypeCollector:
    """Events of one type; a batch of payloads is usually harmless as a whole."""

    def __init__(
        self, collector: DependencyCollector, are_harmless: Callable[[bytes], bool]
    ) -> None:
        self._collector = collector
        self._are_harmless = are_harmless

    def feed_batch(self, payloads: bytes, lines: Sequence[int]) -> bool:
        """Accept events of which none is a dependency."""
        return self._are_harmless(payloads)

    def feed(self, event: Event) -> bool:
        """Add what an event depends on."""
        named = _dependency(event)
        if named is not None:
            self._collector.add(named)
        return False


def _have_zero_temperature(payloads: bytes) -> bool:
    # An escape could spell the key differently.
    return _NONZERO_TEMPERATURE.search(payloads) is None and payloads.find(b"\\u") < 0


def _never_harmless(payloads: bytes) -> bool:
    return False


def _have_outputs(payloads: bytes) -> bool:
    return _OUTPUT.has_all(payloads) and not may_lack_content(payloads)


_HARMLESS: Final[Mapping[str, Callable[[bytes], bool]]] = {
    _TOOL_CALL: _have_outputs,
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
        has_output = has_content(data.get("output"))
        return None if has_output else f"live tool: {_name(data, 'tool')}"
    temperature = _TEMPERATURE.find(data)
    is_sampled = isinstance(temperature, int | float) and temperature > 0
    has_seed = _SEED.find(data) not in (ABSENT, None)
    return f"sampled model: {_name(data, 'model')}" if is_sampled and not has_seed else None


def _name(data: dict[str, Any], key: str) -> str:
    name = data.get(key)
    return excerpt(name) if isinstance(name, str) and name else "unnamed"


def required_signals(packs: Iterable[Pack]) -> tuple[str, ...]:
    """Return the signals that packs require, sorted."""
    return tuple(sorted({name for pack in packs for name in pack.signals}))


def completeness_of(names: Iterable[str], signals: Mapping[str, SignalDetail]) -> Completeness:
    """Return which of the required signals a bundle has."""
    required = {name: signals[name] for name in names}

    def in_state(*states: SignalState) -> tuple[str, ...]:
        return tuple(name for name, signal in required.items() if signal.status in states)

    return Completeness(
        required=tuple(required),
        captured=in_state(SignalState.CAPTURED),
        redacted=in_state(SignalState.REDACTED),
        unknown=in_state(SignalState.MISSING, SignalState.UNKNOWN),
        by_signal=required,
    )


def score_gain(signal: str) -> float:
    """Return how much capturing a signal adds to the score."""
    return _score(REGISTRY[signal].weight)


@cache
def _score(weight: int) -> float:
    return rounded(weight / TOTAL_WEIGHT)


_SCORING: Final = Scoring(
    METHOD, {name: REGISTRY[name].weight for name in sorted(each.name for each in REPLAY_CRITICAL)}
)


def closure_of(
    signals: Mapping[str, SignalDetail],
    *,
    all_finished: bool,
    dependencies: tuple[str, ...],
    declared: frozenset[str] = frozenset(),
) -> Closure:
    """Return the closure of a bundle; `declared` are the signals that the run says it had none of.

    The confidence is high if every run that started has finished and no signal is unknown, medium
    if one of the two holds, low otherwise. It is at most medium if part of the score rests on what
    the run declares, and low if most of it does.
    """
    states = {signal.name: signals[signal.name].status for signal in REPLAY_CRITICAL}
    captured = [name for name in sorted(states) if states[name] is SignalState.CAPTURED]
    nothing_unknown = SignalState.UNKNOWN not in states.values()
    weight = sum(REGISTRY[name].weight for name in captured)
    declared_weight = sum(REGISTRY[name].weight for name in captured if name in declared)
    at_most = 2 - (declared_weight > 0) - (2 * declared_weight > weight)
    return Closure(
        score=_score(weight),
        confidence=tuple(ClosureConfidence)[min(all_finished + nothing_unknown, at_most)],
        captured=tuple(captured),
        missing=tuple(name for name in sorted(states) if name not in captured),
        uncontrolled_dependencies=dependencies,
        scoring=_SCORING,
    )
