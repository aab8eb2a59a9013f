"""A ledger on the terminal: the table of section 8.1 and the expanded view of section 8.2."""

from collections.abc import Iterator
from typing import Final

from affidavit.base.decision import Decision, GateStatus
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import check as faults
from affidavit.cli.tables import Cell, Tone
from affidavit.cli.terminal import Terminal
from affidavit.formats import ledger_words as words
from affidavit.ledger.model import Verdict
from affidavit.ledger.places import VERDICT_NAMES, full_place, short_place
from affidavit.ledger.record import Ledger, LedgerEntry

VERDICT_TONES: Final = {
    Verdict.SUPPORTED: Tone.GOOD,
    Verdict.WEAK: Tone.UNSURE,
    Verdict.CONTRADICTED: Tone.BAD,
    Verdict.NOT_FOUND: Tone.ABSENT,
}
STATUS_TONES: Final = {
    GateStatus.PASSED: Tone.GOOD,
    GateStatus.FAILED: Tone.BAD,
    GateStatus.OPEN: Tone.UNSURE,
}
DECISION_TONES: Final = {
    Decision.SHIP: Tone.GOOD,
    Decision.NO_SHIP: Tone.BAD,
    Decision.INCONCLUSIVE: Tone.UNSURE,
}


def show_ledger(terminal: Terminal, ledger: Ledger) -> None:
    """Print the claims, the gates and the decision."""
    terminal.table(
        ("#", "Claim", "Type", "Verdict", "Source"),
        (_row(number, entry) for number, entry in enumerate(ledger.entries, start=1)),
        boxed=True,
    )
    for line in _summary(ledger):
        terminal.print(line)
    terminal.print("")
    terminal.table(
        ("Gate", "Wanted", "Measured", "Result"),
        (
            (
                words.METRICS[result.gate.metric],
                words.wanted(result.gate),
                words.figure(result.gate.metric, result.value),
                Cell(words.STATUSES[result.status], STATUS_TONES[result.status]),
            )
            for result in ledger.gates.results
        ),
    )
    for flag in ledger.risk_flags:
        text = f"{words.title_case(flag.type)} ({flag.severity}): {flag.description}"
        terminal.print(f"! {text} [{', '.join(flag.affected_claims)}]")
    for finding in ledger.findings:
        terminal.print(f"* {finding.message}")
    terminal.print(decision_line(ledger))


def decision_line(ledger: Ledger) -> str:
    """Return the decision in one line, with its reasons."""
    reasons = "; ".join(ledger.gates.reasons or (() if ledger.gates.results else ("no gate",)))
    said = f"Decision: {words.DECISIONS[ledger.gates.decision].lower()}"
    return f"{said} ({reasons})" if reasons else said


def require_entries(ledger: Ledger, numbers: tuple[int, ...]) -> None:
    """Refuse a number of a claim that the table does not have, before anything is written."""
    for number in numbers:
        if not 1 <= number <= len(ledger.entries):
            raise AffidavitError(faults.SESSION_ENTRY, number=number, count=len(ledger.entries))


def show_entry(terminal: Terminal, ledger: Ledger, number: int) -> None:
    """Print the expanded view of one claim."""
    entry = ledger.entries[number - 1]
    terminal.panel(f"Claim #{number}: {entry.claim.text}", "\n".join(_expanded(entry)))


def _row(number: int, entry: LedgerEntry) -> tuple[Cell | str, ...]:
    best = entry.evidence[0] if entry.evidence else None
    source = short_place(best) if best else "-"
    if entry.verdict is Verdict.WEAK:
        source = f"{source} (partial match)"
    verdict = Cell(VERDICT_NAMES[entry.verdict], VERDICT_TONES[entry.verdict])
    return str(number), entry.claim.text, words.title_case(entry.claim.type), verdict, source


def _summary(ledger: Ledger) -> Iterator[str]:
    counts = ledger.summary.by_verdict
    yield (
        f"Evidence coverage {words.percent(ledger.summary.evidence_coverage)},"
        f" nothing found for {words.percent(ledger.summary.unsupported_rate)}:"
        f" {counts.supported} supported, {counts.weak} weak,"
        f" {counts.contradicted} contradicted, {counts.not_found} not found"
    )
    if ledger.remarks:
        yield f"{len(ledger.remarks)} sentences assert nothing about the sources and were set aside"
    if not ledger.inquiry.judge.rederivable:
        yield f"Judge: {ledger.inquiry.judge}"


def _expanded(entry: LedgerEntry) -> Iterator[str]:
    verdict = VERDICT_NAMES[entry.verdict].upper()
    yield f"Verdict: {verdict} (Confidence: {words.percent(entry.confidence_score)})"
    best = entry.evidence[0] if entry.evidence else None
    if best is not None:
        yield ""
        yield "Evidence Snippet:"
        yield f'  "{best.reading.snippet}"'
        yield f"  — {full_place(best)}"
    yield ""
    yield "Judge's Notes:"
    yield f"  {entry.notes}"
    if best is not None:
        yield ""
        yield f"Citation: [cite:{best.chunk_hash}]"
