"""The structs of the ledger's JSON: the shape of evidence-ledger.md, section 9.2, with additions.

What the seed names stands first in each struct and under the seed's names; what we add changes no
field of the seed's. Unknown fields are refused, so that nothing is read by half.
"""

from typing import Annotated, Final

import msgspec

from affidavit.base.decision import Decision, GateStatus
from affidavit.ledger.findings import FindingKind
from affidavit.ledger.model import (
    ClaimType,
    Exemption,
    Importance,
    LeftOutKind,
    SupportLevel,
    Verdict,
)
from affidavit.ledger.record import CitationStatus, RiskType, Severity
from affidavit.ledger.rules import RulesV1, Share

SCHEMA: Final = "affidavit.ledger/1"
"""Written into every export."""

Count = Annotated[int, msgspec.Meta(ge=0)]
Day = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d{2}-\d{2}$")]
Time = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$")]
Digest = Annotated[str, msgspec.Meta(pattern="^sha256:[0-9a-f]{64}$")]


class _Wire(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of the JSON export."""


class SpanV1(_Wire, frozen=True):
    """A half-open range of characters (code points)."""

    start: Count
    end: Count


class VerdictCountsV1(_Wire, frozen=True):
    """How many claims got each verdict."""

    supported: Count
    weak: Count
    contradicted: Count
    not_found: Count


class ImportanceCountsV1(_Wire, frozen=True):
    """How many claims have each importance."""

    critical: Count
    material: Count
    minor: Count


class SummaryV1(_Wire, frozen=True):
    """The ledger in numbers."""

    total_claims: Count
    evidence_coverage: Share | None
    by_verdict: VerdictCountsV1
    by_importance: ImportanceCountsV1
    unsupported_rate: Share | None


class SourceV1(_Wire, frozen=True):
    """Where the deciding passage stands."""

    document_id: str
    filename: str
    page_number: int | None
    heading_path: tuple[str, ...]


class EvidenceV1(_Wire, frozen=True):
    """What a verdict rests on; `chunk_ids` are the hashes by which an answer cites."""

    chunk_ids: tuple[str, ...]
    snippet: str | None
    source: SourceV1 | None


class ComponentsV1(_Wire, frozen=True):
    """What a confidence score is made of."""

    semantic_similarity: Share
    evidence_count: Count
    directness: Share
    source_quality: Share


class ReadingV1(_Wire, frozen=True):
    """What the judge read in one chunk."""

    chunk_id: str
    chunk_hash: str
    document_id: str
    filename: str
    page_number: int | None
    heading_path: tuple[str, ...]
    chunk_span: SpanV1
    support_level: SupportLevel
    contradicts: bool
    similarity: Share
    contradiction: Share
    directness: Share
    snippet: str
    snippet_span: SpanV1
    notes: str
    scores: dict[str, float]
    passage: str | None


class CitationV1(_Wire, frozen=True):
    """What became of one citation."""

    reference: str
    status: CitationStatus
    chunk_hashes: tuple[str, ...]
    document_ids: tuple[str, ...]
    page_number: int | None


class EntryV1(_Wire, frozen=True):
    """A claim and its verdict."""

    claim_id: str
    claim_text: str
    claim_type: ClaimType
    importance: Importance
    verdict: Verdict
    confidence_score: Share
    evidence: EvidenceV1
    notes: str
    claim_span: SpanV1
    cites: tuple[str, ...]
    citations: tuple[CitationV1, ...]
    confidence_components: ComponentsV1 | None
    rests_on: tuple[str, ...]
    readings: tuple[ReadingV1, ...]


class RiskFlagV1(_Wire, frozen=True):
    """A risk and the claims that it touches."""

    type: RiskType
    severity: Severity
    description: str
    affected_claims: tuple[str, ...]
    id: str
    mitigation: str


class RemarkV1(_Wire, frozen=True):
    """A sentence that needs no evidence, and why."""

    claim_id: str
    claim_text: str
    claim_type: ClaimType
    exemption: Exemption
    claim_span: SpanV1
    cites: tuple[str, ...]


class LeftOutV1(_Wire, frozen=True):
    """A stretch of the answer outside every claim."""

    kind: LeftOutKind
    span: SpanV1


class FindingV1(_Wire, frozen=True):
    """Something that was noticed beside the verdicts."""

    kind: FindingKind
    message: str
    claim_id: str | None
    span: SpanV1 | None


class GateResultV1(_Wire, frozen=True):
    """How one gate came out."""

    gate: str
    value: float | None
    status: GateStatus
    reason: str


class GatesV1(_Wire, frozen=True):
    """The decision and its grounds."""

    decision: Decision
    results: tuple[GateResultV1, ...]


class JudgeV1(_Wire, frozen=True):
    """Which judge read the evidence."""

    name: str
    version: str
    digest: str
    rederivable: bool


class DocumentV1(_Wire, frozen=True):
    """A source that was offered."""

    id: str
    filename: str
    digest: str
    media_type: str
    title: str
    date: Day | None
    page_count: int | None


class LedgerV1(_Wire, frozen=True):
    """The whole export."""

    ledger_id: str
    session_id: str
    generated_at: Time
    summary: SummaryV1
    entries: tuple[EntryV1, ...]
    risk_flags: tuple[RiskFlagV1, ...]
    schema_version: str
    follow_up_questions: tuple[str, ...]
    recommended_actions: tuple[str, ...]
    gates: GatesV1
    findings: tuple[FindingV1, ...]
    title: str
    query: str | None
    answer: str
    answer_digest: Digest
    answer_date: Day
    judge: JudgeV1
    rules_digest: Digest
    rules: RulesV1
    documents: tuple[DocumentV1, ...]
    remarks: tuple[RemarkV1, ...]
    left_out: tuple[LeftOutV1, ...]
