"""The charts of gate reports as SVG: bars, trends, trade-offs and heat maps."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from types import MappingProxyType
from typing import Final

from affidavit.decision.evaluation import Figure, GateResult
from affidavit.decision.metric import MetricKind
from affidavit.decision.report import Report
from affidavit.gates.metrics import METRICS_BY_KIND
from affidavit.gates.report import (
    AgreementDetails,
    ConfigurationFigures,
    LatencyDetails,
    Percentiles,
    QuestionFigures,
    ResearchDetails,
    StabilityDetails,
    StabilityRunCounts,
    Tradeoff,
)
from affidavit.reports import gate_tables as wording
from affidavit.reports.gate_history import HistoryFigure, HistoryGate, HistoryRun
from affidavit.reports.gate_tables import (
    ReportTable,
    TableRow,
    detail_tables,
    escape_controls,
    load_of,
)


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart with its description, its legend and the table of its numbers.

    Without a table, its numbers are in another table of the page.
    """

    title: str
    says: str
    drawing: str
    table: ReportTable | None = None
    key: str = ""


def escape_svg(text: str) -> str:
    """Return a text, escaped."""
    return escape(escape_controls(text))


def tag(name: str, *inner: str, **attributes: object) -> str:
    """Return an element; `class_` is `class`, and an underscore within a name is a hyphen."""
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape_svg(str(value))}"'
        for key, value in attributes.items()
    )
    return f"<{name}{said}>{''.join(inner)}</{name}>" if inner else f"<{name}{said}/>"


def text_label(text: str, x: object, y: float, kind: str = "", anchor: str = "start") -> str:
    """Return a text element."""
    return tag("text", escape_svg(text), x=x, y=round(y, 1), text_anchor=anchor, class_=kind)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """Return a line; x in percent, y in units."""
    return tag(
        "line",
        x1=percent(x1),
        y1=round(y1, 1),
        x2=percent(x2),
        y2=round(y2, 1),
        class_=kind,
    )


def circle(x: float, y: float, kind: str, says: str, radius: float = 5) -> str:
    """Return a point with a tooltip."""
    title = tag("title", escape_svg(says))
    return tag("circle", title, cx=percent(x), cy=round(y, 1), r=radius, class_=kind)


def path(points: list[tuple[float, float]], kind: str) -> str:
    """Return lines from point to point, because a polyline does not accept percentages."""
    return "".join(line(*first, *second, kind) for first, second in pairwise(points))


def percent(share: float) -> str:
    """Return a horizontal position in percent: 0 is left, 1 is right."""
    return f"{round(share * 100, 2)}%"


def canvas(height: float, title: str, says: str, *inner: str) -> str:
    """Return the chart, with a title and description for screen readers."""
    return tag(
        "svg",
        tag("title", escape_svg(title)),
        tag("desc", escape_svg(says)),
        *inner,
        width="100%",
        height=round(height),
        role="img",
        aria_label=f"{title}. {says}",
    )


def place(value: float, low: float, high: float) -> float:
    """Return the position of a value between two others, clamped to 0 and 1."""
    return 0.5 if high <= low else min(1.0, max(0.0, (value - low) / (high - low)))


def round_steps(high: float, most: int = 5) -> list[float]:
    """Return some round numbers from 0 to a value, for the lines of a grid."""
    if high <= 0:
        return [0.0]
    rough = high / most
    scale = 10.0 ** len(str(int(rough))) / 10 if rough >= 1 else _small_scale(rough)
    step = next(scale * n for n in (1, 2, 5, 10) if scale * n >= rough)
    return [round(step * n, 10) for n in range(int(high / step) + 1)]


def _small_scale(rough: float) -> float:
    scale = 0.1
    while scale > rough:
        scale /= 10
    return scale


# Tables whose cells are shaded: labels against labels, questions and runs against figures.
# The cells contain the numbers, so the shades are not needed to read them.

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


