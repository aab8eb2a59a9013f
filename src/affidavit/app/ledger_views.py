"""What the service says about documents, sessions and ledgers: the names of section 3.1.

Origin: evidence-ledger.md, sections 3.1, 5.3 and 11.
"""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from affidavit.decision.evaluation import DecisionSummary
from affidavit.ledger.model import ClaimType, Count, Importance, Share, Verdict
from affidavit.ledger.record import LedgerEntry, LedgerSummary, RiskSeverity, RiskType
from affidavit.ledger.review import Approval, DecidedField, HumanDecision, approval_of
from affidavit.store.document_rows import StoredDocument
from affidavit.store.session_rows import LedgerHeader, LedgerRow, SessionRecord, StoredRun

Uuid = Annotated[str, Meta(extra_json_schema={"format": "uuid"})]
Moment = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
ExportFormat = Literal["markdown", "json", "pdf", "html"]


class FaultNoteV1(Struct, frozen=True, kw_only=True):
    """A problem that was found in work that ran later."""

    code: str
    message: str
    next: str


class DocumentV1(Struct, frozen=True, kw_only=True):
    """A document of the workspace."""

    id: Uuid
    filename: str
    digest: str
    bytes: Count
    status: Literal["processing", "ready", "error"]
    error: FaultNoteV1 | None
    findings: list[FaultNoteV1]
    media_type: str | None
    title: str | None
    date: str | None
    page_count: Count | None
    legal_hold: bool
    created_at: Moment
    updated_at: Moment


class DocumentListV1(Struct, frozen=True):
    """A page of documents. `next` is the `after` of the next page, or null at the end."""

    documents: list[DocumentV1]
    next: Uuid | None


class RunV1(Struct, frozen=True, kw_only=True):
    """One check of a session, with how many of its claims are done."""

    id: Uuid
    number: Count
    status: Literal["queued", "running", "done", "error"]
    done: Count
    total: Count
    error: FaultNoteV1 | None
    ledger_id: str | None
    decision: str | None
    created_at: Moment
    finished_at: Moment | None


class ProgressEventV1(Struct, frozen=True):
    """A server-sent event. `data` is the JSON of a run."""

    event: Literal["progress"]
    data: str


class SessionV1(Struct, frozen=True, kw_only=True):
    """A question and an answer, and their checks, the newest first."""

    id: Uuid
    title: str
    query: str | None
    mode: str
    answer: str
    status: Literal["queued", "running", "done", "error"]
    imported_from: str | None
    legal_hold: bool
    created_at: Moment
    updated_at: Moment
    runs: list[RunV1]


class SessionItemV1(Struct, frozen=True, kw_only=True):
    """A session in a list."""

    id: Uuid
    title: str
    query: str | None
    status: Literal["queued", "running", "done", "error"]
    created_at: Moment
    updated_at: Moment


class SessionListV1(Struct, frozen=True):
    """A page of sessions. `next` is the `after` of the next page, or null at the end."""

    sessions: list[SessionItemV1]
    next: Uuid | None


class SourceDocumentV1(Struct, frozen=True, kw_only=True):
    """Where the strongest evidence is."""

    id: str
    filename: str
    page_number: int | None
    heading_path: list[str]


class JudgedV1(Struct, frozen=True, kw_only=True):
    """What the judge and the rules said of a claim, whatever people decided since."""

    verdict: Verdict
    claim_type: ClaimType
    importance: Importance


class DecisionV1(Struct, frozen=True, kw_only=True):
    """What a person decided. `claim_id` is null if it is about the whole answer."""

    number: int
    claim_id: Uuid | None
    field: DecidedField
    from_value: str
    to_value: str
    reason: str
    decided_by: str
    decided_at: Moment


class LedgerEntryV1(Struct, frozen=True, kw_only=True):
    """A claim with its evidence: section 3.1. Verdict, type and importance are the effective ones.

    `evidence_chunk_ids` are the hashes by which an answer cites. `claim_key` is what the sealed
    ledger and the exports call the claim.
    """

    id: Uuid
    claim_id: Uuid
    claim_text: str
    claim_type: ClaimType
    claim_importance: Importance
    verdict: Verdict
    confidence_score: Share
    evidence_chunk_ids: list[str]
    evidence_snippet: str
    source_document: SourceDocumentV1 | None
    notes: str
    claim_key: str
    start_offset: Count | None
    end_offset: Count | None
    judged: JudgedV1


