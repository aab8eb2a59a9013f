"""A gate report and a comparison of two as text for people: the decision first, then figures."""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from affidavit.decision.comparison import Change, Comparison
from affidavit.decision.counts import Listing
from affidavit.decision.report import Report
from affidavit.reports import gate_tables as wording
from affidavit.reports.gate_tables import (
    ReportTable,
    TableRow,
    detail_tables,
    gate_table,
    offender_table,
)
from affidavit.reports.text_tables import Cell, TextPart, Tone, text_table

if TYPE_CHECKING:
    from affidavit.gates.comparison import MetricChange, ReportComparison
    from affidavit.gates.report import ClaimVerdict

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

_CHANGE_TONES: Final = {
    Change.IMPROVED: Tone.GOOD,
    Change.HELD: Tone.GOOD,
    Change.REGRESSED: Tone.BAD,
    Change.CANNOT_TELL: Tone.UNSURE,
}
_MAX_FOLDED_CELL: Final = 400
_MOST_LOST: Final = 10
_INTERVAL: Final = re.compile(r"^(-?[\d.]+) to (-?[\d.]+)$")


def gate_text(report: Report, *, on_screen: bool = False) -> Iterator[TextPart]:
    """Yield the decision of a gate and its reasons; a report over several gates shows each.

    Tables for a screen are made to fit into 80 columns.
    """
    if report.parts:
        yield from _overview(report)
    for part in report.each_part:
        if report.parts:
            yield f"\n== {wording.describe_kind(part)} =="
        yield from _one_gate(part, on_screen=on_screen)


def _overview(report: Report) -> Iterator[TextPart]:
    yield from _decision(report)
    rows = [
        (
            wording.describe_kind(part),
            Cell(wording.DECISION_NAMES[part.decision], _DECISION_TONES[part.decision]),
            wording.shortened("; ".join(part.reasons), 200) or wording.ABSENT,
        )
        for part in report.each_part
    ]
    yield ""
    yield text_table(("Gate", "Decision", "Why"), rows)


def _one_gate(report: Report, *, on_screen: bool) -> Iterator[TextPart]:
    yield from _decision(report)
    if report.gates or report.metrics:
        yield ""
        yield from _table(gate_table(report), on_screen=on_screen)
    for table in detail_tables(report):
        yield f"\n{table.title}"
        yield from _table(table, on_screen=on_screen)
    offenders = offender_table(report)
    if offenders is not None:
        yield f"\n{offenders.title}"
        yield from _table(offenders, on_screen=on_screen, boxed=True)
    yield from _baseline_lines(report)
    for title, names in wording.listings_beyond_offenders(report):
        yield f"{title}: {names}"
    for text in report.warnings:
        yield f"Note: {text}"
    if report.next_steps:
        yield "What to do next:"
    for number, advice in enumerate(report.next_steps, start=1):
        pattern = f" ({advice.pattern})" if advice.pattern else ""
        yield f"  {number}. {', '.join(advice.metrics)}: {advice.do}{pattern}"


def _decision(report: Report) -> Iterator[str]:
    yield f"Decision: {wording.DECISION_NAMES[report.decision].lower()}"
    for reason in report.reasons:
        yield f"  - {wording.shortened(reason, 300)}"


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
        metric.replace("_", " ") + slash + part if metric in wording.METRIC_DESCRIPTIONS else name
    )


def _without_breaks(cell: str) -> str:
    """Return a cell whose interval has no space to wrap at."""
    return _INTERVAL.sub(r"\1–\2", cell)


def _table(table: ReportTable, *, on_screen: bool, boxed: bool = False) -> Iterator[TextPart]:
    shown = _for_screen(table) if on_screen else table
    yield text_table(shown.columns, map(_cells, shown.open_rows), boxed=boxed)
    if table.folded_rows:
        yield f"and {len(table.folded_rows)} more, in one line each:"
    for row in table.folded_rows:
        yield "  " + " | ".join(wording.shortened(cell, _MAX_FOLDED_CELL) for cell in row.cells)
    if table.note:
        yield table.note