# The scale of a figure depends on the kind of its metric.

_KIND_BY_METRIC: Final[Mapping[str, MetricKind]] = MappingProxyType(
    {name: metric.kind for table in METRICS_BY_KIND.values() for name, metric in table.items()}
)


def axis_range(name: str, made: GateResult | Figure) -> tuple[float, float]:
    """Return the ends of a figure's scale; an unknown metric is drawn as an amount."""
    ends = (made.value or 0.0, *(made.ci95 or ()))
    kind = _KIND_BY_METRIC.get(name.partition("/")[0])
    if kind is MetricKind.SHARE:
        return 0.0, 1.0
    if kind is MetricKind.COEFFICIENT:
        return (-1.0 if min(ends) < 0 else 0.0), 1.0
    threshold = made.threshold if isinstance(made, GateResult) else 0.0
    return 0.0, max(*ends, threshold) * 1.25 or 1.0


_ROW: Final = 52
_PLOT: Final = 230
MAX_POINTS: Final = 100
"""How many loads or configurations a chart shows; more could not be told apart."""
_MOST_ROWS: Final = 40
_EDGE: Final = 0.1
"""The margin on either side, so that points and labels are not cut off."""
_GATE_KEY: Final = (
    "Point: the value. Line: its interval at 95%. Upright mark: the threshold. Green: what passes."
)
_LOAD_KEY: Final = "Milliseconds from question to answer. Dashed: what a gate allows."
_FRONTIER_KEY: Final = "Connected: no other is both faster and more precise. Green: its gates pass."
_PERCENTILES: Final = ("p50_ms", "p95_ms", "p99_ms")


def charts_of(report: Report) -> Iterator[Chart]:
    """Yield the charts that a report has data for."""
    if report.gates or report.metrics:
        yield gate_chart(report)
    details = report.details
    if isinstance(details, LatencyDetails):
        tables = {table.columns[0]: table for table in detail_tables(report)}
        if len(details.load) > 1:
            yield load_chart(details, report.gates, tables["Load"])
        if details.tradeoff is not None and details.tradeoff.frontier:
            yield frontier_chart(details.tradeoff, tables["Configuration"])


def gate_chart(report: Report) -> Chart:
    """Return each figure with its interval against its threshold, on a scale of its own."""
    gated = {gate.metric for gate in report.gates}
    rows: list[tuple[str, GateResult | Figure]] = [(gate.metric, gate) for gate in report.gates]
    rows += [
        (name, metric)
        for name, metric in report.metrics.items()
        if name not in gated and "/" not in name and metric.ci95 is not None
    ]
    drawn = rows[:_MOST_ROWS]
    parts = [_gate_row(n * _ROW, *row) for n, row in enumerate(drawn)]
    said = "; ".join(gate.reason or gate.metric for gate in report.gates)
    title = "Figures against their thresholds"
    if len(rows) > len(drawn):
        title += f" (the first {len(drawn)} of {len(rows)})"
    drawing = canvas(len(drawn) * _ROW + 4, title, said, *parts)
    return Chart(title, said, drawing, key=_GATE_KEY)


def _gate_row(top: float, name: str, made: GateResult | Figure) -> str:
    scale = axis_range(name, made)
    status = made.status if isinstance(made, GateResult) else "no_gate"
    wanted = wording.format_threshold(made) if isinstance(made, GateResult) else "no gate"
    beside = made.threshold if isinstance(made, GateResult) else None
    value = "not measured" if made.value is None else wording.format_figure(made.value, beside)
    middle = top + 34
    parts = [
        text_label(name, 0, top + 16, "name"),
        text_label(f"{value}, {wanted}", "100%", top + 16, f"value {status}", "end"),
        tag("rect", x=0, y=middle - 4, width="100%", height=8, rx=4, class_="track"),
    ]
    if isinstance(made, GateResult):
        at = place(made.threshold, *scale)
        start, end = (at, 1.0) if made.op.startswith(">") else (0.0, at)
        good = tag(
            "rect",
            x=percent(start),
            y=middle - 4,
            width=percent(end - start),
            height=8,
            class_="good",
        )
        parts += [good, line(at, middle - 9, at, middle + 9, "threshold")]
    if made.ci95 is not None:
        low, high = (place(end, *scale) for end in made.ci95)
        parts.append(line(low, middle, high, middle, f"interval {status}"))
    if made.value is not None:
        says = f"{name}: {value}, 95% {wording.format_interval(made.ci95)}, {wanted}"
        parts.append(circle(place(made.value, *scale), middle, f"point {status}", says, 6))
    return "".join(parts)


