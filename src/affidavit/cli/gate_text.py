"""A gate report on the terminal: the decision first, then its figures."""

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from affidavit.cli.terminal import Terminal, is_screen
from affidavit.decision.report import Report
from affidavit.reports import gate_wording
from affidavit.reports.gate_tables import (
    ReportTable,
    TableRow,
    detail_tables,
    gate_table,
    offender_table,
)
from affidavit.reports.text_tables import Cell, Tone

_STATUS_TONES: Final = {
    "pass": Tone.GOOD,
    "fail": Tone.BAD,
    "not_measured": Tone.UNSURE,
    "no_gate": Tone.FAINT,
}
_DECISION_TONES: Final = {
    "ship": Tone.GOOD,
    "no_ship": Tone.BAD,
    "inconclusive": Tone.UNSURE,
}

_INTERVAL: Final = re.compile(r"^(-?[\d.]+) to (-?[\d.]+)$")


def print_gate_report(terminal: Terminal, report: Report) -> None:
    """Print the decision of a gate and its reasons; a report over several gates shows each."""
    if report.parts:
        _print_overview(terminal, report)
    for part in report.each_part:
        if report.parts:
            terminal.print(f"\n== {gate_wording.describe_kind(part)} ==")
        _print_one(terminal, part)


def _print_overview(terminal: Terminal, report: Report) -> None:
    _print_decision(terminal, report)
    rows = [
        (
            gate_wording.describe_kind(part),
            Cell(gate_wording.DECISION_NAMES[part.decision], _DECISION_TONES[part.decision]),
            gate_wording.shortened("; ".join(part.reasons), 200) or gate_wording.ABSENT,
        )
        for part in report.each_part
    ]
    terminal.print("")
    terminal.table(("Gate", "Decision", "Why"), rows)


def _print_one(terminal: Terminal, report: Report) -> None:
    _print_decision(terminal, report)
    if report.gates or report.metrics:
        _print_table(terminal, gate_table(report), titled=False)
    for table in detail_tables(report):
        _print_table(terminal, table)
    offenders = offender_table(report)
    if offenders is not None:
        _print_table(terminal, offenders, boxed=True)
    lines = [*_comparison_lines(report)]
    lines += [
        f"{title}: {names}" for title, names in gate_wording.listings_beyond_offenders(report)
    ]
    lines += [f"Note: {text}" for text in report.warnings]
    for line in lines:
        terminal.print(line)
    if report.next_steps:
        terminal.print("What to do next:")
    for number, advice in enumerate(report.next_steps, start=1):
        pattern = f" ({advice.pattern})" if advice.pattern else ""
        terminal.print(f"  {number}. {', '.join(advice.metrics)}: {advice.do}{pattern}")


def _print_decision(terminal: Terminal, report: Report) -> None:
    terminal.print(f"Decision: {gate_wording.DECISION_NAMES[report.decision].lower()}")
    for reason in report.reasons:
        terminal.print(f"  - {gate_wording.shortened(reason, 300)}")


def _for_screen(table: ReportTable) -> ReportTable:
    """Return a table whose metric names can wrap between words, to fit into 80 columns.

    In a pipe a metric keeps the name that gates use. Names of questions and configurations never
    change.
    """
    rows = tuple(
        replace(row, cells=(_with_spaces(row.cells[0]), *map(_without_breaks, row.cells[1:])))
        for row in table.rows
    )
    return replace(table, columns=tuple(map(_with_spaces, table.columns)), rows=rows)


def _with_spaces(name: str) -> str:
    metric, slash, part = name.partition("/")
    return (
        metric.replace("_", " ") + slash + part
        if metric in gate_wording.METRIC_DESCRIPTIONS
        else name
    )


def _without_breaks(cell: str) -> str:
    """Return a cell whose interval has no space to wrap at."""
    return _INTERVAL.sub(r"\1–\2", cell)


def _print_table(
    terminal: Terminal, table: ReportTable, *, titled: bool = True, boxed: bool = False
) -> None:
    terminal.print(f"\n{table.title}" if titled else "")
    shown = _for_screen(table) if is_screen(sys.stdout) else table
    terminal.table(shown.columns, (_cells(row) for row in shown.rows), boxed=boxed)
    if table.note:
        terminal.print(table.note)


def _cells(row: TableRow) -> tuple[Cell | str, ...]:
    if row.status is None:
        return row.cells
    return *row.cells[:-1], Cell(row.cells[-1], _STATUS_TONES[row.status])


def _comparison_lines(report: Report) -> Iterator[str]:
    made = report.comparison
    if made is not None:
        yield f"Against the baseline: {made.change.replace('_', ' ')}; {made.why}"
        for name, listing in made.listings:
            yield f"  {name.lower()}: {gate_wording.list_names(listing.first, 10, listing.total)}"
