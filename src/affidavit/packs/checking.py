"""What each kind of check does with the events of a bundle.

Messages are worded as Assay words them, so that a reader of either recognises a finding.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from affidavit.base.canonical import jcs
from affidavit.base.places import excerpt
from affidavit.packs.authorization import holds_context
from affidavit.packs.events import Event, FieldFinder
from affidavit.packs.findings import Location, location_of
from affidavit.packs.model import (
    AuthorizationContext,
    Conditional,
    EventCount,
    EventPairs,
    FieldPresent,
    ManifestField,
    PathExists,
    Rule,
    Severity,
    TypeExists,
    Unsupported,
)
from affidavit.packs.pairing import PairsWatcher
from affidavit.packs.pointers import ABSENT
from affidavit.packs.probing import Probe, can_probe
from affidavit.packs.remarks import engine_suffices
from affidavit.packs.versions import ENGINE_VERSION
from affidavit.packs.watching import Marks, Problem, Scope, Scoped, Settled, Watcher

TOOL_DECISION: Final = "assay.tool.decision"


def watcher_for(rule: Rule, manifest: Mapping[str, Any]) -> Watcher:
    """Return the watcher of a rule, scoped to the event types that it names."""
    if not engine_suffices(rule):
        message = (
            f"Rule needs pack engine {rule.engine_min_version}, and this is {ENGINE_VERSION}:"
            " it was not checked"
        )
        return Settled(Problem(message))
    if isinstance(rule.check, ManifestField):
        return Settled(_missing_from(manifest, rule.check))
    if isinstance(rule.check, Unsupported):
        named = excerpt(rule.check.type)
        return Settled(Problem(f"No check is called '{named}': it was not checked"))
    scope = None if rule.event_types is None else frozenset(rule.event_types)
    return _WATCHERS[type(rule.check)](rule.check, scope)


def _missing_from(manifest: Mapping[str, Any], check: ManifestField) -> Problem | None:
    if check.pointer.find(dict(manifest)) is not ABSENT:
        return None
    severity = None if check.required else Severity.WARNING
    return Problem(f"Manifest missing field: {check.pointer.text}", severity=severity)


class _CountWatcher(Scoped):
    def __init__(self, check: EventCount, scope: Scope) -> None:
        super().__init__(scope)
        self._minimum = check.minimum
        self._count = 0

    def feed(self, event: Event) -> bool:
        self._count += 1
        return self._count >= self._minimum

    def finish(self) -> Problem | None:
        if self._count >= self._minimum:
            return None
        bounds = f"{self._count} events (minimum: {self._minimum})"
        if self.scope is None:
            return Problem(f"Bundle contains {bounds}")
        listed = ", ".join(sorted(self.scope))
        return Problem(f"Scoped events for event_types [{listed}] contain {bounds}")


class _TypeWatcher(Scoped):
    def __init__(self, check: TypeExists, scope: Scope) -> None:
        super().__init__(scope)
        self._pattern = check.pattern
        self._found = False

    def wants(self, event_type: str) -> bool:
        return super().wants(event_type) and self._pattern.matches(event_type)

    def feed(self, event: Event) -> bool:
        self._found = True
        return True

    def finish(self) -> Problem | None:
        if self._found:
            return None
        return Problem(f"No event found matching type pattern '{self._pattern.text}'")


class _FieldWatcher(Scoped):
    """Looks for one of some fields, with a certain value if one is wanted."""

    def __init__(self, check: FieldPresent | PathExists, scope: Scope) -> None:
        super().__init__(scope)
        self._check = check
        self._finders = tuple(map(FieldFinder, check.pointers))
        wanted = check.wanted if isinstance(check, PathExists) else None
        self._wanted = None if wanted is None else jcs(wanted.value)
        self._found = False
        self.marks = _marks_of([finder for finder in self._finders if not finder.never])

    def feed(self, event: Event) -> bool:
        for finder in self._finders:
            value = finder.find(event)
            if value is not ABSENT and (self._wanted is None or jcs(value) == self._wanted):
                self._found = True
                return True
        return False

    def finish(self) -> Problem | None:
        if self._found:
            return None
        names = ", ".join(finder.text for finder in self._finders)
        if isinstance(self._check, FieldPresent):
            return Problem(f"No event contains any of the required fields: {names}")
        if self._wanted is None:
            return Problem(f"No event contains paths: {names}")
        return Problem(f"No event has path {names} equal to {excerpt(self._wanted.decode())}")


def _marks_of(finders: list[FieldFinder]) -> Marks | None:
    if any(finder.mark is None for finder in finders):
        return None
    near = [finder for finder in finders if finder.key is not None]
    far = [finder for finder in finders if finder.key is None]
    return Marks(
        frozenset(finder.key or "" for finder in near),
        frozenset(finder.mark or b"" for finder in far if finder.in_data),
        frozenset(finder.mark or b"" for finder in far if not finder.in_data),
    )


class _ConditionalWatcher(Scoped):
    def __init__(self, check: Conditional, scope: Scope) -> None:
        super().__init__(scope)
        # A type is told before an event is fed.
        self._types = [each.equals for each in check.clauses if each.pointer.steps == ("type",)]
        self._clauses = tuple(
            (FieldFinder(each.pointer), each.equals)
            for each in check.clauses
            if each.pointer.steps != ("type",)
        )
        self._then = FieldFinder(check.then)
        steps = check.then.steps
        is_near = not self._clauses and steps[:1] == ("data",) and len(steps) in (2, 3)
        is_probed = is_near and all(map(can_probe, steps))
        self._probe = Probe(["/".join(steps[1:])]) if is_probed else None
        self._matched = self._missing = 0
        self._first: Location | None = None

    def wants(self, event_type: str) -> bool:
        return super().wants(event_type) and all(each == event_type for each in self._types)

    def takes(self, payloads: bytes, count: int) -> bool:
        """Take events that all have what is asked for."""
        if self._probe is None or not self._probe.has_all(payloads):
            return False
        self._matched += count
        return True

    def feed(self, event: Event) -> bool:
        for finder, equals in self._clauses:
            if not _is_same(finder.find(event), equals):
                return False
        self._matched += 1
        if self._then.find(event) is ABSENT:
            self._missing += 1
            self._first = self._first or location_of(event)
        return False

    def finish(self) -> Problem | None:
        if not self._missing:
            return None
        message = (
            f"{self._matched} events matched the condition, but {self._missing} matching events"
            f" were missing required path: {self._then.text}"
        )
        return Problem(message, self._first)


def _is_same(found: Any, wanted: Any) -> bool:
    # To JSON, true is not 1; and 1 is 1.0.
    return isinstance(found, bool) is isinstance(wanted, bool) and found == wanted


class _AuthorizationWatcher(Scoped):
    def __init__(self, check: AuthorizationContext, scope: Scope) -> None:
        super().__init__(scope)
        self._found = False

    def wants(self, event_type: str) -> bool:
        return event_type == TOOL_DECISION and super().wants(event_type)

    def feed(self, event: Event) -> bool:
        self._found = self._found or holds_context(event.data)
        return self._found

    def finish(self) -> Problem | None:
        if self._found:
            return None
        return Problem(
            f"No {TOOL_DECISION} event says on whose authority it was made"
            " (principal, auth_scheme, auth_issuer)"
        )


_WATCHERS: Final[Mapping[type, Callable[[Any, Scope], Watcher]]] = MappingProxyType(
    {
        EventCount: _CountWatcher,
        EventPairs: PairsWatcher,
        FieldPresent: _FieldWatcher,
        TypeExists: _TypeWatcher,
        PathExists: _FieldWatcher,
        Conditional: _ConditionalWatcher,
        AuthorizationContext: _AuthorizationWatcher,
    }
)