class RiskFlagV1(Struct, frozen=True, kw_only=True):
    """A risk, with the claims that it affects."""

    id: str
    type: RiskType
    severity: RiskSeverity
    description: str
    affected_claim_ids: list[Uuid]
    mitigation: str


class EvidenceLedgerV1(Struct, frozen=True, kw_only=True):
    """The ledger of a session: section 3.1, with the decision of the gates and of people."""

    id: Uuid
    session_id: Uuid
    created_at: Moment
    updated_at: Moment
    entries: list[LedgerEntryV1]
    summary: LedgerSummary
    risk_flags: list[RiskFlagV1]
    follow_up_questions: list[str]
    recommended_actions: list[str]
    ledger_id: str
    run: Count
    gates: DecisionSummary
    approval: Approval
    decisions: list[DecisionV1]


class SessionReferenceV1(Struct, frozen=True):
    """The session of a ledger: section 11.1."""

    id: Uuid
    query: str | None
    mode: str


class LedgerResponseV1(Struct, frozen=True):
    """A ledger and its session: section 11.1."""

    ledger: EvidenceLedgerV1
    session: SessionReferenceV1


class ExportV1(Struct, frozen=True, kw_only=True):
    """Where an export can be fetched, without a key, until it expires: section 11.2."""

    download_url: str
    expires_at: Moment
    status: Literal["ready", "processing"]


class CitedChunkV1(Struct, frozen=True, kw_only=True):
    """A passage with its place. Boxes are page, left, bottom, right and top in points."""

    id: str
    chunk_hash: str
    document_id: Uuid
    filename: str
    text: str
    start_offset: Count
    end_offset: Count
    page_number: int | None
    heading_path: list[str]
    boxes: list[tuple[int, float, float, float, float]]


class CitationV1(Struct, frozen=True, kw_only=True):
    """What a citation leads to: section 5.3. `chunk` is the first of `chunks`."""

    chunk_hash: str
    resolved: bool
    chunk: CitedChunkV1 | None = None
    chunks: list[CitedChunkV1] = []
    error: str | None = None


class ClaimDetailV1(Struct, frozen=True, kw_only=True):
    """A claim with everything that the judge read about it: section 8.2.

    `judged` is its entry of the sealed ledger. `documents` leads from the ids of documents in it to
    those of the service; a document that was deleted is missing.
    """

    entry: LedgerEntryV1
    judged: LedgerEntry
    documents: dict[str, Uuid]
    decisions: list[DecisionV1]


class DecisionListV1(Struct, frozen=True):
    """What people decided, in order."""

    decisions: list[DecisionV1]


def note_of(error: dict[str, Any]) -> FaultNoteV1:
    """Return a stored error or finding."""
    return FaultNoteV1(
        code=error["code"],
        message=error["message"],
        next=str(error.get("next") or error.get("next_step")),
    )


def document_view(stored: StoredDocument) -> DocumentV1:
    """Return a document as the service shows it."""
    values: dict[str, Any] = {
        name: getattr(stored, name)
        for name in DocumentV1.__struct_fields__
        if name not in ("error", "findings")
    }
    return DocumentV1(
        error=None if stored.error is None else note_of(stored.error),
        findings=[note_of(finding) for finding in stored.findings],
        **values,
    )


def run_view(stored: StoredRun) -> RunV1:
    """Return a run as the service shows it."""
    values: dict[str, Any] = {
        name: getattr(stored, name) for name in RunV1.__struct_fields__ if name != "error"
    }
    return RunV1(error=None if stored.error is None else note_of(stored.error), **values)


def session_view(stored: SessionRecord, every_run: Iterable[StoredRun]) -> SessionV1:
    """Return a session as the service shows it."""
    values: dict[str, Any] = {
        name: getattr(stored, name) for name in SessionV1.__struct_fields__ if name != "runs"
    }
    return SessionV1(runs=[run_view(each) for each in every_run], **values)


