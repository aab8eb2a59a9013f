"""The ledger as JSON, and back: structs, encoding and strict decoding."""

from typing import Annotated, Any, Final, TypeVar

import msgspec

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence as faults
from affidavit.base.strict_json import decode
from affidavit.base.validation import problem_and_field
from affidavit.decision.evaluation import DecisionSummary
from affidavit.ledger.gates import stored_gate
from affidavit.ledger.model import (
    Claim,
    ClaimType,
    Document,
    Exemption,
    FindingKind,
    Importance,
    JudgeIdentity,
    LedgerFinding,
    LeftOut,
    LeftOutKind,
    Reading,
    Span,
    SupportLevel,
    Verdict,
)
from affidavit.ledger.record import (
    Citation,
    CitationStatus,
    ConfidenceComponents,
    Exhibit,
    Inquiry,
    Ledger,
    LedgerEntry,
    RiskFlag,
    RiskSeverity,
    RiskType,
    Summary,
)
from affidavit.ledger.rules import RulesV1, Share, rules_from_wire, rules_to_wire

# The structs of the ledger's JSON: the shape of evidence-ledger.md, section 9.2, with additions.
#
# What the seed names stands first in each struct and under the seed's names; what we add changes no
# field of the seed's. Unknown fields are refused, so that nothing is read by half.

SCHEMA: Final = "affidavit.ledger/1"
"""Written into every export."""

Count = Annotated[int, msgspec.Meta(ge=0)]
Day = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d{2}-\d{2}$")]
Time = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$")]
Digest = Annotated[str, msgspec.Meta(pattern="^sha256:[0-9a-f]{64}$")]


