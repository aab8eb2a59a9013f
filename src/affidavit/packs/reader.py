"""Reads a pack from YAML: its schema, versions, warnings and digests.

Origin: Assay 5.4.0, pack engine 1.2, field by field; packs and rules have the same meaning here.
Unlike there, every unknown key is an error, so a misspelt one cannot be ignored. Errors have line,
column and the nearest known name. docs/schemas/pack.schema.json is generated from these structs.

A pack has two digests, both Assay's. The lint digest is over the parsed pack: absent fields are
null, severities have one spelling, an unknown check is `unsupported`, and `x-assay` is left out.
The registry digest is over the whole YAML document as JSON.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from affidavit.base.canonical import jcs
from affidavit.base.config import ConfigDocument, ConfigFaults, parse_yaml
from affidavit.base.digest import digest_of
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import bundles as faults
from affidavit.base.faults.bundles import PACK_COLLISION
from affidavit.base.faults.receipts import TOOLS_SYNTAX
from affidavit.base.json_values import JsonValue
from affidavit.base.text import excerpt
from affidavit.base.validation import suggestion_for
from affidavit.packs.event_types import RECORDED_TYPES
from affidavit.packs.events import ENVELOPE
from affidavit.packs.globs import Glob, glob_from
from affidavit.packs.model import (
    AuthorizationContext,
    Check,
    Clause,
    Conditional,
    EventCount,
    EventPairs,
    FieldPresent,
    ManifestField,
    Pack,
    PackKind,
    PathExists,
    Rule,
    Severity,
    TypeExists,
    Unsupported,
    ValueWanted,
    engine_suffices,
    is_version_met,
    version_numbers,
)
from affidavit.packs.pointers import JsonPointer, pointer_from
from affidavit.packs.relation_reader import (
    InvalidCheckError,
    RelationV1,
    UnknownTypeError,
    read_glob,
    relation_from_wire,
    unknown_type,
)
from affidavit.packs.relations import pointers_in
from affidavit.packs.signals import REGISTRY

Text = Annotated[str, Meta(min_length=1)]
Name = Annotated[str, Meta(pattern=r"^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\Z", max_length=100)]
Paths = Annotated[tuple[str, ...], Meta(min_length=1)]
Positive = Annotated[int, Meta(ge=1)]


class EventCountV1(Struct, tag="event_count", forbid_unknown_fields=True):
    """At least `min` events."""

    min: Positive


class EventPairsV1(Struct, tag="event_pairs", forbid_unknown_fields=True):
    """Whatever starts also finishes."""

    start_pattern: Text
    finish_pattern: Text


class EventFieldPresentV1(Struct, tag="event_field_present", forbid_unknown_fields=True):
    """Some event has one of several fields; `any_of` with `in_data` is the older spelling."""

    paths_any_of: Paths | None = None
    any_of: Paths | None = None
    in_data: bool = False


class EventTypeExistsV1(Struct, tag="event_type_exists", forbid_unknown_fields=True):
    """Some event has a type that matches the pattern."""

    pattern: Text


class ManifestFieldV1(Struct, tag="manifest_field", forbid_unknown_fields=True):
    """The manifest has a field."""

    path: str
    required: bool = False


class JsonPathExistsV1(Struct, tag="json_path_exists", forbid_unknown_fields=True):
    """Some event has one of several fields, or one field with one value."""

    paths: Paths
    value_equals: Any | UnsetType = UNSET


class ClauseV1(Struct, forbid_unknown_fields=True):
    """A field with its value."""

    path: str
    equals: bool | int | float | str | None


class ConditionV1(Struct, forbid_unknown_fields=True):
    """All clauses must hold."""

    all: Annotated[tuple[ClauseV1, ...], Meta(min_length=1)]


class ThenV1(Struct, tag="json_path_exists", forbid_unknown_fields=True):
    """The field that must exist if the condition holds."""

    paths: Annotated[tuple[str, ...], Meta(min_length=1, max_length=1)]


class ConditionalV1(Struct, tag="conditional", forbid_unknown_fields=True):
    """If a condition holds, a field exists."""

    condition: ConditionV1
    then: ThenV1


class AuthorizationContextV1(
    Struct, tag="g3_authorization_context_present", forbid_unknown_fields=True
):
    """Some tool decision names its authority."""


class ExtensionV1(Struct, forbid_unknown_fields=True):
    """What ADR-025 adds to rules and packs under `x-assay`."""

    requires_signals: tuple[str, ...] = ()
    framework: Text | None = None


class RuleV1(Struct, forbid_unknown_fields=True):
    """One rule. Its check is converted later, because an unknown type is not an error."""

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
    """The oldest versions that can run a pack."""

    assay_min_version: Text
    evidence_schema_version: str | None = None


class PackV1(Struct, forbid_unknown_fields=True):
    """A pack. Its rules are converted one by one, so that an error names the rule."""

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


RELATION: Final = _tag_of(RelationV1)
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
        RelationV1,
    )
}


ASSAY_VERSION: Final = "5.4.0"
EVIDENCE_SCHEMA: Final = "1.0"

NO_MINIMUM_VERSION: Final = "it does not say which version it needs (requires.assay_min_version)"


def pack_warnings(rules: tuple[Rule, ...], *, has_requirement: bool) -> tuple[str, ...]:
    """Return the warnings that `affidavit packs validate` shows, in the order of the rules."""
    first = () if has_requirement else (NO_MINIMUM_VERSION,)
    return (*first, *(warning for rule in rules for warning in _rule_warnings(rule)))


def _rule_warnings(rule: Rule) -> Iterator[str]:
    if isinstance(rule.check, Unsupported):
        yield f"{rule.id}: no check is called {rule.check.type!r}, so the rule always fires"
    if not engine_suffices(rule):
        yield f"{rule.id}: it needs engine {rule.engine_min_version}, so the rule always fires"
    for pointer in pointers_of(rule.check):
        if pointer.steps and pointer.steps[0] not in ENVELOPE:
            yield (
                f"{rule.id}: no event has a field {pointer.text}; what a producer adds to the"
                " envelope itself is covered by no hash and is not seen"
            )
    for name in filter(None, map(unknown_type, _types_of(rule))):
        advice = suggestion_for(name, sorted(RECORDED_TYPES))
        yield f"{rule.id}: no event has the type {name}; {advice}"


def pointers_of(check: Check) -> tuple[JsonPointer, ...]:
    """Return the fields of events that a check reads."""
    match check:
        case FieldPresent(pointers) | PathExists(pointers):
            return pointers
        case Conditional(clauses, then):
            return (*(clause.pointer for clause in clauses), then)
        case EventCount() | EventPairs() | TypeExists() | ManifestField():
            return ()
        case AuthorizationContext() | Unsupported():
            return ()
        case _:
            return pointers_in(check)


def _types_of(rule: Rule) -> Iterator[Glob]:
    """Yield the types of events that a rule of Assay's language names."""
    yield from map(_exact_glob, rule.event_types or ())
    match rule.check:
        case EventPairs(start, finish):
            yield from (start, finish)
        case TypeExists(pattern):
            yield pattern
        case Conditional(clauses):
            named = (each.equals for each in clauses if each.pointer.steps == ("type",))
            yield from (_exact_glob(name) for name in named if isinstance(name, str))


