"""How relations are evaluated: in one pass over the events, with bounded state.

Each form is prepared once for all bundles (a plan), and has an evaluator for each bundle. Many
events of one type are judged together by the few fields that matter (a projection), unless the
first violation is among them: its place has to be found.
"""

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, Final, TypeAlias

from msgspec import Struct

from affidavit.base.canonical import jcs
from affidavit.base.text import excerpt
from affidavit.packs.checks import RuleViolation, SearchHints
from affidavit.packs.events import Event, EventHead
from affidavit.packs.pointers import ABSENT, JsonPointer, commitment_in
from affidavit.packs.relation_projection import projection_of
from affidavit.packs.relations import (
    CountBounds,
    Direction,
    EachHas,
    EachWith,
    Lookup,
    Never,
    Relation,
    Selector,
    TimeOrder,
    describe_conditions,
    lookup_in,
    meets,
    time_from,
)
from affidavit.packs.report import EventLocation, location_of

# Keys, and events that wait for a partner, that one rule remembers.
MAX_OPEN: Final = 10_000


class _RelationEvaluator(ABC):
    """What all forms share: how many events violate the rule, the first, and whether any came."""

    search_hints: SearchHints | None = None

    def __init__(self) -> None:
        self.is_exercised = False
        self._violations = 0
        self._first: EventLocation | None = None
        self._overflowed = False

    @abstractmethod
    def accepts(self, event_type: str) -> bool:
        """Return whether events of a type matter to the rule."""

    @abstractmethod
    def feed(self, event: Event) -> bool:
        """Read an event; return whether no more are needed."""

    def can_batch(self, event_type: str) -> bool:
        """Return whether events of a type may be judged together."""
        return True

    @abstractmethod
    def feed_batch(self, payloads: bytes, lines: Sequence[int]) -> bool:
        """Judge many events of one type; False if each has to be fed alone."""

    def violate(self, place: EventLocation | None, number: int = 1) -> None:
        """Count violations; the place of the first is known when it is counted."""
        self._violations += number
        if place is not None and (self._first is None or place.line < self._first.line):
            self._first = place

    def finish(self) -> RuleViolation | None:
        """Return the violation when all events were fed."""
        if self._overflowed:
            return RuleViolation(f"More than {MAX_OPEN} keys or open events: it was not checked")
        return RuleViolation(self.message(), self._first) if self._violations else None

    @abstractmethod
    def message(self) -> str:
        """Return what is wrong."""


def _named(selector: Selector) -> str:
    return excerpt(selector.text, 200)


class EachPlan:
    """`never`, and `for_each` with `has`: every event is judged by itself."""

    def __init__(self, relation: Never | EachHas) -> None:
        self.is_never = isinstance(relation, Never)
        self.subject = relation.selector if isinstance(relation, Never) else relation.subject
        self.has = () if isinstance(relation, Never) else relation.has
        self.projection = projection_of((*self.subject.where, *self.has))

    def evaluator(self) -> "_EachEvaluator":
        """Return an evaluator for one bundle."""
        return _EachEvaluator(self)


class _EachEvaluator(_RelationEvaluator):
    def __init__(self, plan: EachPlan) -> None:
        super().__init__()
        self._plan = plan
        self._selected = 0

    def accepts(self, event_type: str) -> bool:
        return self._plan.subject.accepts(event_type)

    def feed(self, event: Event) -> bool:
        is_selected, is_violated = self._judge(lookup_in(event))
        self._count(is_selected, 1)
        if is_violated:
            self.violate(location_of(event))
        return False

    def feed_batch(self, payloads: bytes, lines: Sequence[int]) -> bool:
        rows = self._plan.projection.rows(payloads)
        if rows is None:
            return False
        judged = [(*self._judge(lookup), number) for lookup, number in rows]
        violations = sum(number for _, is_violated, number in judged if is_violated)
        if violations and self._first is None:
            return False
        for is_selected, _, number in judged:
            self._count(is_selected, number)
        self.violate(None, violations)
        return True

    def _judge(self, lookup: Lookup) -> tuple[bool, bool]:
        """Return whether an event is selected, and whether it violates the rule."""
        plan = self._plan
        if not meets(plan.subject.where, lookup, if_hidden=True):
            return False, False
        return True, plan.is_never or not meets(plan.has, lookup, if_hidden=False)

    def _count(self, is_selected: bool, number: int) -> None:
        # What is forbidden was looked for in every event of the type.
        self.is_exercised |= is_selected or self._plan.is_never
        self._selected += number * is_selected

    def message(self) -> str:
        named = _named(self._plan.subject)
        if self._plan.is_never:
            return f"{self._violations} events are forbidden: {named}"
        has = excerpt(describe_conditions(self._plan.has), 200)
        return f"{self._violations} of {self._selected} {named} events do not have {has}"


