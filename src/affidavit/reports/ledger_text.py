"""Ledgers, sessions, batches and citations as text for people."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults
from affidavit.decision.decision import Decision, GateStatus
from affidavit.ledger.citations import CitationResolution
from affidavit.ledger.labels import VERDICT_NAMES, full_place, short_place
from affidavit.ledger.model import Verdict
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
    error: str | None = None


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
        findings=tuple(finding.message for finding in ledger.findings),
    )


def batch_text(outcomes: Sequence[BatchOutcome]) -> Iterator[TextPart]:
    """Yield a row per answer, then the errors and findings."""
    yield text_table(
        ("Answer", "Decision", "Coverage", "Claims", "Supported", "Weak", "Contr.", "Not found"),
        (
            (
                outcome.id,
                _decision_cell(outcome.decision),
                words.format_percent(outcome.evidence_coverage),
                *(
                    "–" if count is None else str(count)
                    for count in (
                        outcome.total_claims,
                        outcome.supported,
                        outcome.weak,
                        outcome.contradicted,
                        outcome.not_found,
                    )
                ),
            )
            for outcome in outcomes
        ),
    )
    for outcome in outcomes:
        errors = () if outcome.error is None else (outcome.error,)
        yield from (f"{outcome.id}: {text}" for text in (*errors, *outcome.findings))


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
