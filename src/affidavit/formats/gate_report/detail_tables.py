"""The tables that only one kind of gate has: loads, labels, runs."""

from collections.abc import Iterator, Mapping
from typing import Final

from affidavit.formats.gate_report import kinds, words
from affidavit.formats.gate_report.tables import ReportTable, Row
from affidavit.formats.gate_report.wire import ReportV1

SHOWN: Final = 50
"""How many rows such a table shows; its title says how many there are."""
_IDS: Final = 8
_QUERY: Final = 160
_LABELS: Final = 30
"""The agents have four; a report that was written by another hand may have any number."""


def detail_tables(report: ReportV1) -> Iterator[ReportTable]:
    """Yield what only this kind of gate reports."""
    details = kinds.details_of(report.kind, report.details)
    if isinstance(details, kinds.LatencyV1):
        yield from _latency(details)
    elif isinstance(details, kinds.AgreementV1):
        yield from _confusion(details)
    elif isinstance(details, kinds.StabilityV1):
        yield from _runs_by_place(details)
    elif isinstance(details, kinds.ResearchV1):
        yield from _research(details)


_PERCENTILES: Final = ("n", "P50 ms", "P90 ms", "P95 ms", "P99 ms", "P99/P50")


def load_of(name: str) -> float:
    """Return the number in the name of a load, `5rps`, for the order of loads."""
    try:
        return float(name.removesuffix("rps"))
    except ValueError:
        return float("inf")


def _latency(details: kinds.LatencyV1) -> Iterator[ReportTable]:
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


def _percentiles(title: str, column: str, parts: Mapping[str, kinds.PercentilesV1]) -> ReportTable:
    rows = tuple(
        Row(
            (
                words.named(name),
                str(part.n),
                *(words.figure(value, digits=1) for value in _milliseconds(part)),
                words.figure(part.tail_amplification, digits=2),
            )
        )
        for name, part in parts.items()
    )
    shown = _cut(title, rows)
    return ReportTable(shown[0], (column, *_PERCENTILES), shown[1], frozenset(range(1, 7)))


def _milliseconds(part: kinds.PercentilesV1) -> tuple[float | None, ...]:
    return part.p50_ms, part.p90_ms, part.p95_ms, part.p99_ms


def _frontier(tradeoff: kinds.TradeoffV1) -> ReportTable:
    uses = {tradeoff.interactive: "interactive", tradeoff.batch: "batch"}
    if tradeoff.interactive == tradeoff.batch:
        uses = {tradeoff.batch: "interactive and batch"}
    rows = tuple(
        Row(
            (
                words.named(made.config),
                words.figure(made.p95_ms, digits=1),
                words.figure(made.precision),
                uses.get(made.config, words.ABSENT),
                words.STATUSES["pass" if made.passes else "fail"],
            ),
            "pass" if made.passes else "fail",
        )
        for made in tradeoff.frontier
    )
    beaten = [each if isinstance(each, str) else each.config for each in tradeoff.dominated]
    note = f"Beaten in both by another: {words.listed(beaten, _IDS)}." if beaten else ""
    if tradeoff.not_measured:
        note = f"{note} Not measured: {words.listed(tradeoff.not_measured, _IDS)}.".strip()
    columns = ("Configuration", "P95 ms", "Precision", "Take it for", "Gates")
    title, shown = _cut("Worth having", rows)
    return ReportTable(title, columns, shown, frozenset({1, 2}), note)


def _confusion(details: kinds.AgreementV1) -> Iterator[ReportTable]:
    if not details.confusion:
        return
    named = {name for pair in details.confusion for name in (pair.scholar, pair.auditor)}
    labels = sorted(named)[:_LABELS]
    counts = {(pair.scholar, pair.auditor): pair.count for pair in details.confusion}
    rows = tuple(
        Row((first, *(str(counts.get((first, second), 0)) for second in labels)))
        for first in labels
    )
    note = (
        f"Kappa is read with its base rate, {words.figure(details.base_rate)}; chance alone agrees"
        f" in {words.figure(details.expected_agreement)}."
    )
    columns = ("Scholar, down; auditor, across", *labels)
    numbers = frozenset(range(1, len(labels) + 1))
    yield ReportTable("Labels of the two agents", columns, rows, numbers, note)


def _runs_by_place(details: kinds.StabilityV1) -> Iterator[ReportTable]:
    if not details.by_run:
        return
    rows = tuple(
        Row(
            (
                str(run.seed),
                words.named(run.jitter),
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


def _research(details: kinds.ResearchV1) -> Iterator[ReportTable]:
    if not details.runs:
        return
    names = list(details.runs[0].metrics)
    rows = tuple(
        Row(
            (
                words.named(run.run_id),
                words.shortened(run.query or words.ABSENT, _QUERY),
                *(_of(run.metrics.get(name)) for name in names),
            )
        )
        for run in details.runs
    )
    title, shown = _cut("Run by run", rows)
    numbers = frozenset(range(2, len(names) + 2))
    yield ReportTable(title, ("Run", "Golden query", *names), shown, numbers)


def _of(metric: kinds.FigureV1 | None) -> str:
    if metric is None or metric.denominator is None or not metric.denominator:
        return words.ABSENT
    return f"{metric.numerator}/{metric.denominator}"


def _cut(title: str, rows: tuple[Row, ...]) -> tuple[str, tuple[Row, ...]]:
    if len(rows) <= SHOWN:
        return title, rows
    return f"{title} (the first {SHOWN} of {len(rows)})", rows[:SHOWN]
