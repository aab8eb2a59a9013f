"""The gates of a ledger: what must hold before an answer ships. Rules G1 to G6 of docs/ledger.md.

Three-valued: a gate on something that was not measured neither passes nor fails, and the decision
is then inconclusive, never a pass.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit
from affidavit.base.faults import evidence as faults
from affidavit.base.text import excerpt
from affidavit.decision.decision import Decision, GateStatus
from affidavit.decision.thresholds import meets_threshold, parse_number, threshold_text


class Metric(StrEnum):
    """What a gate can measure."""

    COVERAGE = "coverage"
    UNSUPPORTED = "unsupported"
    CRITICAL_UNSUPPORTED = "critical_unsupported"
    CONTRADICTIONS = "contradictions"
    SUPPORTED = "supported"
    UNRESOLVED_CITATIONS = "unresolved_citations"


_RATES: Final = frozenset({Metric.COVERAGE, Metric.UNSUPPORTED, Metric.SUPPORTED})
_MORE_IS_BETTER: Final = frozenset({Metric.COVERAGE, Metric.SUPPORTED})
_ALIASES: Final[Mapping[str, Metric]] = MappingProxyType(
    {
        "evidence_coverage": Metric.COVERAGE,
        "unsupported_rate": Metric.UNSUPPORTED,
        "critical": Metric.CRITICAL_UNSUPPORTED,
    }
)
_GATE: Final = re.compile(r"([a-z_]+)\s*(?:(>=|<=|>|<)\s*(\S+)|=\s*(off))")


@dataclass(frozen=True, slots=True)
class Gate:
    """A metric and the threshold that it must reach (`>=`, `>`) or keep (`<=`, `<`)."""

    metric: Metric
    operator: str
    threshold: float

    def __str__(self) -> str:
        return f"{self.metric}{self.operator}{threshold_text(self.threshold)}"

    def holds(self, value: float) -> bool:
        """Tell whether a measured value satisfies the gate."""
        return meets_threshold(value, self.operator, self.threshold)


DEFAULT_GATES: Final = (
    Gate(Metric.COVERAGE, ">=", 0.85),
    Gate(Metric.UNSUPPORTED, "<=", 0.05),
    Gate(Metric.CRITICAL_UNSUPPORTED, "<=", 0),
    Gate(Metric.CONTRADICTIONS, "<=", 0),
)
"""Origin: decisions.md, "Default gates"."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A measured value, None where there was nothing to measure, and the claims behind it."""

    value: float | None
    claims: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GateResult:
    """How one gate came out, and why."""

    gate: Gate
    value: float | None
    status: GateStatus
    reason: str


@dataclass(frozen=True, slots=True)
class GateReport:
    """The decision, with every gate's result."""

    decision: Decision
    results: tuple[GateResult, ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the decision is not to ship; empty if it is."""
        return tuple(
            result.reason for result in self.results if result.status is not GateStatus.PASSED
        )

    @property
    def exit(self) -> Exit:
        """How a command ends that makes this decision."""
        return self.decision.exit


def decide(gates: Iterable[Gate], measures: Mapping[Metric, Measure]) -> GateReport:
    """Try every gate. No gate at all decides nothing, so it is inconclusive."""
    results = tuple(_try(gate, measures[gate.metric]) for gate in gates)
    seen = {result.status for result in results}
    if GateStatus.FAILED in seen:
        return GateReport(Decision.NO_SHIP, results)
    if seen == {GateStatus.PASSED}:
        return GateReport(Decision.SHIP, results)
    return GateReport(Decision.INCONCLUSIVE, results)


def _try(gate: Gate, measure: Measure) -> GateResult:
    if measure.value is None:
        reason = f"{gate.metric} was not measured, so {gate} cannot be decided"
        return GateResult(gate, None, GateStatus.OPEN, reason)
    said = f"{gate.metric} is {threshold_text(round(measure.value, 4))}"
    if gate.holds(measure.value):
        return GateResult(gate, measure.value, GateStatus.PASSED, f"{said}, as {gate} asks")
    claims = f": {', '.join(measure.claims)}" if measure.claims else ""
    return GateResult(
        gate, measure.value, GateStatus.FAILED, f"{said}, but {gate} is asked{claims}"
    )


def gates_with(overrides: Iterable[str], gates: Iterable[Gate] = DEFAULT_GATES) -> tuple[Gate, ...]:
    """Return `gates` with some of them replaced, added (`supported>=0.5`) or off (`coverage=off`).

    One metric has one gate: naming it twice is an error, not a matter of order.
    """
    changed: dict[Metric, Gate | None] = {}
    for text in overrides:
        metric, gate = parse_gate(text)
        if metric in changed:
            raise AffidavitError(faults.GATE_TWICE, metric=metric)
        changed[metric] = gate
    kept = {gate.metric: gate for gate in gates}
    merged = {**kept, **changed}
    return tuple(gate for gate in merged.values() if gate is not None)


def parse_gate(text: str) -> tuple[Metric, Gate | None]:
    """Read `coverage>=0.9`, or `coverage=off`, which has no gate."""
    found = _GATE.fullmatch(text.strip())
    if found is None:
        raise AffidavitError(faults.GATE_SYNTAX, text=excerpt(text))
    metric = _metric_named(found[1])
    if found[4]:
        return metric, None
    operator = ">=" if metric in _MORE_IS_BETTER else "<="
    if found[2][0] != operator[0]:
        raise AffidavitError(
            faults.GATE_DIRECTION, text=excerpt(text), metric=metric, operator=operator
        )
    return metric, Gate(metric, found[2], _threshold(metric, found[3], text))


def _metric_named(name: str) -> Metric:
    if name in set(Metric):
        return Metric(name)
    if name in _ALIASES:
        return _ALIASES[name]
    raise AffidavitError(faults.GATE_METRIC, metric=excerpt(name), known=", ".join(Metric))


def _threshold(metric: Metric, number: str, text: str) -> float:
    value = parse_number(number)
    if value is None:
        raise AffidavitError(faults.GATE_SYNTAX, text=excerpt(text))
    is_rate = metric in _RATES
    if not math.isfinite(value) or value < 0 or (value > 1 if is_rate else value != int(value)):
        wanted = "a share from 0 to 1" if is_rate else "a whole number from 0 on"
        raise AffidavitError(faults.GATE_RANGE, text=excerpt(text), metric=metric, range=wanted)
    return abs(value)  # "-0" is 0.
