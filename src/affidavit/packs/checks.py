"""How each kind of check is evaluated over the events of a bundle."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from affidavit.base.canonical import jcs
from affidavit.base.text import excerpt
from affidavit.packs.evaluators import (
    EventTypes,
    FixedEvaluator,
    RuleEvaluator,
    RuleViolation,
    ScopedEvaluator,
    SearchHints,
)
from affidavit.packs.events import Event, FieldFinder, FieldProbe, can_probe
from affidavit.packs.findings import EventLocation, location_of
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
from affidavit.packs.pointers import ABSENT
from affidavit.packs.warnings import ENGINE_VERSION, engine_suffices

# Pairs of events: what starts also finishes, in the same run and in this order.
#
# Assay only asks whether both kinds occur somewhere. Here a pair is one of the same thing: what the
# `*` of both patterns stands for has to be equal, so `a.started` is not finished by `b.finished`.

# Pairs that may be open at once. A bundle has one run, and few things in it run side by side.
MAX_OPEN_PAIRS: Final = 10_000

_PairKey = tuple[str, tuple[str, ...]]


class PairsEvaluator(ScopedEvaluator):
    """Follows what is open, and remembers the first event that has no partner."""

    def __init__(self, check: EventPairs, scope: EventTypes) -> None:
        super().__init__(scope)
        self._start, self._finish = check.start, check.finish
        self._by_stem = check.start.stars == check.finish.stars
        self._open: dict[_PairKey, list[EventLocation]] = {}
        self._opened = 0
        self._started = self._finished = 0
        self._loose = 0
        self._first_loose: EventLocation | None = None
        self._overflowed = False

    def wants(self, event_type: str) -> bool:
        """Say whether a type starts or finishes something."""
        return super().wants(event_type) and (
            self._start.matches(event_type) or self._finish.matches(event_type)
        )

    def feed(self, event: Event) -> bool:
        """Open or close a pair."""
        kind = event.head.type
        stem = self._start.parts(kind)
        if stem is not None:
            self._started += 1
            self._overflowed |= self._opened >= MAX_OPEN_PAIRS
            if not self._overflowed:
                self._opened += 1
                self._open.setdefault(self._key(event, stem), []).append(location_of(event))
            return False
        self._finished += 1
        begun = self._open.get(self._key(event, self._finish.parts(kind) or ()))
        if begun:
            begun.pop()
            self._opened -= 1
        elif not self._overflowed:
            self._loose += 1
            self._first_loose = self._first_loose or location_of(event)
        return False

    def _key(self, event: Event, stem: tuple[str, ...]) -> _PairKey:
        return event.head.assayrunid, stem if self._by_stem else ()

    def finish(self) -> RuleViolation | None:
        """Say what has no partner."""
        start, finish = excerpt(self._start.text), excerpt(self._finish.text)
        if not self._started and not self._finished:
            return RuleViolation(f"Missing both start ({start}) and finish ({finish}) events")
        if not self._started:
            return RuleViolation(f"Missing start event matching '{start}'", self._first_loose)
        if self._overflowed:
            return RuleViolation(
                f"More than {MAX_OPEN_PAIRS} events matching '{start}' are open at once"
            )
        dangling = [place for places in self._open.values() for place in places]
        first = min(dangling, key=lambda place: place.line, default=None)
        if first is not None and not self._finished:
            return RuleViolation(f"Missing finish event matching '{finish}'", first)
        if first is not None:
            return RuleViolation(f"{len(dangling)} started events have no finish event", first)
        if self._loose:
            message = f"{self._loose} finished events have no start event before them"
            return RuleViolation(message, self._first_loose)
        return None


# Whether a tool decision says on whose authority it was made, without giving the authority away.
#
# Origin: Assay's check `g3_authorization_context_present`: a principal, one of two schemes, and an
# issuer of at most 2048 bytes, neither of which may look like a credential.

SCHEMES: Final = frozenset({"oauth2", "jwt_bearer"})
MAX_ISSUER_BYTES: Final = 2048
_CREDENTIAL: Final = re.compile(
    r"\s*bearer\s+\S.*|[\w-]+\.[\w-]+\.[\w-]+", re.IGNORECASE | re.ASCII | re.DOTALL
)
# A compact JWS has a header and a payload that begin like this in base64url: `{"`.
_JWS_START: Final = "eyJ"


def has_authorization_context(data: Any) -> bool:
    """Say whether the payload of a tool decision has the whole context."""
    if not isinstance(data, dict):
        return False
    principal, issuer = data.get("principal"), data.get("auth_issuer")
    return (
        _is_safe_name(principal)
        and data.get("auth_scheme") in SCHEMES
        and _is_safe_name(issuer)
        and len(str(issuer).encode("utf-8", "surrogatepass")) <= MAX_ISSUER_BYTES
    )


def _is_safe_name(value: Any) -> bool:
    if not isinstance(value, str) or not value.strip():
        return False
    looks_like_one = _CREDENTIAL.fullmatch(value)
    return looks_like_one is None or not (
        value.strip().lower().startswith("bearer") or value.startswith(_JWS_START)
    )


# What each kind of check does with the events of a bundle.
#
# Messages are worded as Assay words them, so that a reader of either recognises a finding.

TOOL_DECISION: Final = "assay.tool.decision"


def evaluator_for(rule: Rule, manifest: Mapping[str, Any]) -> RuleEvaluator:
    """Return the watcher of a rule, scoped to the event types that it names."""
    if not engine_suffices(rule):
        message = (
            f"Rule needs pack engine {rule.engine_min_version}, and this is {ENGINE_VERSION}:"
            " it was not checked"
        )
        return FixedEvaluator(RuleViolation(message))
    if isinstance(rule.check, ManifestField):
        return FixedEvaluator(_missing_manifest_field(manifest, rule.check))
    if isinstance(rule.check, Unsupported):
        named = excerpt(rule.check.type)
        return FixedEvaluator(RuleViolation(f"No check is called '{named}': it was not checked"))
    scope = None if rule.event_types is None else frozenset(rule.event_types)
    return _EVALUATORS[type(rule.check)](rule.check, scope)


def _missing_manifest_field(
    manifest: Mapping[str, Any], check: ManifestField
) -> RuleViolation | None:
    if check.pointer.find(dict(manifest)) is not ABSENT:
        return None
    severity = None if check.required else Severity.WARNING
    return RuleViolation(f"Manifest missing field: {check.pointer.text}", severity=severity)


class _CountEvaluator(ScopedEvaluator):
    def __init__(self, check: EventCount, scope: EventTypes) -> None:
        super().__init__(scope)
        self._minimum = check.minimum
        self._count = 0

    def feed(self, event: Event) -> bool:
        self._count += 1
        return self._count >= self._minimum

    def finish(self) -> RuleViolation | None:
        if self._count >= self._minimum:
            return None
        bounds = f"{self._count} events (minimum: {self._minimum})"
        if self.scope is None:
            return RuleViolation(f"Bundle contains {bounds}")
        listed = ", ".join(sorted(self.scope))
        return RuleViolation(f"Scoped events for event_types [{listed}] contain {bounds}")


class _TypeEvaluator(ScopedEvaluator):
    def __init__(self, check: TypeExists, scope: EventTypes) -> None:
        super().__init__(scope)
        self._pattern = check.pattern
        self._found = False

    def wants(self, event_type: str) -> bool:
        return super().wants(event_type) and self._pattern.matches(event_type)

    def feed(self, event: Event) -> bool:
        self._found = True
        return True

    def finish(self) -> RuleViolation | None:
        if self._found:
            return None
        return RuleViolation(f"No event found matching type pattern '{self._pattern.text}'")


class _FieldEvaluator(ScopedEvaluator):
    """Looks for one of some fields, with a certain value if one is wanted."""

    def __init__(self, check: FieldPresent | PathExists, scope: EventTypes) -> None:
        super().__init__(scope)
        self._check = check
        self._finders = tuple(map(FieldFinder, check.pointers))
        wanted = check.wanted if isinstance(check, PathExists) else None
        self._wanted = None if wanted is None else jcs(wanted.value)
        self._found = False
        self.marks = _search_hints([finder for finder in self._finders if not finder.never])

    def feed(self, event: Event) -> bool:
        for finder in self._finders:
            value = finder.find(event)
            if value is not ABSENT and (self._wanted is None or jcs(value) == self._wanted):
                self._found = True
                return True
        return False

    def finish(self) -> RuleViolation | None:
        if self._found:
            return None
        names = ", ".join(finder.text for finder in self._finders)
        if isinstance(self._check, FieldPresent):
            return RuleViolation(f"No event contains any of the required fields: {names}")
        if self._wanted is None:
            return RuleViolation(f"No event contains paths: {names}")
        return RuleViolation(f"No event has path {names} equal to {excerpt(self._wanted.decode())}")


def _search_hints(finders: list[FieldFinder]) -> SearchHints | None:
    if any(finder.mark is None for finder in finders):
        return None
    near = [finder for finder in finders if finder.key is not None]
    far = [finder for finder in finders if finder.key is None]
    return SearchHints(
        frozenset(finder.key or "" for finder in near),
        frozenset(finder.mark or b"" for finder in far if finder.in_data),
        frozenset(finder.mark or b"" for finder in far if not finder.in_data),
    )


class _ConditionalEvaluator(ScopedEvaluator):
    def __init__(self, check: Conditional, scope: EventTypes) -> None:
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
        self._probe = FieldProbe(["/".join(steps[1:])]) if is_probed else None
        self._matched = self._missing = 0
        self._first: EventLocation | None = None

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
            if not _is_equal_json(finder.find(event), equals):
                return False
        self._matched += 1
        if self._then.find(event) is ABSENT:
            self._missing += 1
            self._first = self._first or location_of(event)
        return False

    def finish(self) -> RuleViolation | None:
        if not self._missing:
            return None
        message = (
            f"{self._matched} events matched the condition, but {self._missing} matching events"
            f" were missing required path: {self._then.text}"
        )
        return RuleViolation(message, self._first)


def _is_equal_json(found: Any, wanted: Any) -> bool:
    # To JSON, true is not 1; and 1 is 1.0.
    return isinstance(found, bool) is isinstance(wanted, bool) and found == wanted


class _AuthorizationEvaluator(ScopedEvaluator):
    def __init__(self, check: AuthorizationContext, scope: EventTypes) -> None:
        super().__init__(scope)
        self._found = False

    def wants(self, event_type: str) -> bool:
        return event_type == TOOL_DECISION and super().wants(event_type)

    def feed(self, event: Event) -> bool:
        self._found = self._found or has_authorization_context(event.data)
        return self._found

    def finish(self) -> RuleViolation | None:
        if self._found:
            return None
        return RuleViolation(
            f"No {TOOL_DECISION} event says on whose authority it was made"
            " (principal, auth_scheme, auth_issuer)"
        )


_EVALUATORS: Final[Mapping[type, Callable[[Any, EventTypes], RuleEvaluator]]] = MappingProxyType(
    {
        EventCount: _CountEvaluator,
        EventPairs: PairsEvaluator,
        FieldPresent: _FieldEvaluator,
        TypeExists: _TypeEvaluator,
        PathExists: _FieldEvaluator,
        Conditional: _ConditionalEvaluator,
        AuthorizationContext: _AuthorizationEvaluator,
    }
)
