"""A gate's report on the terminal: the decision first, then what it rests on."""

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from affidavit.cli.tables import Cell, Tone
from affidavit.cli.terminal import Terminal, is_screen
from affidavit.formats.gate_report import words
from affidavit.formats.gate_report.detail_tables import detail_tables
from affidavit.formats.gate_report.tables import (
    ReportTable,
    Row,
    gate_table,
    offender_table,
)
from affidavit.formats.gate_report.wire import ReportV1, each_part, report_of

TONES: Final = {
    "pass": Tone.GOOD,
    "fail": Tone.BAD,
    "not_measured": Tone.UNSURE,
    "no_gate": Tone.FAINT,
}
DECISION_TONES: Final = {
    "ship": Tone.GOOD,
    "no_ship": Tone.BAD,
    "inconclusive": Tone.UNSURE,
}

_INTERVAL: Final = re.compile(r"^(-?[\d.]+) to (-?[\d.]+)$")


def print_gate_report(terminal: Terminal, wire: Mapping[str, object]) -> None:
    """Print what a gate decided and why; a report of several gates shows each of them."""
    report = report_of(wire)
    if report.parts:
        _print_overview(terminal, report)
    for part in each_part(report):
        if report.parts:
            terminal.print(f"\n== {words.kind_in_words(part)} ==")
        _print_one(terminal, part)


def _print_overview(terminal: Terminal, report: ReportV1) -> None:
    _print_decision(terminal, report)
    rows = [
        (
            words.kind_in_words(part),
            Cell(words.DECISIONS[part.decision], DECISION_TONES[part.decision]),
            words.shortened("; ".join(part.reasons), 200) or words.ABSENT,
        )
        for part in each_part(report)
    ]
    terminal.print("")
    terminal.table(("Gate", "Decision", "Why"), rows)


def _print_one(terminal: Terminal, report: ReportV1) -> None:
    _print_decision(terminal, report)
    if report.gates or report.metrics:
        _print_table(terminal, gate_table(report), titled=False)
    for table in detail_tables(report):
        _print_table(terminal, table)
    offenders = offender_table(report)
    if offenders is not None:
        _print_table(terminal, offenders, boxed=True)
    lines = [*_comparison(report)]
    lines += [f"{title}: {names}" for title, names in words.listings_beyond_offenders(report)]
    lines += [f"Note: {text}" for text in report.warnings]
    for line in lines:
        terminal.print(line)
    if report.next_steps:
        terminal.print("What to do next:")
    for number, advice in enumerate(report.next_steps, start=1):
        pattern = f" ({advice.pattern})" if advice.pattern else ""
        terminal.print(f"  {number}. {', '.join(advice.metrics)}: {advice.do}{pattern}")


def _print_decision(terminal: Terminal, report: ReportV1) -> None:
    terminal.print(f"Decision: {words.DECISIONS[report.decision].lower()}")
    for reason in report.reasons:
        terminal.print(f"  - {words.shortened(reason, 300)}")


def _for_screen(table: ReportTable) -> ReportTable:
    """Return a table whose long names are folded between words, so that it fits into 80 columns.

    A pipe has no width: there a metric keeps the name that a gate is written with. Whatever else
    has a name, a question or a configuration, keeps it everywhere.
    """
    rows = tuple(
        replace(row, cells=(_spaced(row.cells[0]), *map(_unbroken, row.cells[1:])))
        for row in table.rows
    )
    return replace(table, columns=tuple(map(_spaced, table.columns)), rows=rows)


def _spaced(name: str) -> str:
    metric, slash, part = name.partition("/")
    return metric.replace("_", " ") + slash + part if metric in words.METRICS else name


def _unbroken(cell: str) -> str:
    """Return a cell in which an interval has no space to be folded at."""
    return _INTERVAL.sub(r"\1–\2", cell)


def _print_table(
    terminal: Terminal, table: ReportTable, *, titled: bool = True, boxed: bool = False
) -> None:
    terminal.print(f"\n{table.title}" if titled else "")
    shown = _for_screen(table) if is_screen(sys.stdout) else table
    terminal.table(shown.columns, (_cells(row) for row in shown.rows), boxed=boxed)
    if table.note:
        terminal.print(table.note)


def _cells(row: Row) -> tuple[Cell | str, ...]:
    if row.status is None:
        return row.cells
    return *row.cells[:-1], Cell(row.cells[-1], TONES[row.status])


def _comparison(report: ReportV1) -> Iterator[str]:
    made = report.comparison
    if made is not None:
        yield f"Against the baseline: {made.change.replace('_', ' ')}; {made.why}"
        for name, listing in made.listings:
            yield f"  {name.lower()}: {words.listed(listing.first, 10, listing.total)}"
