"""Relations between the events of a run: the language of the check `relation`.

Origin: docs/adr/0029. Four forms over one notion of a selector, the meaning of its conditions, and
all of it in words. A redacted value satisfies no requirement and escapes no prohibition:
`if_hidden` says which of the two a condition is part of.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Any, Final, TypeAlias

import msgspec
from msgspec import Struct

from affidavit.base.canonical import jcs
from affidavit.packs.events import Event
from affidavit.packs.globs import Glob
from affidavit.packs.pointers import ABSENT, JsonPointer, commitment_in, value_at


class FieldOperator(StrEnum):
    """How a condition compares a field. Except for `exists`, an absent field meets none."""

    EXISTS = "exists"
    EQUALS = "equals"
    NOT_EQUALS = "not_equals"
    IN = "in"
    NOT_IN = "not_in"
    MATCHES = "matches"
    LESS_THAN = "less_than"
    AT_MOST = "at_most"
    AT_LEAST = "at_least"
    MORE_THAN = "more_than"


class FieldTest(Struct, frozen=True):
    """One field compared with a value, a pattern, or another field of the same event."""

    pointer: JsonPointer
    operator: FieldOperator
    value: Any  # JSON, a Glob for `matches`, or the JsonPointer of the other field.


class AnyOf(Struct, frozen=True):
    """At least one of the tests holds."""

    tests: tuple[FieldTest, ...]


Condition: TypeAlias = FieldTest | AnyOf


class Selector(Struct, frozen=True):
    """Events with a type that matches one of the patterns, which meet all conditions."""

    types: tuple[Glob, ...]
    where: tuple[Condition, ...] = ()

    def accepts(self, event_type: str) -> bool:
        """Return whether the type of an event matches."""
        return any(glob.matches(event_type) for glob in self.types)

    @property
    def text(self) -> str:
        """The patterns and conditions in words."""
        types = " or ".join(glob.text for glob in self.types)
        return f"{types} with {describe_conditions(self.where)}" if self.where else types


class FieldPair(Struct, frozen=True):
    """A field of the event that a rule is about, and one of its partner."""

    this: JsonPointer
    that: JsonPointer


class Direction(StrEnum):
    """Where the partner of an event must be, or must not be."""

    PRECEDED_BY = "preceded_by"
    FOLLOWED_BY = "followed_by"
    NOT_PRECEDED_BY = "not_preceded_by"
    NOT_FOLLOWED_BY = "not_followed_by"

    @property
    def is_required(self) -> bool:
        """Whether there must be a partner."""
        return self in (Direction.PRECEDED_BY, Direction.FOLLOWED_BY)

    @property
    def is_earlier(self) -> bool:
        """Whether the partner comes before the event."""
        return self in (Direction.PRECEDED_BY, Direction.NOT_PRECEDED_BY)


class Never(Struct, frozen=True):
    """No event is selected."""

    selector: Selector


class EachHas(Struct, frozen=True):
    """Every selected event meets all conditions."""

    subject: Selector
    has: tuple[Condition, ...]


class EachWith(Struct, frozen=True, kw_only=True):
    """Every selected event has a partner, or none.

    The fields of `same` are equal, those of `differ` are not. If `last` is not empty, only the
    latest partner counts, and only if it meets these conditions.
    """

    subject: Selector
    direction: Direction
    partner: Selector
    same: tuple[FieldPair, ...] = ()
    last: tuple[Condition, ...] = ()
    differ: FieldPair | None = None
    within_seconds: float | None = None


class CountBounds(Struct, frozen=True, kw_only=True):
    """How many events are selected, or how many different values they have, for each key."""

    selector: Selector
    minimum: int | None = None
    maximum: int | None = None
    per: JsonPointer | None = None
    distinct: JsonPointer | None = None


class TimeOrder(Struct, frozen=True):
    """The times of the events do not go back, and all are within the span."""

    types: tuple[Glob, ...]
    span_seconds: float | None = None


Relation: TypeAlias = Never | EachHas | EachWith | CountBounds | TimeOrder


# --- Conditions ---

Lookup = Callable[[JsonPointer], Any]


def meets(conditions: Sequence[Condition], lookup: Lookup, *, if_hidden: bool) -> bool:
    """Return whether all conditions hold; a redacted value decides like `if_hidden`."""
    return not conditions or all(_meets_one(each, lookup, if_hidden) for each in conditions)


def _meets_one(condition: Condition, lookup: Lookup, if_hidden: bool) -> bool:
    if isinstance(condition, AnyOf):
        return any(_meets_one(each, lookup, if_hidden) for each in condition.tests)
    found, wanted = lookup(condition.pointer), condition.value
    if condition.operator is FieldOperator.EXISTS:
        return (found is not ABSENT) is wanted
    if isinstance(wanted, JsonPointer):
        wanted = lookup(wanted)
    if found is ABSENT or wanted is ABSENT:
        return False
    if commitment_in(found) is not None or commitment_in(wanted) is not None:
        return if_hidden
    return _COMPARE[condition.operator](found, wanted)


def is_equal_json(found: Any, wanted: Any) -> bool:
    """Return whether two values are equal as JSON: true is not 1, but 1 equals 1.0."""
    if isinstance(found, dict | list) or isinstance(wanted, dict | list):
        return jcs(found) == jcs(wanted)
    return isinstance(found, bool) is isinstance(wanted, bool) and bool(found == wanted)


def _compared(holds: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Return a comparison of two numbers or two times; it fails for anything else."""

    def compare(found: Any, wanted: Any) -> bool:
        both = found, wanted
        if all(isinstance(each, int | float) and not isinstance(each, bool) for each in both):
            return holds(found, wanted)
        times = [time_from(each) if isinstance(each, str) else None for each in both]
        return None not in times and holds(*times)

    return compare


