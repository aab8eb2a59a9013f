"""Make a ledger from claims and readings, and replay one from what it stores.

`adjudicate` adds the place to each reading and then decides the claims; `replay_ledger` decides the
same claims from a finished ledger. Both end in the same function, so a ledger that was edited no
longer equals its replay. Rules B1 to B4 of docs/ledger.md.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from msgspec import Struct, structs

from affidavit.base.canonical import jcs
from affidavit.base.digest import content_id, digest_of
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence as faults
from affidavit.base.statistics import Rate
from affidavit.decision.evaluation import DecisionSummary, Measure, decide, summarise_decision
from affidavit.decision.metric import Metric
from affidavit.ledger.citations import (
    CitationIndex,
    citation_findings,
    citation_index,
    resolve_reference,
)
from affidavit.ledger.claims import ClaimOverride, SplitAnswer
from affidavit.ledger.gates import (
    CONTRADICTIONS,
    COVERAGE,
    CRITICAL_UNSUPPORTED,
    MINOR_UNSUPPORTED,
    SUPPORTED,
    UNRESOLVED_CITATIONS,
    UNSUPPORTED,
    WEAK,
)
from affidavit.ledger.model import (
    BACKED,
    DERIVED_KINDS,
    Chunk,
    Claim,
    Document,
    FindingKind,
    Importance,
    JudgeIdentity,
    LedgerFinding,
    LeftOut,
    Reading,
    Verdict,
)
from affidavit.ledger.record import (
    EDITIONS,
    FIRST_SCHEMA,
    SCHEMA,
    ConfidenceComponents,
    ImportanceCounts,
    Ledger,
    LedgerEdition,
    LedgerEntry,
    LedgerSummary,
    LocatedReading,
    Remark,
    VerdictCounts,
    evidence_from_readings,
    ledger_content,
    remark_from_claim,
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

_UNRESOLVED_KINDS: Final = frozenset(
    {FindingKind.UNRESOLVED_CITATION, FindingKind.MALFORMED_CITATION}
)


NOT_JUDGED: Final = "Not judged: the judge does not read the language of the claim ({language})"


class CheckRequest(Struct, frozen=True, kw_only=True):
    """An answer to check, and what is known about it."""

    answer: str
    query: str | None
    title: str
    answer_date: str
    """The day (YYYY-MM-DD) relative to which a source is outdated."""
    generated_at: str
    """RFC 3339, UTC, with Z."""
    overrides: Mapping[str, ClaimOverride] = MappingProxyType({})
    """The user's word on the type or importance of claims, by claim id."""
    numbered_sources: tuple[str, ...] = ()
    """What `[1]`, `[2]` mean where the answer has no reference list."""


class DecidedClaims(NamedTuple):
    """The claims of an answer with their verdicts, and what the gates make of them."""

    entries: tuple[LedgerEntry, ...]
    findings: tuple[LedgerFinding, ...]
    gates: DecisionSummary


def adjudicate(
    split: SplitAnswer,
    readings: Mapping[str, Sequence[Reading]],
    *,
    chunks: Iterable[Chunk],
    documents: Sequence[Document],
    request: CheckRequest,
    judge: JudgeIdentity,
    rules: LedgerRules = DEFAULT_RULES,
    unread: Collection[str] = (),
) -> Ledger:
    """Return the ledger of an answer.

    `readings` are by claim id; a claim without readings is not_found. `unread` are the ids of
    claims in a language that the judge does not read. `chunks` are at least those that were read
    and those that the answer cites; `documents` are all sources.
    """
    return _decided_ledger(
        _undecided_entries(split.claims, readings, citation_index(documents, chunks), unread),
        request=request,
        judge=judge,
        rules=rules,
        documents=tuple(documents),
        remarks=tuple(map(remark_from_claim, split.remarks)),
        left_out=split.left_out,
        findings=split.findings,
    )


def decide_claims(
    split: SplitAnswer,
    readings: Mapping[str, Sequence[Reading]],
    *,
    chunks: Iterable[Chunk],
    documents: Sequence[Document],
    answer_date: str,
    rules: LedgerRules = DEFAULT_RULES,
    unread: Collection[str] = (),
) -> DecidedClaims:
    """Return the entries and the decision that `adjudicate` would give, without the ledger.

    A ledger also sums up, advises and names itself, which costs more than the verdicts of an answer
    whose claims were read before.
    """
    undecided = _undecided_entries(
        split.claims, readings, citation_index(documents, chunks), unread
    )
    return _decided_claims(undecided, documents, answer_date, rules, split.findings)


