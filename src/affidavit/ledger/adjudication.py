"""Makes a ledger from claims and readings, and replays one from what it stores."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from affidavit.base.canonical import jcs
from affidavit.base.digest import content_id, digest_of
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence as faults
from affidavit.base.statistics.rates import Rate
from affidavit.decision.evaluation import Measure, decide, summarise_decision
from affidavit.decision.metric import Metric
from affidavit.ledger.citations import (
    CitationIndex,
    citation_findings,
    citation_index,
    resolve_reference,
)
from affidavit.ledger.claims import SplitAnswer
from affidavit.ledger.gates import (
    CONTRADICTIONS,
    COVERAGE,
    CRITICAL_UNSUPPORTED,
    SUPPORTED,
    UNRESOLVED_CITATIONS,
    UNSUPPORTED,
)
from affidavit.ledger.model import (
    BACKED,
    CITATION_KINDS,
    Chunk,
    Claim,
    Document,
    FindingKind,
    Importance,
    LedgerFinding,
    LeftOut,
    Reading,
    Verdict,
)
from affidavit.ledger.record import (
    Citation,
    ConfidenceComponents,
    Exhibit,
    ImportanceCounts,
    Inquiry,
    Ledger,
    LedgerEntry,
    Summary,
    VerdictCounts,
)
from affidavit.ledger.risk import follow_up_questions, recommended_actions, risk_flags
from affidavit.ledger.rules import DEFAULT_RULES, LedgerRules, rules_digest
from affidavit.ledger.verdict import (
    AssignedVerdict,
    assign_verdict,
    confidence,
    confidence_components,
    parse_day,
    round_score,
    source_quality,
)
from affidavit.ledger.wire import ledger_content

# The ledger in numbers, and what its gates measure. Rules U1 to U3 and G3 of docs/ledger.md.

_UNRESOLVED_KINDS: Final = frozenset(
    {FindingKind.UNRESOLVED_CITATION, FindingKind.MALFORMED_CITATION}
)


def summarise(entries: Sequence[LedgerEntry]) -> Summary:
    """Return the counts and rates of section 3.2; the rates follow decisions.md."""
    verdicts = Counter(entry.verdict for entry in entries)
    ranks = Counter(entry.claim.importance for entry in entries)
    material = [entry for entry in entries if entry.claim.is_material]
    return Summary(
        len(entries),
        VerdictCounts(*(verdicts[verdict] for verdict in Verdict)),
        ImportanceCounts(*(ranks[rank] for rank in Importance)),
        _share(material, lambda entry: entry.verdict in BACKED),
        _share(material, lambda entry: entry.verdict is Verdict.NOT_FOUND),
    )


def _share(entries: Sequence[LedgerEntry], counts: Callable[[LedgerEntry], bool]) -> float | None:
    return round_score(_exact_share(entries, counts)) if entries else None


def _exact_share(entries: Sequence[LedgerEntry], counts: Callable[[LedgerEntry], bool]) -> float:
    return sum(map(counts, entries)) / len(entries)


def gate_measures(
    entries: Sequence[LedgerEntry], findings: Iterable[LedgerFinding]
) -> Mapping[str, Measure]:
    """Return what the gates compare with their thresholds: exact values, not rounded ones.

    A contradicted claim counts as unsupported, although `unsupported_rate` of the summary counts
    not_found alone. Otherwise one more contradiction could turn a failing gate into a passing one
    (docs/adr/0008).
    """
    material = [entry for entry in entries if entry.claim.is_material]
    unbacked = [entry for entry in material if entry.verdict not in BACKED]
    critical = [entry for entry in unbacked if entry.claim.importance is Importance.CRITICAL]
    contradicted = [entry for entry in entries if entry.verdict is Verdict.CONTRADICTED]
    firm = [entry for entry in material if entry.verdict is not Verdict.SUPPORTED]
    dangling = [finding for finding in findings if finding.kind in _UNRESOLVED_KINDS]
    cites = dict.fromkeys(each.claim_id for each in dangling if each.claim_id is not None)
    measures = (
        _share_measure(COVERAGE, len(material) - len(unbacked), material, unbacked),
        _share_measure(UNSUPPORTED, len(unbacked), material, unbacked),
        _count_measure(CRITICAL_UNSUPPORTED, len(critical), entries, _ids(critical)),
        _count_measure(CONTRADICTIONS, len(contradicted), entries, _ids(contradicted)),
        _share_measure(SUPPORTED, len(material) - len(firm), material, firm),
        _count_measure(UNRESOLVED_CITATIONS, len(dangling), entries, tuple(cites)),
    )
    return {measure.metric.name: measure for measure in measures}


def _share_measure(
    metric: Metric, count: int, among: Sequence[LedgerEntry], offenders: Iterable[LedgerEntry]
) -> Measure:
    rate = Rate(count, len(among))
    return Measure(metric, rate.value, rate, items=_ids(offenders))


def _count_measure(
    metric: Metric, count: int, entries: Sequence[LedgerEntry], items: tuple[str, ...]
) -> Measure:
    # Without a claim nothing was examined, so a count of 0 would mean nothing.
    return Measure(metric, count if entries else None, items=items)


def _ids(entries: Iterable[LedgerEntry]) -> tuple[str, ...]:
    return tuple(entry.claim.id for entry in entries)


# Make a ledger from claims and readings, and make it again from what it stored.
#
# `adjudicate` binds each reading to its place and then settles the cases; `replay` settles the same
# cases from a finished ledger. Both end in the same function, so a ledger that was changed by hand
# no longer equals its replay. Rules B1 to B4 of docs/ledger.md.


@dataclass(frozen=True, slots=True)
class ClaimEvidence:
    """A claim with all that may decide on it."""

    claim: Claim
    exhibits: tuple[Exhibit, ...]
    citations: tuple[Citation, ...]


@dataclass(frozen=True, slots=True)
class LedgerContext:
    """What a ledger holds beside its cases."""

    remarks: tuple[Claim, ...]
    left_out: tuple[LeftOut, ...]
    findings: tuple[LedgerFinding, ...]
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
    shelf = citation_index(documents, chunks)
    cases = tuple(
        ClaimEvidence(
            claim,
            tuple(locate_reading(reading, shelf) for reading in readings.get(claim.id, ())),
            tuple(resolve_reference(reference, shelf) for reference in claim.cites),
        )
        for claim in split.claims
    )
    rest = LedgerContext(split.remarks, split.left_out, split.findings, tuple(documents))
    return _ledger_from(cases, rest, inquiry, rules)


def replay_ledger(ledger: Ledger) -> Ledger:
    """Return the ledger that the stored claims, readings and rules give: the same, if it is true.

    Not covered: whether the readings are what the judge would say again, and whether the claims
    are those of the answer.
    """
    cases = tuple(
        ClaimEvidence(entry.claim, entry.exhibits, entry.citations) for entry in ledger.entries
    )
    findings = tuple(each for each in ledger.findings if each.kind not in CITATION_KINDS)
    rest = LedgerContext(ledger.remarks, ledger.left_out, findings, ledger.documents)
    return _ledger_from(cases, rest, ledger.inquiry, ledger.rules)


def locate_reading(reading: Reading, shelf: CitationIndex) -> Exhibit:
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
            similarity=_checked_score("similarity", reading.similarity),
            contradiction=_checked_score("contradiction", reading.contradiction),
            directness=_checked_score("directness", reading.directness),
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


def _checked_score(name: str, score: float) -> float:
    if not math.isfinite(score) or not 0 <= score <= 1:
        raise AffidavitError(faults.READING_SCORE, Where(field=name), name=name, score=score)
    return round_score(score)


def _ledger_from(
    cases: Sequence[ClaimEvidence], rest: LedgerContext, inquiry: Inquiry, rules: LedgerRules
) -> Ledger:
    """Decide every case and draw the sum. Pure: the same cases give the same ledger."""
    _require_dates(inquiry, rest.documents)
    documents = {document.id: document for document in rest.documents}
    entries = tuple(decide_claim(case, documents, inquiry.answer_date, rules) for case in cases)
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
        gates=summarise_decision(decide(rules.gates, gate_measures(entries, findings))),
    )
    return replace(ledger, id=content_id("led", jcs(ledger_content(ledger))))


def _require_dates(inquiry: Inquiry, documents: Iterable[Document]) -> None:
    parse_day(inquiry.answer_date)
    for document in documents:
        if document.date is not None:
            parse_day(document.date)


def decide_claim(
    case: ClaimEvidence, documents: Mapping[str, Document], answer_date: str, rules: LedgerRules
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
    assignment: AssignedVerdict,
    documents: Mapping[str, Document],
    answer_date: str,
    rules: LedgerRules,
) -> ConfidenceComponents | None:
    if assignment.verdict not in BACKED:
        return None
    best = documents[assignment.rests_on[0].document_id]
    quality = source_quality(best, answer_date, rules.outdated_after_days)
    return confidence_components(assignment.rests_on, quality)


def _score(assignment: AssignedVerdict, components: ConfidenceComponents | None) -> float:
    if components is not None:
        return confidence(components)
    if assignment.verdict is Verdict.CONTRADICTED:
        return assignment.rests_on[0].reading.contradiction
    return 0.0


def _session_id(
    cases: Iterable[ClaimEvidence],
    inquiry: Inquiry,
    documents: Iterable[Document],
    rules: LedgerRules,
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