def load_chart(details: LatencyDetails, gates: tuple[GateResult, ...], table: ReportTable) -> Chart:
    """Return the percentiles by load, with the limits that gates set."""
    loads = sorted(details.load.items(), key=lambda item: (load_of(item[0]), item[0]))[:MAX_POINTS]
    numbers = [load_of(name) for name, _ in loads]
    seen = [
        value
        for _, part in loads
        for metric in _PERCENTILES
        if (value := getattr(part, metric)) is not None
    ]
    highest = max(seen, default=1.0)
    # A limit far above all values would flatten the curves; the table of gates shows it.
    limits = [
        gate
        for gate in gates
        if gate.metric.partition("/")[0] in _PERCENTILES and gate.threshold <= 1.5 * highest
    ]
    top = max([highest, *(gate.threshold for gate in limits)]) * 1.1 or 1.0
    across = {
        name: 0.12 + 0.76 * place(number, min(numbers), max(numbers))
        for (name, _), number in zip(loads, numbers, strict=True)
    }
    parts = [*_grid(top), *_limits(limits, across, top)]
    parts += [part for metric in _PERCENTILES for part in _curve(metric, loads, across, top)]
    parts += _curve_names(loads[-1], across[loads[-1][0]], top)
    parts += [
        text_label(name, percent(x), _PLOT + 18, "tick", "middle") for name, x in across.items()
    ]
    said = "; ".join(
        f"at {name} P50 {wording.format_figure(part.p50_ms, digits=1)}, P95"
        f" {wording.format_figure(part.p95_ms, digits=1)},"
        f" P99 {wording.format_figure(part.p99_ms, digits=1)} ms"
        for name, part in loads
    )
    title = "Latency by load"
    return Chart(title, said, canvas(_PLOT + 26, title, said, *parts), table, _LOAD_KEY)


def _curve(
    metric: str,
    loads: list[tuple[str, Percentiles]],
    across: dict[str, float],
    top: float,
) -> Iterator[str]:
    points = [
        (across[name], _down(value, top), name, value)
        for name, part in loads
        if (value := getattr(part, metric)) is not None
    ]
    said = metric.removesuffix("_ms").upper()
    yield path([(x, y) for x, y, _, _ in points], f"curve {metric}")
    for x, y, name, value in points:
        yield circle(
            x,
            y,
            f"mark {metric}",
            f"{said} at {name}: {wording.format_figure(value, digits=1)} ms",
        )


def _curve_names(last: tuple[str, Percentiles], x: float, top: float) -> Iterator[str]:
    """Yield the names of the curves beside their ends, moved apart where they would overlap."""
    free = float(_PLOT) + 12
    for metric in _PERCENTILES:
        value = getattr(last[1], metric)
        if value is not None:
            free = min(_down(value, top) + 4, free - 13)
            said = metric.removesuffix("_ms").upper()
            yield text_label(said, percent(x + 0.025), free, f"end {metric}")


def _limits(gates: list[GateResult], across: dict[str, float], top: float) -> Iterator[str]:
    for gate in gates:
        _, _, part = gate.metric.partition("/")
        y = _down(gate.threshold, top)
        if not part:
            yield line(0, y, 1, y, "limit")
            # To the right of the numbers of the scale.
            yield text_label(gate.gate, percent(0.1), y - 5, "limit-name")
        elif part in across:
            yield line(max(0.0, across[part] - 0.04), y, min(1.0, across[part] + 0.04), y, "limit")