def _undecided_entries(
    claims: Collection[Claim],
    readings: Mapping[str, Sequence[Reading]],
    index: CitationIndex,
    unread: Collection[str],
) -> list[LedgerEntry]:
    known = {claim.id for claim in claims}
    for name in readings:
        if name not in known:
            raise AffidavitError(faults.READING_UNKNOWN, what="the claim", name=name)
    return [
        structs.replace(
            undecided_entry(claim, readings.get(claim.id, ()), index),
            unread_language=claim.language if claim.id in unread else "",
        )
        for claim in claims
    ]


def _decided_claims(
    undecided: Iterable[LedgerEntry],
    documents: Iterable[Document],
    answer_date: str,
    rules: LedgerRules,
    findings: Iterable[LedgerFinding],
) -> DecidedClaims:
    by_id = {document.id: document for document in documents}
    entries = tuple(decide_entry(entry, by_id, answer_date, rules) for entry in undecided)
    every = (*findings, *language_findings(entries), *citation_findings(entries))
    gates = summarise_decision(decide(rules.active_gates, gate_measures(entries, every)))
    return DecidedClaims(entries, every, gates)


def replay_ledger(ledger: Ledger) -> Ledger:
    """Return the ledger that the stored claims, readings and rules give: the same, if it is true.

    Not covered: whether the judge would give the same readings again, and whether the claims are
    those of the answer.
    """
    return _decided_ledger(
        ledger.entries,
        request=CheckRequest(
            answer=ledger.answer,
            query=ledger.query,
            title=ledger.title,
            answer_date=ledger.answer_date,
            generated_at=ledger.generated_at,
        ),
        judge=ledger.judge,
        rules=ledger.rules,
        documents=ledger.documents,
        remarks=ledger.remarks,
        left_out=ledger.left_out,
        findings=tuple(each for each in ledger.findings if each.kind not in DERIVED_KINDS),
        schema=ledger.schema_version,
    )


def find_ledger_problem(ledger: Ledger) -> str | None:
    """Return what of a stored ledger does not follow from its claims, readings and rules, or None.

    Another version may have worded notes, risks, questions and reasons differently, and that proves
    nothing: the id of the ledger covers the words as they were written.
    """
    replayed = replay_ledger(ledger)
    if replayed == ledger:
        return None
    if _without_words(replayed) != _without_words(ledger):
        return "its verdicts, figures or decision do not follow from its readings and rules"
    if ledger.ledger_id != _content_id(ledger):
        return "its id is of another text, so its words or its id were changed"
    return None


def _without_words(ledger: Ledger) -> Ledger:
    """Return what a ledger states, without the words for it."""
    results = (structs.replace(each, reason="") for each in ledger.gates.results)
    return structs.replace(
        ledger,
        ledger_id="",
        entries=tuple(structs.replace(each, notes="") for each in ledger.entries),
        risk_flags=tuple(
            structs.replace(each, description="", mitigation="") for each in ledger.risk_flags
        ),
        follow_up_questions=(),
        recommended_actions=(),
        gates=structs.replace(ledger.gates, results=tuple(results)),
        findings=tuple(structs.replace(each, message="") for each in ledger.findings),
    )


def _content_id(ledger: Ledger) -> str:
    return content_id("led", jcs(ledger_content(ledger)))


def undecided_entry(claim: Claim, readings: Iterable[Reading], index: CitationIndex) -> LedgerEntry:
    """Return a claim with its readings and citations, before its verdict."""
    return LedgerEntry(
        claim_id=claim.id,
        claim_text=claim.text,
        claim_type=claim.type,
        importance=claim.importance,
        verdict=Verdict.NOT_FOUND,
        confidence_score=0.0,
        evidence=evidence_from_readings(()),
        notes="",
        claim_span=claim.span,
        cites=claim.cites,
        citations=tuple(resolve_reference(reference, index) for reference in claim.cites),
        confidence_components=None,
        rests_on=(),
        readings=tuple(_located_reading(reading, index) for reading in readings),
        claim_read_as=claim.read_as,
        sentence_span=claim.sentence,
    )


def _located_reading(reading: Reading, index: CitationIndex) -> LocatedReading:
    chunk = index.by_id.get(reading.chunk_id)
    if chunk is None:
        raise AffidavitError(faults.READING_UNKNOWN, what="the chunk", name=reading.chunk_id)
    document = index.documents.get(chunk.document_id)
    if document is None:
        raise AffidavitError(faults.READING_UNKNOWN, what="the document", name=chunk.document_id)
    return locate_reading(reading, chunk, document.filename)


