"""Make a ledger from claims and readings, and make it again from what it stored.

`adjudicate` binds each reading to its place and then settles the cases; `replay` settles the same
cases from a finished ledger. Both end in the same function, so a ledger that was changed by hand
no longer equals its replay. Rules B1 to B4 of docs/ledger.md.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from affidavit.base.canonical import jcs
from affidavit.base.digest import content_id, digest_of
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence as faults
from affidavit.ledger.citations import Shelf, citation_findings, resolve, shelf_of
from affidavit.ledger.claims import SplitAnswer
from affidavit.ledger.confidence import (
    confidence,
    confidence_components,
    day_of,
    rounded,
    source_quality,
)
from affidavit.ledger.findings import CITATION_KINDS, Finding
from affidavit.ledger.gates import decide
from affidavit.ledger.model import BACKED, Chunk, Claim, Document, LeftOut, Reading, Verdict
from affidavit.ledger.questions import follow_up_questions, recommended_actions
from affidavit.ledger.record import (
    Citation,
    ConfidenceComponents,
    Exhibit,
    Inquiry,
    Ledger,
    LedgerEntry,
)
from affidavit.ledger.risk import risk_flags
from affidavit.ledger.rules import DEFAULT_RULES, LedgerRules, rules_digest
from affidavit.ledger.summary import measures, summarise
from affidavit.ledger.verdict import Assignment, assign_verdict
from affidavit.ledger.wire import content_of


@dataclass(frozen=True, slots=True)
class Case:
    """A claim with all that may decide on it."""

    claim: Claim
    exhibits: tuple[Exhibit, ...]
    citations: tuple[Citation, ...]


@dataclass(frozen=True, slots=True)
class Rest:
    """What a ledger holds beside its cases."""

    remarks: tuple[Claim, ...]
    left_out: tuple[LeftOut, ...]
    findings: tuple[Finding, ...]
    documents: tuple[Document, ...]


def adjudicate(
    split: SplitAnswer,
    readings: Mapping[str, Sequence[Reading]],
    chunks: Iterable[Chunk],
    documents: Sequence[Document],
    inquiry: Inquiry,
    rules: LedgerRules = DEFAULT_RULES,
) -> Ledger:
    """Return the ledger of an answer.

    `readings` are by claim id; a claim without readings is not_found. `chunks` are at least those
    that were read and those that the answer cites; `documents` are all sources that were offered.
    """
    known = {claim.id for claim in split.claims}
    for name in readings:
        if name not in known:
            raise AffidavitError(faults.READING_UNKNOWN, what="the claim", name=name)
    shelf = shelf_of(documents, chunks)
    cases = tuple(
        Case(
            claim,
            tuple(bind(reading, shelf) for reading in readings.get(claim.id, ())),
            tuple(resolve(reference, shelf) for reference in claim.cites),
        )
        for claim in split.claims
    )
    rest = Rest(split.remarks, split.left_out, split.findings, tuple(documents))
    return _settle(cases, rest, inquiry, rules)


def replay(ledger: Ledger) -> Ledger:
    """Return the ledger that the stored claims, readings and rules give: the same, if it is true.

    Not covered: whether the readings are what the judge would say again, and whether the claims
    are those of the answer.
    """
    cases = tuple(Case(entry.claim, entry.exhibits, entry.citations) for entry in ledger.entries)
    findings = tuple(each for each in ledger.findings if each.kind not in CITATION_KINDS)
    rest = Rest(ledger.remarks, ledger.left_out, findings, ledger.documents)
    return _settle(cases, rest, ledger.inquiry, ledger.rules)


def bind(reading: Reading, shelf: Shelf) -> Exhibit:
    """Return a reading with its place, its scores rounded as they are stored and compared."""
    chunk = shelf.by_id.get(reading.chunk_id)
    if chunk is None:
        raise AffidavitError(faults.READING_UNKNOWN, what="the chunk", name=reading.chunk_id)
    document = shelf.documents.get(chunk.document_id)
    if document is None:
        raise AffidavitError(faults.READING_UNKNOWN, what="the document", name=chunk.document_id)
    exhibit = Exhibit(
        replace(
            reading,
            similarity=_checked("similarity", reading.similarity),
            contradiction=_checked("contradiction", reading.contradiction),
            directness=_checked("directness", reading.directness),
            scores=tuple(sorted(reading.scores)),
            page_number=reading.page_number or chunk.page_number,
        ),
        chunk.hash,
        chunk.document_id,
        document.filename,
        chunk.span,
        chunk.heading_path,
        None,
    )
    matters = exhibit.supports or exhibit.contradicts
    return replace(exhibit, passage=chunk.text) if matters else exhibit


def _checked(name: str, score: float) -> float:
    if not math.isfinite(score) or not 0 <= score <= 1:
        raise AffidavitError(faults.READING_SCORE, Where(field=name), name=name, score=score)
    return rounded(score)


def _settle(cases: Sequence[Case], rest: Rest, inquiry: Inquiry, rules: LedgerRules) -> Ledger:
    """Decide every case and draw the sum. Pure: the same cases give the same ledger."""
    _require_dates(inquiry, rest.documents)
    documents = {document.id: document for document in rest.documents}
    entries = tuple(settle_case(case, documents, inquiry.answer_date, rules) for case in cases)
    findings = (*rest.findings, *citation_findings(entries))
    flags = risk_flags(entries, rest.documents, inquiry.answer_date, rules)
    ledger = Ledger(
        id="",
        session_id=_session_id(cases, inquiry, rest.documents, rules),
        inquiry=inquiry,
        answer_digest=_text_digest(inquiry.answer),
        rules=rules,
        rules_digest=rules_digest(rules),
        documents=rest.documents,
        entries=entries,
        remarks=rest.remarks,
        left_out=rest.left_out,
        summary=summarise(entries),
        risk_flags=flags,
        follow_up_questions=follow_up_questions(entries, rules),
        recommended_actions=recommended_actions(entries, flags),
        findings=findings,
        gates=decide(rules.gates, measures(entries, findings)),
    )
    return replace(ledger, id=content_id("led", jcs(content_of(ledger))))


def _require_dates(inquiry: Inquiry, documents: Iterable[Document]) -> None:
    day_of(inquiry.answer_date)
    for document in documents:
        if document.date is not None:
            day_of(document.date)


def settle_case(
    case: Case, documents: Mapping[str, Document], answer_date: str, rules: LedgerRules
) -> LedgerEntry:
    """Decide one case. Pure: whoever has the same exhibits reaches the same verdict."""
    assignment = assign_verdict(case.exhibits, rules)
    components = _components(assignment, documents, answer_date, rules)
    return LedgerEntry(
        claim=case.claim,
        verdict=assignment.verdict,
        confidence_score=_score(assignment, components),
        components=components,
        rests_on=tuple(each.reading.chunk_id for each in assignment.rests_on),
        exhibits=case.exhibits,
        citations=case.citations,
        notes=assignment.notes,
    )


def _components(
    assignment: Assignment,
    documents: Mapping[str, Document],
    answer_date: str,
    rules: LedgerRules,
) -> ConfidenceComponents | None:
    if assignment.verdict not in BACKED:
        return None
    best = documents[assignment.rests_on[0].document_id]
    quality = source_quality(best, answer_date, rules.outdated_after_days)
    return confidence_components(assignment.rests_on, quality)


def _score(assignment: Assignment, components: ConfidenceComponents | None) -> float:
    if components is not None:
        return confidence(components)
    if assignment.verdict is Verdict.CONTRADICTED:
        return assignment.rests_on[0].reading.contradiction
    return 0.0


def _session_id(
    cases: Iterable[Case], inquiry: Inquiry, documents: Iterable[Document], rules: LedgerRules
) -> str:
    """Name what was asked: the same answer, sources, judge, rules and day are the same session."""
    asked = {
        "answer": inquiry.answer,
        "query": inquiry.query,
        "day": inquiry.answer_date,
        "sources": sorted(document.digest for document in documents),
        "judge": inquiry.judge.digest,
        "rules": rules_digest(rules),
        "claims": [[case.claim.type, case.claim.importance] for case in cases],
    }
    return content_id("ses", jcs(asked))


def _text_digest(text: str) -> str:
    return digest_of(text.encode("utf-8", "surrogatepass"))
