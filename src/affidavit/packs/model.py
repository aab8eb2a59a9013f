"""The nouns of a pack: what it is, its rules, and what each rule checks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final, TypeAlias

from affidavit.base.json_values import JsonValue
from affidavit.packs.globs import Glob
from affidavit.packs.pointers import JsonPointer


class Severity(StrEnum):
    """How grave a finding is, the gravest first."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """Its place among the three: 0 is the gravest."""
        return _RANKS[self]


_RANKS: Final[Mapping[Severity, int]] = MappingProxyType(
    {severity: rank for rank, severity in enumerate(Severity)}
)


class PackKind(StrEnum):
    """What a pack is for. A compliance pack carries a disclaimer into every report."""

    COMPLIANCE = "compliance"
    SECURITY = "security"
    QUALITY = "quality"


@dataclass(frozen=True, slots=True)
class EventCount:
    """At least so many events."""

    minimum: int


@dataclass(frozen=True, slots=True)
class EventPairs:
    """Every event that starts something is followed by the one that finishes it, run by run."""

    start: Glob
    finish: Glob


@dataclass(frozen=True, slots=True)
class FieldPresent:
    """Some event has one of these fields."""

    pointers: tuple[JsonPointer, ...]


@dataclass(frozen=True, slots=True)
class TypeExists:
    """Some event's type has this form."""

    pattern: Glob


@dataclass(frozen=True, slots=True)
class ManifestField:
    """The manifest has this field; without `required` its absence is a warning at most."""

    pointer: JsonPointer
    required: bool


@dataclass(frozen=True, slots=True)
class ValueWanted:
    """What a field has to hold; null is a value too."""

    value: JsonValue


@dataclass(frozen=True, slots=True)
class PathExists:
    """Some event has one of these fields, with a certain value if one is wanted."""

    pointers: tuple[JsonPointer, ...]
    wanted: ValueWanted | None


@dataclass(frozen=True, slots=True)
class Clause:
    """A field and the value that it has to hold for a condition to apply."""

    pointer: JsonPointer
    equals: JsonValue


@dataclass(frozen=True, slots=True)
class Conditional:
    """Every event to which all clauses apply has a field."""

    clauses: tuple[Clause, ...]
    then: JsonPointer


@dataclass(frozen=True, slots=True)
class AuthorizationContext:
    """Some tool decision says on whose authority it was made, and holds no credential itself."""


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A check that this engine does not know: never a pass, whatever the pack's kind."""

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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Pack:
    """A pack as it was read, with the digests of what it says.

    `source` says where it was found: a path, `built-in`, or `config`. `remarks` are what is odd
    about it but no error.
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
        """How a report names the pack."""
        return f"{self.name}@{self.version}"

    def canonical_id(self, rule: Rule) -> str:
        """Return the name of a rule that no other pack's rule has."""
        return f"{self.label}:{rule.id}"

    @property
    def signals(self) -> tuple[str, ...]:
        """What the pack as a whole and its rules require to be recorded, sorted."""
        of_rules = (name for rule in self.rules for name in rule.requires_signals)
        return tuple(sorted({*self.requires_signals, *of_rules}))


def disclaimer_of(packs: Sequence[Pack]) -> str | None:
    """Return the disclaimers of the packs, which every report shows."""
    texts = [pack.disclaimer.strip() for pack in packs if pack.disclaimer]
    return "\n\n---\n\n".join(dict.fromkeys(texts)) or None
