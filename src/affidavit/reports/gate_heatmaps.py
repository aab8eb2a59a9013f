"""Tables whose cells are shaded: labels against labels, questions and runs against figures.

The cells contain the numbers, so the shades are not needed to read them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from affidavit.decision.evaluation import Figure
from affidavit.decision.report import Report
from affidavit.decision.report_details import (
    AgreementDetails,
    QuestionFigures,
    ResearchDetails,
    StabilityDetails,
    StabilityRunCounts,
)
from affidavit.reports import gate_wording as wording

MOST_ROWS: Final = 100
MOST_COLUMNS: Final = 30
_FIGURES: Final = ("acr", "cghc", "css", "ned50", "rcr")


@dataclass(frozen=True, slots=True)
class HeatmapCell:
    """A number and its shade from 0 to 1; `status` chooses the colour."""

    text: str
    shade: float = 0.0
    status: str = "plain"


@dataclass(frozen=True, slots=True)
class Heatmap:
    """A shaded table."""

    title: str
    corner: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[HeatmapCell, ...]], ...]
    note: str = ""


_NOTHING: Final = HeatmapCell(wording.ABSENT, 0.0, "not_measured")


def heatmaps(report: Report) -> Iterator[Heatmap]:
    """Yield the shaded tables that a report has data for."""
    details = report.details
    if isinstance(details, AgreementDetails) and details.confusion:
        yield confusion(details)
    if isinstance(details, StabilityDetails):
        if details.questions:
            yield questions(details)
        if details.by_run:
            yield runs(details)
    if isinstance(details, ResearchDetails) and details.runs:
        yield research(details)


def confusion(details: AgreementDetails) -> Heatmap:
    """Return the labels of one agent against those of the other; the diagonal is agreement."""
    named = {name for pair in details.confusion for name in (pair.scholar, pair.auditor)}
    labels = sorted(named)[:MOST_COLUMNS]
    counts = {(pair.scholar, pair.auditor): pair.count for pair in details.confusion}
    total = sum(counts.values())
    rows = tuple(
        (
            first,
            tuple(
                _share(counts.get((first, second), 0), total, agrees=first == second)
                for second in labels
            ),
        )
        for first in labels
    )
    note = (
        f"{total} pairs. The base rate is {wording.format_figure(details.base_rate)};"
        " chance alone would"
        f" agree in {wording.format_figure(details.expected_agreement)},"
        " and kappa is what is beyond that."
    )
    return Heatmap("Labels of the two agents", "Scholar ↓ auditor →", tuple(labels), rows, note)


def _share(count: int, total: int, *, agrees: bool) -> HeatmapCell:
    if not count:
        return HeatmapCell("0")
    # The square root keeps rare cells visible beside a large one.
    return HeatmapCell(str(count), round((count / total) ** 0.5, 3), "pass" if agrees else "fail")


def questions(details: StabilityDetails) -> Heatmap:
    """Return the figures of each question, those with the most failures first."""
    ordered = sorted(
        details.questions, key=lambda made: (-len(made.failed), -len(made.not_measured), made.qid)
    )
    shown = ordered[:MOST_ROWS]
    rows = tuple(
        (
            wording.short_name(made.qid) + ("" if made.answerable else " (has no answer)"),
            tuple(_figure(made, name) for name in _FIGURES),
        )
        for made in shown
    )
    left = len(ordered) - len(shown)
    note = "Answerable questions need ACR, CGHC >= 0.95, CSS >= 0.7 and NED50 <= 0.2." + (
        f" {left} more questions, with less to mend, are in the JSON report." if left else ""
    )
    columns = tuple(name.upper() for name in _FIGURES)
    return Heatmap("Questions over their runs", "Question", columns, rows, note)


def _figure(made: QuestionFigures, name: str) -> HeatmapCell:
    value: float | None = getattr(made, name)
    if value is None:
        return _NOTHING
    text = wording.format_figure(value, digits=2)
    if name in made.failed or ("refused_always" in made.failed and name == "rcr"):
        return HeatmapCell(text, 0.75, "fail")
    # NED50 is a distance, so less of it is better.
    return HeatmapCell(text, round(1 - value if name == "ned50" else value, 3) * 0.75, "pass")


def runs(details: StabilityDetails) -> Heatmap:
    """Return the share of right answers for each seed and jitter."""
    jitters = sorted({made.jitter for made in details.by_run})[:MOST_COLUMNS]
    places = {(made.seed, made.jitter): made for made in details.by_run}
    seeds = sorted({made.seed for made in details.by_run})
    rows = tuple(
        (
            f"seed {seed}",
            tuple(_run(places.get((seed, jitter))) for jitter in jitters),
        )
        for seed in seeds[:MOST_ROWS]
    )
    left = len(seeds) - len(rows)
    note = "Right of those that could be measured." + (f" {left} more seeds." if left else "")
    return Heatmap(
        "Right answers by seed and jitter",
        "Seed",
        tuple(map(wording.short_name, jitters)),
        rows,
        note,
    )


def _run(made: StabilityRunCounts | None) -> HeatmapCell:
    measured = 0 if made is None else made.right + made.wrong
    if made is None or not measured:
        return _NOTHING
    return _part(made.right, measured)


def _part(right: int, whole: int) -> HeatmapCell:
    share = right / whole
    status = "pass" if right == whole else "fail" if share < 0.5 else "unsure"
    strength = share if status == "pass" else 1 - share
    return HeatmapCell(f"{right}/{whole}", round(0.3 + 0.45 * strength, 3), status)


def research(details: ResearchDetails) -> Heatmap:
    """Return the four figures of each run."""
    names = tuple(dict.fromkeys(name for made in details.runs for name in made.metrics))
    names = names[:MOST_COLUMNS]
    rows = tuple(
        (
            f"{wording.short_name(made.run_id)}:"
            f" {wording.shortened(made.query or 'no golden query', 60)}",
            tuple(_research_cell(made.metrics.get(name)) for name in names),
        )
        for made in details.runs[:MOST_ROWS]
    )
    left = len(details.runs) - len(rows)
    note = f"{left} more runs are in the JSON report." if left else ""
    return Heatmap("Run by run", "Run", tuple(name.replace("_", " ") for name in names), rows, note)


def _research_cell(made: Figure | None) -> HeatmapCell:
    if made is None or made.numerator is None or not made.denominator:
        return _NOTHING
    return _part(made.numerator, made.denominator)
