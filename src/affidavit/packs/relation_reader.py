"""Reads the check `relation` of a pack; errors name the field that is wrong."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Final, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from affidavit.base.validation import suggestion_for
from affidavit.packs.event_types import RECORDED_TYPES, RECORDER_PREFIX
from affidavit.packs.globs import Glob, GlobError, glob_from
from affidavit.packs.pointers import pointer_from
from affidavit.packs.relations import (
    AnyOf,
    Condition,
    CountBounds,
    Direction,
    EachHas,
    EachWith,
    FieldOperator,
    FieldPair,
    FieldTest,
    Never,
    Relation,
    Selector,
    TimeOrder,
)

Text = Annotated[str, Meta(min_length=1)]
Seconds = Annotated[float, Meta(gt=0)]
Count = Annotated[int, Meta(ge=0)]


class InvalidCheckError(ValueError):
    """A malformed check, with the field that is wrong."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(problem)
        self.field = field


class FieldRefV1(Struct, forbid_unknown_fields=True):
    """Another field of the same event."""

    path: Text


Scalar: TypeAlias = bool | int | float | str | None
Compared: TypeAlias = int | float | str | FieldRefV1 | UnsetType


class FieldTestV1(Struct, forbid_unknown_fields=True):
    """A field and exactly one operator."""

    path: Text
    exists: bool | UnsetType = UNSET
    equals: bool | int | float | str | FieldRefV1 | UnsetType | None = UNSET
    not_equals: bool | int | float | str | FieldRefV1 | UnsetType | None = UNSET
    in_: Annotated[tuple[Scalar, ...], Meta(min_length=1)] | UnsetType = msgspec.field(
        name="in", default=UNSET
    )
    not_in: Annotated[tuple[Scalar, ...], Meta(min_length=1)] | UnsetType = UNSET
    matches: str | UnsetType = UNSET
    less_than: Compared = UNSET
    at_most: Compared = UNSET
    at_least: Compared = UNSET
    more_than: Compared = UNSET


class RelationConditionV1(FieldTestV1, forbid_unknown_fields=True, kw_only=True):
    """A test, or `any_of` several."""

    path: Text | UnsetType = UNSET  # type: ignore[assignment]  # absent beside any_of
    any_of: Annotated[tuple[FieldTestV1, ...], Meta(min_length=2)] | UnsetType = UNSET


Conditions: TypeAlias = Annotated[tuple[RelationConditionV1, ...], Meta(min_length=1)]
Types: TypeAlias = Text | Annotated[tuple[Text, ...], Meta(min_length=1)]


class SelectorV1(Struct, forbid_unknown_fields=True):
    """Types of events, and conditions that they meet."""

    type: Types
    where: Conditions | UnsetType = UNSET


class FieldPairV1(Struct, forbid_unknown_fields=True):
    """A field of each of two events."""

    this: Text
    that: Text


class PartnerV1(Struct, forbid_unknown_fields=True):
    """The other event of a pair."""

    type: Types
    where: Conditions | UnsetType = UNSET
    same: Annotated[tuple[Text | FieldPairV1, ...], Meta(min_length=1)] | UnsetType = UNSET
    last: Conditions | UnsetType = UNSET
    differ: FieldPairV1 | UnsetType = UNSET
    within_seconds: Seconds | UnsetType = UNSET


class RelationV1(Struct, tag="relation", forbid_unknown_fields=True, omit_defaults=True):
    """One of never, for_each, count and in_time_order, with the fields that belong to it."""

    never: Text | SelectorV1 | UnsetType = UNSET
    for_each: Text | SelectorV1 | UnsetType = UNSET
    has: Conditions | UnsetType = UNSET
    preceded_by: PartnerV1 | UnsetType = UNSET
    followed_by: PartnerV1 | UnsetType = UNSET
    not_preceded_by: PartnerV1 | UnsetType = UNSET
    not_followed_by: PartnerV1 | UnsetType = UNSET
    count: Text | SelectorV1 | UnsetType = UNSET
    min: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    max: Count | UnsetType = UNSET
    per: Text | UnsetType = UNSET
    distinct: Text | UnsetType = UNSET
    in_time_order: Types | UnsetType = UNSET
    span_seconds: Seconds | UnsetType = UNSET


# For each form: the fields of which exactly one (or, for `count`, at least one) must be there, and
# the fields that may be.
_FORMS: Final = {
    "never": ((), ()),
    "for_each": (("has", *(each.value for each in Direction)), ()),
    "count": (("min", "max"), ("per", "distinct")),
    "in_time_order": ((), ("span_seconds",)),
}


def relation_from_wire(wire: RelationV1) -> Relation:
    """Return the relation of a check, or raise InvalidCheckError."""
    stated = [name for name in wire.__struct_fields__ if getattr(wire, name) is not UNSET]
    forms = [name for name in stated if name in _FORMS]
    if len(forms) != 1:
        raise InvalidCheckError(
            forms[1] if forms else "", f"a relation has exactly one of {', '.join(_FORMS)}"
        )
    (form,) = forms
    needed, optional = _FORMS[form]
    for name in stated:
        if name not in (form, *needed, *optional):
            raise InvalidCheckError(name, f"{name} does not go with {form}")
    chosen = [name for name in stated if name in needed]
    if needed and (not chosen or (form == "for_each" and len(chosen) > 1)):
        which = "exactly" if form == "for_each" else "at least"
        raise InvalidCheckError(form, f"{form} goes with {which} one of {', '.join(needed)}")
    read = _READERS[form]
    return read(wire, chosen)