def locate_reading(reading: Reading, chunk: Chunk, filename: str) -> LocatedReading:
    """Return a reading with its place, and its scores rounded as they are stored and compared."""
    located = LocatedReading(
        chunk_id=chunk.id,
        chunk_hash=chunk.hash,
        document_id=chunk.document_id,
        filename=filename,
        page_number=reading.page_number or chunk.page_number,
        heading_path=chunk.heading_path,
        chunk_span=chunk.span,
        support_level=reading.support_level,
        contradicts=reading.contradicts,
        similarity=_checked_score("similarity", reading.similarity),
        contradiction=_checked_score("contradiction", reading.contradiction),
        directness=_checked_score("directness", reading.directness),
        snippet=reading.snippet,
        snippet_span=reading.snippet_span,
        notes=reading.notes,
        # Logarithms may differ in the last bit between machines, and the ledger must not.
        scores={name: round_score(score) for name, score in sorted(reading.scores)},
        passage=chunk.text,
    )
    matters = located.supports or located.contradicts
    return located if matters else structs.replace(located, passage=None)


def _checked_score(name: str, score: float) -> float:
    if not math.isfinite(score) or not 0 <= score <= 1:
        raise AffidavitError(faults.READING_SCORE, Where(field=name), name=name, score=score)
    return round_score(score)


def _decided_ledger(
    undecided: Iterable[LedgerEntry],
    *,
    request: CheckRequest,
    judge: JudgeIdentity,
    rules: LedgerRules,
    documents: tuple[Document, ...],
    remarks: tuple[Remark, ...],
    left_out: tuple[LeftOut, ...],
    findings: tuple[LedgerFinding, ...],
    schema: str = SCHEMA,
) -> Ledger:
    """Decide every claim and sum up. Pure: the same readings give the same ledger.

    A stored ledger is decided by the definitions of its own `schema` version.
    """
    edition = EDITIONS[schema]
    parse_day(request.answer_date)
    for document in documents:
        if document.date is not None:
            parse_day(document.date)
    entries, every_finding, gates = _decided_claims(
        undecided, documents, request.answer_date, rules, findings
    )
    flags = risk_flags(entries, documents, request.answer_date, rules, edition=edition)
    ledger = Ledger(
        ledger_id="",
        session_id=_session_id(
            entries, request=request, judge=judge, documents=documents, rules=rules, schema=schema
        ),
        generated_at=request.generated_at,
        summary=summarise(entries, edition),
        entries=entries,
        risk_flags=flags,
        schema_version=schema,
        follow_up_questions=follow_up_questions(entries, rules),
        recommended_actions=recommended_actions(entries, flags),
        gates=gates,
        findings=every_finding,
        title=request.title,
        query=request.query,
        answer=request.answer,
        answer_digest=digest_of(request.answer.encode("utf-8", "surrogatepass")),
        answer_date=request.answer_date,
        judge=judge,
        rules_digest=rules_digest(rules),
        rules=rules,
        documents=documents,
        remarks=remarks,
        left_out=left_out,
    )
    return structs.replace(ledger, ledger_id=_content_id(ledger))


def decide_entry(
    entry: LedgerEntry, documents: Mapping[str, Document], answer_date: str, rules: LedgerRules
) -> LedgerEntry:
    """Return a claim with its verdict. Pure: the same readings give the same verdict."""
    if entry.unread_language:
        return structs.replace(entry, notes=NOT_JUDGED.format(language=entry.unread_language))
    assigned = assign_verdict(entry.readings, rules.verdict)
    components = None
    if assigned.verdict in BACKED:
        best = documents[assigned.rests_on[0].document_id]
        quality = source_quality(best, answer_date, rules.risk.outdated_after_days)
        components = confidence_components(assigned.rests_on, quality)
    return structs.replace(
        entry,
        verdict=assigned.verdict,
        confidence_score=_score(assigned, components),
        evidence=evidence_from_readings(assigned.rests_on),
        notes=assigned.notes,
        confidence_components=components,
        rests_on=tuple(reading.chunk_id for reading in assigned.rests_on),
    )


def _score(assigned: AssignedVerdict, components: ConfidenceComponents | None) -> float:
    """Return the judge's own confidence if its probabilities were measured, or else the formula."""
    if components is not None:
        measured = dict(assigned.rests_on[0].scores).get("confidence")
        return confidence(components) if measured is None else measured
    if assigned.verdict is Verdict.CONTRADICTED:
        return assigned.rests_on[0].contradiction
    return 0.0


def _session_id(
    entries: Iterable[LedgerEntry],
    *,
    request: CheckRequest,
    judge: JudgeIdentity,
    documents: Iterable[Document],
    rules: LedgerRules,
    schema: str,
) -> str:
    """Name the check: the same answer, sources, judge, rules and day are the same session."""
    content: dict[str, object] = {
        "answer": request.answer,
        "query": request.query,
        "day": request.answer_date,
        "sources": sorted(document.digest for document in documents),
        "judge": judge.digest,
        "rules": rules_digest(rules),
        "claims": [[entry.claim_type, entry.importance] for entry in entries],
    }
    if schema != FIRST_SCHEMA:
        content["schema"] = schema
    return content_id("ses", jcs(content))