def _is_in(found: Any, wanted: Any) -> bool:
    return any(is_equal_json(found, each) for each in wanted)


def _matches(found: Any, wanted: Any) -> bool:
    return isinstance(found, str) and bool(wanted.matches(found.lower()))


_COMPARE: Final[Mapping[FieldOperator, Callable[[Any, Any], bool]]] = MappingProxyType(
    {
        FieldOperator.EQUALS: is_equal_json,
        FieldOperator.NOT_EQUALS: lambda found, wanted: not is_equal_json(found, wanted),
        FieldOperator.IN: _is_in,
        FieldOperator.NOT_IN: lambda found, wanted: not _is_in(found, wanted),
        FieldOperator.MATCHES: _matches,
        FieldOperator.LESS_THAN: _compared(lambda found, wanted: found < wanted),
        FieldOperator.AT_MOST: _compared(lambda found, wanted: found <= wanted),
        FieldOperator.AT_LEAST: _compared(lambda found, wanted: found >= wanted),
        FieldOperator.MORE_THAN: _compared(lambda found, wanted: found > wanted),
    }
)

_AwareTime = Annotated[datetime, msgspec.Meta(tz=True)]


def time_from(text: str) -> float | None:
    """Return an RFC 3339 time as seconds since 1970; None if it is none."""
    try:
        return msgspec.convert(text, _AwareTime).timestamp()
    except msgspec.ValidationError:
        return None


def lookup_in(event: Event) -> Lookup:
    """Return a function that finds fields of an event."""

    def find(pointer: JsonPointer) -> Any:
        steps = pointer.steps
        if steps[:1] == ("data",):
            return value_at(event.data, steps[1:])
        if steps == ("type",):
            return event.head.type
        if steps == ("time",):
            return event.head.time
        return value_at(event.envelope, steps)

    return find