def _exact_glob(text: str) -> Glob:
    """Return the pattern that only this text matches."""
    return glob_from(re.sub(r"([\\*?\[\]{}!,])", r"\\\1", text))


def refuse_collisions(packs: Sequence[Pack]) -> tuple[Pack, ...]:
    """Return the packs without duplicates; raise if two different ones share a rule id."""
    kept: list[Pack] = []
    owner: dict[str, Pack] = {}
    for pack in packs:
        if pack in kept:
            continue
        for rule in pack.rules:
            name = pack.canonical_id(rule)
            first = owner.setdefault(name, pack)
            if first is not pack:
                raise AffidavitError(
                    PACK_COLLISION, rule=name, first=first.source, second=pack.source
                )
        kept.append(pack)
    return tuple(kept)


_UNSUPPORTED: Final = {"type": "unsupported"}


def registry_digest(document: JsonValue) -> str:
    """Return the digest of the whole document."""
    return digest_of(jcs(document))


def lint_digest(pack: PackV1, wires: Sequence[RuleV1], rules: Sequence[Rule]) -> str:
    """Return the digest of a parsed pack; `wires` and `rules` are its rules in both forms."""
    stated: dict[str, Any] = {
        "name": pack.name,
        "version": pack.version,
        "kind": pack.kind,
        "description": pack.description,
        "author": pack.author,
        "license": pack.license,
        "source_url": pack.source_url,
        "disclaimer": pack.disclaimer,
        "requires": None if pack.requires is None else msgspec.to_builtins(pack.requires),
        "rules": [_rule_as_digested(*pair) for pair in zip(wires, rules, strict=True)],
    }
    return digest_of(jcs(stated))


def _rule_as_digested(wire: RuleV1, rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "severity": rule.severity.value,
        "description": rule.description,
        "article_ref": rule.article_ref,
        "help_markdown": rule.help_markdown,
        "check": _check_as_digested(wire.check),
        "engine_min_version": rule.engine_min_version,
        "event_types": wire.event_types,
    }


