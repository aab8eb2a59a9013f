"""A pack from YAML. Whatever is wrong is named with its line, its column and the nearest name."""

import re
from typing import Any, Final, TypeVar

import msgspec

from affidavit.base.errors import AffidavitError, Fault, Where
from affidavit.base.faults import packs as faults
from affidavit.base.json_limits import JsonLimits
from affidavit.base.places import excerpt
from affidavit.base.strict_yaml import YamlDocument, yaml_document
from affidavit.packs import wire_schema as v1
from affidavit.packs.check_reading import CheckProblemError, check_from_wire
from affidavit.packs.digests import lint_digest, registry_digest
from affidavit.packs.model import Check, Pack, PackKind, Rule, Severity, Unsupported
from affidavit.packs.nearest import advice_for
from affidavit.packs.remarks import remarks_on
from affidavit.packs.signals import REGISTRY
from affidavit.packs.unknown_keys import find_unknown_key
from affidavit.packs.versions import ASSAY_VERSION, EVIDENCE_SCHEMA, is_met, numbers_of

MAX_PACK_BYTES: Final = 1024 * 1024
_LIMITS: Final = JsonLimits(max_bytes=MAX_PACK_BYTES)
_SEVERITIES: Final = {
    "error": Severity.ERROR,
    "warning": Severity.WARNING,
    "warn": Severity.WARNING,
    "info": Severity.INFO,
}
_PATTERN: Final = re.compile(r"matching regex .*", re.DOTALL)
_PLACE: Final = re.compile(r" - at (?:`key` in )?`\$\.?(.*)`$")

_Wire = TypeVar("_Wire", bound=msgspec.Struct)


def pack_from_yaml(raw: bytes, file: str, source: str) -> Pack:
    """Return the pack of a YAML file; `source` says where it was found."""
    try:
        document = yaml_document(raw, _LIMITS)
    except AffidavitError as error:
        raise error.at(file=file) from None
    return _Reader(document, file).pack(source)


class _Reader:
    """Reads one document, and knows where each of its fields stands."""

    def __init__(self, document: YamlDocument, file: str) -> None:
        self._document = document
        self._file = file

    def pack(self, source: str) -> Pack:
        value = self._document.value
        if not isinstance(value, dict):
            raise self._error(faults.PACK_FIELD, "", problem="a pack is an object with rules")
        self._refuse_unknown_keys(value)
        wire = self._converted(value, v1.PackV1, "")
        self._require_versions(wire)
        kind = self._kind(wire.kind)
        if kind is PackKind.COMPLIANCE and not (wire.disclaimer or "").strip():
            raise AffidavitError(faults.PACK_DISCLAIMER, Where(file=self._file))
        places = [f"rules[{at}]" for at in range(len(wire.rules))]
        wires = [
            self._converted(rule, v1.RuleV1, place)
            for rule, place in zip(wire.rules, places, strict=True)
        ]
        rules = tuple(self._rule(each, place) for each, place in zip(wires, places, strict=True))
        self._refuse_twins(wire.name, rules)
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
            remarks=remarks_on(rules, has_requirement=wire.requires is not None),
        )

    def _kind(self, text: str) -> PackKind:
        try:
            return PackKind(text)
        except ValueError:
            problem = f"{excerpt(text)!r} is no kind of pack; the kinds are {', '.join(PackKind)}"
            raise self._error(faults.PACK_FIELD, "kind", problem=problem) from None

    def _rule(self, wire: v1.RuleV1, field: str) -> Rule:
        severity = _SEVERITIES.get(wire.severity.lower())
        if severity is None:
            problem = f"{excerpt(wire.severity)!r} is no severity; write error, warning or info"
            raise self._error(faults.PACK_FIELD, f"{field}.severity", problem=problem)
        needed = wire.engine_min_version
        if needed is not None and numbers_of(needed) is None:
            problem = f"{excerpt(needed)!r} is no version such as 1.2"
            raise self._error(faults.PACK_FIELD, f"{field}.engine_min_version", problem=problem)
        return Rule(
            id=wire.id,
            severity=severity,
            description=wire.description,
            check=self._check(wire.check, f"{field}.check"),
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
            raise self._error(faults.PACK_FIELD, field, problem="a check has a type, as text")
        struct = v1.CHECKS.get(kind)
        if struct is None:
            return Unsupported(kind)
        try:
            return check_from_wire(self._converted(value, struct, field))
        except CheckProblemError as error:
            place = f"{field}.{error.field}" if error.field else field
            raise self._error(faults.PACK_FIELD, place, problem=str(error)) from None

    def _signals(self, wire: v1.ExtensionV1, field: str) -> tuple[str, ...]:
        for at, name in enumerate(wire.requires_signals):
            if name not in REGISTRY:
                place = f"{field}.requires_signals[{at}]"
                advice = advice_for(name, REGISTRY)
                raise self._error(faults.PACK_SIGNAL, place, signal=excerpt(name), advice=advice)
        return wire.requires_signals

    def _require_versions(self, wire: v1.PackV1) -> None:
        if wire.requires is None:
            return
        wanted, schema = wire.requires.assay_min_version, wire.requires.evidence_schema_version
        if not is_met(wanted, ASSAY_VERSION):
            raise AffidavitError(
                faults.PACK_VERSION,
                self._where("requires.assay_min_version"),
                pack=wire.name,
                wanted=f"Assay {excerpt(wanted)}",
                found=f"the engine of {ASSAY_VERSION}",
            )
        if schema not in (None, EVIDENCE_SCHEMA):
            raise AffidavitError(
                faults.PACK_VERSION,
                self._where("requires.evidence_schema_version"),
                pack=wire.name,
                wanted=f"bundles of schema {excerpt(str(schema))}",
                found=f"a reader of {EVIDENCE_SCHEMA}",
            )

    def _refuse_twins(self, pack: str, rules: tuple[Rule, ...]) -> None:
        seen: set[str] = set()
        for at, rule in enumerate(rules):
            if rule.id in seen:
                where = self._where(f"rules[{at}].id")
                name = excerpt(rule.id)
                raise AffidavitError(faults.PACK_RULE_TWICE, where, rule=name, pack=pack)
            seen.add(rule.id)

    def _refuse_unknown_keys(self, value: dict[str, Any]) -> None:
        found = find_unknown_key(value)
        if found is not None:
            raise self._error(
                faults.PACK_UNKNOWN_KEY,
                found.field,
                key=excerpt(found.key),
                holder=found.holder,
                advice=advice_for(found.key, found.known),
            )

    def _converted(self, value: object, struct: type[_Wire], field: str) -> _Wire:
        try:
            return msgspec.convert(value, struct)
        except msgspec.ValidationError as error:
            text = str(error)
        place = _PLACE.search(text)
        problem, inner = (text, "") if place is None else (text[: place.start()], place[1])
        where = ".".join(part for part in (field, inner) if part)
        # Not everybody reads regular expressions; names are all that has one.
        problem = _PATTERN.sub("of lower-case letters, digits and hyphens", problem)
        problem = problem[:1].lower() + problem[1:].replace("`", "'")
        raise self._error(faults.PACK_FIELD, where, problem=problem)

    def _error(self, fault: Fault, field: str, **values: object) -> AffidavitError:
        column = self._document.column_of(field)
        place = "" if column is None else f" at column {column}"
        return AffidavitError(fault, self._where(field), place=place, **values)

    def _where(self, field: str) -> Where:
        return Where(self._file, self._document.line_of(field), field or None)