class _LedgerStruct(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of the JSON export."""


class TextSpanV1(_LedgerStruct, frozen=True):
    """A half-open range of characters (code points)."""

    start: Count
    end: Count


class VerdictCountsV1(_LedgerStruct, frozen=True):
    """How many claims got each verdict."""

    supported: Count
    weak: Count
    contradicted: Count
    not_found: Count


class ImportanceCountsV1(_LedgerStruct, frozen=True):
    """How many claims have each importance."""

    critical: Count
    material: Count
    minor: Count


class LedgerSummaryV1(_LedgerStruct, frozen=True):
    """The ledger in numbers."""

    total_claims: Count
    evidence_coverage: Share | None
    by_verdict: VerdictCountsV1
    by_importance: ImportanceCountsV1
    unsupported_rate: Share | None


class EvidenceSourceV1(_LedgerStruct, frozen=True):
    """Where the deciding passage stands."""

    document_id: str
    filename: str
    page_number: int | None
    heading_path: tuple[str, ...]


class EntryEvidenceV1(_LedgerStruct, frozen=True):
    """What a verdict rests on; `chunk_ids` are the hashes by which an answer cites."""

    chunk_ids: tuple[str, ...]
    snippet: str | None
    source: EvidenceSourceV1 | None


class ComponentsV1(_LedgerStruct, frozen=True):
    """What a confidence score is made of."""

    semantic_similarity: Share
    evidence_count: Count
    directness: Share
    source_quality: Share


class ReadingV1(_LedgerStruct, frozen=True):
    """What the judge read in one chunk."""

    chunk_id: str
    chunk_hash: str
    document_id: str
    filename: str
    page_number: int | None
    heading_path: tuple[str, ...]
    chunk_span: TextSpanV1
    support_level: SupportLevel
    contradicts: bool
    similarity: Share
    contradiction: Share
    directness: Share
    snippet: str
    snippet_span: TextSpanV1
    notes: str
    scores: dict[str, float]
    passage: str | None


class CitationV1(_LedgerStruct, frozen=True):
    """What became of one citation."""

    reference: str
    status: CitationStatus
    chunk_hashes: tuple[str, ...]
    document_ids: tuple[str, ...]
    page_number: int | None


class LedgerEntryV1(_LedgerStruct, frozen=True):
    """A claim and its verdict."""

    claim_id: str
    claim_text: str
    claim_type: ClaimType
    importance: Importance
    verdict: Verdict
    confidence_score: Share
    evidence: EntryEvidenceV1
    notes: str
    claim_span: TextSpanV1
    cites: tuple[str, ...]
    citations: tuple[CitationV1, ...]
    confidence_components: ComponentsV1 | None
    rests_on: tuple[str, ...]
    readings: tuple[ReadingV1, ...]


class RiskFlagV1(_LedgerStruct, frozen=True):
    """A risk and the claims that it touches."""

    type: RiskType
    severity: RiskSeverity
    description: str
    affected_claims: tuple[str, ...]
    id: str
    mitigation: str


class RemarkV1(_LedgerStruct, frozen=True):
    """A sentence that needs no evidence, and why."""

    claim_id: str
    claim_text: str
    claim_type: ClaimType
    exemption: Exemption
    claim_span: TextSpanV1
    cites: tuple[str, ...]


class LeftOutV1(_LedgerStruct, frozen=True):
    """A stretch of the answer outside every claim."""

    kind: LeftOutKind
    span: TextSpanV1


class LedgerFindingV1(_LedgerStruct, frozen=True):
    """Something that was noticed beside the verdicts."""

    kind: FindingKind
    message: str
    claim_id: str | None
    span: TextSpanV1 | None


class JudgeIdentityV1(_LedgerStruct, frozen=True):
    """Which judge read the evidence."""

    name: str
    version: str
    digest: str
    rederivable: bool


class DocumentV1(_LedgerStruct, frozen=True):
    """A source that was offered."""

    id: str
    filename: str
    digest: str
    media_type: str
    title: str
    date: Day | None
    page_count: int | None


class LedgerV1(_LedgerStruct, frozen=True):
    """The whole export."""

    ledger_id: str
    session_id: str
    generated_at: Time
    summary: LedgerSummaryV1
    entries: tuple[LedgerEntryV1, ...]
    risk_flags: tuple[RiskFlagV1, ...]
    schema_version: str
    follow_up_questions: tuple[str, ...]
    recommended_actions: tuple[str, ...]
    gates: DecisionSummary
    findings: tuple[LedgerFindingV1, ...]
    title: str
    query: str | None
    answer: str
    answer_digest: Digest
    answer_date: Day
    judge: JudgeIdentityV1
    rules_digest: Digest
    rules: RulesV1
    documents: tuple[DocumentV1, ...]
    remarks: tuple[RemarkV1, ...]
    left_out: tuple[LeftOutV1, ...]


# The ledger to JSON. wire_reading.py is the way back.

_To = TypeVar("_To")


def convert_fields(value: object, kind: type[_To]) -> _To:
    """Copy a value between a noun and its struct, field by field, where the names are the same."""
    return msgspec.convert(value, kind, from_attributes=True)


def ledger_to_json(ledger: Ledger) -> bytes:
    """Return the JSON export, indented and ending in a line break."""
    return msgspec.json.format(msgspec.json.encode(ledger_to_wire(ledger)), indent=2) + b"\n"


def ledger_content(ledger: Ledger) -> dict[str, Any]:
    """Return all that a ledger says, without its own name and the time when it was made."""
    content: dict[str, Any] = msgspec.to_builtins(ledger_to_wire(ledger))
    del content["ledger_id"], content["generated_at"]
    return content


def ledger_to_wire(ledger: Ledger) -> LedgerV1:
    """Return the ledger as its JSON says it."""
    inquiry = ledger.inquiry
    return LedgerV1(
        ledger_id=ledger.id,
        session_id=ledger.session_id,
        generated_at=inquiry.generated_at,
        summary=convert_fields(ledger.summary, LedgerSummaryV1),
        entries=tuple(map(_entry_to_wire, ledger.entries)),
        risk_flags=convert_fields(ledger.risk_flags, tuple[RiskFlagV1, ...]),
        schema_version=SCHEMA,
        follow_up_questions=ledger.follow_up_questions,
        recommended_actions=ledger.recommended_actions,
        gates=ledger.gates,
        findings=convert_fields(ledger.findings, tuple[LedgerFindingV1, ...]),
        title=inquiry.title,
        query=inquiry.query,
        answer=inquiry.answer,
        answer_digest=ledger.answer_digest,
        answer_date=inquiry.answer_date,
        judge=convert_fields(inquiry.judge, JudgeIdentityV1),
        rules_digest=ledger.rules_digest,
        rules=rules_to_wire(ledger.rules),
        documents=convert_fields(ledger.documents, tuple[DocumentV1, ...]),
        remarks=tuple(map(_remark_to_wire, ledger.remarks)),
        left_out=convert_fields(ledger.left_out, tuple[LeftOutV1, ...]),
    )


def _entry_to_wire(entry: LedgerEntry) -> LedgerEntryV1:
    claim, parts = entry.claim, entry.components
    return LedgerEntryV1(
        claim_id=claim.id,
        claim_text=claim.text,
        claim_type=claim.type,
        importance=claim.importance,
        verdict=entry.verdict,
        confidence_score=entry.confidence_score,
        evidence=_evidence_to_wire(entry.evidence),
        notes=entry.notes,
        claim_span=convert_fields(claim.span, TextSpanV1),
        cites=claim.cites,
        citations=convert_fields(entry.citations, tuple[CitationV1, ...]),
        confidence_components=None if parts is None else convert_fields(parts, ComponentsV1),
        rests_on=entry.rests_on,
        readings=tuple(map(_reading_to_wire, entry.exhibits)),
    )


def _evidence_to_wire(exhibits: tuple[Exhibit, ...]) -> EntryEvidenceV1:
    if not exhibits:
        return EntryEvidenceV1((), None, None)
    best = exhibits[0]
    hashes = tuple(dict.fromkeys(exhibit.chunk_hash for exhibit in exhibits))
    return EntryEvidenceV1(hashes, best.reading.snippet, convert_fields(best, EvidenceSourceV1))


def _reading_to_wire(exhibit: Exhibit) -> ReadingV1:
    reading = exhibit.reading
    return ReadingV1(
        chunk_id=reading.chunk_id,
        chunk_hash=exhibit.chunk_hash,
        document_id=exhibit.document_id,
        filename=exhibit.filename,
        page_number=exhibit.page_number,
        heading_path=exhibit.heading_path,
        chunk_span=convert_fields(exhibit.chunk_span, TextSpanV1),
        support_level=reading.support_level,
        contradicts=reading.contradicts,
        similarity=reading.similarity,
        contradiction=reading.contradiction,
        directness=reading.directness,
        snippet=reading.snippet,
        snippet_span=convert_fields(reading.snippet_span, TextSpanV1),
        notes=reading.notes,
        scores=dict(reading.scores),
        passage=exhibit.passage,
    )


def _remark_to_wire(claim: Claim) -> RemarkV1:
    return RemarkV1(
        claim_id=claim.id,
        claim_text=claim.text,
        claim_type=claim.type,
        exemption=convert_fields(claim.exemption, Exemption),
        claim_span=convert_fields(claim.span, TextSpanV1),
        cites=claim.cites,
    )


# JSON to the ledger: the total way back. parse(render(x)) == x, and nothing else parses.


def ledger_from_json(data: bytes) -> Ledger:
    """Return the ledger of a JSON export."""
    value = decode(data)
    found = value.get("schema_version") if isinstance(value, dict) else None
    if isinstance(found, str) and found != SCHEMA:
        raise AffidavitError(faults.LEDGER_SCHEMA, found=found, known=SCHEMA)
    try:
        wire = msgspec.convert(value, LedgerV1)
    except msgspec.ValidationError as error:
        raise _malformed(*problem_and_field(error)) from None
    return ledger_from_wire(wire)


def _malformed(problem: str, field: str | None = None) -> AffidavitError:
    return AffidavitError(faults.LEDGER_MALFORMED, Where(field=field), problem=problem)


def ledger_from_wire(wire: LedgerV1) -> Ledger:
    """Return the ledger that `wire` stands for; what does not agree with itself is an error."""
    documents = {each.id for each in wire.documents}
    for number, entry in enumerate(wire.entries):
        _require_known(f"entries[{number}]", entry, documents)
    ledger = _ledger_from_wire(wire)
    # What is written twice (the snippet, the source, the chunk hashes) must say the same twice.
    if ledger_to_wire(ledger) != wire:
        raise _malformed("its parts do not agree with one another")
    return ledger


def _require_known(field: str, entry: LedgerEntryV1, documents: set[str]) -> None:
    read = {reading.chunk_id for reading in entry.readings}
    if not read.issuperset(entry.rests_on):
        raise _malformed("it rests on a chunk that was not read", f"{field}.rests_on")
    if not documents.issuperset(reading.document_id for reading in entry.readings):
        raise _malformed("it has a reading of an unlisted document", f"{field}.readings")


def _ledger_from_wire(wire: LedgerV1) -> Ledger:
    return Ledger(
        id=wire.ledger_id,
        session_id=wire.session_id,
        inquiry=Inquiry(
            wire.answer,
            wire.query,
            wire.title,
            wire.answer_date,
            wire.generated_at,
            convert_fields(wire.judge, JudgeIdentity),
        ),
        answer_digest=wire.answer_digest,
        rules=rules_from_wire(wire.rules),
        rules_digest=wire.rules_digest,
        documents=convert_fields(wire.documents, tuple[Document, ...]),
        entries=tuple(map(_entry_from_wire, wire.entries)),
        remarks=tuple(map(_remark_from_wire, wire.remarks)),
        left_out=convert_fields(wire.left_out, tuple[LeftOut, ...]),
        summary=convert_fields(wire.summary, Summary),
        risk_flags=convert_fields(wire.risk_flags, tuple[RiskFlag, ...]),
        follow_up_questions=wire.follow_up_questions,
        recommended_actions=wire.recommended_actions,
        findings=convert_fields(wire.findings, tuple[LedgerFinding, ...]),
        gates=_checked_gates(wire.gates),
    )


def _entry_from_wire(entry: LedgerEntryV1) -> LedgerEntry:
    parts = entry.confidence_components
    return LedgerEntry(
        claim=Claim(
            entry.claim_id,
            entry.claim_text,
            convert_fields(entry.claim_span, Span),
            entry.claim_type,
            entry.importance,
            requires_citation=True,
            cites=entry.cites,
        ),
        verdict=entry.verdict,
        confidence_score=entry.confidence_score,
        components=None if parts is None else convert_fields(parts, ConfidenceComponents),
        rests_on=entry.rests_on,
        exhibits=tuple(map(_exhibit_from_wire, entry.readings)),
        citations=convert_fields(entry.citations, tuple[Citation, ...]),
        notes=entry.notes,
    )


def _exhibit_from_wire(wire: ReadingV1) -> Exhibit:
    reading = Reading(
        wire.chunk_id,
        wire.support_level,
        wire.contradicts,
        wire.similarity,
        wire.contradiction,
        wire.directness,
        wire.snippet,
        convert_fields(wire.snippet_span, Span),
        wire.notes,
        tuple(sorted(wire.scores.items())),
        wire.page_number,
    )
    return Exhibit(
        reading,
        wire.chunk_hash,
        wire.document_id,
        wire.filename,
        convert_fields(wire.chunk_span, Span),
        wire.heading_path,
        wire.passage,
    )


def _remark_from_wire(wire: RemarkV1) -> Claim:
    return Claim(
        wire.claim_id,
        wire.claim_text,
        convert_fields(wire.claim_span, Span),
        wire.claim_type,
        Importance.MINOR,
        requires_citation=False,
        cites=wire.cites,
        exemption=wire.exemption,
    )


def _checked_gates(gates: DecisionSummary) -> DecisionSummary:
    for result in gates.results:
        stored_gate(result.gate)
    return gates
