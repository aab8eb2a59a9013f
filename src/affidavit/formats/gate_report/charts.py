"""The drawings of a report: figures against their thresholds, latency by load, the frontier."""

from collections.abc import Iterator
from typing import Final

from affidavit.formats.gate_report import kinds, words
from affidavit.formats.gate_report.detail_tables import detail_tables, load_of
from affidavit.formats.gate_report.scales import scale_of
from affidavit.formats.gate_report.svg import (
    Chart,
    canvas,
    dot,
    label,
    line,
    path,
    percent,
    place,
    round_steps,
    tag,
)
from affidavit.formats.gate_report.tables import ReportTable
from affidavit.formats.gate_report.wire import GateV1, MetricV1, ReportV1

_ROW: Final = 52
_PLOT: Final = 230
MOST_SPOTS: Final = 100
"""How many loads or configurations a drawing shows; nobody could tell more of them apart."""
_MOST_ROWS: Final = 40
_EDGE: Final = 0.1
"""What is left free on either side, so that points and their labels are not cut."""
_GATE_KEY: Final = (
    "Point: the value. Line: its interval at 95%. Upright mark: the threshold. Green: what passes."
)
_LOAD_KEY: Final = "Milliseconds from question to answer. Dashed: what a gate allows."
_FRONTIER_KEY: Final = "Connected: no other is both faster and more precise. Green: its gates pass."
_PERCENTILES: Final = ("p50_ms", "p95_ms", "p99_ms")


def charts_of(report: ReportV1) -> Iterator[Chart]:
    """Yield the drawings that a report has the numbers for."""
    if report.gates or report.metrics:
        yield gate_chart(report)
    details = kinds.details_of(report.kind, report.details)
    if isinstance(details, kinds.LatencyV1):
        tables = {table.columns[0]: table for table in detail_tables(report)}
        if len(details.load) > 1:
            yield load_chart(details, report.gates, tables["Load"])
        if details.tradeoff is not None and details.tradeoff.frontier:
            yield frontier_chart(details.tradeoff, tables["Configuration"])


def gate_chart(report: ReportV1) -> Chart:
    """Return each figure with its interval against its threshold, on a scale of its own."""
    gated = {gate.metric for gate in report.gates}
    rows: list[tuple[str, GateV1 | MetricV1]] = [(gate.metric, gate) for gate in report.gates]
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


def _gate_row(top: float, name: str, made: GateV1 | MetricV1) -> str:
    scale = scale_of(name, made)
    status = made.status if isinstance(made, GateV1) else "no_gate"
    wanted = words.wanted(made) if isinstance(made, GateV1) else "no gate"
    beside = made.threshold if isinstance(made, GateV1) else None
    value = "not measured" if made.value is None else words.figure(made.value, beside)
    middle = top + 34
    parts = [
        label(name, 0, top + 16, "name"),
        label(f"{value}, {wanted}", "100%", top + 16, f"value {status}", "end"),
        tag("rect", x=0, y=middle - 4, width="100%", height=8, rx=4, class_="track"),
    ]
    if isinstance(made, GateV1):
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
        says = f"{name}: {value}, 95% {words.interval(made.ci95)}, {wanted}"
        parts.append(dot(place(made.value, *scale), middle, f"point {status}", says, 6))
    return "".join(parts)


def load_chart(details: kinds.LatencyV1, gates: tuple[GateV1, ...], table: ReportTable) -> Chart:
    """Return the percentiles by load, with the limits that gates set."""
    loads = sorted(details.load.items(), key=lambda item: (load_of(item[0]), item[0]))[:MOST_SPOTS]
    numbers = [load_of(name) for name, _ in loads]
    seen = [
        value
        for _, part in loads
        for metric in _PERCENTILES
        if (value := getattr(part, metric)) is not None
    ]
    highest = max(seen, default=1.0)
    # A limit far above everything would press the curves together; the gates show it anyway.
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
    parts += [label(name, percent(x), _PLOT + 18, "tick", "middle") for name, x in across.items()]
    said = "; ".join(
        f"at {name} P50 {words.figure(part.p50_ms, digits=1)}, P95"
        f" {words.figure(part.p95_ms, digits=1)}, P99 {words.figure(part.p99_ms, digits=1)} ms"
        for name, part in loads
    )
    title = "Latency by load"
    return Chart(title, said, canvas(_PLOT + 26, title, said, *parts), table, _LOAD_KEY)


def _curve(
    metric: str,
    loads: list[tuple[str, kinds.PercentilesV1]],
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
        yield dot(x, y, f"mark {metric}", f"{said} at {name}: {words.figure(value, digits=1)} ms")


def _curve_names(last: tuple[str, kinds.PercentilesV1], x: float, top: float) -> Iterator[str]:
    """Yield the names of the curves beside their ends, moved apart where they would overlap."""
    free = float(_PLOT) + 12
    for metric in _PERCENTILES:
        value = getattr(last[1], metric)
        if value is not None:
            free = min(_down(value, top) + 4, free - 13)
            said = metric.removesuffix("_ms").upper()
            yield label(said, percent(x + 0.025), free, f"end {metric}")


def _limits(gates: list[GateV1], across: dict[str, float], top: float) -> Iterator[str]:
    for gate in gates:
        _, _, part = gate.metric.partition("/")
        y = _down(gate.threshold, top)
        if not part:
            yield line(0, y, 1, y, "limit")
            # Beside the numbers of the scale, which stand at the edge.
            yield label(words.gate_name(gate), percent(0.1), y - 5, "limit-name")
        elif part in across:
            yield line(max(0.0, across[part] - 0.04), y, min(1.0, across[part] + 0.04), y, "limit")


def frontier_chart(tradeoff: kinds.TradeoffV1, table: ReportTable) -> Chart:
    """Return precision over P95: what is on the frontier is connected, what is beaten is hollow."""
    beaten = [each for each in tradeoff.dominated if isinstance(each, kinds.ConfigurationV1)]
    every = [*tradeoff.frontier, *beaten][:MOST_SPOTS]
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
        name, said = words.named(made.config), words.figure(p95, digits=1)
        says = f"{name}: P95 {said} ms, precision {precision}"
        parts.append(dot(x, y, f"point {state}", says, 6))
        named = f"{words.shortened(made.config, 20)}: {words.figure(precision, digits=3)}"
        # The frontier rises: there is room below and to the right of a point, at its end above.
        if x < 0.7:
            parts.append(label(named, percent(x + 0.02), y + 17, "tick"))
        else:
            parts.append(label(named, percent(x + 0.02), y - 11, "tick", "end"))
    parts.append(label("faster", 0, _PLOT + 18, "tick"))
    parts.append(label("slower, by P95", "100%", _PLOT + 18, "tick", "end"))
    parts.append(label("more precise", 0, 8, "tick"))
    said = "; ".join(
        f"{words.named(made.config)} P95 {words.figure(p95, digits=1)} ms,"
        f" precision {words.figure(precision)}"
        for made, p95, precision in known
    )
    title = "Configurations worth having"
    return Chart(title, said, canvas(_PLOT + 26, title, said, *parts), table, _FRONTIER_KEY)


def _grid(top: float) -> Iterator[str]:
    for value in round_steps(top):
        y = _down(value, top)
        yield line(0, y, 1, y, "grid")
        yield label(words.figure(value), 0, y - 4, "tick")


def _down(value: float, top: float) -> float:
    return _PLOT * (1 - place(value, 0, top))


def _inset(share: float) -> float:
    return _EDGE + share * (1 - 2 * _EDGE)