def frontier_chart(tradeoff: Tradeoff, table: ReportTable) -> Chart:
    """Return precision over P95: the frontier is connected, dominated points are hollow."""
    beaten = [each for each in tradeoff.dominated if isinstance(each, ConfigurationFigures)]
    every = [*tradeoff.frontier, *beaten][:MAX_POINTS]
    known = [
        (made, made.p95_ms, made.precision)
        for made in every
        if made.p95_ms is not None and made.precision is not None
    ]
    slow = [p95 for _, p95, _ in known]
    right = [precision for *_, precision in known]
    low, high = min(slow, default=0.0), max(slow, default=1.0)
    bottom, top = min(right, default=0.0), max(right, default=1.0)
    spots = {
        made.config: (
            _inset(place(p95, low, high)),
            20 + (_PLOT - 50) * (1 - place(precision, bottom, top)),
        )
        for made, p95, precision in known
    }
    kept = [made.config for made in tradeoff.frontier if made.config in spots]
    parts = [
        line(0, _PLOT, 1, _PLOT, "base"),
        path([spots[name] for name in kept], "curve frontier"),
    ]
    for made, p95, precision in known:
        x, y = spots[made.config]
        state = "hollow" if made.config not in kept else "pass" if made.passes else "no_gate"
        name, said = wording.short_name(made.config), wording.format_figure(p95, digits=1)
        says = f"{name}: P95 {said} ms, precision {precision}"
        parts.append(circle(x, y, f"point {state}", says, 6))
        figure = wording.format_figure(precision, digits=3)
        named = f"{wording.shortened(made.config, 20)}: {figure}"
        # The frontier rises, so there is room below a point, and above it at the right end.
        if x < 0.7:
            parts.append(text_label(named, percent(x + 0.02), y + 17, "tick"))
        else:
            parts.append(text_label(named, percent(x + 0.02), y - 11, "tick", "end"))
    parts.append(text_label("faster", 0, _PLOT + 18, "tick"))
    parts.append(text_label("slower, by P95", "100%", _PLOT + 18, "tick", "end"))
    parts.append(text_label("more precise", 0, 8, "tick"))
    said = "; ".join(
        f"{wording.short_name(made.config)} P95 {wording.format_figure(p95, digits=1)} ms,"
        f" precision {wording.format_figure(precision)}"
        for made, p95, precision in known
    )
    title = "Configurations worth having"
    return Chart(title, said, canvas(_PLOT + 26, title, said, *parts), table, _FRONTIER_KEY)


def _grid(top: float) -> Iterator[str]:
    for value in round_steps(top):
        y = _down(value, top)
        yield line(0, y, 1, y, "grid")
        yield text_label(wording.format_figure(value), 0, y - 4, "tick")


def _down(value: float, top: float) -> float:
    return _PLOT * (1 - place(value, 0, top))


def _inset(share: float) -> float:
    return _EDGE + share * (1 - 2 * _EDGE)


MOST_RUNS: Final = 60
_TREND_HEIGHT: Final = 110
_GOLD_CHANGED_NOTE: Final = (
    "Dotted: the gold set changed there; figures before and after it differ in kind."
)


def trend_charts(runs: Sequence[HistoryRun], kind: str) -> Iterator[Chart]:
    """Yield a small chart for each metric that has a gate in the last run of this kind."""
    same = [run for run in runs if run.kind == kind][-MOST_RUNS:]
    if len(same) < 2:
        return
    for gate in same[-1].gates:
        if any(_trend_figure(run, gate.metric).value is not None for run in same):
            yield _trend(same, gate)


def _trend_figure(run: HistoryRun, metric: str) -> HistoryFigure:
    return run.metrics.get(metric, HistoryFigure())