def _cells(row: TableRow) -> tuple[Cell | str, ...]:
    if row.status is None:
        return row.cells
    return *row.cells[:-1], Cell(row.cells[-1], _STATUS_TONES[row.status])


def _baseline_lines(report: Report) -> Iterator[str]:
    made = report.comparison
    if made is not None:
        yield f"Against the baseline: {made.change.replace('_', ' ')}; {made.why}"
        for name, listing in made.listings:
            yield f"  {name.lower()}: {wording.list_names(listing.first, 10, listing.total)}"


def comparison_text(made: "ReportComparison") -> Iterator[TextPart]:
    """Yield what changed between two reports, or between the parts of both."""
    was, is_now = (decision.value.replace("_", "-") for decision in made.decisions)
    yield f"{_without_underscores(made.change).capitalize()}: {made.why}"
    yield f"The decision was {was} and is {is_now}."
    if made.metrics:
        yield ""
        yield text_table(("Metric", "Before", "Now", "Change"), map(_metric_row, made.metrics))
    if made.checks:
        yield ""
        yield text_table(
            ("Check", "Compared", "Now right", "Now wrong", "P", "Result"),
            (_check_row(name, each) for name, each in made.checks.items()),
        )
        yield from _flipped_lines(made.checks["outcome"])
    for lost in made.lost_support[:_MOST_LOST]:
        yield f"\n{lost.qid} lost its support:"
        sides = zip_longest(lost.before, lost.now)
        yield text_table(("Claim before", "Claim now"), (map(_claim_cell, pair) for pair in sides))
    if len(made.lost_support) > _MOST_LOST:
        yield f"and {len(made.lost_support) - _MOST_LOST} more, which --json has"
    for name, part in made.parts:
        yield f"\n== {name} =="
        yield from comparison_text(part)


def _claim_cell(claim: "ClaimVerdict | None") -> Cell:
    """Return a claim with its verdict, and for one that is not supported the nearest passage."""
    if claim is None:
        return Cell(wording.ABSENT, Tone.FAINT)
    if claim.verdict == "supported":
        return Cell(f"{claim.claim} (supported)", Tone.GOOD)
    near = f'; {claim.context}: "{claim.passage}"' if claim.passage else ""
    return Cell(f"{claim.claim} ({claim.verdict.replace('_', ' ')}{near})", Tone.BAD)


def _metric_row(moved: "MetricChange") -> tuple[Cell | str, ...]:
    tone = {True: Tone.GOOD, False: Tone.BAD, None: Tone.PLAIN}[moved.is_better]
    difference = moved.difference
    shown = wording.ABSENT if difference is None else f"{difference:+g}" if difference else "0"
    return moved.name, _format_number(moved.before), _format_number(moved.now), Cell(shown, tone)


def _check_row(name: str, made: Comparison) -> tuple[Cell | str, ...]:
    return (
        "item" if name == "outcome" else name,
        str(made.compared),
        str(made.mended.total),
        str(made.broken.total),
        _format_number(made.deciding_p),
        Cell(_without_underscores(made.change), _CHANGE_TONES[made.change]),
    )


def _flipped_lines(made: Comparison) -> Iterator[str]:
    for title, names in made.listings:
        yield f"{title} ({names.total}): {_listing_text(names)}"
    if made.only_now:
        yield f"Items that only the later report has: {made.only_now}"


def _listing_text(names: Listing) -> str:
    left = names.total - len(names.first)
    return ", ".join(names.first) + (f" and {left} more" if left else "")


def _format_number(value: float | None) -> str:
    return wording.ABSENT if value is None else f"{round(value, 4):g}"


def _without_underscores(change: str) -> str:
    return change.replace("_", " ")