JoinKey = bytes
_ALL: Final = b""  # The key of a partner that has none of the joined fields; no JSON is empty.


def _join_key(pointers: Sequence[JsonPointer], lookup: Lookup) -> JoinKey | None:
    """Return the joined fields as one key; _ALL without any of them, None with only some."""
    values = [lookup(pointer) for pointer in pointers]
    if all(value is ABSENT for value in values):
        return _ALL
    if any(value is ABSENT or commitment_in(value) is not None for value in values):
        return None
    return jcs(values)


def _actor(pointer: JsonPointer | None, lookup: Lookup) -> JoinKey | None:
    """Return the actor of an event; None if it is absent, redacted or not asked for."""
    return None if pointer is None else _join_key((pointer,), lookup) or None


class _Seen(Struct, frozen=True):
    """A partner, or a subject that waits for one: its actor, time and order."""

    actor: JoinKey | None
    time: str
    order: int


class PartnerPlan:
    """`for_each` with a partner before or after."""

    def __init__(self, relation: EachWith) -> None:
        self.relation = relation
        self.is_required = relation.direction.is_required
        # Both ask for the type of every event, and a bundle has few types.
        self.is_subject = lru_cache(maxsize=1000)(relation.subject.accepts)
        self.is_partner = lru_cache(maxsize=1000)(relation.partner.accepts)
        self.this = tuple(pair.this for pair in relation.same)
        self.that = tuple(pair.that for pair in relation.same)
        differ = relation.differ
        self.this_actor = None if differ is None else differ.this
        self.that_actor = None if differ is None else differ.that
        own = () if self.this_actor is None else (self.this_actor,)
        self.projection = projection_of(relation.subject.where, (*self.this, *own))

    def evaluator(self) -> "_EarlierEvaluator | _LaterEvaluator":
        """Return an evaluator for one bundle."""
        is_earlier = self.relation.direction.is_earlier
        return _EarlierEvaluator(self) if is_earlier else _LaterEvaluator(self)


_VERBS: Final = {
    Direction.PRECEDED_BY: "are not preceded by",
    Direction.FOLLOWED_BY: "are not followed by",
    Direction.NOT_PRECEDED_BY: "are preceded by",
    Direction.NOT_FOLLOWED_BY: "are followed by",
}


class _PartnerEvaluator(_RelationEvaluator):
    def __init__(self, plan: PartnerPlan) -> None:
        super().__init__()
        self._plan = plan
        self._relation = plan.relation
        self._is_required = plan.is_required
        self._subjects = 0

    def accepts(self, event_type: str) -> bool:
        return self._plan.is_subject(event_type) or self._plan.is_partner(event_type)

    def is_subject(self, kind: str, lookup: Lookup) -> bool:
        """Return whether an event has to have a partner, or must not have one; count it."""
        where = self._relation.subject.where
        if not self._plan.is_subject(kind) or not meets(where, lookup, if_hidden=True):
            return False
        self.is_exercised = True
        self._subjects += 1
        return True

    def partner_key(self, kind: str, lookup: Lookup) -> JoinKey | None:
        """Return the key of a partner; None if an event is none."""
        relation = self._relation
        if not self._plan.is_partner(kind) or not meets(
            relation.partner.where, lookup, if_hidden=not self._is_required
        ):
            return None
        key = _join_key(self._plan.that, lookup)
        # A prohibition has to name what it forbids.
        is_unnamed = key == _ALL and relation.same
        return None if is_unnamed and not self._is_required else key

    def says_last(self, lookup: Lookup) -> bool:
        """Return whether a partner says what the last one has to say."""
        return meets(self._relation.last, lookup, if_hidden=not self._is_required)

    def fits(self, own: JoinKey | None, partner: _Seen, time: str) -> bool:
        """Return whether a partner is another actor's, and near enough."""
        relation = self._relation
        if relation.differ is not None and (own is None or partner.actor in (None, own)):
            return False
        if relation.within_seconds is None:
            return True
        first, second = time_from(partner.time), time_from(time)
        if first is None or second is None:
            return False
        return abs(first - second) <= relation.within_seconds

    def message(self) -> str:
        relation = self._relation
        words = f"{_VERBS[relation.direction]} {_named(relation.partner)}"
        if relation.same:
            words += f" of the same {', '.join(pair.that.text for pair in relation.same)}"
        if relation.last:
            words += f", the last of which has {describe_conditions(relation.last)}"
        if relation.differ is not None:
            words += f" with another {relation.differ.that.text}"
        if relation.within_seconds is not None:
            words += f" within {relation.within_seconds:g} seconds"
        subject = _named(relation.subject)
        return f"{self._violations} of {self._subjects} {subject} events {excerpt(words, 400)}"


