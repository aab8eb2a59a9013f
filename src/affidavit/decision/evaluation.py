"""Evaluate gates against measures: pass, fail or not measured, and the decision over all of them.

Items that were not measured could come out either way. A gate passes only if it would pass in every
case, fails only if it would fail in every case, and is not measured otherwise.
"""

from collections.abc import Callable, Iterable, Mapping
from math import ceil, inf, isinf
from typing import Final, Literal

from msgspec import UNSET, Struct, UnsetType, structs

from affidavit.base.exits import Exit
from affidavit.base.statistics import (
    Interval,
    Rate,
    design_effect,
    rounded,
    wilson,
    z_value,
)
from affidavit.decision.counts import Count, Tally
from affidavit.decision.decision import Decision, GateStatus
from affidavit.decision.gate import Gate, Operator, gate_text, threshold_text
from affidavit.decision.metric import Metric, MetricKind

Ci95 = tuple[float, float]
Correction = Literal["holm"]
"""How gates with a confidence level are corrected for their number."""
_MAX_ITEMS: Final = 10**12
"""Beyond this no count is printed; the square of a tiny distance can underflow to 0."""


class Figure(Struct, frozen=True, kw_only=True):
    """A value and its counts as a report stores them, rounded.

    `bounds` are the least and the largest value that the items not measured allow. Where the value
    would be biased, there are only the bounds.
    """

    value: float | None
    numerator: Count | None = None
    denominator: Count | None = None
    ci95: Ci95 | None = None
    not_measured: Count = 0
    bounds: Ci95 | None = None


class Measure(Struct, frozen=True, kw_only=True):
    """An exact value with the counts behind it, which gates are evaluated against.

    `still_open` is how many of the items not measured may change the result: all of them, unless
    the user allowed some to be missing. A value without a `rate` has only `count`, the number of
    items behind it. `items` names the items that speak against the value; where it is set, reasons
    name these items instead of the counts.
    """

    metric: Metric
    value: float | None
    rate: Rate | None = None
    ci95: Interval | None = None
    not_measured: int = 0
    still_open: int = 0
    count: int | None = None
    items: tuple[str, ...] | None = None
    interval_at: Callable[[float], Interval | None] | None = None
    """The interval of a figure that is not a share, at a confidence."""
    design_effect: float = 1.0
    """By which factor items that repeat a question raise the variance of the rate."""

    @property
    def n(self) -> int | None:
        """How many items were measured."""
        return self.count if self.rate is None else self.rate.denominator

    @property
    def figure(self) -> Figure:
        """The measure as a report stores it."""
        return Figure(
            value=rounded(self.value),
            numerator=None if self.rate is None else self.rate.numerator,
            denominator=self.n,
            ci95=rounded_interval(_bounds(self.ci95)),
            not_measured=self.not_measured,
            bounds=rounded_interval(self.bounds),
        )

    @property
    def bounds(self) -> Ci95 | None:
        """The least and the largest share that the items not measured allow."""
        if self.metric.kind is not MetricKind.SHARE or self.rate is None:
            return None
        if not self.rate.denominator or not self.still_open:
            return None
        whole = self.rate.denominator + self.still_open
        return self.rate.numerator / whole, (self.rate.numerator + self.still_open) / whole


def _bounds(interval: Interval | None) -> Ci95 | None:
    return None if interval is None else (interval.low, interval.high)


def rounded_interval(bounds: Ci95 | None) -> Ci95 | None:
    """Return the bounds of an interval as a report stores them."""
    return None if bounds is None else (rounded(bounds[0]), rounded(bounds[1]))