def _check_as_digested(value: dict[str, Any]) -> dict[str, Any]:
    struct = CHECKS.get(str(value.get("type")))
    if struct is None:
        return dict(_UNSUPPORTED)
    stated: dict[str, Any] = msgspec.to_builtins(msgspec.convert(value, struct))
    if struct is JsonPathExistsV1:
        stated.setdefault("value_equals", None)
    return stated


def check_from_wire(wire: msgspec.Struct) -> Check:
    """Return the check of a struct of the schema."""
    return _READERS[type(wire)](wire)


def _event_pairs(wire: EventPairsV1) -> EventPairs:
    return EventPairs(
        read_glob(wire.start_pattern, "start_pattern"),
        read_glob(wire.finish_pattern, "finish_pattern"),
    )


def _field_present(wire: EventFieldPresentV1) -> FieldPresent:
    if (wire.paths_any_of is None) is (wire.any_of is None):
        raise InvalidCheckError("", "either paths_any_of or any_of names the fields")
    if wire.paths_any_of is not None:
        return FieldPresent(_pointers_from(wire.paths_any_of))
    # The older spelling has names of fields instead of paths.
    root = ("data",) if wire.in_data else ()
    names = wire.any_of or ()
    return FieldPresent(
        tuple(JsonPointer("/" + "/".join((*root, name)), (*root, name)) for name in names)
    )


def _path_exists(wire: JsonPathExistsV1) -> PathExists:
    if isinstance(wire.value_equals, msgspec.UnsetType):
        return PathExists(_pointers_from(wire.paths), None)
    if len(wire.paths) != 1:
        raise InvalidCheckError("value_equals", "value_equals goes with exactly one path")
    return PathExists(_pointers_from(wire.paths), ValueWanted(wire.value_equals))


def _conditional(wire: ConditionalV1) -> Conditional:
    clauses = (Clause(pointer_from(each.path), each.equals) for each in wire.condition.all)
    return Conditional(tuple(clauses), pointer_from(wire.then.paths[0]))


def _pointers_from(texts: tuple[str, ...]) -> tuple[JsonPointer, ...]:
    return tuple(map(pointer_from, texts))


_READERS: Final[Mapping[type, Callable[[Any], Check]]] = MappingProxyType(
    {
        EventCountV1: lambda wire: EventCount(wire.min),
        EventPairsV1: _event_pairs,
        EventFieldPresentV1: _field_present,
        EventTypeExistsV1: lambda wire: TypeExists(read_glob(wire.pattern, "pattern")),
        ManifestFieldV1: lambda wire: ManifestField(pointer_from(wire.path), wire.required),
        JsonPathExistsV1: _path_exists,
        ConditionalV1: _conditional,
        AuthorizationContextV1: lambda wire: AuthorizationContext(),
        RelationV1: relation_from_wire,
    }
)


_FAULTS: Final = ConfigFaults(TOOLS_SYNTAX, faults.PACK_FIELD, faults.PACK_UNKNOWN_KEY)
_SEVERITIES: Final = {
    "error": Severity.ERROR,
    "warning": Severity.WARNING,
    "warn": Severity.WARNING,
    "info": Severity.INFO,
}
_PATTERN: Final = re.compile(r"matching regex .*", re.DOTALL)

_Wire = TypeVar("_Wire", bound=msgspec.Struct)


def pack_from_yaml(raw: bytes, file: str, source: str) -> Pack:
    """Read a pack; `source` is where it was found."""
    return _PackReader(parse_yaml(raw, file, _FAULTS)).pack(source)


