"""The reports of lint as machines read them; docs/schemas/ is made from these structs.

A report that the product writes always converts to them, and a test holds it to that.
"""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from affidavit.decision.evaluation import DecisionSummary

DigestText = Annotated[str, Meta(pattern="^sha256:[0-9a-f]{64}$")]
Share = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=0)]
SeverityV1 = Literal["error", "warning", "info"]


class PackRefV1(Struct, forbid_unknown_fields=True):
    """A pack, as completeness and closure name it."""

    name: str
    version: str
    kind: str
    digest: DigestText


class CommitmentV1(Struct, forbid_unknown_fields=True):
    """What stands in the place of a redacted value."""

    alg: str
    digest: str
    size_bytes: Count | UnsetType = UNSET


class SignalDetailV1(Struct, forbid_unknown_fields=True):
    """One required signal: its state, why, and where it stands or should stand."""

    status: Literal["captured", "redacted", "missing", "unknown"]
    reason: str
    evidence_paths: list[str]
    commitment: CommitmentV1 | UnsetType = UNSET


class CompletenessV1(Struct, forbid_unknown_fields=True):
    """What the packs require, divided into what is there and what is not."""

    required: list[str]
    captured: list[str]
    redacted: list[str]
    unknown: list[str]
    by_signal: dict[str, SignalDetailV1]


class ScoringV1(Struct, forbid_unknown_fields=True):
    """How the score was made."""

    method: Literal["weighted_ratio_v1"]
    weights: dict[str, Count]


class ClosureV1(Struct, forbid_unknown_fields=True):
    """How much of the run could be run again."""

    score: Share
    confidence: Literal["low", "medium", "high"]
    captured: list[str]
    missing: list[str]
    uncontrolled_dependencies: list[str]
    scoring: ScoringV1


class ClosureReportV1(Struct, forbid_unknown_fields=True):
    """Completeness and closure of one bundle (ADR-025, data contract 2)."""

    schema_version: Literal["closure-v1"]
    bundle_digest: DigestText
    pack_context: list[PackRefV1]
    completeness: CompletenessV1
    closure: ClosureV1


class LocationV1(Struct, forbid_unknown_fields=True):
    """An event, and a field of it."""

    seq: Count
    line: Annotated[int, Meta(ge=1)]
    event_type: str
    pointer: str | None


class LintFindingV1(Struct, forbid_unknown_fields=True):
    """One finding; without a location it is about the bundle as a whole."""

    rule_id: str
    severity: SeverityV1
    message: str
    location: LocationV1 | None
    fingerprint: DigestText
    pack: str | None


class LintSummaryV1(Struct, forbid_unknown_fields=True):
    """How many findings there are, those that are not listed included."""

    total: Count
    errors: Count
    warnings: Count
    infos: Count


class RuleOutcomeV1(Struct, forbid_unknown_fields=True):
    """How one rule of a pack came out."""

    rule_id: str
    outcome: Literal["pass", "fail"]
    requires_signals: list[str]


class LintedBundleV1(Struct, forbid_unknown_fields=True):
    """One bundle: linted, or refused with an error."""

    path: str
    verified: bool
    error: dict[str, str | int | None] | UnsetType = UNSET
    bundle_id: str | UnsetType = UNSET
    bundle_digest: DigestText | UnsetType = UNSET
    run_id: str | UnsetType = UNSET
    event_count: Count | UnsetType = UNSET
    summary: LintSummaryV1 | UnsetType = UNSET
    truncated: Count | UnsetType = UNSET
    findings: list[LintFindingV1] | UnsetType = UNSET
    rules: list[RuleOutcomeV1] | UnsetType = UNSET
    closure_report: ClosureReportV1 | UnsetType = UNSET


class AppliedPackV1(Struct, forbid_unknown_fields=True):
    """A pack that was run, with both of its digests and where it was found."""

    name: str
    version: str
    kind: Literal["compliance", "security", "quality"]
    digest: DigestText
    registry_digest: DigestText
    source: str
    source_url: str | None


class LintGatesV1(DecisionSummary, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The decision of the gates on one bundle."""

    path: str
    bundle_digest: DigestText


class LintReportV1(Struct, forbid_unknown_fields=True):
    """What `affidavit evidence lint --report` writes."""

    schema_version: Literal["affidavit-lint/1"]
    tool_version: str
    exit: Annotated[int, Meta(ge=0, le=4)]
    fail_on: Literal["error", "warning", "info", "none"]
    packs: list[AppliedPackV1]
    disclaimer: str | None
    summary: LintSummaryV1
    max_results: Annotated[int, Meta(ge=1)]
    bundles: list[LintedBundleV1]
    gates: list[LintGatesV1] | UnsetType = UNSET
