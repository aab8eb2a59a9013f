"""JSON to the ledger: the total way back. parse(render(x)) == x, and nothing else parses."""

import msgspec

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence as faults
from affidavit.base.strict_json import decode
from affidavit.ledger import wire_schema as v1
from affidavit.ledger.findings import Finding
from affidavit.ledger.gates import Gate, GateReport, GateResult, parse_gate
from affidavit.ledger.model import (
    Claim,
    Document,
    Importance,
    JudgeIdentity,
    LeftOut,
    Reading,
    Span,
)
from affidavit.ledger.record import (
    Citation,
    ConfidenceComponents,
    Exhibit,
    Inquiry,
    Ledger,
    LedgerEntry,
    RiskFlag,
    Summary,
)
from affidavit.ledger.rules import placed_problem, rules_from_wire
from affidavit.ledger.wire import copied, ledger_to_wire


def ledger_from_json(data: bytes) -> Ledger:
    """Return the ledger of a JSON export."""
    value = decode(data)
    found = value.get("schema_version") if isinstance(value, dict) else None
    if isinstance(found, str) and found != v1.SCHEMA:
        raise AffidavitError(faults.LEDGER_SCHEMA, found=found, known=v1.SCHEMA)
    try:
        wire = msgspec.convert(value, v1.LedgerV1)
    except msgspec.ValidationError as error:
        raise _malformed(*placed_problem(error)) from None
    return ledger_from_wire(wire)


def _malformed(problem: str, field: str | None = None) -> AffidavitError:
    return AffidavitError(faults.LEDGER_MALFORMED, Where(field=field), problem=problem)


def ledger_from_wire(wire: v1.LedgerV1) -> Ledger:
    """Return the ledger that `wire` stands for; what does not agree with itself is an error."""
    documents = {each.id for each in wire.documents}
    for number, entry in enumerate(wire.entries):
        _require_known(f"entries[{number}]", entry, documents)
    ledger = _ledger(wire)
    # What is written twice (the snippet, the source, the chunk hashes) must say the same twice.
    if ledger_to_wire(ledger) != wire:
        raise _malformed("its parts do not agree with one another")
    return ledger


def _require_known(field: str, entry: v1.EntryV1, documents: set[str]) -> None:
    read = {reading.chunk_id for reading in entry.readings}
    if not read.issuperset(entry.rests_on):
        raise _malformed("it rests on a chunk that was not read", f"{field}.rests_on")
    if not documents.issuperset(reading.document_id for reading in entry.readings):
        raise _malformed("it has a reading of an unlisted document", f"{field}.readings")


def _ledger(wire: v1.LedgerV1) -> Ledger:
    return Ledger(
        id=wire.ledger_id,
        session_id=wire.session_id,
        inquiry=Inquiry(
            wire.answer,
            wire.query,
            wire.title,
            wire.answer_date,
            wire.generated_at,
            copied(wire.judge, JudgeIdentity),
        ),
        answer_digest=wire.answer_digest,
        rules=rules_from_wire(wire.rules),
        rules_digest=wire.rules_digest,
        documents=copied(wire.documents, tuple[Document, ...]),
        entries=tuple(map(_entry, wire.entries)),
        remarks=tuple(map(_remark, wire.remarks)),
        left_out=copied(wire.left_out, tuple[LeftOut, ...]),
        summary=copied(wire.summary, Summary),
        risk_flags=copied(wire.risk_flags, tuple[RiskFlag, ...]),
        follow_up_questions=wire.follow_up_questions,
        recommended_actions=wire.recommended_actions,
        findings=copied(wire.findings, tuple[Finding, ...]),
        gates=_gates(wire.gates),
    )


def _entry(entry: v1.EntryV1) -> LedgerEntry:
    parts = entry.confidence_components
    return LedgerEntry(
        claim=Claim(
            entry.claim_id,
            entry.claim_text,
            copied(entry.claim_span, Span),
            entry.claim_type,
            entry.importance,
            requires_citation=True,
            cites=entry.cites,
        ),
        verdict=entry.verdict,
        confidence_score=entry.confidence_score,
        components=None if parts is None else copied(parts, ConfidenceComponents),
        rests_on=entry.rests_on,
        exhibits=tuple(map(_exhibit, entry.readings)),
        citations=copied(entry.citations, tuple[Citation, ...]),
        notes=entry.notes,
    )


def _exhibit(wire: v1.ReadingV1) -> Exhibit:
    reading = Reading(
        wire.chunk_id,
        wire.support_level,
        wire.contradicts,
        wire.similarity,
        wire.contradiction,
        wire.directness,
        wire.snippet,
        copied(wire.snippet_span, Span),
        wire.notes,
        tuple(sorted(wire.scores.items())),
        wire.page_number,
    )
    return Exhibit(
        reading,
        wire.chunk_hash,
        wire.document_id,
        wire.filename,
        copied(wire.chunk_span, Span),
        wire.heading_path,
        wire.passage,
    )


def _remark(wire: v1.RemarkV1) -> Claim:
    return Claim(
        wire.claim_id,
        wire.claim_text,
        copied(wire.claim_span, Span),
        wire.claim_type,
        Importance.MINOR,
        requires_citation=False,
        cites=wire.cites,
        exemption=wire.exemption,
    )


def _gates(wire: v1.GatesV1) -> GateReport:
    results = (
        GateResult(_gate(each.gate), each.value, each.status, each.reason) for each in wire.results
    )
    return GateReport(wire.decision, tuple(results))


def _gate(text: str) -> Gate:
    gate = parse_gate(text)[1]
    if gate is None:
        raise _malformed("a gate that is off has a result", "gates.results")
    return gate
