"""What lint reports: findings, signals, completeness, closure, and the report of many bundles.

The structs are both the values inside and the JSON on the wire. `docs/schemas` is generated from
them. `closure-v1` is data contract 2 of ADR-025; `affidavit-lint/1` is ours.
"""

from enum import StrEnum
from typing import Annotated, Final, Literal, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType, convert

from affidavit.base.digest import sha256_hex
from affidavit.decision.decision import Decision
from affidavit.decision.evaluation import GateSummary
from affidavit.packs.events import Event
from affidavit.packs.model import Pack, PackKind, Severity

DigestText = Annotated[str, Meta(pattern="^sha256:[0-9a-f]{64}$")]
Share = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=0)]
LINT_SCHEMA_VERSION: Final = "affidavit-lint/1"
CLOSURE_VERSION: Final = "closure-v1"
METHOD: Final = "weighted_ratio_v1"


class EventLocation(Struct, frozen=True, forbid_unknown_fields=True):
    """An event by number in the run, line and type, and a field of it if there is one."""

    seq: Count
    line: Annotated[int, Meta(ge=1)]
    event_type: str
    pointer: str | None


def location_of(event: Event, pointer: str | None = None) -> EventLocation:
    """Return the location of an event, or of one of its fields."""
    return EventLocation(event.head.assayseq, event.line, event.head.type, pointer)


class LintFinding(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One violation of a rule. Without a location it concerns the whole bundle."""

    rule_id: str
    severity: Severity
    message: str
    location: EventLocation | None
    fingerprint: DigestText
    pack: str | None


def finding_fingerprint(
    rule_id: str, location: EventLocation | None, pack_digest: str | None = None
) -> str:
    """Return a digest of rule, location and pack, so that the same finding keeps its fingerprint.

    Origin: Assay's lint. The field is our addition, because one event may hold several secrets.
    """
    place = "global"
    if location is not None:
        field = "" if location.pointer is None else f":{location.pointer}"
        place = f"{location.seq}:{location.line}{field}"
    parts = [rule_id, place] if pack_digest is None else [rule_id, place, pack_digest]
    return f"sha256:{sha256_hex(':'.join(parts).encode('utf-8', 'surrogatepass'))}"


class SignalState(StrEnum):
    """How much of a signal a bundle has.

    Captured: every event that must show the signal does. Redacted: the same, but a commitment
    replaces some value. Missing: an event lacks it, or our recorder recorded no event with it.
    Unknown: no event of the bundle could have shown it.
    """

    CAPTURED = "captured"
    REDACTED = "redacted"
    MISSING = "missing"
    UNKNOWN = "unknown"


class Commitment(Struct, frozen=True, forbid_unknown_fields=True):
    """What replaces a redacted value."""

    alg: str
    digest: str
    size_bytes: Count | UnsetType = UNSET


class SignalDetail(Struct, frozen=True, forbid_unknown_fields=True):
    """The state of one signal, the reason, and where it was found or is expected."""

    status: SignalState
    reason: str
    evidence_paths: tuple[str, ...]
    commitment: Commitment | UnsetType = UNSET


class Completeness(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The signals that the packs require, sorted by name.

    `unknown` holds the missing ones too; `by_signal` tells them apart (ADR-025, track 2).
    """

    required: tuple[str, ...]
    captured: tuple[str, ...]
    redacted: tuple[str, ...]
    unknown: tuple[str, ...]
    by_signal: dict[str, SignalDetail]

    @property
    def held(self) -> int:
        """How many required signals the bundle has, redacted ones included."""
        return len(self.captured) + len(self.redacted)


class ClosureConfidence(StrEnum):
    """How reliable the record is, which is independent of the score."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Scoring(Struct, frozen=True, forbid_unknown_fields=True):
    """How the score was computed."""

    method: Literal["weighted_ratio_v1"]
    weights: dict[str, Count]


class Closure(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much of a run can be replayed from its bundle alone (ADR-025, track 3)."""

    score: Share
    confidence: ClosureConfidence
    captured: tuple[str, ...]
    missing: tuple[str, ...]
    uncontrolled_dependencies: tuple[str, ...]
    scoring: Scoring


class PackReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A pack as completeness and closure name it."""

    name: str
    version: str
    kind: PackKind
    digest: DigestText


class ClosureReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Completeness and closure of one bundle."""

    schema_version: Literal["closure-v1"]
    bundle_digest: DigestText
    pack_context: tuple[PackReference, ...]
    completeness: Completeness
    closure: Closure


class LintSummary(Struct, frozen=True, forbid_unknown_fields=True):
    """The number of findings, including those beyond `max_results`."""

    total: Count
    errors: Count
    warnings: Count
    infos: Count

    def count(self, severity: Severity) -> int:
        """Return the number of findings with a severity."""
        return (self.errors, self.warnings, self.infos)[severity.rank]


class RuleOutcome(Struct, frozen=True, forbid_unknown_fields=True):
    """Whether one rule of a pack holds, or whether no event met its condition."""

    rule_id: str
    outcome: Literal["pass", "fail", "not_exercised"]
    requires_signals: tuple[str, ...]


class LintedBundle(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One bundle of a report. One that did not verify has an error and nothing else."""

    path: str
    verified: bool
    error: dict[str, str | int | None] | UnsetType = UNSET
    bundle_id: str | UnsetType = UNSET
    bundle_digest: DigestText | UnsetType = UNSET
    run_id: str | UnsetType = UNSET
    event_count: Count | UnsetType = UNSET
    summary: LintSummary | UnsetType = UNSET
    truncated: Count | UnsetType = UNSET
    findings: tuple[LintFinding, ...] | UnsetType = UNSET
    rules: tuple[RuleOutcome, ...] | UnsetType = UNSET
    closure_report: ClosureReport | UnsetType = UNSET


class AppliedPack(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A pack that was run, with both digests and where it was found."""

    name: str
    version: str
    kind: PackKind
    digest: DigestText
    registry_digest: DigestText
    source: str
    source_url: str | None


class LintGates(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The decision of the gates on one bundle."""

    path: str
    bundle_digest: DigestText
    decision: Decision
    results: tuple[GateSummary, ...]


_PackStruct = TypeVar("_PackStruct", AppliedPack, PackReference)


def pack_as(struct: type[_PackStruct], pack: Pack) -> _PackStruct:
    """Return the fields of a pack that a report has."""
    return convert(pack, struct, from_attributes=True)


class LintReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `affidavit evidence lint --report` writes: the same bytes for the same input."""

    schema_version: Literal["affidavit-lint/1"]
    tool_version: str
    exit: Annotated[int, Meta(ge=0, le=4)]
    fail_on: Literal["error", "warning", "info", "none"]
    packs: tuple[AppliedPack, ...]
    disclaimer: str | None
    summary: LintSummary
    max_results: Annotated[int, Meta(ge=1)]
    bundles: tuple[LintedBundle, ...]
    gates: tuple[LintGates, ...] | UnsetType = UNSET
    engine: str
    signals: str = "signals/v0"