class _EarlierEvaluator(_PartnerEvaluator):
    """The partner comes first. For each key the last two partners with different actors are kept.

    Of two, one is not the subject's own; so no more are needed, however many there were.
    """

    def __init__(self, plan: PartnerPlan) -> None:
        super().__init__(plan)
        # An empty entry besides the order: the last partner revoked what the others said.
        self._partners: dict[JoinKey, tuple[int, tuple[_Seen, ...]]] = {}

    def can_batch(self, event_type: str) -> bool:
        return not self._plan.is_partner(event_type)

    def feed(self, event: Event) -> bool:
        lookup, kind = lookup_in(event), event.head.type
        # A subject first: no event is its own partner.
        if self.is_subject(kind, lookup):
            has_partner = self._has_partner(lookup, event.head.time)
            if has_partner is not self._is_required:
                self.violate(location_of(event))
        key = self.partner_key(kind, lookup)
        if key is not None:
            self._remember(key, lookup, event)
        return False

    def _remember(self, key: JoinKey, lookup: Lookup, event: Event) -> None:
        if key not in self._partners and len(self._partners) >= MAX_OPEN:
            self._overflowed = True
            return
        order = event.head.assayseq
        kept: tuple[_Seen, ...] = ()
        if self.says_last(lookup):
            one = _Seen(_actor(self._plan.that_actor, lookup), event.head.time, order)
            _, before = self._partners.get(key, (0, ()))
            kept = (one, *(each for each in before if each.actor != one.actor))[:2]
        self._partners[key] = order, kept

    def _has_partner(self, lookup: Lookup, time: str) -> bool:
        if not self._partners:
            return False
        key = _join_key(self._plan.this, lookup)
        known = [self._partners[each] for each in {key, _ALL} if each in self._partners]
        if self._relation.last and known:
            known = [max(known)]
        own = _actor(self._plan.this_actor, lookup)
        return any(self.fits(own, each, time) for _, kept in known for each in kept)

    def feed_batch(self, payloads: bytes, lines: Sequence[int]) -> bool:
        """Judge many subjects; `can_batch` made sure that no partner is among the events."""
        rows = None
        if self._relation.within_seconds is None:
            rows = self._plan.projection.rows(payloads)
        if rows is None:
            return False
        where = self._relation.subject.where
        judged = [
            (self._has_partner(lookup, "") is not self._is_required, number)
            for lookup, number in rows
            if meets(where, lookup, if_hidden=True)
        ]
        violations = sum(number for is_violated, number in judged if is_violated)
        if violations and self._first is None:
            return False
        self.is_exercised |= bool(judged)
        self._subjects += sum(number for _, number in judged)
        self.violate(None, violations)
        return True


