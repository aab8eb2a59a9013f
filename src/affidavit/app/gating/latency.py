"""`gate latency`: measured latencies, with the accuracy of each configuration where it is known."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from affidavit.app.gating.baselines import stored_value
from affidavit.app.gating.files import BadLines, Lines, shown_name
from affidavit.app.gating.latency_files import latencies
from affidavit.base.decision import Decision, GateStatus
from affidavit.base.files import digest_file
from affidavit.gates import metrics
from affidavit.gates.decision import rule_on
from affidavit.gates.latency import LatencyCounts, latency_counts
from affidavit.gates.operational import latency_report
from affidavit.gates.report import Input, Report
from affidavit.gates.stored import Accuracy, accuracy_of, release_of
from affidavit.gates.thresholds import LATENCY_GATES, Gate, gates_with
from affidavit.gates.tradeoff import Configuration, RollbackGuard, Tradeoff, tradeoff_of

KIND = "latency"


@dataclass(frozen=True, slots=True)
class LatencyGate:
    """What is asked of latencies.

    `accuracy` names reports of `gate rag`, each with the configuration that it measured, or None
    for the release as a whole. `baseline` is the report of the last release.
    """

    files: tuple[str, ...]
    gates: tuple[str, ...] = ()
    rps: float | None = None
    accuracy: tuple[tuple[str | None, Path], ...] = ()
    guard: RollbackGuard | None = None
    skip_bad: bool = False
    baseline: Path | None = None


def gate_latency(asked: LatencyGate) -> Report:
    """Return the report of latencies."""
    before = None if asked.baseline is None else _last_release(asked.baseline)
    known = {name: accuracy_of(stored_value(path), str(path)) for name, path in asked.accuracy}
    bad = BadLines(asked.skip_bad)
    lines = Lines("latency", asked.files, bad)
    counts = latency_counts(latencies(lines, bad), asked.rps)
    whole = known.pop(None, None)
    precision = None if whole is None else whole.precision
    now = Configuration("this", counts.everything.figures["p95_ms"].value, precision)
    return latency_report(
        counts,
        (lines.as_input(), *_accuracy_inputs(asked)),
        overrides=asked.gates,
        tradeoff=_tradeoff(counts, known, asked.gates) if known else None,
        releases=None if before is None else (before, now),
        guard=asked.guard,
        precision=precision,
        refusals=_said(whole, Decision.NO_SHIP),
        doubts=_said(whole, Decision.INCONCLUSIVE),
    )


def _last_release(path: Path) -> Configuration:
    return release_of(stored_value(path), str(path))


def _accuracy_inputs(asked: LatencyGate) -> Iterable[Input]:
    for name, path in asked.accuracy:
        role = "accuracy" if name is None else f"accuracy of {name}"
        yield Input(role, shown_name(str(path)), digest_file(path), 1)


def _said(accuracy: Accuracy | None, decision: Decision) -> tuple[str, ...]:
    if accuracy is None or accuracy.decision is not decision:
        return ()
    words = decision.value.replace("_", "-")
    return (f"the accuracy that goes with these latencies is {words}",)


def _tradeoff(
    counts: LatencyCounts, known: dict[str | None, Accuracy], overrides: Iterable[str]
) -> Tradeoff:
    """Return which configurations are worth having; those with either figure are considered."""
    gates = gates_with(overrides, LATENCY_GATES, metrics.LATENCY)
    measured = {name for kind, name in counts.parts if kind == "config"}
    names = measured | {name for name in known if name is not None}
    return tradeoff_of(
        _configuration(name, counts, known.get(name), gates) for name in sorted(names)
    )


def _configuration(
    name: str, counts: LatencyCounts, accuracy: Accuracy | None, gates: tuple[Gate, ...]
) -> Configuration:
    """Return one setting of the knobs: interactive use asks for all gates, batch for accuracy."""
    measures = counts.of_config(name).figures
    is_right = accuracy is not None and accuracy.decision is Decision.SHIP
    # A gate on one load speaks of all configurations; it has no figure for a single one.
    ruling = rule_on((gate for gate in gates if gate.part is None), measures)
    is_quick = all(result.status is GateStatus.PASSED for result in ruling.results)
    return Configuration(
        name,
        measures["p95_ms"].value,
        None if accuracy is None else accuracy.precision,
        passes=is_right and is_quick,
        passes_relaxed=is_right,
    )