def session_item(stored: SessionRecord) -> SessionItemV1:
    """Return a session as lists show it."""
    values: dict[str, Any] = {
        name: getattr(stored, name) for name in SessionItemV1.__struct_fields__
    }
    return SessionItemV1(**values)


def ledger_view(
    session: SessionRecord,
    run: StoredRun,
    header: LedgerHeader,
    rows: Sequence[LedgerRow],
    decisions: Sequence[HumanDecision],
) -> LedgerResponseV1:
    """Return a ledger as people see it after their decisions."""
    ids = {row.key: row.claim_id for row in rows}
    effective = {(each.claim_id, each.field): each.to_value for each in decisions}
    ledger = EvidenceLedgerV1(
        id=run.id,
        session_id=session.id,
        created_at=run.created_at,
        updated_at=decisions[-1].decided_at if decisions else str(run.finished_at),
        entries=[_entry(row, effective) for row in rows],
        summary=header.summary,
        risk_flags=[
            RiskFlagV1(
                id=flag.id,
                type=flag.type,
                severity=flag.severity,
                description=flag.description,
                affected_claim_ids=[ids[key] for key in flag.affected_claims],
                mitigation=flag.mitigation,
            )
            for flag in header.risk_flags
        ],
        follow_up_questions=list(header.follow_up_questions),
        recommended_actions=list(header.recommended_actions),
        ledger_id=str(run.ledger_id),
        run=run.number,
        gates=header.gates,
        approval=approval_of(decisions),
        decisions=[decision_view(each, ids) for each in decisions],
    )
    return LedgerResponseV1(ledger, SessionReferenceV1(session.id, session.query, session.mode))


def claim_view(
    judged: LedgerEntry,
    rows: Sequence[LedgerRow],
    decisions: Sequence[HumanDecision],
    documents: dict[str, str],
) -> ClaimDetailV1:
    """Return a claim as people see it after their decisions, beside what the judge said."""
    effective = {(each.claim_id, each.field): each.to_value for each in decisions}
    own = [each for each in decisions if each.claim_id == judged.claim_id]
    row = next(row for row in rows if row.key == judged.claim_id)
    return ClaimDetailV1(
        entry=_entry(row, effective),
        judged=judged,
        documents=documents,
        decisions=[decision_view(each, {row.key: row.claim_id}) for each in own],
    )


def decision_list(
    decisions: Iterable[HumanDecision], rows: Iterable[LedgerRow], after: int
) -> DecisionListV1:
    """Return the decisions after a number."""
    ids = {row.key: row.claim_id for row in rows}
    return DecisionListV1([decision_view(each, ids) for each in decisions if each.number > after])


def decision_view(decision: HumanDecision, ids: dict[str, str]) -> DecisionV1:
    """Return a decision with the id of its claim."""
    values: dict[str, Any] = {
        name: getattr(decision, name) for name in DecisionV1.__struct_fields__ if name != "claim_id"
    }
    key = decision.claim_id
    return DecisionV1(claim_id=None if key is None else ids[key], **values)


def _entry(row: LedgerRow, effective: dict[tuple[str | None, DecidedField], str]) -> LedgerEntryV1:
    judged = JudgedV1(
        verdict=Verdict(row.verdict),
        claim_type=ClaimType(row.claim_type),
        importance=Importance(row.importance),
    )
    source = row.source_document
    return LedgerEntryV1(
        id=row.id,
        claim_id=row.claim_id,
        claim_text=row.claim_text,
        claim_type=ClaimType(effective.get((row.key, DecidedField.CLAIM_TYPE), row.claim_type)),
        claim_importance=Importance(
            effective.get((row.key, DecidedField.IMPORTANCE), row.importance)
        ),
        verdict=Verdict(effective.get((row.key, DecidedField.VERDICT), row.verdict)),
        confidence_score=row.confidence_score,
        evidence_chunk_ids=row.chunk_hashes,
        evidence_snippet=row.evidence_snippet,
        source_document=None
        if source is None
        else SourceDocumentV1(
            id=source["document_id"],
            filename=source["filename"],
            page_number=source["page_number"],
            heading_path=source["heading_path"],
        ),
        notes=row.notes,
        claim_key=row.key,
        start_offset=row.start_offset,
        end_offset=row.end_offset,
        judged=judged,
    )