class _LaterEvaluator(_PartnerEvaluator):
    """The partner comes later. A subject waits for the first one, which decides.

    Subjects wait by key and actor, so a partner is compared with at most one group that stays.
    """

    def __init__(self, plan: PartnerPlan) -> None:
        super().__init__(plan)
        self._waiting: dict[JoinKey | None, dict[JoinKey | None, list[_Waiting]]] = {}
        self._open = 0

    def can_batch(self, event_type: str) -> bool:
        return not self._plan.is_subject(event_type)

    def feed_batch(self, payloads: bytes, lines: Sequence[int]) -> bool:
        """Pass over partners, if nothing waits for one."""
        return not self._waiting

    def feed(self, event: Event) -> bool:
        lookup, kind = lookup_in(event), event.head.type
        # A partner first: no event is its own partner.
        key = self.partner_key(kind, lookup)
        if key is not None and self.says_last(lookup):
            self._decide(key, lookup, event)
        if self.is_subject(kind, lookup):
            self._wait(lookup, event)
        return False

    def _wait(self, lookup: Lookup, event: Event) -> None:
        self._open += 1
        self._overflowed |= self._open > MAX_OPEN
        if not self._overflowed:
            groups = self._waiting.setdefault(_join_key(self._plan.this, lookup), {})
            waiting = groups.setdefault(_actor(self._plan.this_actor, lookup), [])
            waiting.append(_Waiting(event.head.time, location_of(event)))

    def _decide(self, key: JoinKey, lookup: Lookup, event: Event) -> None:
        actor = _actor(self._plan.that_actor, lookup)
        partner = _Seen(actor, event.head.time, event.head.assayseq)
        for each in list(self._waiting) if key == _ALL else [key]:
            for own, waiting in self._waiting.pop(each, {}).items():
                if self._relation.differ is not None and (own is None or actor in (None, own)):
                    # It is not theirs, so they go on waiting.
                    self._waiting.setdefault(each, {})[own] = waiting
                    continue
                self._open -= len(waiting)
                for one in waiting:
                    if self.fits(own, partner, one.time) is not self._is_required:
                        self.violate(one.place)

    def finish(self) -> RuleViolation | None:
        """Count the subjects that still wait, if a partner is required."""
        if self._is_required:
            for groups in self._waiting.values():
                for waiting in groups.values():
                    for one in waiting:
                        self.violate(one.place)
        return super().finish()


class _Waiting(Struct, frozen=True):
    time: str
    place: EventLocation


class CountPlan:
    """`count`: how many events, or how many different values."""

    def __init__(self, relation: CountBounds) -> None:
        self.relation = relation
        keys = [each for each in (relation.per, relation.distinct) if each is not None]
        self.projection = projection_of(relation.selector.where, keys)

    def evaluator(self) -> "_CountEvaluator":
        """Return an evaluator for one bundle."""
        return _CountEvaluator(self)


class _CountEvaluator(_RelationEvaluator):
    def __init__(self, plan: CountPlan) -> None:
        super().__init__()
        self._plan = plan
        self._relation = plan.relation
        # The number of events for each key and, if values are counted, each value.
        self._counts: dict[JoinKey | None, Counter[bytes]] = {}
        self._keys = 0

    def accepts(self, event_type: str) -> bool:
        return self._relation.selector.accepts(event_type)

    def feed(self, event: Event) -> bool:
        self._add(self._entries([(lookup_in(event), 1)]), location_of(event))
        relation, found = self._relation, self._counts.get(None)
        # Enough of something is enough, if there cannot be too much of it.
        return (
            relation.maximum is None
            and relation.per is None
            and found is not None
            and self._size(found) >= (relation.minimum or 0)
        )

    def feed_batch(self, payloads: bytes, lines: Sequence[int]) -> bool:
        rows = self._plan.projection.rows(payloads)
        if rows is None:
            return False
        entries = list(self._entries(rows))
        if self._relation.maximum is not None and self._first is None:
            # At most so many could be added to one key: if that is too much, look at each.
            added = sum(number for _, _, number in entries)
            largest = max(map(self._size, self._counts.values()), default=0)
            if largest + added > self._relation.maximum:
                return False
        self._add(entries, None)
        return True

    def _entries(
        self, rows: Iterable[tuple[Lookup, int]]
    ) -> Iterator[tuple[JoinKey | None, bytes, int]]:
        relation = self._relation
        # A redacted value is not known to be different, nor to be the same.
        if_hidden = relation.minimum is None
        for lookup, number in rows:
            self.is_exercised |= relation.per is None
            if not meets(relation.selector.where, lookup, if_hidden=if_hidden):
                continue
            self.is_exercised = True
            value = b"" if relation.distinct is None else _actor(relation.distinct, lookup)
            if value is None and if_hidden and relation.distinct is not None:
                hidden = lookup(relation.distinct)
                value = None if hidden is ABSENT else jcs(hidden)
            if value is not None:
                yield _actor(relation.per, lookup), value, number

    def _add(
        self, entries: Iterable[tuple[JoinKey | None, bytes, int]], place: EventLocation | None
    ) -> None:
        most = self._relation.maximum
        for key, value, number in entries:
            values = self._counts.setdefault(key, Counter())
            self._keys += value not in values
            self._overflowed |= self._keys > MAX_OPEN
            if not self._overflowed:
                values[value] += number
                if most is not None and self._size(values) > most:
                    self.violate(place, number)

    def _size(self, values: Counter[bytes]) -> int:
        return values.total() if self._relation.distinct is None else len(values)

    def finish(self) -> RuleViolation | None:
        least, relation = self._relation.minimum, self._relation
        if relation.per is None:
            self._counts.setdefault(None, Counter())
        if least is not None:
            self._violations += sum(self._size(each) < least for each in self._counts.values())
        # Without a minimum nothing has to occur, and what did not occur was not counted.
        self.is_exercised |= least is not None and relation.per is None
        return super().finish()

    def message(self) -> str:
        relation = self._relation
        sizes = sorted(map(self._size, self._counts.values()))
        bounds = [f"at least {relation.minimum}"] if relation.minimum is not None else []
        bounds += [f"at most {relation.maximum}"] if relation.maximum is not None else []
        found = f"{sizes[0]} to {sizes[-1]}" if sizes[0] != sizes[-1] else f"{sizes[0]}"
        what = "" if relation.distinct is None else f"different {relation.distinct.text} of "
        per = "" if relation.per is None else f" for a {relation.per.text}"
        wanted = " and ".join(bounds)
        return f"There are {found} {what}{_named(relation.selector)}{per}, not {wanted}"


