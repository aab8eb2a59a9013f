"""How figures went from run to run."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from affidavit.formats.gate_report import words
from affidavit.formats.gate_report.past import PastFigureV1, PastGateV1, PastRunV1
from affidavit.formats.gate_report.svg import (
    Chart,
    canvas,
    dot,
    label,
    line,
    path,
    percent,
    place,
)
from affidavit.formats.gate_report.tables import ReportTable, Row

MOST_RUNS: Final = 60
_HEIGHT: Final = 110
_MOVED: Final = "Dotted: the gold set changed there; figures before and after it differ in kind."


def trends_of(runs: Sequence[PastRunV1], kind: str) -> Iterator[Chart]:
    """Yield one small drawing for each metric that has a gate in the last run of this kind."""
    same = [run for run in runs if run.kind == kind][-MOST_RUNS:]
    if len(same) < 2:
        return
    for gate in same[-1].gates:
        if any(_figure(run, gate.metric).value is not None for run in same):
            yield _trend(same, gate)


def _figure(run: PastRunV1, metric: str) -> PastFigureV1:
    return run.metrics.get(metric, PastFigureV1())


def _trend(runs: list[PastRunV1], gate: PastGateV1) -> Chart:
    figures = [(n, run, _figure(run, gate.metric)) for n, run in enumerate(runs)]
    ends = [end for _, _, made in figures for end in (made.ci95 or ()) if made.value is not None]
    seen = [made.value for _, _, made in figures if made.value is not None]
    low, high = min([*seen, *ends, gate.threshold]), max([*seen, *ends, gate.threshold])
    margin = (high - low) * 0.08 or 0.5
    low, high = low - margin, high + margin
    across = [0.04 + 0.92 * n / (len(runs) - 1) for n in range(len(runs))]

    def down(value: float) -> float:
        return 22 + (_HEIGHT - 44) * (1 - place(value, low, high))

    limit = down(gate.threshold)
    parts = [line(0, limit, 1, limit, "limit")]
    moved = [n for n, (old, new) in enumerate(pairwise(runs)) if _gold(old) != _gold(new)]
    for n in moved:
        middle = (across[n] + across[n + 1]) / 2
        parts.append(line(middle, 18, middle, _HEIGHT - 18, "moved"))
    for n, run, made in figures:
        if made.value is None:
            parts.append(line(across[n], _HEIGHT - 20, across[n], _HEIGHT - 12, "gap"))
            continue
        if made.ci95 is not None:
            bottom, top = map(down, made.ci95)
            parts.append(line(across[n], bottom, across[n], top, f"whisker {_status(run, gate)}"))
    known = [(across[n], down(made.value)) for n, _, made in figures if made.value is not None]
    parts.append(path(known, "curve trend"))
    for n, run, made in figures:
        if made.value is not None:
            says = f"{run.at}: {words.figure(made.value)}, {words.DECISIONS[run.decision].lower()}"
            kind = f"point {_status(run, gate)}"
            parts.append(dot(across[n], down(made.value), kind, says, 4))
    last = figures[-1][2].value
    said_last = "not measured" if last is None else words.figure(last, gate.threshold)
    wanted = f"{gate.op} {words.figure(gate.threshold)}"
    parts += [
        label(f"{said_last}, {wanted}", "100%", 8, f"value {gate.status}", "end"),
        label(runs[0].at[:10], percent(0), _HEIGHT - 2, "tick"),
        label(runs[-1].at[:10], "100%", _HEIGHT - 2, "tick", "end"),
    ]
    says = f"{len(runs)} runs; the last is {said_last}, and {wanted} is asked"
    drawing = canvas(_HEIGHT, f"{gate.metric} from run to run", says, *parts)
    return Chart(gate.metric, says, drawing, _table(figures, gate), _MOVED if moved else "")


def _gold(run: PastRunV1) -> str | None:
    return run.inputs.get("gold", run.inputs.get("golden"))


def _status(run: PastRunV1, gate: PastGateV1) -> str:
    """Return how the gate came out in that run, under the threshold that it had then."""
    return next((made.status for made in run.gates if made.metric == gate.metric), "no_gate")


def _table(figures: list[tuple[int, PastRunV1, PastFigureV1]], gate: PastGateV1) -> ReportTable:
    rows = tuple(
        Row(
            (
                run.at,
                words.figure(made.value),
                words.interval(made.ci95),
                words.ABSENT if made.n is None else str(made.n),
                words.DECISIONS[run.decision],
            ),
            {"ship": "pass", "no_ship": "fail"}.get(run.decision, "not_measured"),
        )
        for _, run, made in reversed(figures)
    )
    columns = ("Run", "Value", "95%", "n", "Decision")
    return ReportTable(gate.metric, columns, rows, frozenset({1, 3}))
