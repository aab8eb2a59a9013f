"""Ledgers, sessions, batches and citations as text for people."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from heapq import nsmallest
from typing import Final

from msgspec import Struct

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults
from affidavit.decision.decision import Decision, GateStatus
from affidavit.ledger.citations import CitationResolution
from affidavit.ledger.labels import VERDICT_NAMES, full_place, short_place
from affidavit.ledger.model import FindingKind, Verdict
from affidavit.ledger.record import ClaimOrder, Ledger, LedgerEntry
from affidavit.reports import ledger_wording as words
from affidavit.reports.text_tables import Cell, TextPanel, TextPart, Tone, text_table

_VERDICT_TONES: Final = {
    Verdict.SUPPORTED: Tone.GOOD,
    Verdict.WEAK: Tone.UNSURE,
    Verdict.CONTRADICTED: Tone.BAD,
    Verdict.NOT_FOUND: Tone.ABSENT,
}
_STATUS_TONES: Final = {
    GateStatus.PASSED: Tone.GOOD,
    GateStatus.FAILED: Tone.BAD,
    GateStatus.OPEN: Tone.UNSURE,
    GateStatus.EMPTY: Tone.ABSENT,
}
_DECISION_TONES: Final = {
    Decision.SHIP: Tone.GOOD,
    Decision.NO_SHIP: Tone.BAD,
    Decision.INCONCLUSIVE: Tone.UNSURE,
}


# One ledger: the table of section 8.1, and the expanded view of section 8.2.


def ledger_text(
    ledger: Ledger, expand: Sequence[int] = (), order: ClaimOrder = "review"
) -> Iterator[TextPart]:
    """Yield the claims, the gates, the decision, and the details of the numbered claims."""
    claims = ledger.claims_in(order)
    yield text_table(
        ("#", "Claim", "Type", "Verdict", "Source"),
        (_claim_row(number, entry) for number, entry in claims),
        boxed=True,
    )
    if claims != ledger.claims_in("answer"):
        yield "Claims to review come first; --order answer lists them as in the answer"
    yield from _summary_lines(ledger)
    yield ""
    yield text_table(
        ("Gate", "Wanted", "Measured", "Result"),
        (
            (
                row.description,
                row.wanted,
                row.measured,
                Cell(row.result, _STATUS_TONES[row.status]),
            )
            for row in words.gate_rows(ledger)
        ),
    )
    for flag in ledger.risk_flags:
        text = f"{words.title_case(flag.type)} ({flag.severity}): {flag.description}"
        yield f"! {text} [{', '.join(flag.affected_claims)}]"
    yield from (f"* {finding.message}" for finding in ledger.findings)
    yield decision_line(ledger)
    for number in expand:
        entry = ledger.entries[number - 1]
        yield TextPanel(f"Claim #{number}: {entry.shown_text}", "\n".join(_claim_details(entry)))


def decision_line(ledger: Ledger) -> str:
    """Return the decision in one line, with its reasons."""
    reasons = "; ".join(ledger.gates.reasons or (() if ledger.gates.results else ("no gate",)))
    decision = f"Decision: {words.LEDGER_DECISION_NAMES[ledger.gates.decision].lower()}"
    return f"{decision} ({reasons})" if reasons else decision


def require_claim_numbers(ledger: Ledger, numbers: Iterable[int]) -> None:
    """Refuse the number of a claim that the ledger does not have."""
    for number in numbers:
        if not 1 <= number <= len(ledger.entries):
            raise AffidavitError(faults.SESSION_ENTRY, number=number, count=len(ledger.entries))


def _claim_row(number: int, entry: LedgerEntry) -> tuple[Cell | str, ...]:
    source = short_place(entry.deciding_readings[0]) if entry.rests_on else "-"
    if entry.verdict is Verdict.WEAK:
        source = f"{source} (partial match)"
    verdict = Cell(VERDICT_NAMES[entry.verdict], _VERDICT_TONES[entry.verdict])
    return str(number), entry.shown_text, words.title_case(entry.claim_type), verdict, source


def _summary_lines(ledger: Ledger) -> Iterator[str]:
    counts = ledger.summary.by_verdict
    unsupported = words.unsupported_shares(ledger)
    minor = f" (minor claims {unsupported.minor})" if ledger.summary.by_importance.minor else ""
    yield (
        f"Evidence coverage {words.format_percent(ledger.summary.evidence_coverage)},"
        f" unsupported {unsupported.material}{minor}:"
        f" {counts.supported} supported, {counts.weak} weak,"
        f" {counts.contradicted} contradicted, {counts.not_found} not found"
    )
    if ledger.remarks:
        yield f"{len(ledger.remarks)} sentences assert nothing about the sources and were set aside"
    if not ledger.judge.rederivable:
        yield f"Judge: {ledger.judge}"


def _claim_details(entry: LedgerEntry) -> Iterator[str]:
    verdict = VERDICT_NAMES[entry.verdict].upper()
    yield f"Verdict: {verdict} (Confidence: {words.format_percent(entry.confidence_score)})"
    best = entry.deciding_readings[0] if entry.rests_on else None
    if best is not None:
        yield from ("", "Evidence Snippet:", f'  "{best.snippet}"', f"  — {full_place(best)}")
    yield from ("", "Judge's Notes:", f"  {entry.notes}")
    if best is not None:
        yield from ("", f"Citation: [cite:{best.chunk_hash}]")


# Many ledgers: the sessions of a project, and the results of a batch.


def sessions_text(ledgers: Iterable[Ledger], damaged: Iterable[str]) -> Iterator[TextPart]:
    """Yield a row per session, and the problems of damaged ones."""
    yield text_table(
        ("Session", "Generated", "Title", "Claims", "Coverage", "Decision"),
        (
            (
                ledger.session_id,
                ledger.generated_at,
                ledger.title,
                str(ledger.summary.total_claims),
                words.format_percent(ledger.summary.evidence_coverage),
                _decision_cell(ledger.gates.decision),
            )
            for ledger in ledgers
        ),
    )
    yield from damaged


def sessions_as_json(ledgers: Iterable[Ledger], damaged: Sequence[str]) -> dict[str, object]:
    """Return the sessions of a project for machines."""
    sessions = [
        {
            "session_id": ledger.session_id,
            "ledger_id": ledger.ledger_id,
            "generated_at": ledger.generated_at,
            "title": ledger.title,
            "total_claims": ledger.summary.total_claims,
            "evidence_coverage": ledger.summary.evidence_coverage,
            "decision": ledger.gates.decision,
        }
        for ledger in ledgers
    ]
    return {"sessions": sessions, "damaged": damaged}


_BATCH_COLUMNS: Final = (
    *("Answer", "Decision", "Coverage", "Claims", "Supported", "Weak", "Contr.", "Not found"),
)
_MOST_ANSWERS: Final = 200
"""How many answers of a batch are listed; of more, only the worst."""
_MOST_WORST: Final = 20


class BatchOutcome(Struct, frozen=True, kw_only=True):
    """The result of one answer of a batch. `error` is set where it has no ledger."""

    id: str
    key: str
    """Names everything that determines the result: the answer, sources, judge and rules."""
    decision: Decision
    session_id: str | None = None
    ledger_id: str | None = None
    total_claims: int | None = None
    supported: int | None = None
    weak: int | None = None
    contradicted: int | None = None
    not_found: int | None = None
    evidence_coverage: float | None = None
    unsupported_rate: float | None = None
    findings: tuple[str, ...] = ()
    source_findings: tuple[str, ...] = ()
    """The findings about sources, which answers with the same sources share."""
    risks: dict[str, int] = {}
    """How many risk flags of each type the ledger has."""
    error: str | None = None


class BatchSummary(Struct, frozen=True, kw_only=True):
    """All answers of a batch in numbers, and the worst of them."""

    answers: int
    ship: int
    no_ship: int
    inconclusive: int
    errors: int
    skipped: int
    """Lines that are not rows."""
    claims: int
    supported: int
    weak: int
    contradicted: int
    not_found: int
    risks: dict[str, int]
    worst: tuple[str, ...]
    """The ids of the answers to look at first."""
    source_findings: tuple[str, ...]


def summarise_batch(outcomes: Sequence[BatchOutcome], skipped: int = 0) -> BatchSummary:
    """Return the totals of a batch. The order of the answers does not matter."""
    decisions = Counter(outcome.decision for outcome in outcomes)
    risks: Counter[str] = Counter()
    for outcome in outcomes:
        risks.update(outcome.risks)
    against = [outcome for outcome in outcomes if outcome.decision is not Decision.SHIP]
    findings = {text for outcome in outcomes for text in outcome.source_findings}
    return BatchSummary(
        answers=len(outcomes),
        ship=decisions[Decision.SHIP],
        no_ship=decisions[Decision.NO_SHIP],
        inconclusive=decisions[Decision.INCONCLUSIVE],
        errors=sum(outcome.error is not None for outcome in outcomes),
        skipped=skipped,
        claims=sum(outcome.total_claims or 0 for outcome in outcomes),
        supported=sum(outcome.supported or 0 for outcome in outcomes),
        weak=sum(outcome.weak or 0 for outcome in outcomes),
        contradicted=sum(outcome.contradicted or 0 for outcome in outcomes),
        not_found=sum(outcome.not_found or 0 for outcome in outcomes),
        risks=dict(sorted(risks.items())),
        worst=tuple(outcome.id for outcome in nsmallest(_MOST_WORST, against, key=_worst_first)),
        source_findings=tuple(sorted(findings)),
    )


def _worst_first(outcome: BatchOutcome) -> tuple[int, int, int, str]:
    return (
        -(outcome.contradicted or 0),
        -(outcome.not_found or 0),
        -(outcome.weak or 0),
        outcome.id,
    )


def batch_outcome(row_id: str, key: str, ledger: Ledger) -> BatchOutcome:
    """Return the line of a ledger in the results of a batch."""
    summary = ledger.summary
    return BatchOutcome(
        id=row_id,
        key=key,
        decision=ledger.gates.decision,
        session_id=ledger.session_id,
        ledger_id=ledger.ledger_id,
        total_claims=summary.total_claims,
        supported=summary.by_verdict.supported,
        weak=summary.by_verdict.weak,
        contradicted=summary.by_verdict.contradicted,
        not_found=summary.by_verdict.not_found,
        evidence_coverage=summary.evidence_coverage,
        unsupported_rate=summary.unsupported_rate,
        findings=tuple(
            finding.message for finding in ledger.findings if finding.kind is not FindingKind.SOURCE
        ),
        source_findings=tuple(
            finding.message for finding in ledger.findings if finding.kind is FindingKind.SOURCE
        ),
        risks=dict(sorted(Counter(flag.type.value for flag in ledger.risk_flags).items())),
    )


def batch_text(outcomes: Sequence[BatchOutcome], summary: BatchSummary) -> Iterator[TextPart]:
    """Yield a row per answer, then errors, findings and totals; of many answers only the worst."""
    shown: Sequence[BatchOutcome] = outcomes
    if len(outcomes) > _MOST_ANSWERS:
        by_id = {outcome.id: outcome for outcome in outcomes}
        shown = [by_id[name] for name in summary.worst]
    if shown:
        yield text_table(_BATCH_COLUMNS, map(_batch_row, shown))
    for outcome in shown:
        errors = () if outcome.error is None else (outcome.error,)
        yield from (f"{outcome.id}: {text}" for text in (*errors, *outcome.findings))
    yield from summary.source_findings
    yield (
        f"{summary.answers} answers: {summary.ship} ship, {summary.no_ship} do not ship,"
        f" {summary.inconclusive} could not be told ({summary.errors} with an error)"
    )
    yield (
        f"{summary.claims} claims: {summary.supported} supported, {summary.weak} weak,"
        f" {summary.contradicted} contradicted, {summary.not_found} not found"
    )
    if summary.risks:
        flags = ", ".join(f"{count} {name}" for name, count in summary.risks.items())
        yield f"Risk flags: {flags.replace('_', ' ')}"
    if summary.skipped:
        yield f"Lines that are not rows and were skipped: {summary.skipped}"


def _batch_row(outcome: BatchOutcome) -> tuple[Cell | str, ...]:
    counts = (
        outcome.total_claims,
        outcome.supported,
        outcome.weak,
        outcome.contradicted,
        outcome.not_found,
    )
    return (
        outcome.id,
        _decision_cell(outcome.decision),
        words.format_percent(outcome.evidence_coverage),
        *("–" if count is None else str(count) for count in counts),
    )


def _decision_cell(decision: Decision) -> Cell:
    return Cell(words.LEDGER_DECISION_NAMES[decision], _DECISION_TONES[decision])


def citation_text(resolution: CitationResolution) -> Iterator[TextPart]:
    """Yield the passages that a hash names, or why there is none."""
    for passage in resolution.passages:
        chunk = passage.chunk
        page = "" if chunk.page_number is None else f", Page {chunk.page_number}"
        path = " > ".join(chunk.heading_path)
        title = f"{passage.document.filename}{page}" + (f", {path}" if path else "")
        yield TextPanel(title, chunk.text)
    if resolution.error is not None:
        yield f"[cite:{resolution.chunk_hash}]: {resolution.error}"