class TimePlan:
    """`in_time_order`: reads heads only, all of them, in their order."""

    def __init__(self, relation: TimeOrder) -> None:
        self.relation = relation

    def evaluator(self) -> "TimeOrderEvaluator":
        """Return an evaluator for one bundle."""
        return TimeOrderEvaluator(self.relation)


_PLAIN_TIME: Final = re.compile("....-..-..T..:..:..Z")


class TimeOrderEvaluator(_RelationEvaluator):
    """Checks that times do not go back, and how far apart they are.

    It is fed heads instead of events.
    """

    def __init__(self, relation: TimeOrder) -> None:
        super().__init__()
        self._relation = relation
        self._selector = Selector(relation.types)
        self._events = 0
        # The earliest and the latest time so far, if there is one.
        self._bounds: tuple[str, ...] = ()

    def accepts(self, event_type: str) -> bool:
        """Accept no events: heads are enough."""
        return False

    def feed(self, event: Event) -> bool:
        """Need no event."""
        return True

    def feed_batch(self, payloads: bytes, lines: Sequence[int]) -> bool:
        """Need no event."""
        return True

    def feed_heads(self, first: int, heads: Sequence[EventHead]) -> None:
        """Read the heads of events, of which the first is on this line."""
        accepted = set(filter(self._selector.accepts, {head.type for head in heads}))
        chosen = [(first + at, head) for at, head in enumerate(heads) if head.type in accepted]
        if not chosen:
            return
        self._events += len(chosen)
        texts = [*self._bounds, *(head.time for _, head in chosen)]
        times: list[Any] = texts
        # Times of the plain form are in the order of their texts. The bundle was verified, so each
        # of the others is a time.
        if not all(map(_PLAIN_TIME.fullmatch, texts)):
            times = [time_from(text) or 0.0 for text in texts]
        before = [at for at, latest in enumerate(accumulate(times, max)) if times[at] < latest]
        if before:
            line, head = chosen[before[0] - len(self._bounds)]
            self.violate(EventLocation(head.assayseq, line, head.type, "/time"), len(before))
        self._bounds = texts[times.index(min(times))], texts[times.index(max(times))]

    def finish(self) -> RuleViolation | None:
        """Return the violation when all heads were fed."""
        self.is_exercised = self._events > 1
        found, span = super().finish(), self._relation.span_seconds
        times = [time_from(text) or 0.0 for text in self._bounds]
        apart = times[1] - times[0] if times else 0.0
        if found is None and span is not None and apart > span:
            return RuleViolation(f"The times are {apart:g} seconds apart, not at most {span:g}")
        return found

    def message(self) -> str:
        """Return how many times go back."""
        return f"{self._violations} events have a time before that of an earlier event"


Plan: TypeAlias = EachPlan | PartnerPlan | CountPlan | TimePlan


def plan_for(relation: Relation) -> Plan:
    """Return what can be prepared for a relation before any event is read."""
    match relation:
        case EachWith():
            return PartnerPlan(relation)
        case CountBounds():
            return CountPlan(relation)
        case TimeOrder():
            return TimePlan(relation)
        case _:
            return EachPlan(relation)