def measure_from_tally(
    metric: Metric,
    tally: Tally,
    *,
    allow_missing: bool = False,
    clusters: Iterable[Rate] = (),
) -> Measure:
    """Return the measure of a tally: the number of hits for a count, their share for a share.

    `clusters` are the rates of questions that have several items: their interval is wider.
    """
    rate = tally.rate
    effect = design_effect(rate, clusters)
    is_count = metric.kind is MetricKind.COUNT
    value = float(rate.numerator) if is_count and rate.denominator else rate.value
    is_biased = metric.selective and tally.unknown > 0
    still_open = tally.unknown if allow_missing else tally.not_measured
    return Measure(
        metric=metric,
        value=None if is_biased else value,
        rate=rate,
        ci95=None if is_count or is_biased else wilson(rate, design_effect=effect),
        not_measured=tally.not_measured,
        still_open=still_open,
        design_effect=effect,
    )


class GateResult(Struct, frozen=True, kw_only=True):
    """The result of one gate, and why. `metric` includes the part; `confidence` is a percentage.

    `corrected` is the confidence that was asked for because of the number of gates.
    """

    metric: str
    op: Operator
    threshold: float
    confidence: float | None = None
    value: float | None
    n: Count | None = None
    ci95: Ci95 | None = None
    not_measured: Count = 0
    bounds: Ci95 | None = None
    status: GateStatus
    reason: str = ""
    corrected: float | UnsetType = UNSET

    @property
    def gate(self) -> str:
        """The gate as a user writes it."""
        return gate_text(self.metric, self.op, self.threshold, self.confidence)


class GateDecision(Struct, frozen=True):
    """The decision, the result of every gate, and the reasons not to ship."""

    decision: Decision
    results: tuple[GateResult, ...]
    reasons: tuple[str, ...]
    correction: Correction | None = None

    @property
    def failed(self) -> frozenset[str]:
        """The names of the metrics whose gates failed."""
        return self._metrics(GateStatus.FAILED)

    @property
    def not_measured(self) -> frozenset[str]:
        """The names of the metrics whose gates were not measured."""
        return self._metrics(GateStatus.OPEN)

    def _metrics(self, status: GateStatus) -> frozenset[str]:
        return frozenset(
            result.metric.partition("/")[0] for result in self.results if result.status is status
        )


class GateSummary(Struct, frozen=True, forbid_unknown_fields=True):
    """The result of a gate in short, as ledgers and lint reports store it."""

    gate: str
    value: float | None
    status: GateStatus
    reason: str


