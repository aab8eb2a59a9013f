"""How each kind of check is evaluated: one pass over the events, one evaluator per rule.

An evaluator is fed the events of the types that it accepts and says when it has seen enough; most
need a single event. At the end it returns the violation, if there is one. Messages are worded like
Assay's, so that readers of either tool recognise a finding.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Protocol, Self

from msgspec import Struct

from affidavit.base.canonical import jcs
from affidavit.base.text import excerpt
from affidavit.packs.events import Event, FieldFinder, can_probe, field_probe
from affidavit.packs.model import (
    ENGINE_VERSION,
    AuthorizationContext,
    Check,
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
    engine_suffices,
)
from affidavit.packs.pointers import ABSENT
from affidavit.packs.relations import is_equal_json
from affidavit.packs.report import EventLocation, location_of

EventTypes = frozenset[str] | None


class SearchHints(Struct, frozen=True):
    """Keys and byte strings, at least one of which every event that a rule looks for contains."""

    keys: frozenset[str]
    in_payloads: frozenset[bytes]
    in_lines: frozenset[bytes]


class RuleViolation(Struct, frozen=True):
    """Why a rule fails. `severity` overrides that of the rule."""

    message: str
    location: EventLocation | None = None
    severity: Severity | None = None


class EventConsumer(Protocol):
    """Reads events."""

    def feed(self, event: Event) -> bool:
        """Read an event; return whether no more are needed."""
        ...

    def feed_batch(self, payloads: bytes, lines: Sequence[int]) -> bool:
        """Read many events of one type, one payload a line; False if each has to be fed alone."""
        ...


class RuleEvaluator(EventConsumer, Protocol):
    """Evaluates one rule.

    A group of events without any of the `search_hints` and without escapes cannot matter to the
    rule. With None every event has to be fed.
    """

    search_hints: SearchHints | None
    is_exercised: bool  # Whether an event met the condition of the rule.

    def accepts(self, event_type: str) -> bool:
        """Return whether events of a type matter to the rule."""
        ...

    def can_batch(self, event_type: str) -> bool:
        """Return whether events of a type may be fed as a batch, out of their order."""
        ...

    def finish(self) -> RuleViolation | None:
        """Return the violation when all events were fed."""
        ...


class ReusableEvaluator(RuleEvaluator, Protocol):
    """An evaluator that can be prepared once for many bundles."""

    def fresh(self) -> RuleEvaluator:
        """Return an evaluator for another bundle; this one must not have been fed."""
        ...


class ScopedEvaluator:
    """An evaluator for the event types that its rule names, or for all of them."""

    search_hints: SearchHints | None = None
    is_exercised = True

    def __init__(self, scope: EventTypes) -> None:
        self.scope = scope

    def fresh(self) -> Self:
        """Return an evaluator for another bundle; this one must not have been fed."""
        another = self.__class__.__new__(self.__class__)
        another.__dict__.update(self.__dict__)
        return another

    def can_batch(self, event_type: str) -> bool:
        """Return True: the order of events does not matter."""
        return True

    def accepts(self, event_type: str) -> bool:
        """Return whether events of a type matter to the rule."""
        return self.scope is None or event_type in self.scope

    def feed_batch(self, payloads: bytes, lines: Sequence[int]) -> bool:
        """Reject batches: order or content matters."""
        return False


class FixedEvaluator(ScopedEvaluator):
    """A rule whose result is known before any event is read."""

    def __init__(self, violation: RuleViolation | None) -> None:
        super().__init__(frozenset())
        self._violation = violation

    def feed(self, event: Event) -> bool:
        """Need no event."""
        return True

    def finish(self) -> RuleViolation | None:
        """Return the violation."""
        return self._violation


# Open pairs at one time. A bundle has one run, and few things run concurrently in it.
MAX_OPEN_PAIRS: Final = 10_000

_PairKey = tuple[str, tuple[str, ...]]


class PairsEvaluator(ScopedEvaluator):
    """Checks that whatever starts also finishes, in the same run and in this order.

    Assay only asks whether both kinds of events occur. Here the texts that `*` stands for in both
    patterns have to be equal, so `b.finished` does not finish `a.started`.
    """

    def __init__(self, check: EventPairs, scope: EventTypes) -> None:
        super().__init__(scope)
        self._start, self._finish = check.start, check.finish
        self._by_stars = check.start.stars == check.finish.stars
        self._open: dict[_PairKey, list[EventLocation]] = {}
        self._opened = 0
        self._started = self._finished = 0
        self._unstarted = 0
        self._first_unstarted: EventLocation | None = None
        self._overflowed = False

    def fresh(self) -> Self:
        """Return an evaluator with no open pairs."""
        another = super().fresh()
        another._open = {}
        return another

    def accepts(self, event_type: str) -> bool:
        """Return whether a type starts or finishes something."""
        return super().accepts(event_type) and (
            self._start.matches(event_type) or self._finish.matches(event_type)
        )

    def feed(self, event: Event) -> bool:
        """Open or close a pair."""
        kind = event.head.type
        stars = self._start.parts(kind)
        if stars is not None:
            self._started += 1
            self._overflowed |= self._opened >= MAX_OPEN_PAIRS
            if not self._overflowed:
                self._opened += 1
                self._open.setdefault(self._key(event, stars), []).append(location_of(event))
            return False
        self._finished += 1
        begun = self._open.get(self._key(event, self._finish.parts(kind) or ()))
        if begun:
            begun.pop()
            self._opened -= 1
        elif not self._overflowed:
            self._unstarted += 1
            self._first_unstarted = self._first_unstarted or location_of(event)
        return False

    def _key(self, event: Event, stars: tuple[str, ...]) -> _PairKey:
        return event.head.assayrunid, stars if self._by_stars else ()

    def finish(self) -> RuleViolation | None:
        """Return the first event without a partner."""
        start, finish = excerpt(self._start.text), excerpt(self._finish.text)
        if not self._started and not self._finished:
            return RuleViolation(f"Missing both start ({start}) and finish ({finish}) events")
        if not self._started:
            return RuleViolation(f"Missing start event matching '{start}'", self._first_unstarted)
        if self._overflowed:
            return RuleViolation(
                f"More than {MAX_OPEN_PAIRS} events matching '{start}' are open at once"
            )
        unfinished = [place for places in self._open.values() for place in places]
        first = min(unfinished, key=lambda place: place.line, default=None)
        if first is not None and not self._finished:
            return RuleViolation(f"Missing finish event matching '{finish}'", first)
        if first is not None:
            return RuleViolation(f"{len(unfinished)} started events have no finish event", first)
        if self._unstarted:
            message = f"{self._unstarted} finished events have no start event before them"
            return RuleViolation(message, self._first_unstarted)
        return None


SCHEMES: Final = frozenset({"oauth2", "jwt_bearer"})
MAX_ISSUER_BYTES: Final = 2048
_CREDENTIAL: Final = re.compile(
    r"\s*bearer\s+\S.*|[\w-]+\.[\w-]+\.[\w-]+", re.IGNORECASE | re.ASCII | re.DOTALL
)
# The header and the payload of a compact JWS are base64url texts of `{"`.
_JWS_START: Final = "eyJ"


def has_authorization_context(data: Any) -> bool:
    """Return whether a tool decision names its principal, scheme and issuer.

    Origin: Assay's check `g3_authorization_context_present`: one of two schemes, an issuer of at
    most 2048 bytes, and neither principal nor issuer may look like a credential.
    """
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
    match = _CREDENTIAL.fullmatch(value)
    return match is None or not (
        value.strip().lower().startswith("bearer") or value.startswith(_JWS_START)
    )


TOOL_DECISION: Final = "assay.tool.decision"


def evaluator_for(check: Check, event_types: tuple[str, ...] | None) -> ReusableEvaluator | None:
    """Return the evaluator of a check on events; None for any other check."""
    make = _EVALUATORS.get(type(check))
    scope = None if event_types is None else frozenset(event_types)
    return None if make is None else make(check, scope)


def fixed_violation(rule: Rule, manifest: Mapping[str, Any]) -> RuleViolation | None:
    """Return what is wrong with a rule whose result does not depend on events."""
    if not engine_suffices(rule):
        return RuleViolation(
            f"Rule needs pack engine {rule.engine_min_version}, and this is {ENGINE_VERSION}:"
            " it was not checked"
        )
    if isinstance(rule.check, ManifestField):
        return _missing_manifest_field(manifest, rule.check)
    named = excerpt(rule.check.type) if isinstance(rule.check, Unsupported) else ""
    return RuleViolation(f"No check is called '{named}': it was not checked")


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

    def accepts(self, event_type: str) -> bool:
        return super().accepts(event_type) and self._pattern.matches(event_type)

    def feed(self, event: Event) -> bool:
        self._found = True
        return True

    def finish(self) -> RuleViolation | None:
        if self._found:
            return None
        return RuleViolation(f"No event found matching type pattern '{self._pattern.text}'")


class _FieldEvaluator(ScopedEvaluator):
    """Looks for one of several fields, with a given value if one is required."""

    def __init__(self, check: FieldPresent | PathExists, scope: EventTypes) -> None:
        super().__init__(scope)
        self._check = check
        self._finders = tuple(map(FieldFinder, check.pointers))
        wanted = check.wanted if isinstance(check, PathExists) else None
        self._wanted = None if wanted is None else jcs(wanted.value)
        self._found = False
        self.search_hints = _search_hints([finder for finder in self._finders if not finder.never])

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
    if any(finder.required_bytes is None for finder in finders):
        return None
    deep = [finder for finder in finders if finder.key is None]
    return SearchHints(
        frozenset(finder.key for finder in finders if finder.key is not None),
        frozenset(finder.required_bytes or b"" for finder in deep if finder.in_data),
        frozenset(finder.required_bytes or b"" for finder in deep if not finder.in_data),
    )


class _ConditionalEvaluator(ScopedEvaluator):
    is_exercised = False

    def __init__(self, check: Conditional, scope: EventTypes) -> None:
        super().__init__(scope)
        # `accepts` tests clauses on the type.
        self._types = [each.equals for each in check.clauses if each.pointer.steps == ("type",)]
        self._clauses = tuple(
            (FieldFinder(each.pointer), each.equals)
            for each in check.clauses
            if each.pointer.steps != ("type",)
        )
        self._then = FieldFinder(check.then)
        steps = check.then.steps
        is_shallow = not self._clauses and steps[:1] == ("data",) and len(steps) in (2, 3)
        can_be_probed = is_shallow and all(map(can_probe, steps))
        self._probe = field_probe(frozenset(["/".join(steps[1:])])) if can_be_probed else None
        self._matched = self._missing = 0
        self._first: EventLocation | None = None

    def accepts(self, event_type: str) -> bool:
        return super().accepts(event_type) and all(each == event_type for each in self._types)

    def feed_batch(self, payloads: bytes, lines: Sequence[int]) -> bool:
        """Accept events that all have the required field."""
        if self._probe is None or not self._probe.has_all(payloads):
            return False
        self._matched += len(lines)
        self.is_exercised = True
        return True

    def feed(self, event: Event) -> bool:
        for finder, equals in self._clauses:
            if not is_equal_json(finder.find(event), equals):
                return False
        self._matched += 1
        self.is_exercised = True
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


class _AuthorizationEvaluator(ScopedEvaluator):
    def __init__(self, check: AuthorizationContext, scope: EventTypes) -> None:
        super().__init__(scope)
        self._found = False

    def accepts(self, event_type: str) -> bool:
        return event_type == TOOL_DECISION and super().accepts(event_type)

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


_EVALUATORS: Final[Mapping[type, Callable[[Any, EventTypes], ReusableEvaluator]]] = (
    MappingProxyType(
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
)
