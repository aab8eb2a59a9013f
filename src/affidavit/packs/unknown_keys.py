"""Keys that no part of a pack has: each one is an error, wherever it stands."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from affidavit.packs import wire_schema as v1


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
        known = _names(struct)
        for key in value:
            if key not in known:
                return UnknownKey(f"{field}.{key}" if field else key, key, holder, known)
    return None


_Part = tuple[str, dict[str, Any], type[msgspec.Struct], str]


def _parts(pack: dict[str, Any]) -> Iterator[_Part]:
    yield "", pack, v1.PackV1, "a pack"
    yield from _part(pack, "requires", "", v1.RequiresV1)
    yield from _part(pack, "x-assay", "", v1.ExtensionV1)
    for at, rule in enumerate(_list(pack.get("rules"))):
        if isinstance(rule, dict):
            yield from _parts_of_rule(rule, f"rules[{at}]")


def _parts_of_rule(rule: dict[str, Any], field: str) -> Iterator[_Part]:
    yield field, rule, v1.RuleV1, "a rule"
    yield from _part(rule, "x-assay", field, v1.ExtensionV1)
    check = rule.get("check")
    if not isinstance(check, dict):
        return
    kind = check.get("type")
    struct = v1.CHECKS.get(kind) if isinstance(kind, str) else None
    if struct is None:
        return  # Of a check that is not known, its keys are not known either.
    yield f"{field}.check", check, struct, f"a check of type {kind}"
    if struct is v1.ConditionalV1:
        yield from _part(check, "then", f"{field}.check", v1.ThenV1)
        yield from _part(check, "condition", f"{field}.check", v1.ConditionV1)
        condition = check.get("condition")
        clauses = _list(condition.get("all")) if isinstance(condition, dict) else []
        for at, clause in enumerate(clauses):
            if isinstance(clause, dict):
                yield f"{field}.check.condition.all[{at}]", clause, v1.ClauseV1, "a clause"


def _part(
    holder: dict[str, Any], key: str, field: str, struct: type[msgspec.Struct]
) -> Iterator[_Part]:
    value = holder.get(key)
    if isinstance(value, dict):
        yield (f"{field}.{key}" if field else key), value, struct, key


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _names(struct: type[msgspec.Struct]) -> tuple[str, ...]:
    names = tuple(field.encode_name for field in msgspec.structs.fields(struct))
    tagged = struct.__struct_config__.tag_field
    return names if tagged is None else (tagged, *names)