def pointers_in(relation: Relation) -> tuple[JsonPointer, ...]:
    """Return the fields of events that a relation reads."""
    match relation:
        case Never(selector):
            return _pointers(selector.where)
        case EachHas(subject, has):
            return _pointers((*subject.where, *has))
        case EachWith():
            pairs = (*relation.same, *([relation.differ] if relation.differ else []))
            joined = (pointer for pair in pairs for pointer in (pair.this, pair.that))
            where = (*relation.subject.where, *relation.partner.where, *relation.last)
            return (*_pointers(where), *joined)
        case CountBounds():
            keys = (each for each in (relation.per, relation.distinct) if each is not None)
            return (*_pointers(relation.selector.where), *keys)
        case _:
            return ()


def _pointers(conditions: Iterable[Condition]) -> tuple[JsonPointer, ...]:
    fields = (field for test in tests_in(conditions) for field in (test.pointer, test.value))
    return tuple(field for field in fields if isinstance(field, JsonPointer))


def tests_in(conditions: Iterable[Condition]) -> Iterator[FieldTest]:
    """Yield the tests of conditions."""
    for each in conditions:
        yield from each.tests if isinstance(each, AnyOf) else (each,)


# --- In words ---

_WORDS: Final[Mapping[FieldOperator, str]] = MappingProxyType(
    {
        FieldOperator.EQUALS: "is",
        FieldOperator.NOT_EQUALS: "is not",
        FieldOperator.IN: "is one of",
        FieldOperator.NOT_IN: "is none of",
        FieldOperator.MATCHES: "matches",
        FieldOperator.LESS_THAN: "is less than",
        FieldOperator.AT_MOST: "is at most",
        FieldOperator.AT_LEAST: "is at least",
        FieldOperator.MORE_THAN: "is more than",
    }
)


def describe_conditions(conditions: Iterable[Condition]) -> str:
    """Return conditions in words."""
    return " and ".join(map(_describe_condition, conditions))


def _describe_condition(condition: Condition) -> str:
    if isinstance(condition, AnyOf):
        return f"({' or '.join(map(_describe_condition, condition.tests))})"
    name, value = condition.pointer.text, condition.value
    if condition.operator is FieldOperator.EXISTS:
        return name if value else f"no {name}"
    shown = value.text if isinstance(value, Glob | JsonPointer) else jcs(value).decode()
    return f"{name} {_WORDS[condition.operator]} {shown}"


def describe_relation(relation: Relation) -> str:
    """Return what must hold, as the end of a sentence that begins "It checks that"."""
    match relation:
        case Never(selector):
            return f"there is no {selector.text}"
        case EachHas(subject, has):
            return f"every {subject.text} has {describe_conditions(has)}"
        case EachWith():
            return f"every {relation.subject.text} is {_describe_partner(relation)}"
        case CountBounds():
            return _describe_count(relation)
        case _:
            types = " or ".join(glob.text for glob in relation.types)
            span = relation.span_seconds
            within = "" if span is None else f", all within {span:g} seconds"
            return f"the times of {types} do not go back{within}"


def _describe_partner(relation: EachWith) -> str:
    parts = [relation.direction.value.replace("_", " "), relation.partner.text]
    if relation.same:
        equal = (f"{pair.this.text} is its {pair.that.text}" for pair in relation.same)
        parts.append(f"whose fields are the same ({', '.join(equal)})")
    if relation.last:
        parts.append(f"of which the last has {describe_conditions(relation.last)}")
    if relation.differ is not None:
        parts.append(f"and {relation.differ.this.text} is not its {relation.differ.that.text}")
    if relation.within_seconds is not None:
        parts.append(f"within {relation.within_seconds:g} seconds")
    return " ".join(parts)


def _describe_count(relation: CountBounds) -> str:
    least, most = relation.minimum, relation.maximum
    bounds = [f"at least {least}"] if least is not None else []
    bounds += [f"at most {most}"] if most is not None else []
    what = "" if relation.distinct is None else f"different {relation.distinct.text} in "
    per = "" if relation.per is None else f" for each {relation.per.text}"
    return f"there are {' and '.join(bounds)} {what}{relation.selector.text}{per}"