class _PackReader:
    """Reads one document."""

    def __init__(self, document: ConfigDocument) -> None:
        self._document = document

    def pack(self, source: str) -> Pack:
        value = self._document.value
        if not isinstance(value, dict):
            raise self._document.error("a pack is an object with rules")
        wire = self._converted(value, PackV1, "")
        self._require_versions(wire)
        kind = self._kind(wire.kind)
        if kind is PackKind.COMPLIANCE and not (wire.disclaimer or "").strip():
            raise AffidavitError(faults.PACK_DISCLAIMER, Where(file=self._document.file))
        places = [f"rules[{at}]" for at in range(len(wire.rules))]
        wires = [
            self._converted(rule, RuleV1, place)
            for rule, place in zip(wire.rules, places, strict=True)
        ]
        rules = tuple(self._rule(each, place) for each, place in zip(wires, places, strict=True))
        self._refuse_duplicate_ids(wire.name, rules)
        return Pack(
            name=wire.name,
            version=wire.version,
            kind=kind,
            description=wire.description,
            author=wire.author,
            license=wire.license,
            rules=rules,
            digest=lint_digest(wire, wires, rules),
            registry_digest=registry_digest(value),
            source=source,
            source_url=wire.source_url,
            disclaimer=wire.disclaimer,
            requires_signals=self._signals(wire.x_assay, "x-assay"),
            remarks=pack_warnings(rules, has_requirement=wire.requires is not None),
        )

    def _kind(self, text: str) -> PackKind:
        try:
            return PackKind(text)
        except ValueError:
            problem = f"{excerpt(text)!r} is no kind of pack; the kinds are {', '.join(PackKind)}"
            raise self._document.error(problem, "kind") from None

    def _rule(self, wire: RuleV1, field: str) -> Rule:
        severity = _SEVERITIES.get(wire.severity.lower())
        if severity is None:
            problem = f"{excerpt(wire.severity)!r} is no severity; write error, warning or info"
            raise self._document.error(problem, f"{field}.severity")
        needed = wire.engine_min_version
        if needed is not None and version_numbers(needed) is None:
            problem = f"{excerpt(needed)!r} is no version such as 1.2"
            raise self._document.error(problem, f"{field}.engine_min_version")
        check = self._check(wire.check, f"{field}.check")
        if wire.event_types is not None and wire.check.get("type") == RELATION:
            problem = "a relation names the events that it is about, so event_types has no meaning"
            raise self._document.error(problem, f"{field}.event_types")
        return Rule(
            id=wire.id,
            severity=severity,
            description=wire.description,
            check=check,
            article_ref=wire.article_ref,
            help_markdown=wire.help_markdown,
            engine_min_version=needed,
            event_types=wire.event_types,
            requires_signals=self._signals(wire.x_assay, f"{field}.x-assay"),
            framework=wire.x_assay.framework,
        )

    def _check(self, value: dict[str, Any], field: str) -> Check:
        kind = value.get("type")
        if not isinstance(kind, str):
            raise self._document.error("a check has a type, as text", field)
        struct = CHECKS.get(kind)
        if struct is None:
            return Unsupported(kind)
        try:
            return check_from_wire(self._converted(value, struct, field))
        except UnknownTypeError as error:
            where = self._document.where(f"{field}.{error.field}")
            name = excerpt(error.name)
            raise AffidavitError(
                faults.PACK_EVENT_TYPE, where, type=name, advice=error.advice
            ) from None
        except InvalidCheckError as error:
            place = f"{field}.{error.field}" if error.field else field
            raise self._document.error(str(error), place) from None

    def _signals(self, wire: ExtensionV1, field: str) -> tuple[str, ...]:
        for at, name in enumerate(wire.requires_signals):
            if name not in REGISTRY:
                place = f"{field}.requires_signals[{at}]"
                advice = suggestion_for(name, REGISTRY)
                where = self._document.where(place)
                raise AffidavitError(faults.PACK_SIGNAL, where, signal=excerpt(name), advice=advice)
        return wire.requires_signals

    def _require_versions(self, wire: PackV1) -> None:
        if wire.requires is None:
            return
        wanted, schema = wire.requires.assay_min_version, wire.requires.evidence_schema_version
        if not is_version_met(wanted, ASSAY_VERSION):
            raise AffidavitError(
                faults.PACK_VERSION,
                self._document.where("requires.assay_min_version"),
                pack=wire.name,
                wanted=f"Assay {excerpt(wanted)}",
                found=f"the engine of {ASSAY_VERSION}",
            )
        if schema not in (None, EVIDENCE_SCHEMA):
            raise AffidavitError(
                faults.PACK_VERSION,
                self._document.where("requires.evidence_schema_version"),
                pack=wire.name,
                wanted=f"bundles of schema {excerpt(str(schema))}",
                found=f"a reader of {EVIDENCE_SCHEMA}",
            )

    def _refuse_duplicate_ids(self, pack: str, rules: tuple[Rule, ...]) -> None:
        seen: set[str] = set()
        for at, rule in enumerate(rules):
            if rule.id in seen:
                where = self._document.where(f"rules[{at}].id")
                name = excerpt(rule.id)
                raise AffidavitError(faults.PACK_RULE_TWICE, where, rule=name, pack=pack)
            seen.add(rule.id)

    def _converted(self, value: object, struct: type[_Wire], field: str) -> _Wire:
        try:
            return self._document.decode(struct, value, field)
        except AffidavitError as error:
            if "matching regex" not in error.message:
                raise
            # Only names have a pattern; the message describes it in words.
            problem = _PATTERN.sub("of lower-case letters, digits and hyphens", error.message)
            raise AffidavitError(error.fault, error.where, problem=problem) from None
