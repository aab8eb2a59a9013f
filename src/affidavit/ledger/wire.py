"""The ledger to JSON. wire_reading.py is the way back."""

from typing import Any, TypeVar

import msgspec

from affidavit.ledger import wire_schema as v1
from affidavit.ledger.gates import GateReport
from affidavit.ledger.model import Claim, Exemption
from affidavit.ledger.record import Exhibit, Ledger, LedgerEntry
from affidavit.ledger.rules import rules_to_wire

_To = TypeVar("_To")


def copied(value: object, kind: type[_To]) -> _To:
    """Copy a value between a noun and its struct, field by field, where the names are the same."""
    return msgspec.convert(value, kind, from_attributes=True)


def ledger_to_json(ledger: Ledger) -> bytes:
    """Return the JSON export, indented and ending in a line break."""
    return msgspec.json.format(msgspec.json.encode(ledger_to_wire(ledger)), indent=2) + b"\n"


def content_of(ledger: Ledger) -> dict[str, Any]:
    """Return all that a ledger says, without its own name and the time when it was made."""
    content: dict[str, Any] = msgspec.to_builtins(ledger_to_wire(ledger))
    del content["ledger_id"], content["generated_at"]
    return content


def ledger_to_wire(ledger: Ledger) -> v1.LedgerV1:
    """Return the ledger as its JSON says it."""
    inquiry = ledger.inquiry
    return v1.LedgerV1(
        ledger_id=ledger.id,
        session_id=ledger.session_id,
        generated_at=inquiry.generated_at,
        summary=copied(ledger.summary, v1.SummaryV1),
        entries=tuple(map(_entry_to_wire, ledger.entries)),
        risk_flags=copied(ledger.risk_flags, tuple[v1.RiskFlagV1, ...]),
        schema_version=v1.SCHEMA,
        follow_up_questions=ledger.follow_up_questions,
        recommended_actions=ledger.recommended_actions,
        gates=_gates_to_wire(ledger.gates),
        findings=copied(ledger.findings, tuple[v1.FindingV1, ...]),
        title=inquiry.title,
        query=inquiry.query,
        answer=inquiry.answer,
        answer_digest=ledger.answer_digest,
        answer_date=inquiry.answer_date,
        judge=copied(inquiry.judge, v1.JudgeV1),
        rules_digest=ledger.rules_digest,
        rules=rules_to_wire(ledger.rules),
        documents=copied(ledger.documents, tuple[v1.DocumentV1, ...]),
        remarks=tuple(map(_remark_to_wire, ledger.remarks)),
        left_out=copied(ledger.left_out, tuple[v1.LeftOutV1, ...]),
    )


def _entry_to_wire(entry: LedgerEntry) -> v1.EntryV1:
    claim, parts = entry.claim, entry.components
    return v1.EntryV1(
        claim_id=claim.id,
        claim_text=claim.text,
        claim_type=claim.type,
        importance=claim.importance,
        verdict=entry.verdict,
        confidence_score=entry.confidence_score,
        evidence=_evidence_to_wire(entry.evidence),
        notes=entry.notes,
        claim_span=copied(claim.span, v1.SpanV1),
        cites=claim.cites,
        citations=copied(entry.citations, tuple[v1.CitationV1, ...]),
        confidence_components=None if parts is None else copied(parts, v1.ComponentsV1),
        rests_on=entry.rests_on,
        readings=tuple(map(_reading_to_wire, entry.exhibits)),
    )


def _evidence_to_wire(exhibits: tuple[Exhibit, ...]) -> v1.EvidenceV1:
    if not exhibits:
        return v1.EvidenceV1((), None, None)
    best = exhibits[0]
    hashes = tuple(dict.fromkeys(exhibit.chunk_hash for exhibit in exhibits))
    return v1.EvidenceV1(hashes, best.reading.snippet, copied(best, v1.SourceV1))


def _reading_to_wire(exhibit: Exhibit) -> v1.ReadingV1:
    reading = exhibit.reading
    return v1.ReadingV1(
        chunk_id=reading.chunk_id,
        chunk_hash=exhibit.chunk_hash,
        document_id=exhibit.document_id,
        filename=exhibit.filename,
        page_number=exhibit.page_number,
        heading_path=exhibit.heading_path,
        chunk_span=copied(exhibit.chunk_span, v1.SpanV1),
        support_level=reading.support_level,
        contradicts=reading.contradicts,
        similarity=reading.similarity,
        contradiction=reading.contradiction,
        directness=reading.directness,
        snippet=reading.snippet,
        snippet_span=copied(reading.snippet_span, v1.SpanV1),
        notes=reading.notes,
        scores=dict(reading.scores),
        passage=exhibit.passage,
    )


def _remark_to_wire(claim: Claim) -> v1.RemarkV1:
    return v1.RemarkV1(
        claim_id=claim.id,
        claim_text=claim.text,
        claim_type=claim.type,
        exemption=copied(claim.exemption, Exemption),
        claim_span=copied(claim.span, v1.SpanV1),
        cites=claim.cites,
    )


def _gates_to_wire(report: GateReport) -> v1.GatesV1:
    results = (
        v1.GateResultV1(str(each.gate), each.value, each.status, each.reason)
        for each in report.results
    )
    return v1.GatesV1(report.decision, tuple(results))
