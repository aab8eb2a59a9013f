"""A lint and its explanations as people read them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from affidavit.app.linting.linting import Linted, LintedOrRefused, Refused
from affidavit.app.linting.report import disclaimer_of
from affidavit.cli.tables import Cell, Tone
from affidavit.cli.terminal import Terminal
from affidavit.packs.detection import State
from affidavit.packs.findings import Finding
from affidavit.packs.model import Pack, Severity

if TYPE_CHECKING:
    from affidavit.packs.explaining import Explanation

_TONES: Final = {
    Severity.ERROR: Tone.BAD,
    Severity.WARNING: Tone.UNSURE,
    Severity.INFO: Tone.PLAIN,
}


def show(terminal: Terminal, outcomes: Sequence[LintedOrRefused], packs: Sequence[Pack]) -> None:
    """Print each bundle's findings and figures, then what the packs do not promise."""
    for outcome in outcomes:
        if isinstance(outcome, Refused):
            terminal.print(f"{outcome.path}: not linted")
            terminal.print(str(outcome.error))
        else:
            _show_bundle(terminal, outcome)
    names = ", ".join(f"{pack.label} ({pack.digest[:19]})" for pack in packs)
    terminal.note(f"packs: {names}")
    disclaimer = disclaimer_of(packs)
    if disclaimer is not None:
        terminal.print(f"Disclaimer: {disclaimer}")


def _show_bundle(terminal: Terminal, linted: Linted) -> None:
    result = linted.result
    if result.findings:
        terminal.table(("Severity", "Rule", "Line", "Finding"), map(_row, result.findings))
    if result.truncated:
        terminal.print(f"{result.truncated} more findings are not listed; see --max-results")
    counts = ", ".join(
        f"{result.counts[severity]} {severity.value}{'s' * (result.counts[severity] != 1)}"
        for severity in Severity
    )
    complete = result.completeness
    held = len(complete.names(State.CAPTURED, State.REDACTED))
    rules = len(result.outcomes)
    terminal.print(f"{linted.path}: {result.events} events, {rules} rules: {counts}")
    terminal.print(
        f"Completeness {held} of {len(complete.sightings)} signals, closure"
        f" {result.closure.score} (confidence {result.closure.confidence.value})"
    )
    terminal.note("see --explain closure.score, --explain completeness, --explain RULE")


def _row(finding: Finding) -> tuple[Cell | str, ...]:
    place = finding.location
    pointer = "" if place is None or place.pointer is None else f" at {place.pointer}"
    return (
        Cell(finding.severity.value, _TONES[finding.severity]),
        finding.rule_id,
        "" if place is None else str(place.line),
        f"{finding.message}{pointer}",
    )


def show_explanation(terminal: Terminal, told: "Explanation") -> None:
    """Print an explanation."""
    terminal.print(told.title)
    for paragraph in told.paragraphs:
        terminal.print(f"\n{paragraph}")
    if told.columns:
        terminal.print("")
        terminal.table(told.columns, told.rows)
    for line in told.ending:
        terminal.print(line)
