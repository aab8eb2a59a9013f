"""The check of a rule, from its wire form."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec

from affidavit.packs import wire_schema as v1
from affidavit.packs.globs import Glob, GlobError, glob_from
from affidavit.packs.model import (
    AuthorizationContext,
    Check,
    Clause,
    Conditional,
    EventCount,
    EventPairs,
    FieldPresent,
    ManifestField,
    PathExists,
    TypeExists,
    ValueWanted,
)
from affidavit.packs.pointers import Pointer, pointer_from


class CheckProblemError(ValueError):
    """Says what is wrong with a check, and in which of its fields."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(problem)
        self.field = field


def check_from_wire(wire: msgspec.Struct) -> Check:
    """Return the check that a struct of the schema stands for."""
    return _READERS[type(wire)](wire)


def _event_pairs(wire: v1.EventPairsV1) -> EventPairs:
    return EventPairs(
        _glob(wire.start_pattern, "start_pattern"), _glob(wire.finish_pattern, "finish_pattern")
    )


def _field_present(wire: v1.EventFieldPresentV1) -> FieldPresent:
    if (wire.paths_any_of is None) is (wire.any_of is None):
        raise CheckProblemError("", "either paths_any_of or any_of names the fields")
    if wire.paths_any_of is not None:
        return FieldPresent(_pointers(wire.paths_any_of))
    # The older spelling names fields, not paths.
    root = ("data",) if wire.in_data else ()
    names = wire.any_of or ()
    return FieldPresent(
        tuple(Pointer("/" + "/".join((*root, name)), (*root, name)) for name in names)
    )


def _path_exists(wire: v1.JsonPathExistsV1) -> PathExists:
    if isinstance(wire.value_equals, msgspec.UnsetType):
        return PathExists(_pointers(wire.paths), None)
    if len(wire.paths) != 1:
        raise CheckProblemError("value_equals", "value_equals goes with exactly one path")
    return PathExists(_pointers(wire.paths), ValueWanted(wire.value_equals))


def _conditional(wire: v1.ConditionalV1) -> Conditional:
    clauses = (Clause(pointer_from(each.path), each.equals) for each in wire.condition.all)
    return Conditional(tuple(clauses), pointer_from(wire.then.paths[0]))


def _pointers(texts: tuple[str, ...]) -> tuple[Pointer, ...]:
    return tuple(map(pointer_from, texts))


def _glob(text: str, field: str) -> Glob:
    try:
        return glob_from(text)
    except GlobError as error:
        raise CheckProblemError(field, f"{text!r} is no pattern: {error}") from None


_READERS: Final[Mapping[type, Callable[[Any], Check]]] = MappingProxyType(
    {
        v1.EventCountV1: lambda wire: EventCount(wire.min),
        v1.EventPairsV1: _event_pairs,
        v1.EventFieldPresentV1: _field_present,
        v1.EventTypeExistsV1: lambda wire: TypeExists(_glob(wire.pattern, "pattern")),
        v1.ManifestFieldV1: lambda wire: ManifestField(pointer_from(wire.path), wire.required),
        v1.JsonPathExistsV1: _path_exists,
        v1.ConditionalV1: _conditional,
        v1.AuthorizationContextV1: lambda wire: AuthorizationContext(),
    }
)
