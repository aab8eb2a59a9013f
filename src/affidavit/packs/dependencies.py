"""What a run depended on that the bundle does not hold still: the closure's uncontrolled part."""

from typing import Any, Final

from affidavit.base.places import excerpt
from affidavit.packs.events import Event
from affidavit.packs.pointers import ABSENT, pointer_from
from affidavit.packs.probing import Probe

MAX_NAMED: Final = 100
_SUBJECTS: Final = {"assay.net.connect": "network", "assay.process.exec": "process"}
_MODEL_CALL: Final = "affidavit.model.call"
_TOOL_CALL: Final = "affidavit.tool.call"
_TEMPERATURE: Final = pointer_from("/parameters/temperature")
_SEED: Final = pointer_from("/parameters/seed")
# Most calls can be told from their fields alone: a tool with its output, a model whose settings
# have a seed or no temperature. Masks: output; parameters, seed, temperature.
_PROBES: Final = {
    _TOOL_CALL: Probe(["output"]),
    _MODEL_CALL: Probe(["parameters/seed", "parameters/temperature"]),
}
_HARMLESS: Final = frozenset(
    {(True,), (False, False, False), (True, False, False), (True, True, False)}
)


class DependencyWatch:
    """Collects what a replay would have to ask again: live tools, the network, drawn answers.

    The rule, event by event: a network connection and a process that was started, by subject; a
    tool call without its output; a model call with a temperature above 0 and no seed.
    """

    def __init__(self) -> None:
        self._named: set[str] = set()
        self._has_more = False

    def wants(self, event_type: str) -> bool:
        """Say whether events of a type can be such a dependency."""
        return event_type in _SUBJECTS or event_type in _PROBES

    def feed(self, event: Event) -> None:
        """Note what an event depends on."""
        probe = _PROBES.get(event.head.type)
        if probe is not None and probe.mask(bytes(event.head.data)) in _HARMLESS:
            return
        named = _dependency(event)
        if named is None or named in self._named:
            return
        if len(self._named) < MAX_NAMED:
            self._named.add(named)
        else:
            self._has_more = True

    def finish(self) -> tuple[str, ...]:
        """Return the dependencies, sorted; the first hundred met are named."""
        more = (f"and others: the first {MAX_NAMED} are named",) if self._has_more else ()
        return (*sorted(self._named), *more)


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
