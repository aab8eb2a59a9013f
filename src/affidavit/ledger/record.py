"""The nouns of a finished ledger. Everything a verdict rests on is in it, so it can be replayed.

Origin: evidence-ledger.md, sections 3.1, 3.2 and 6.1.
"""

from dataclasses import dataclass
from enum import StrEnum

from affidavit.base.notebook import result_table
from affidavit.decision.evaluation import DecisionSummary
from affidavit.ledger.model import (
    Claim,
    Document,
    JudgeIdentity,
    LedgerFinding,
    LeftOut,
    Reading,
    Span,
    SupportLevel,
    Verdict,
)
from affidavit.ledger.rules import LedgerRules


class RiskType(StrEnum):
    """What can make a reader of an answer err."""

    MISSING_EVIDENCE = "missing_evidence"
    CONTRADICTION = "contradiction"
    OUTDATED_SOURCE = "outdated_source"
    AMBIGUOUS_EVIDENCE = "ambiguous_evidence"
    CONFLICTING_SOURCES = "conflicting_sources"
    LOW_CONFIDENCE = "low_confidence"


class RiskSeverity(StrEnum):
    """How bad a risk is."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class CitationStatus(StrEnum):
    """Whether a citation of the answer leads anywhere."""

    RESOLVED = "resolved"
    UNRESOLVED = "unresolved"
    AMBIGUOUS = "ambiguous"


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A reading, and where the chunk stands that was read."""

    reading: Reading
    chunk_hash: str
    document_id: str
    filename: str
    chunk_span: Span
    """The chunk's place in its document's text."""
    heading_path: tuple[str, ...]
    passage: str | None
    """The chunk's text, kept where the reading supports or contradicts the claim."""

    @property
    def page_number(self) -> int | None:
        """The page on which the snippet stands."""
        return self.reading.page_number

    @property
    def supports(self) -> bool:
        """Whether the reading carries the claim at least in part. A contradiction never does."""
        return self.reading.support_level is not SupportLevel.NONE and not self.contradicts

    @property
    def contradicts(self) -> bool:
        """Whether the reading conflicts with the claim."""
        return self.reading.contradicts


@dataclass(frozen=True, slots=True)
class Citation:
    """What became of one citation of a claim."""

    reference: str
    status: CitationStatus
    chunk_hashes: tuple[str, ...] = ()
    document_ids: tuple[str, ...] = ()
    page_number: int | None = None

    def covers(self, exhibit: Exhibit) -> bool:
        """Tell whether an exhibit stands where the citation points."""
        if self.chunk_hashes:
            return exhibit.chunk_hash in self.chunk_hashes
        on_page = self.page_number is None or self.page_number == exhibit.page_number
        return exhibit.document_id in self.document_ids and on_page


@dataclass(frozen=True, slots=True)
class ConfidenceComponents:
    """What a confidence score is made of: section 6.1, stored so that anyone recomputes it."""

    semantic_similarity: float
    evidence_count: int
    directness: float
    source_quality: float


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A claim, its verdict, and what the verdict rests on."""

    claim: Claim
    verdict: Verdict
    confidence_score: float
    components: ConfidenceComponents | None
    """None where no formula was used: contradicted and not_found."""
    rests_on: tuple[str, ...]
    """Ids of the chunks that decided, the strongest first; empty for not_found."""
    exhibits: tuple[Exhibit, ...]
    citations: tuple[Citation, ...]
    notes: str

    @property
    def evidence(self) -> tuple[Exhibit, ...]:
        """The exhibits that decided, the strongest first."""
        by_chunk = {exhibit.reading.chunk_id: exhibit for exhibit in self.exhibits}
        return tuple(by_chunk[chunk_id] for chunk_id in self.rests_on)


@dataclass(frozen=True, slots=True)
class RiskFlag:
    """A risk, in words, with the claims that it touches."""

    id: str
    type: RiskType
    severity: RiskSeverity
    description: str
    affected_claims: tuple[str, ...]
    mitigation: str


@dataclass(frozen=True, slots=True)
class VerdictCounts:
    """How many claims got each verdict."""

    supported: int
    weak: int
    contradicted: int
    not_found: int


@dataclass(frozen=True, slots=True)
class ImportanceCounts:
    """How many claims have each importance."""

    critical: int
    material: int
    minor: int


@dataclass(frozen=True, slots=True)
class Summary:
    """The ledger in numbers. The rates are None where no claim is material."""

    total_claims: int
    by_verdict: VerdictCounts
    by_importance: ImportanceCounts
    evidence_coverage: float | None
    unsupported_rate: float | None


@dataclass(frozen=True, slots=True)
class Inquiry:
    """What was checked, when, and who read the evidence."""

    answer: str
    query: str | None
    title: str
    answer_date: str
    """The day as of which sources are judged to be outdated, YYYY-MM-DD."""
    generated_at: str
    """RFC 3339, UTC, with Z."""
    judge: JudgeIdentity


@dataclass(frozen=True, slots=True)
class Ledger:
    """The whole record of one check."""

    id: str
    session_id: str
    inquiry: Inquiry
    answer_digest: str
    rules: LedgerRules
    rules_digest: str
    documents: tuple[Document, ...]
    entries: tuple[LedgerEntry, ...]
    remarks: tuple[Claim, ...]
    left_out: tuple[LeftOut, ...]
    summary: Summary
    risk_flags: tuple[RiskFlag, ...]
    follow_up_questions: tuple[str, ...]
    recommended_actions: tuple[str, ...]
    findings: tuple[LedgerFinding, ...]
    gates: DecisionSummary

    def _repr_html_(self) -> str:
        rows = (
            (
                entry.verdict.value,
                entry.claim.text,
                entry.evidence[0].reading.snippet if entry.evidence else entry.notes,
                entry.evidence[0].filename if entry.evidence else "",
            )
            for entry in self.entries
        )
        columns = ("Verdict", "Claim", "Evidence", "Source")
        return result_table(self.inquiry.title, self.gates.decision.value, columns, rows)
