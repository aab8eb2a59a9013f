"""A lint and its explanations as people read them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from affidavit.app.lint import LintedBundle, LintOutcome, UnverifiedBundle, disclaimer_of
from affidavit.cli.terminal import Terminal
from affidavit.decision.gate import Gate
from affidavit.packs.findings import LintFinding
from affidavit.packs.lint_gates import decide_lint
from affidavit.packs.model import Pack, Severity
from affidavit.packs.signal_detection import SignalState
from affidavit.reports.text_tables import Cell, Tone

if TYPE_CHECKING:
    from affidavit.packs.explanations import Explanation

_SEVERITY_TONES: Final = {
    Severity.ERROR: Tone.BAD,
    Severity.WARNING: Tone.UNSURE,
    Severity.INFO: Tone.PLAIN,
}


def print_lint(
    terminal: Terminal,
    outcomes: Sequence[LintOutcome],
    packs: Sequence[Pack],
    gates: Sequence[Gate] = (),
) -> None:
    """Print each bundle's findings, figures and gates, then the disclaimer of the packs."""
    for outcome in outcomes:
        if isinstance(outcome, UnverifiedBundle):
            terminal.print(f"{outcome.path}: not linted")
            terminal.print(str(outcome.error))
        else:
            _print_bundle(terminal, outcome)
            for result in decide_lint(gates, outcome.result).results:
                terminal.print(f"Gate: {result.status.replace('_', ' ')}: {result.reason}")
    names = ", ".join(f"{pack.label} ({pack.digest[:19]})" for pack in packs)
    terminal.note(f"packs: {names}")
    disclaimer = disclaimer_of(packs)
    if disclaimer is not None:
        terminal.print(f"Disclaimer: {disclaimer}")


def _print_bundle(terminal: Terminal, linted: LintedBundle) -> None:
    result = linted.result
    if result.findings:
        terminal.table(("Severity", "Rule", "Line", "Finding"), map(_finding_row, result.findings))
    if result.truncated:
        terminal.print(f"{result.truncated} more findings are not listed; see --max-results")
    counts = ", ".join(
        f"{result.counts[severity]} {severity.value}{'s' * (result.counts[severity] != 1)}"
        for severity in Severity
    )
    complete = result.completeness
    held = len(complete.names(SignalState.CAPTURED, SignalState.REDACTED))
    rules = len(result.outcomes)
    terminal.print(f"{linted.path}: {result.events} events, {rules} rules: {counts}")
    terminal.print(
        f"Completeness {held} of {len(complete.sightings)} signals, closure"
        f" {result.closure.score} (confidence {result.closure.confidence.value})"
    )
    terminal.note("see --explain closure.score, --explain completeness, --explain RULE")


def _finding_row(finding: LintFinding) -> tuple[Cell | str, ...]:
    place = finding.location
    pointer = "" if place is None or place.pointer is None else f" at {place.pointer}"
    return (
        Cell(finding.severity.value, _SEVERITY_TONES[finding.severity]),
        finding.rule_id,
        "" if place is None else str(place.line),
        f"{finding.message}{pointer}",
    )


def print_explanation(terminal: Terminal, told: "Explanation") -> None:
    """Print an explanation."""
    terminal.print(told.title)
    for paragraph in told.paragraphs:
        terminal.print(f"\n{paragraph}")
    if told.columns:
        terminal.print("")
        terminal.table(told.columns, told.rows)
    for line in told.ending:
        terminal.print(line)
