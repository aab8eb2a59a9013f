"""Packs, their rules, and what each rule checks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final, TypeAlias

from affidavit.base.json_values import JsonValue
from affidavit.packs.globs import Glob
from affidavit.packs.pointers import JsonPointer


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


@dataclass(frozen=True, slots=True)
class EventCount:
    """There are at least `minimum` events."""

    minimum: int


@dataclass(frozen=True, slots=True)
class EventPairs:
    """Every event that starts something is followed by the one that finishes it, in its run."""

    start: Glob
    finish: Glob


@dataclass(frozen=True, slots=True)
class FieldPresent:
    """Some event has one of these fields."""

    pointers: tuple[JsonPointer, ...]


@dataclass(frozen=True, slots=True)
class TypeExists:
    """Some event has a type that matches the pattern."""

    pattern: Glob


@dataclass(frozen=True, slots=True)
class ManifestField:
    """The manifest has this field; unless `required`, its absence is only a warning."""

    pointer: JsonPointer
    required: bool


@dataclass(frozen=True, slots=True)
class ValueWanted:
    """The value that a field must have; null is a value, too."""

    value: JsonValue


@dataclass(frozen=True, slots=True)
class PathExists:
    """Some event has one of these fields, with the wanted value if there is one."""

    pointers: tuple[JsonPointer, ...]
    wanted: ValueWanted | None


@dataclass(frozen=True, slots=True)
class Clause:
    """A field and the value that it must have for a condition to apply."""

    pointer: JsonPointer
    equals: JsonValue


@dataclass(frozen=True, slots=True)
class Conditional:
    """Every event to which all clauses apply has the field."""

    clauses: tuple[Clause, ...]
    then: JsonPointer


@dataclass(frozen=True, slots=True)
class AuthorizationContext:
    """Some tool decision names its authority and holds no credential."""


@dataclass(frozen=True, slots=True)
class Unsupported:
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
    | Unsupported
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
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


def disclaimer_of(packs: Sequence[Pack]) -> str | None:
    """Return the disclaimers of the packs, which every report shows."""
    texts = [pack.disclaimer.strip() for pack in packs if pack.disclaimer]
    return "\n\n---\n\n".join(dict.fromkeys(texts)) or None