def _trend(runs: list[HistoryRun], gate: HistoryGate) -> Chart:
    figures = [(n, run, _trend_figure(run, gate.metric)) for n, run in enumerate(runs)]
    ends = [end for _, _, made in figures for end in (made.ci95 or ()) if made.value is not None]
    seen = [made.value for _, _, made in figures if made.value is not None]
    low, high = min([*seen, *ends, gate.threshold]), max([*seen, *ends, gate.threshold])
    margin = (high - low) * 0.08 or 0.5
    low, high = low - margin, high + margin
    across = [0.04 + 0.92 * n / (len(runs) - 1) for n in range(len(runs))]

    def down(value: float) -> float:
        return 22 + (_TREND_HEIGHT - 44) * (1 - place(value, low, high))

    limit = down(gate.threshold)
    parts = [line(0, limit, 1, limit, "limit")]
    moved = [n for n, (old, new) in enumerate(pairwise(runs)) if _gold(old) != _gold(new)]
    for n in moved:
        middle = (across[n] + across[n + 1]) / 2
        parts.append(line(middle, 18, middle, _TREND_HEIGHT - 18, "moved"))
    for n, run, made in figures:
        if made.value is None:
            parts.append(line(across[n], _TREND_HEIGHT - 20, across[n], _TREND_HEIGHT - 12, "gap"))
            continue
        if made.ci95 is not None:
            bottom, top = map(down, made.ci95)
            parts.append(line(across[n], bottom, across[n], top, f"whisker {_status(run, gate)}"))
    known = [(across[n], down(made.value)) for n, _, made in figures if made.value is not None]
    parts.append(path(known, "curve trend"))
    for n, run, made in figures:
        if made.value is not None:
            decision = wording.DECISION_NAMES[run.decision].lower()
            says = f"{run.at}: {wording.format_figure(made.value)}, {decision}"
            kind = f"point {_status(run, gate)}"
            parts.append(circle(across[n], down(made.value), kind, says, 4))
    last = figures[-1][2].value
    said_last = "not measured" if last is None else wording.format_figure(last, gate.threshold)
    wanted = f"{gate.op} {wording.format_figure(gate.threshold)}"
    parts += [
        text_label(f"{said_last}, {wanted}", "100%", 8, f"value {gate.status}", "end"),
        text_label(runs[0].at[:10], percent(0), _TREND_HEIGHT - 2, "tick"),
        text_label(runs[-1].at[:10], "100%", _TREND_HEIGHT - 2, "tick", "end"),
    ]
    says = f"{len(runs)} runs; the last is {said_last}, and {wanted} is asked"
    drawing = canvas(_TREND_HEIGHT, f"{gate.metric} from run to run", says, *parts)
    return Chart(
        gate.metric, says, drawing, _trend_table(figures, gate), _GOLD_CHANGED_NOTE if moved else ""
    )


def _gold(run: HistoryRun) -> str | None:
    return run.inputs.get("gold", run.inputs.get("golden"))


def _status(run: HistoryRun, gate: HistoryGate) -> str:
    """Return the status of the gate in that run, with the threshold of that time."""
    return next((made.status for made in run.gates if made.metric == gate.metric), "no_gate")


def _trend_table(
    figures: list[tuple[int, HistoryRun, HistoryFigure]], gate: HistoryGate
) -> ReportTable:
    rows = tuple(
        TableRow(
            (
                run.at,
                wording.format_figure(made.value),
                wording.format_interval(made.ci95),
                wording.ABSENT if made.n is None else str(made.n),
                wording.DECISION_NAMES[run.decision],
            ),
            {"ship": "pass", "no_ship": "fail"}.get(run.decision, "not_measured"),
        )
        for _, run, made in reversed(figures)
    )
    columns = ("Run", "Value", "95%", "n", "Decision")
    return ReportTable(gate.metric, columns, rows, frozenset({1, 3}))
