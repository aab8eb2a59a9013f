"""The YAML schema of a pack file, and the search for unknown keys in one."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

# A pack as YAML says it. docs/schemas/pack.schema.json is made from these structs.
#
# Origin: Assay's pack engine 1.2, field by field. Unlike there, a key that nobody knows is an error
# everywhere (reading.py), so a misspelt one cannot be left unread.

Text = Annotated[str, Meta(min_length=1)]
Name = Annotated[str, Meta(pattern=r"^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\Z", max_length=100)]
Paths = Annotated[tuple[str, ...], Meta(min_length=1)]
Positive = Annotated[int, Meta(ge=1)]


class EventCountV1(Struct, tag="event_count", forbid_unknown_fields=True):
    """At least `min` events."""

    min: Positive


class EventPairsV1(Struct, tag="event_pairs", forbid_unknown_fields=True):
    """What starts also finishes."""

    start_pattern: Text
    finish_pattern: Text


class EventFieldPresentV1(Struct, tag="event_field_present", forbid_unknown_fields=True):
    """Some event has one of some fields; `any_of` with `in_data` is the older spelling."""

    paths_any_of: Paths | None = None
    any_of: Paths | None = None
    in_data: bool = False


class EventTypeExistsV1(Struct, tag="event_type_exists", forbid_unknown_fields=True):
    """Some event has a type of this form."""

    pattern: Text


class ManifestFieldV1(Struct, tag="manifest_field", forbid_unknown_fields=True):
    """The manifest has a field."""

    path: str
    required: bool = False


class JsonPathExistsV1(Struct, tag="json_path_exists", forbid_unknown_fields=True):
    """Some event has one of some fields, or one field with one value."""

    paths: Paths
    value_equals: Any | UnsetType = UNSET


class ClauseV1(Struct, forbid_unknown_fields=True):
    """A field with its value."""

    path: str
    equals: bool | int | float | str | None


class ConditionV1(Struct, forbid_unknown_fields=True):
    """All of some clauses."""

    all: Annotated[tuple[ClauseV1, ...], Meta(min_length=1)]


class ThenV1(Struct, tag="json_path_exists", forbid_unknown_fields=True):
    """What has to be there where the condition holds."""

    paths: Annotated[tuple[str, ...], Meta(min_length=1, max_length=1)]


class ConditionalV1(Struct, tag="conditional", forbid_unknown_fields=True):
    """Where a condition holds, a field is there."""

    condition: ConditionV1
    then: ThenV1


class AuthorizationContextV1(
    Struct, tag="g3_authorization_context_present", forbid_unknown_fields=True
):
    """Some tool decision says on whose authority it was made."""


class ExtensionV1(Struct, forbid_unknown_fields=True):
    """What the ADR adds to rules and packs under `x-assay`."""

    requires_signals: tuple[str, ...] = ()
    framework: Text | None = None


class RuleV1(Struct, forbid_unknown_fields=True):
    """One rule. Its check is read after it, so that one of an unknown type can be a finding."""

    id: Annotated[str, Meta(min_length=1, max_length=200)]
    severity: str
    description: Text
    check: dict[str, Any]
    article_ref: str | None = None
    help_markdown: str | None = None
    engine_min_version: str | None = None
    event_types: Paths | None = None
    x_assay: ExtensionV1 = msgspec.field(name="x-assay", default_factory=ExtensionV1)


class RequiresV1(Struct, forbid_unknown_fields=True):
    """The oldest tool that a pack runs on."""

    assay_min_version: Text
    evidence_schema_version: str | None = None


class PackV1(Struct, forbid_unknown_fields=True):
    """A pack. Its rules are read one by one, so that an error knows which one it is in."""

    name: Name
    version: Text
    kind: str
    description: Text
    author: Text
    license: Text
    rules: Annotated[tuple[dict[str, Any], ...], Meta(min_length=1)]
    source_url: str | None = None
    disclaimer: str | None = None
    requires: RequiresV1 | None = None
    x_assay: ExtensionV1 = msgspec.field(name="x-assay", default_factory=ExtensionV1)


def _tag_of(struct: type[Struct]) -> str:
    return str(struct.__struct_config__.tag)


CHECKS: Final[dict[str, type[Struct]]] = {
    _tag_of(struct): struct
    for struct in (
        EventCountV1,
        EventPairsV1,
        EventFieldPresentV1,
        EventTypeExistsV1,
        ManifestFieldV1,
        JsonPathExistsV1,
        ConditionalV1,
        AuthorizationContextV1,
    )
}


# Keys that no part of a pack has: each one is an error, wherever it stands.


@dataclass(frozen=True, slots=True)
class UnknownKey:
    """A key that nobody knows, where it stands, and what its holder knows."""

    field: str
    key: str
    holder: str
    known: tuple[str, ...]


def find_unknown_key(pack: dict[str, Any]) -> UnknownKey | None:
    """Return the first key that is not known, in the order of the parts of a pack."""
    for field, value, struct, holder in _parts(pack):
        known = _field_names(struct)
        for key in value:
            if key not in known:
                return UnknownKey(f"{field}.{key}" if field else key, key, holder, known)
    return None


_Part = tuple[str, dict[str, Any], type[msgspec.Struct], str]


def _parts(pack: dict[str, Any]) -> Iterator[_Part]:
    yield "", pack, PackV1, "a pack"
    yield from _part(pack, "requires", "", RequiresV1)
    yield from _part(pack, "x-assay", "", ExtensionV1)
    for at, rule in enumerate(_list_or_empty(pack.get("rules"))):
        if isinstance(rule, dict):
            yield from _parts_of_rule(rule, f"rules[{at}]")


def _parts_of_rule(rule: dict[str, Any], field: str) -> Iterator[_Part]:
    yield field, rule, RuleV1, "a rule"
    yield from _part(rule, "x-assay", field, ExtensionV1)
    check = rule.get("check")
    if not isinstance(check, dict):
        return
    kind = check.get("type")
    struct = CHECKS.get(kind) if isinstance(kind, str) else None
    if struct is None:
        return  # Of a check that is not known, its keys are not known either.
    yield f"{field}.check", check, struct, f"a check of type {kind}"
    if struct is ConditionalV1:
        yield from _part(check, "then", f"{field}.check", ThenV1)
        yield from _part(check, "condition", f"{field}.check", ConditionV1)
        condition = check.get("condition")
        clauses = _list_or_empty(condition.get("all")) if isinstance(condition, dict) else []
        for at, clause in enumerate(clauses):
            if isinstance(clause, dict):
                yield f"{field}.check.condition.all[{at}]", clause, ClauseV1, "a clause"


def _part(
    holder: dict[str, Any], key: str, field: str, struct: type[msgspec.Struct]
) -> Iterator[_Part]:
    value = holder.get(key)
    if isinstance(value, dict):
        yield (f"{field}.{key}" if field else key), value, struct, key


def _list_or_empty(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _field_names(struct: type[msgspec.Struct]) -> tuple[str, ...]:
    names = tuple(field.encode_name for field in msgspec.structs.fields(struct))
    tagged = struct.__struct_config__.tag_field
    return names if tagged is None else (tagged, *names)