def language_findings(entries: Iterable[LedgerEntry]) -> tuple[LedgerFinding, ...]:
    """Return a finding for every claim that was not judged."""
    return tuple(
        LedgerFinding(
            FindingKind.UNREAD_LANGUAGE,
            NOT_JUDGED.format(language=entry.unread_language),
            entry.claim_id,
            entry.claim_span,
        )
        for entry in entries
        if entry.unread_language
    )


# The summary, and what the gates measure: rules U1 to U3 and G3 of docs/ledger.md.


def summarise(
    entries: Sequence[LedgerEntry], edition: LedgerEdition = EDITIONS[SCHEMA]
) -> LedgerSummary:
    """Return the counts and rates of section 3.2.

    Origin of the rates: decisions.md, and docs/adr/0020 for what counts as unsupported.
    """
    verdicts = Counter(entry.verdict for entry in entries)
    ranks = Counter(entry.importance for entry in entries)
    material = [entry for entry in entries if entry.is_material and not entry.unread_language]
    return LedgerSummary(
        total_claims=len(entries),
        by_verdict=VerdictCounts(*(verdicts[verdict] for verdict in Verdict)),
        by_importance=ImportanceCounts(*(ranks[rank] for rank in Importance)),
        evidence_coverage=_share(material, lambda entry: entry.verdict in BACKED),
        unsupported_rate=_share(material, lambda entry: entry.verdict in edition.unsupported),
    )


def _share(entries: Sequence[LedgerEntry], counts: Callable[[LedgerEntry], bool]) -> float | None:
    return round_score(sum(map(counts, entries)) / len(entries)) if entries else None


def gate_measures(
    entries: Sequence[LedgerEntry], findings: Iterable[LedgerFinding]
) -> Mapping[str, Measure]:
    """Return what the gates compare with their thresholds: exact values, not rounded ones.

    A claim of any importance counts in some gate, whatever its verdict. A contradicted claim counts
    as unsupported, and an unsupported one as weak: otherwise one more contradiction could turn a
    failing gate into a passing one (docs/adr/0008). A claim that was not judged is not measured: it
    leaves every gate open that it could turn.
    """
    not_judged = sum(bool(entry.unread_language) for entry in entries)
    entries = [entry for entry in entries if not entry.unread_language]
    material = [entry for entry in entries if entry.is_material]
    minor = [entry for entry in entries if not entry.is_material]
    unbacked = [entry for entry in material if entry.is_unsupported]
    minor_unbacked = [entry for entry in minor if entry.is_unsupported]
    weak = [entry for entry in entries if entry.verdict is not Verdict.SUPPORTED]
    critical = [entry for entry in unbacked if entry.importance is Importance.CRITICAL]
    contradicted = [entry for entry in entries if entry.verdict is Verdict.CONTRADICTED]
    material_weak = [entry for entry in weak if entry.is_material]
    dangling = [finding for finding in findings if finding.kind in _UNRESOLVED_KINDS]
    cites = dict.fromkeys(each.claim_id for each in dangling if each.claim_id is not None)
    measures = (
        _share_measure(COVERAGE, len(material) - len(unbacked), material, unbacked),
        _share_measure(UNSUPPORTED, len(unbacked), material, unbacked),
        _share_measure(MINOR_UNSUPPORTED, len(minor_unbacked), minor, minor_unbacked),
        _share_measure(WEAK, len(weak), entries, weak),
        _count_measure(CRITICAL_UNSUPPORTED, len(critical), entries, _ids(critical)),
        _count_measure(CONTRADICTIONS, len(contradicted), entries, _ids(contradicted)),
        _share_measure(SUPPORTED, len(material) - len(material_weak), material, material_weak),
        _count_measure(UNRESOLVED_CITATIONS, len(dangling), entries, tuple(cites)),
    )
    return {
        measure.metric.name: structs.replace(
            measure, not_measured=not_judged, still_open=not_judged
        )
        for measure in measures
    }


def _share_measure(
    metric: Metric, count: int, among: Sequence[LedgerEntry], offenders: Iterable[LedgerEntry]
) -> Measure:
    rate = Rate(count, len(among))
    return Measure(metric=metric, value=rate.value, rate=rate, items=_ids(offenders))


def _count_measure(
    metric: Metric, count: int, entries: Sequence[LedgerEntry], items: tuple[str, ...]
) -> Measure:
    # Without a claim nothing was examined, so a count of 0 would mean nothing.
    return Measure(metric=metric, value=count if entries else None, items=items)


def _ids(entries: Iterable[LedgerEntry]) -> tuple[str, ...]:
    return tuple(entry.claim_id for entry in entries)
