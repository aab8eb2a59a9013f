"""The tables of a gate report: the same rows on the terminal, in Markdown and in HTML."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from affidavit.decision.counts import Listing
from affidavit.decision.evaluation import Figure
from affidavit.decision.report import Report, RowLocation
from affidavit.decision.report_details import (
    AgreementDetails,
    Disagreement,
    LatencyDetails,
    Offender,
    Percentiles,
    QuestionFigures,
    RagOffender,
    ResearchDetails,
    StabilityDetails,
    Tradeoff,
)
from affidavit.reports import gate_wording as wording

# The tables of every report.

_MAX_IDS: Final = 8
_MOST_OFFENDERS: Final = 50
"""A gate names ten; a report from elsewhere may name any number."""
_MAX_TEXT: Final = 160


@dataclass(frozen=True, slots=True)
class TableRow:
    """The cells of a row; `status` is the status of its last cell, if it is a result."""

    cells: tuple[str, ...]
    status: str | None = None


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table with a title. `numbers` are the columns that are aligned to the right."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    numbers: frozenset[int] = frozenset()
    note: str = ""


def gate_table(report: Report) -> ReportTable:
    """Return the gates, then the figures without a gate; loads have their own table."""
    gated = {gate.metric for gate in report.gates}
    gates = [
        TableRow(
            (
                gate.metric,
                wording.format_figure(gate.value, gate.threshold),
                wording.format_interval(gate.ci95),
                wording.format_threshold(gate),
                wording.ABSENT if gate.n is None else str(gate.n),
                str(gate.not_measured),
                wording.STATUS_NAMES[gate.status],
            ),
            gate.status,
        )
        for gate in report.gates
    ]
    others = [
        TableRow(
            (
                name,
                wording.format_figure(metric.value),
                wording.format_interval(metric.ci95),
                wording.ABSENT,
                wording.ABSENT if metric.denominator is None else str(metric.denominator),
                str(metric.not_measured),
                "no gate",
            ),
            "no_gate",
        )
        for name, metric in report.metrics.items()
        if name not in gated and "/" not in name
    ]
    columns = ("Metric", "Value", "95%", "Threshold", "n", "Not measured", "Result")
    return ReportTable("Gates", columns, (*gates, *others), frozenset({1, 4, 5}))


def input_table(report: Report) -> ReportTable:
    """Return the inputs."""
    rows = tuple(
        TableRow(
            (
                role,
                given.path,
                str(given.rows),
                str(given.skipped),
                given.digest or wording.ABSENT,
            )
        )
        for role, given in report.inputs.items()
    )
    columns = ("Input", "File", "Rows", "Skipped", "Digest")
    return ReportTable("What was read", columns, rows, frozenset({2, 3}))


def offender_table(report: Report) -> ReportTable | None:
    """Return the offenders, or None if there are none."""
    offenders = report.offenders
    if not offenders:
        return None
    first = offenders[0]
    if isinstance(first, RagOffender):
        columns: tuple[str, ...] = ("Question", "What is wrong", "Answer", "Passages")
        title, note = f"Look at these first ({len(offenders)})", wording.CHECKS_LEGEND
    elif isinstance(first, Disagreement):
        columns = ("Question", "Scholar", "Auditor", "Final", "Why")
        title, note = f"Where the agents differ ({_shown_of_total(report, len(offenders))})", ""
    else:
        columns = ("Question", "Runs", "Outside its limit", "Not measured")
        title, note = (
            f"Questions that are not stable ({_shown_of_total(report, len(offenders))})",
            "",
        )
    rows = tuple(TableRow(_offender(report, each)) for each in offenders[:_MOST_OFFENDERS])
    return ReportTable(title, columns, rows, note=note)


def _shown_of_total(report: Report, shown: int) -> str:
    """Return the number shown, and the total if it is larger."""
    details = report.details
    total = report.listings.get("unstable", Listing()).total
    if isinstance(details, AgreementDetails):
        total = details.disagreements
    return str(shown) if total <= shown else f"{shown} of {total}"


def _offender(report: Report, offender: Offender) -> tuple[str, ...]:
    if isinstance(offender, RagOffender):
        return _rag_offender(offender, report.location_of(offender.qid))
    if isinstance(offender, Disagreement):
        why = wording.describe_reason(offender.why)
        labels = (offender.scholar, offender.auditor, offender.final)
        return wording.short_name(offender.qid), *map(wording.short_name, labels), why
    failed = [_limit(name, offender) for name in offender.failed]
    return (
        wording.short_name(offender.qid),
        _runs(offender),
        wording.list_names(failed, _MAX_IDS),
        wording.list_names(offender.not_measured, _MAX_IDS),
    )


def _runs(question: QuestionFigures) -> str:
    silent = question.no_answer
    return f"{question.runs} ({silent} without an answer)" if silent else str(question.runs)


def _limit(name: str, question: QuestionFigures) -> str:
    if name == "refused_always":
        return f"has no answer, but was refused in {question.refused} of {question.runs} runs only"
    if name == "scu_cons":
        return "constraints not echoed in every run"
    return f"{name} {wording.format_figure(getattr(question, name, None))}"


def _recorded(ids: tuple[str, ...] | None) -> str:
    return "not recorded" if ids is None else wording.list_names(ids, _MAX_IDS)


def _rag_offender(offender: RagOffender, place: RowLocation | None) -> tuple[str, ...]:
    wrong = wording.describe_reason(offender.why)
    checks = [f"fails {', '.join(offender.failed)}"] if offender.failed else []
    if offender.not_measured:
        checks.append(f"{', '.join(offender.not_measured)} not measured")
    if checks:
        wrong += f" ({'; '.join(checks)})"
    passages = (
        f"cited {_recorded(offender.citations)};"
        f" gold {wording.list_names(offender.gold_citations, _MAX_IDS)};"
        f" retrieved {_recorded(offender.retrieved_ids)}"
    )
    line = "" if place is None else f" (line {place.line})"
    asked = wording.shortened(offender.question, _MAX_TEXT)
    name = f"{wording.short_name(offender.qid)}{line}"
    question = f"{name}: {asked}" if asked else name
    return (
        question,
        wrong,
        wording.shortened(offender.claim, _MAX_TEXT) or wording.ABSENT,
        passages,
    )


# The tables that only one kind of gate has: loads, labels, runs.

MAX_DETAIL_ROWS: Final = 50
"""How many rows such a table shows; its title has the total."""
_MAX_DETAIL_IDS: Final = 8
_MAX_QUERY: Final = 160
_MAX_LABELS: Final = 30
"""The agents have four; a report from elsewhere may have any number."""


def detail_tables(report: Report) -> Iterator[ReportTable]:
    """Yield the tables that only this kind of gate has."""
    details = report.details
    if isinstance(details, LatencyDetails):
        yield from _latency(details)
    elif isinstance(details, AgreementDetails):
        yield from _confusion(details)
    elif isinstance(details, StabilityDetails):
        yield from _runs_by_place(details)
    elif isinstance(details, ResearchDetails):
        yield from _research(details)


_PERCENTILES: Final = ("n", "P50 ms", "P90 ms", "P95 ms", "P99 ms", "P99/P50")


def load_of(name: str) -> float:
    """Return the number in the name of a load, such as `5rps`, for sorting."""
    try:
        return float(name.removesuffix("rps"))
    except ValueError:
        return float("inf")


def _latency(details: LatencyDetails) -> Iterator[ReportTable]:
    by_load = dict(sorted(details.load.items(), key=lambda item: (load_of(item[0]), item[0])))
    for title, column, parts in (
        ("By load", "Load", by_load),
        ("By configuration", "Configuration", details.config),
        ("By stage", "Stage", details.stage),
    ):
        if parts:
            yield _percentiles(title, column, parts)
    if details.tradeoff is not None and details.tradeoff.frontier:
        yield _frontier(details.tradeoff)


def _percentiles(title: str, column: str, parts: Mapping[str, Percentiles]) -> ReportTable:
    rows = tuple(
        TableRow(
            (
                wording.short_name(name),
                str(part.n),
                *(wording.format_figure(value, digits=1) for value in _milliseconds(part)),
                wording.format_figure(part.tail_amplification, digits=2),
            )
        )
        for name, part in parts.items()
    )
    shown = _cut(title, rows)
    return ReportTable(shown[0], (column, *_PERCENTILES), shown[1], frozenset(range(1, 7)))


def _milliseconds(part: Percentiles) -> tuple[float | None, ...]:
    return part.p50_ms, part.p90_ms, part.p95_ms, part.p99_ms


def _frontier(tradeoff: Tradeoff) -> ReportTable:
    uses = {tradeoff.interactive: "interactive", tradeoff.batch: "batch"}
    if tradeoff.interactive == tradeoff.batch:
        uses = {tradeoff.batch: "interactive and batch"}
    rows = tuple(
        TableRow(
            (
                wording.short_name(made.config),
                wording.format_figure(made.p95_ms, digits=1),
                wording.format_figure(made.precision),
                uses.get(made.config, wording.ABSENT),
                wording.STATUS_NAMES["pass" if made.passes else "fail"],
            ),
            "pass" if made.passes else "fail",
        )
        for made in tradeoff.frontier
    )
    beaten = [each if isinstance(each, str) else each.config for each in tradeoff.dominated]
    note = (
        f"Beaten in both by another: {wording.list_names(beaten, _MAX_DETAIL_IDS)}."
        if beaten
        else ""
    )
    if tradeoff.not_measured:
        names = wording.list_names(tradeoff.not_measured, _MAX_DETAIL_IDS)
        note = f"{note} Not measured: {names}.".strip()
    columns = ("Configuration", "P95 ms", "Precision", "Take it for", "Gates")
    title, shown = _cut("Worth having", rows)
    return ReportTable(title, columns, shown, frozenset({1, 2}), note)


def _confusion(details: AgreementDetails) -> Iterator[ReportTable]:
    if not details.confusion:
        return
    named = {name for pair in details.confusion for name in (pair.scholar, pair.auditor)}
    labels = sorted(named)[:_MAX_LABELS]
    counts = {(pair.scholar, pair.auditor): pair.count for pair in details.confusion}
    rows = tuple(
        TableRow((first, *(str(counts.get((first, second), 0)) for second in labels)))
        for first in labels
    )
    note = (
        f"Kappa is read with its base rate, {wording.format_figure(details.base_rate)};"
        " chance alone agrees"
        f" in {wording.format_figure(details.expected_agreement)}."
    )
    columns = ("Scholar, down; auditor, across", *labels)
    numbers = frozenset(range(1, len(labels) + 1))
    yield ReportTable("Labels of the two agents", columns, rows, numbers, note)


def _runs_by_place(details: StabilityDetails) -> Iterator[ReportTable]:
    if not details.by_run:
        return
    rows = tuple(
        TableRow(
            (
                str(run.seed),
                wording.short_name(run.jitter),
                str(run.right),
                str(run.wrong),
                str(run.not_measured),
            )
        )
        for run in details.by_run
    )
    title, shown = _cut("By seed and jitter", rows)
    columns = ("Seed", "Jitter", "Right", "Wrong", "Not measured")
    yield ReportTable(title, columns, shown, frozenset({0, 2, 3, 4}))


def _research(details: ResearchDetails) -> Iterator[ReportTable]:
    if not details.runs:
        return
    names = list(details.runs[0].metrics)
    rows = tuple(
        TableRow(
            (
                wording.short_name(run.run_id),
                wording.shortened(run.query or wording.ABSENT, _MAX_QUERY),
                *(_numerator_of_denominator(run.metrics.get(name)) for name in names),
            )
        )
        for run in details.runs
    )
    title, shown = _cut("Run by run", rows)
    numbers = frozenset(range(2, len(names) + 2))
    yield ReportTable(title, ("Run", "Golden query", *names), shown, numbers)


def _numerator_of_denominator(metric: Figure | None) -> str:
    if metric is None or metric.denominator is None or not metric.denominator:
        return wording.ABSENT
    return f"{metric.numerator}/{metric.denominator}"


def _cut(title: str, rows: tuple[TableRow, ...]) -> tuple[str, tuple[TableRow, ...]]:
    if len(rows) <= MAX_DETAIL_ROWS:
        return title, rows
    return f"{title} (the first {MAX_DETAIL_ROWS} of {len(rows)})", rows[:MAX_DETAIL_ROWS]