def _never(wire: RelationV1, chosen: Sequence[str]) -> Never:
    return Never(_selector(wire.never, "never"))


def _for_each(wire: RelationV1, chosen: Sequence[str]) -> EachHas | EachWith:
    subject = _selector(wire.for_each, "for_each")
    (name,) = chosen
    if name == "has":
        return EachHas(subject, _conditions(wire.has, "has"))
    partner: PartnerV1 = getattr(wire, name)
    return EachWith(
        subject=subject,
        direction=Direction(name),
        partner=_selector(partner, name),
        same=tuple(map(_pair, _or_none(partner.same) or ())),
        last=_conditions(partner.last, f"{name}.last"),
        differ=None if isinstance(partner.differ, UnsetType) else _pair(partner.differ),
        within_seconds=_or_none(partner.within_seconds),
    )


def _count(wire: RelationV1, chosen: Sequence[str]) -> CountBounds:
    least, most = _or_none(wire.min), _or_none(wire.max)
    if least is not None and most is not None and least > most:
        raise InvalidCheckError("min", f"min is {least}, and max is only {most}")
    per, distinct = _or_none(wire.per), _or_none(wire.distinct)
    return CountBounds(
        selector=_selector(wire.count, "count"),
        minimum=least,
        maximum=most,
        per=None if per is None else pointer_from(per),
        distinct=None if distinct is None else pointer_from(distinct),
    )


def _in_time_order(wire: RelationV1, chosen: Sequence[str]) -> TimeOrder:
    return TimeOrder(_types(wire.in_time_order, "in_time_order"), _or_none(wire.span_seconds))


_READERS: Final[Mapping[str, Callable[[RelationV1, Sequence[str]], Relation]]] = {
    "never": _never,
    "for_each": _for_each,
    "count": _count,
    "in_time_order": _in_time_order,
}


def _or_none(value: Any) -> Any:
    return None if value is UNSET else value


def _selector(wire: Any, field: str) -> Selector:
    if isinstance(wire, str):
        return Selector(_types(wire, field))
    return Selector(_types(wire.type, f"{field}.type"), _conditions(wire.where, f"{field}.where"))


def _types(wire: Any, field: str) -> tuple[Glob, ...]:
    if isinstance(wire, str):
        return (_type_glob(wire, field),)
    return tuple(_type_glob(text, f"{field}[{at}]") for at, text in enumerate(wire))


def _type_glob(text: str, field: str) -> Glob:
    glob = read_glob(text, field)
    unknown = unknown_type(glob)
    if unknown is not None:
        raise UnknownTypeError(field, unknown)
    return glob


class UnknownTypeError(InvalidCheckError):
    """A type that begins with affidavit, and that no event has."""

    def __init__(self, field: str, name: str) -> None:
        super().__init__(field, name)
        self.name = name
        self.advice = suggestion_for(name, sorted(RECORDED_TYPES))


def unknown_type(glob: Glob) -> str | None:
    """Return the text of a pattern of our types if no event can have one."""
    if not glob.text.startswith(RECORDER_PREFIX) or any(map(glob.matches, RECORDED_TYPES)):
        return None
    return glob.text


def read_glob(text: str, field: str) -> Glob:
    """Parse a pattern, or raise InvalidCheckError."""
    try:
        return glob_from(text)
    except GlobError as error:
        raise InvalidCheckError(field, f"{text!r} is no pattern: {error}") from None


def _pair(wire: str | FieldPairV1) -> FieldPair:
    if isinstance(wire, str):
        return FieldPair(pointer_from(wire), pointer_from(wire))
    return FieldPair(pointer_from(wire.this), pointer_from(wire.that))


def _conditions(
    wires: Iterable[RelationConditionV1] | UnsetType, field: str
) -> tuple[Condition, ...]:
    if isinstance(wires, UnsetType):
        return ()
    return tuple(_condition(wire, f"{field}[{at}]") for at, wire in enumerate(wires))


def _condition(wire: RelationConditionV1, field: str) -> Condition:
    stated = [name for name in wire.__struct_fields__ if getattr(wire, name) is not UNSET]
    if isinstance(wire.any_of, UnsetType):
        if isinstance(wire.path, UnsetType):
            raise InvalidCheckError(field, "a condition has a path, or any_of")
        return _field_test(wire, field)
    if stated != ["any_of"]:
        raise InvalidCheckError(field, "any_of stands alone in its condition")
    return AnyOf(
        tuple(_field_test(each, f"{field}.any_of[{at}]") for at, each in enumerate(wire.any_of))
    )


_MEMBERS: Final = {
    operator: {"in": "in_"}.get(operator, operator.value) for operator in FieldOperator
}


def _field_test(wire: FieldTestV1, field: str) -> FieldTest:
    stated = [each for each in FieldOperator if getattr(wire, _MEMBERS[each]) is not UNSET]
    if len(stated) != 1:
        known = ", ".join(FieldOperator)
        raise InvalidCheckError(field, f"a condition has exactly one operator of {known}")
    (operator,) = stated
    value: Any = getattr(wire, _MEMBERS[operator])
    if operator is FieldOperator.MATCHES:
        value = read_glob(value.lower(), f"{field}.matches")
    elif isinstance(value, FieldRefV1):
        value = pointer_from(value.path)
    return FieldTest(pointer_from(wire.path), operator, value)
