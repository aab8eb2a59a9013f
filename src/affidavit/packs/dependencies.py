"""What a run depended on that the bundle does not hold still: the closure's uncontrolled part."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from affidavit.base.places import excerpt
from affidavit.packs.events import Event
from affidavit.packs.pointers import ABSENT, pointer_from
from affidavit.packs.probing import Probe
from affidavit.packs.watching import Consumer

MAX_NAMED: Final = 100
_SUBJECTS: Final = {"assay.net.connect": "network", "assay.process.exec": "process"}
_MODEL_CALL: Final = "affidavit.model.call"
_TOOL_CALL: Final = "affidavit.tool.call"
_TEMPERATURE: Final = pointer_from("/parameters/temperature")
_SEED: Final = pointer_from("/parameters/seed")
_OUTPUT: Final = Probe(["output"])
# A temperature that is not 0, as canonical JSON writes it.
_WARM: Final = re.compile(rb'"temperature":(?!0[,}])')


class DependencyWatch:
    """Collects what a replay would have to ask again: live tools, the network, drawn answers.

    The rule, event by event: a network connection and a process that was started, by subject; a
    tool call without its output; a model call with a temperature above 0 and no seed.
    """

    def __init__(self) -> None:
        self._named: set[str] = set()
        self._has_more = False

    def consumer_for(self, event_type: str) -> Consumer | None:
        """Return what looks at the events of a type, if they can be such a dependency."""
        are_harmless = _HARMLESS.get(event_type)
        return None if are_harmless is None else _TypeWatch(self, are_harmless)

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


class _TypeWatch:
    """The events of one type; most can be told to be harmless from their payloads together."""

    def __init__(self, all_types: DependencyWatch, are_harmless: Callable[[bytes], bool]) -> None:
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


def _are_cold(payloads: bytes) -> bool:
    # An escape could spell the key in another way.
    return _WARM.search(payloads) is None and payloads.find(b"\\u") < 0


def _never(payloads: bytes) -> bool:
    return False


_HARMLESS: Final[Mapping[str, Callable[[bytes], bool]]] = {
    _TOOL_CALL: _OUTPUT.has_all,
    _MODEL_CALL: _are_cold,
    **dict.fromkeys(_SUBJECTS, _never),
}


def _dependency(event: Event) -> str | None:
    kind = event.head.type
    if kind in _SUBJECTS:
        return f"{_SUBJECTS[kind]}: {excerpt(event.head.subject or 'unnamed')}"
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