class DecisionSummary(Struct, frozen=True, forbid_unknown_fields=True):
    """A decision with the results of its gates in short."""

    decision: Decision
    results: tuple[GateSummary, ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the decision is not to ship; empty if it is."""
        against = self._reasons_with(GateStatus.FAILED, GateStatus.OPEN)
        if against or self.decision is Decision.SHIP:
            return against
        return self._reasons_with(GateStatus.EMPTY)

    def _reasons_with(self, *statuses: GateStatus) -> tuple[str, ...]:
        return tuple(each.reason for each in self.results if each.status in statuses)

    @property
    def exit(self) -> Exit:
        """The exit code of a command that makes this decision."""
        return self.decision.exit


def summarise_decision(made: GateDecision) -> DecisionSummary:
    """Return a decision in the short form."""
    results = (
        GateSummary(each.gate, each.value, each.status, each.reason) for each in made.results
    )
    return DecisionSummary(made.decision, tuple(results))


def decide(
    gates: Iterable[Gate],
    measures: Mapping[str, Measure],
    *,
    doubts: Iterable[str] = (),
    refusals: Iterable[str] = (),
    correction: Correction | None = None,
) -> GateDecision:
    """Evaluate every gate and return the decision.

    A doubt turns SHIP into INCONCLUSIVE, a refusal turns every decision into NO_SHIP. Without a
    gate that passes the decision is inconclusive. A gate on a part without rows is not measured.
    """
    measured = [
        (gate, measures.get(gate.key, Measure(metric=gate.metric, value=None))) for gate in gates
    ]
    corrected = {} if correction is None else _corrected_by_holm(measured)
    results = tuple(
        _evaluate_gate(gate, measure, corrected.get(gate.key)) for gate, measure in measured
    )
    forbidden, doubted = tuple(refusals), tuple(doubts)
    failed, unsure = (
        tuple(result.reason for result in results if result.status is status)
        for status in (GateStatus.FAILED, GateStatus.OPEN)
    )
    seen = {result.status for result in results}
    if not results:
        doubted = ("there is no gate, so there is nothing to decide", *doubted)
    elif seen == {GateStatus.EMPTY}:
        doubted = (*(result.reason for result in results), *doubted)
    # Doubts come before gates that were not measured, because they are usually the cause.
    reasons = (*forbidden, *failed, *doubted, *unsure)
    if forbidden or GateStatus.FAILED in seen:
        return GateDecision(Decision.NO_SHIP, results, reasons, correction)
    decision = Decision.INCONCLUSIVE if reasons else Decision.SHIP
    return GateDecision(decision, results, reasons, correction)


def _corrected_by_holm(measured: Iterable[tuple[Gate, Measure]]) -> dict[str, Gate]:
    """Return the gates that have a confidence with the one that Holm's method asks of each.

    Of m gates, each is tried with an m-th of the error that it allows. Those that hold are done,
    and the others are tried again as the only ones. The error over all gates is then at most the
    largest that one of them allows. Origin: Holm (1979), "A simple sequentially rejective multiple
    test procedure".
    """
    left = {gate.key: (gate, measure) for gate, measure in measured if gate.confidence is not None}
    found: dict[str, Gate] = {}
    while left:
        tried = {
            key: structs.replace(gate, confidence=1 - (1 - (gate.confidence or 0.0)) / len(left))
            for key, (gate, _) in left.items()
        }
        held = [key for key, gate in tried.items() if _bound_holds(gate, left[key][1])]
        for key in held or [*left]:
            found[key] = tried[key]
            del left[key]
    return found


def _bound_holds(gate: Gate, measure: Measure) -> bool:
    bound = _bound(gate, measure)
    return bound is not None and gate.holds(bound)


def _evaluate_gate(gate: Gate, measure: Measure, corrected: Gate | None = None) -> GateResult:
    status, reason = _status_and_reason(gate, measure, corrected or gate)
    return GateResult(
        metric=gate.key,
        op=gate.operator,
        threshold=gate.threshold,
        confidence=gate.percent,
        value=measure.value,
        n=measure.n,
        ci95=_bounds(measure.ci95),
        not_measured=measure.not_measured,
        bounds=measure.bounds,
        status=status,
        reason=reason,
        corrected=UNSET if corrected is None or corrected.percent is None else corrected.percent,
    )


def _status_and_reason(gate: Gate, measure: Measure, asked: Gate) -> tuple[GateStatus, str]:
    if measure.value is None and gate.metric.may_be_empty and measure.n == 0:
        return GateStatus.EMPTY, f"{gate} has nothing to measure, because {gate.metric.empty}"
    if measure.value is None and measure.bounds is None:
        return GateStatus.OPEN, f"{gate.key} was not measured, {_why_not_measured(gate, measure)}"
    said = f"{gate.key} is {_format_measured(measure)}{_format_counts(measure)}"
    best, worst = _extremes(gate, measure)
    if not gate.holds(best):
        items = f": {', '.join(measure.items)}" if measure.items else ""
        return GateStatus.FAILED, f"{said}, but {gate} is asked{items}"
    left = measure.still_open
    if left and not (gate.holds(worst) and _has_extremes(measure)):
        return GateStatus.OPEN, f"{said}, but {_format_items(left)} not measured could turn {gate}"
    bound = _bound(asked, measure)
    if bound is not None and not gate.holds(bound):
        return GateStatus.OPEN, f"{said}, but {_too_few(asked, measure, bound, str(gate))}"
    return GateStatus.PASSED, f"{said}, as {gate} asks"


def _too_few(gate: Gate, measure: Measure, bound: float, text: str) -> str:
    """Say that there are too few items for a gate, which the user wrote as `text`."""
    if isinf(bound):
        return f"there are too few items for an interval, which {text} asks for"
    corrected = "" if text == str(gate) else f" at {_format_value(gate.percent or 0.0)}% (Holm)"
    reaches = f"its interval{corrected} reaches to {_format_value(bound)}: too few items for {text}"
    if measure.rate is None:
        return reaches
    return f"{reaches} ({_items_needed(gate, measure)} would do at this rate)"


def _why_not_measured(gate: Gate, measure: Measure) -> str:
    is_empty_part = gate.part is not None and not measure.n
    empty = f"no row of {gate.part} was" if is_empty_part else gate.metric.empty
    if not empty:
        return f"so {gate} cannot be decided"
    return f"because {empty}: add what is missing, or leave the gate out with {gate.key}=off"


def _has_extremes(measure: Measure) -> bool:
    """Tell whether the items not measured can change the value only within known bounds."""
    is_mean = measure.metric.kind is MetricKind.SCORE and measure.count is not None
    return measure.rate is not None or is_mean


def _extremes(gate: Gate, measure: Measure) -> tuple[float, float]:
    """Return the best and the worst value that the items not measured allow."""
    left = measure.still_open if _has_extremes(measure) else 0
    if measure.rate is not None:
        total, count = float(measure.rate.numerator), measure.rate.denominator
    else:
        count = measure.count or 1
        total = (measure.value or 0.0) * count
    whole = 1 if gate.metric.kind is MetricKind.COUNT else count + left
    if measure.rate is None and not left:
        total, whole = measure.value or 0.0, 1
    low, high = total / whole, (total + left) / whole
    return (high, low) if gate.metric.more_is_better else (low, high)


def _bound(gate: Gate, measure: Measure) -> float | None:
    """Return the worse bound of the interval that the gate asks for, in the worst case."""
    if gate.confidence is None:
        return None
    if measure.interval_at is not None or measure.rate is None:
        # Without an interval nothing bounds the figure.
        found = measure.interval_at(gate.confidence) if measure.interval_at else None
        widest = Interval(-inf, inf) if found is None else found
        return widest.low if gate.metric.more_is_better else widest.high
    worst = _worst_rate(gate, measure)
    interval = wilson(worst, gate.confidence, measure.design_effect) or Interval(0, 1)
    return interval.low if gate.metric.more_is_better else interval.high


def _worst_rate(gate: Gate, measure: Measure) -> Rate:
    found, left = measure.rate or Rate(0, 0), measure.still_open
    bad = 0 if gate.metric.more_is_better else left
    return Rate(found.numerator + bad, found.denominator + left)


def _items_needed(gate: Gate, measure: Measure) -> str:
    """Return how many items would satisfy the gate at this rate.

    The bounds of the Wilson interval invert the score test, so the number of items has a closed
    form. If the rate equals the threshold, no number is large enough.
    """
    share = _worst_rate(gate, measure).value or 0.0
    distance = abs(share - gate.threshold)
    if not distance:
        return "no number"
    z = z_value(gate.confidence or 0.0)
    spread = z * z * gate.threshold * (1 - gate.threshold) * measure.design_effect
    if spread > _MAX_ITEMS * distance**2:
        return f"more than {_MAX_ITEMS}"
    return str(ceil(spread / distance**2))


def _format_value(value: float) -> str:
    return threshold_text(rounded(value, 4))


def _format_measured(measure: Measure) -> str:
    if measure.value is not None:
        return _format_value(measure.value)
    low, high = measure.bounds or (0.0, 1.0)
    return f"between {_format_value(low)} and {_format_value(high)}"


def _format_counts(measure: Measure) -> str:
    if measure.rate is None or measure.items is not None:
        return ""
    return f" ({measure.rate.numerator} of {measure.rate.denominator})"


def _format_items(count: int) -> str:
    return "1 item" if count == 1 else f"{count} items"
