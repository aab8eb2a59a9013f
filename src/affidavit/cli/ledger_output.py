"""Print a ledger on the terminal or write it in the format that the options choose."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults
from affidavit.base.files import write_atomically
from affidavit.cli.command_classes import reject_options
from affidavit.cli.terminal import Terminal
from affidavit.decision.decision import Decision, GateStatus
from affidavit.ledger.labels import VERDICT_NAMES, full_place, short_place
from affidavit.ledger.model import Verdict
from affidavit.ledger.record import Ledger, LedgerEntry
from affidavit.reports import ledger_wording as words
from affidavit.reports.formats import find_format, format_names, formats_of, render
from affidavit.reports.text_tables import Cell, Tone

# Writing a ledger in the format that the user asked for.

format_option = click.option(
    "--format",
    "chosen",
    type=click.Choice(("table", *format_names("ledger"))),
    help="What to write.",
)
output_option = click.option(
    "--output", "-o", type=click.Path(path_type=Path), help="Where to write it; by its ending."
)
expand_option = click.option(
    "--expand", multiple=True, type=int, help="Show claim N with its evidence."
)


def format_for(chosen: str | None, output: Path | None) -> str:
    """Return the format that was asked for, or the one that the output's name implies."""
    if chosen is not None:
        return chosen
    if output is None:
        return "table"
    implied = find_format("ledger", output)
    if implied is None:
        endings = ", ".join(suffix for each in formats_of("ledger") for suffix in each.suffixes)
        raise click.UsageError(f"{output} has no ending of {endings}; choose a --format")
    return implied.name


def reject_unused_options(terminal: Terminal, chosen: str | None, output: Path | None) -> None:
    """Refuse what would not be printed: another format beside JSON, claims where no table is."""
    if terminal.json and output is None and chosen != "json":
        reject_options("and --json both say what to print", "chosen")
    if terminal.json or (output is None and format_for(chosen, output) != "table"):
        reject_options("is for the table, which is not printed", "expand")


def export_ledger(
    terminal: Terminal,
    ledger: Ledger,
    chosen: str | None,
    output: Path | None,
    expand: tuple[int, ...] = (),
) -> None:
    """Write the ledger to a file or print it; with a file, people still get the table."""
    require_claim_numbers(ledger, expand)
    kind = format_for(chosen, output)
    if kind == "table" and output is not None:
        raise click.UsageError("a table goes to the terminal; choose another --format for a file")
    if output is not None:
        write_atomically(output, render("ledger", kind, ledger))
        terminal.note(f"wrote {output}")
    if terminal.json or (output is None and kind != "table"):
        for piece in render("ledger", "json" if terminal.json else kind, ledger):
            click.echo(piece, nl=False)
    else:
        print_ledger(terminal, ledger)
        for number in expand:
            print_claim(terminal, ledger, number)


# A ledger on the terminal: the table of section 8.1 and the expanded view of section 8.2.

VERDICT_TONES: Final = {
    Verdict.SUPPORTED: Tone.GOOD,
    Verdict.WEAK: Tone.UNSURE,
    Verdict.CONTRADICTED: Tone.BAD,
    Verdict.NOT_FOUND: Tone.ABSENT,
}
GATE_STATUS_TONES: Final = {
    GateStatus.PASSED: Tone.GOOD,
    GateStatus.FAILED: Tone.BAD,
    GateStatus.OPEN: Tone.UNSURE,
}
LEDGER_DECISION_TONES: Final = {
    Decision.SHIP: Tone.GOOD,
    Decision.NO_SHIP: Tone.BAD,
    Decision.INCONCLUSIVE: Tone.UNSURE,
}


def print_ledger(terminal: Terminal, ledger: Ledger) -> None:
    """Print the claims, the gates and the decision."""
    terminal.table(
        ("#", "Claim", "Type", "Verdict", "Source"),
        (_claim_row(number, entry) for number, entry in enumerate(ledger.entries, start=1)),
        boxed=True,
    )
    for line in _summary_lines(ledger):
        terminal.print(line)
    terminal.print("")
    terminal.table(
        ("Gate", "Wanted", "Measured", "Result"),
        (
            (
                row.description,
                row.wanted,
                row.measured,
                Cell(words.LEDGER_STATUS_NAMES[row.status], GATE_STATUS_TONES[row.status]),
            )
            for row in words.gate_rows(ledger)
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
    said = f"Decision: {words.LEDGER_DECISION_NAMES[ledger.gates.decision].lower()}"
    return f"{said} ({reasons})" if reasons else said


def require_claim_numbers(ledger: Ledger, numbers: tuple[int, ...]) -> None:
    """Refuse a number of a claim that the table does not have, before anything is written."""
    for number in numbers:
        if not 1 <= number <= len(ledger.entries):
            raise AffidavitError(faults.SESSION_ENTRY, number=number, count=len(ledger.entries))


def print_claim(terminal: Terminal, ledger: Ledger, number: int) -> None:
    """Print the expanded view of one claim."""
    entry = ledger.entries[number - 1]
    terminal.panel(f"Claim #{number}: {entry.claim_text}", "\n".join(_claim_details(entry)))


def _claim_row(number: int, entry: LedgerEntry) -> tuple[Cell | str, ...]:
    best = entry.deciding_readings[0] if entry.rests_on else None
    source = short_place(best) if best else "-"
    if entry.verdict is Verdict.WEAK:
        source = f"{source} (partial match)"
    verdict = Cell(VERDICT_NAMES[entry.verdict], VERDICT_TONES[entry.verdict])
    return str(number), entry.claim_text, words.title_case(entry.claim_type), verdict, source


def _summary_lines(ledger: Ledger) -> Iterator[str]:
    counts = ledger.summary.by_verdict
    yield (
        f"Evidence coverage {words.format_percent(ledger.summary.evidence_coverage)},"
        f" nothing found for {words.format_percent(ledger.summary.unsupported_rate)}:"
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
        yield ""
        yield "Evidence Snippet:"
        yield f'  "{best.snippet}"'
        yield f"  — {full_place(best)}"
    yield ""
    yield "Judge's Notes:"
    yield f"  {entry.notes}"
    if best is not None:
        yield ""
        yield f"Citation: [cite:{best.chunk_hash}]"
