"""Packs, their rules, what each rule checks, and the version of the engine."""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Final, TypeAlias

from msgspec import Struct

from affidavit.base.json_values import JsonValue
from affidavit.packs.globs import Glob
from affidavit.packs.pointers import JsonPointer
from affidavit.packs.relations import Relation

# Any change of what lint finds in an unchanged bundle with unchanged packs needs a new version:
# a stored result of another engine is not replayed, and one of this engine that differs is false.
ENGINE_VERSION: Final = "1.4"
_VERSION: Final = re.compile(
    r"(?:>=|=)?\s*(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?(?:[-+].*)?", re.ASCII
)


def version_numbers(version: str) -> tuple[int, int, int] | None:
    """Return major, minor and patch of `>=1.2.3`, `1.2.3` or `1.2`; None if malformed."""
    match = _VERSION.fullmatch(version.strip())
    return None if match is None else (int(match[1]), int(match[2]), int(match[3] or 0))


def is_version_met(wanted: str, found: str) -> bool:
    """Return whether a version is at least the wanted one; False if either is malformed."""
    least, have = version_numbers(wanted), version_numbers(found)
    return least is not None and have is not None and have >= least


class Severity(StrEnum):
    """The severity of a finding, highest first."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 for the highest severity."""
        return _RANKS[self]


_RANKS: Final[Mapping[Severity, int]] = MappingProxyType(
    {severity: rank for rank, severity in enumerate(Severity)}
)


class PackKind(StrEnum):
    """The purpose of a pack. A compliance pack adds a disclaimer to every report."""

    COMPLIANCE = "compliance"
    SECURITY = "security"
    QUALITY = "quality"


class EventCount(Struct, frozen=True):
    """There are at least `minimum` events."""

    minimum: int


class EventPairs(Struct, frozen=True):
    """Every event that starts something is followed by the one that finishes it, in its run."""

    start: Glob
    finish: Glob


class FieldPresent(Struct, frozen=True):
    """Some event has one of these fields."""

    pointers: tuple[JsonPointer, ...]


class TypeExists(Struct, frozen=True):
    """Some event has a type that matches the pattern."""

    pattern: Glob


class ManifestField(Struct, frozen=True):
    """The manifest has this field; unless `required`, its absence is only a warning."""

    pointer: JsonPointer
    required: bool


class ValueWanted(Struct, frozen=True):
    """The value that a field must have; null is a value, too."""

    value: JsonValue


class PathExists(Struct, frozen=True):
    """Some event has one of these fields, with the wanted value if there is one."""

    pointers: tuple[JsonPointer, ...]
    wanted: ValueWanted | None


class Clause(Struct, frozen=True):
    """A field and the value that it must have for a condition to apply."""

    pointer: JsonPointer
    equals: JsonValue


class Conditional(Struct, frozen=True):
    """Every event to which all clauses apply has the field."""

    clauses: tuple[Clause, ...]
    then: JsonPointer


class AuthorizationContext(Struct, frozen=True):
    """Some tool decision names its authority and holds no credential."""


class Unsupported(Struct, frozen=True):
    """A check that this engine does not know. It never passes."""

    type: str


Check: TypeAlias = (
    EventCount
    | EventPairs
    | FieldPresent
    | TypeExists
    | ManifestField
    | PathExists
    | Conditional
    | AuthorizationContext
    | Relation
    | Unsupported
)


class Rule(Struct, frozen=True, kw_only=True):
    """One rule of a pack."""

    id: str
    severity: Severity
    description: str
    check: Check
    article_ref: str | None = None
    help_markdown: str | None = None
    engine_min_version: str | None = None
    event_types: tuple[str, ...] | None = None
    requires_signals: tuple[str, ...] = ()
    framework: str | None = None


class Pack(Struct, frozen=True, kw_only=True):
    """A pack with its two digests.

    `source` is where it was found: a path, `built-in`, or `config`. `remarks` are warnings.
    """

    name: str
    version: str
    kind: PackKind
    description: str
    author: str
    license: str
    rules: tuple[Rule, ...]
    digest: str
    registry_digest: str
    source: str
    source_url: str | None = None
    disclaimer: str | None = None
    requires_signals: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The name and version, as reports show them."""
        return f"{self.name}@{self.version}"

    def canonical_id(self, rule: Rule) -> str:
        """Return the id of a rule that is unique across packs."""
        return f"{self.label}:{rule.id}"

    @property
    def signals(self) -> tuple[str, ...]:
        """The signals that the pack and its rules require, sorted."""
        of_rules = (name for rule in self.rules for name in rule.requires_signals)
        return tuple(sorted({*self.requires_signals, *of_rules}))


def engine_suffices(rule: Rule) -> bool:
    """Return whether this engine is new enough for a rule."""
    return rule.engine_min_version is None or is_version_met(
        rule.engine_min_version, ENGINE_VERSION
    )


def disclaimer_of(packs: Sequence[Pack]) -> str | None:
    """Return the disclaimers of the packs, which every report shows."""
    texts = [pack.disclaimer.strip() for pack in packs if pack.disclaimer]
    return "\n\n---\n\n".join(dict.fromkeys(texts)) or None
