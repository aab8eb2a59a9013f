"""The decision policy: when a soak stops, and what it decides.

Runs that were not judged, or not run, could have come out either way. A soak passes only if it
would pass in every case (docs/adr/0039).
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from affidavit.base.statistics import Rate, wilson
from affidavit.decision.decision import Decision
from affidavit.decision.evaluation import DecisionSummary as GatesSummary
from affidavit.decision.evaluation import Measure, decide, summarise_decision
from affidavit.decision.gate import Gate
from affidavit.decision.metric import Metric, MetricKind, MetricTable, metric_table
from affidavit.soak.sequential import RateBound, SequentialTest, Side
from affidavit.soak.trial import Count, Position, Trial, TrialStatus

SeverityName = Literal["info", "warning", "error"]


class DecisionPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`decision_policy` of soak-report-v1. The soak fails when `max_failures` runs have failed."""

    pass_on_severity_at_or_above: SeverityName = "error"  # noqa: S105 - not a password
    stop_on_first_failure: bool = False
    max_failures: Annotated[int, Meta(ge=1)] | UnsetType = UNSET


class StopPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What soak-report-v1 has no place for (ADR-025, track 1).

    `stop_on_violation` stops at the first run that violates a rule of any severity. Fewer judged
    runs than `min_runs` decide nothing but a failure.
    """

    stop_on_violation: bool = False
    min_runs: Annotated[int, Meta(ge=1)] = 1
    until: RateBound | None = None


class StopReason(StrEnum):
    """Why a soak ended before its last iteration."""

    FIRST_FAILURE = "first_failure"
    VIOLATION = "violation"
    MAX_FAILURES = "max_failures"
    DECIDED = "decided"
    TIME_BUDGET = "time_budget"
    INTERRUPTED = "interrupted"
    TOO_FEW_BUNDLES = "too_few_bundles"


BY_DESIGN: Final = frozenset(
    {StopReason.FIRST_FAILURE, StopReason.VIOLATION, StopReason.MAX_FAILURES, StopReason.DECIDED}
)


class StopRule:
    """Feed it the trials by their index; it says when to stop, whatever order they ended in."""

    def __init__(self, policy: DecisionPolicy, stop: StopPolicy) -> None:
        self._policy = policy
        self._stop = stop
        self._failures = 0
        self._judged = 0
        self.test = None if stop.until is None else SequentialTest(stop.until)

    def feed(self, trial: Trial) -> StopReason | None:
        """Count a trial and return why no further one is needed, or None."""
        if trial.is_judged:
            self._judged += 1
            self._failures += trial.status is TrialStatus.FAIL
            if self.test is not None:
                self.test.feed(trial.status is TrialStatus.PASS)
        return self._reason(trial)

    def _reason(self, trial: Trial) -> StopReason | None:
        policy, stop = self._policy, self._stop
        most = policy.max_failures
        if most is not UNSET and self._failures >= most:
            return StopReason.MAX_FAILURES
        if policy.stop_on_first_failure and self._failures:
            return StopReason.FIRST_FAILURE
        if stop.stop_on_violation and trial.violated_rules:
            return StopReason.VIOLATION
        if self._judged < stop.min_runs or self.test is None:
            return None
        return None if self.test.side is Side.UNDECIDED else StopReason.DECIDED


class SoakCounts(Struct, frozen=True, forbid_unknown_fields=True):
    """How many runs came out each way. Counts of parts add up."""

    passes: Count = 0
    failures: Count = 0
    infra_errors: Count = 0

    @classmethod
    def of(cls, trials: Iterable[Trial]) -> "SoakCounts":
        """Count trials."""
        sums = dict.fromkeys(TrialStatus, 0)
        for trial in trials:
            sums[trial.status] += 1
        return cls(*sums.values())

    @property
    def runs(self) -> int:
        """All runs."""
        return self.judged + self.infra_errors

    @property
    def judged(self) -> int:
        """The runs that passed or failed."""
        return self.passes + self.failures

    @property
    def rate(self) -> Rate:
        """The share of passes among the judged runs."""
        return Rate(self.passes, self.judged)


# Gates on a whole soak.

PASS_RATE: Final = Metric("pass_rate", MetricKind.SHARE, True, empty="no run was judged")
FAILURES: Final = Metric("failures", MetricKind.COUNT, False)
INFRA_ERRORS: Final = Metric("infra_errors", MetricKind.COUNT, False)
SOAK_METRICS: Final[MetricTable] = metric_table([PASS_RATE, FAILURES, INFRA_ERRORS])


def soak_measures(counts: SoakCounts) -> dict[str, Measure]:
    """Return the measures of a soak; a run that was not judged may turn the pass rate."""
    rate = counts.rate
    measures = (
        Measure(
            metric=PASS_RATE,
            value=rate.value,
            rate=rate,
            ci95=wilson(rate),
            not_measured=counts.infra_errors,
            still_open=counts.infra_errors,
        ),
        Measure(metric=FAILURES, value=counts.failures),
        Measure(metric=INFRA_ERRORS, value=counts.infra_errors),
    )
    return {measure.metric.name: measure for measure in measures}


class SoakDecision(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a soak decided, and why."""

    decision: Decision
    reasons: tuple[str, ...]
    gates: GatesSummary | None = None


class SoakEnd(Struct, frozen=True):
    """How many iterations were asked for, and why no further one was run."""

    iterations: Position
    stopped: StopReason | None = None


_WORST_FIRST: Final = (Decision.NO_SHIP, Decision.INCONCLUSIVE, Decision.SHIP)


def decide_soak(
    policy: DecisionPolicy,
    stop: StopPolicy,
    counts: SoakCounts,
    end: SoakEnd,
    side: Side = Side.UNDECIDED,
    gates: Sequence[Gate] = (),
) -> SoakDecision:
    """Return the decision. Every part must hold; one that fails decides, then one that is open."""
    made = summarise_decision(decide(gates, soak_measures(counts))) if gates else None
    parts: list[tuple[Decision, str]] = []
    if stop.until is not None:
        parts.append(_by_bound(stop.until, side, counts))
    if made is not None:
        said = "; ".join(result.reason for result in made.results)
        parts.append((made.decision, said or "no gate was asked"))
    if policy.max_failures is not UNSET or not parts:
        parts.append(_by_failures(policy, counts, end))
    if counts.judged < stop.min_runs:
        few = f"{counts.judged} runs were judged, and {stop.min_runs} are needed"
        parts.append((Decision.INCONCLUSIVE, few))
    found = {decision for decision, _ in parts}
    worst = next(decision for decision in _WORST_FIRST if decision in found)
    reasons = tuple(reason for decision, reason in parts if decision is worst)
    return SoakDecision(decision=worst, reasons=reasons, gates=made)


def _by_bound(bound: RateBound, side: Side, counts: SoakCounts) -> tuple[Decision, str]:
    shown = f"{bound.rate} at {bound.percent:g}% confidence"
    if side is Side.UNDECIDED:
        return (
            Decision.INCONCLUSIVE,
            f"{counts.judged} runs do not decide whether the pass rate is above {shown}",
        )
    decision = Decision.SHIP if side is Side.ABOVE else Decision.NO_SHIP
    return decision, f"the pass rate is {side} {shown}, after {counts.judged} judged runs"


def _by_failures(policy: DecisionPolicy, counts: SoakCounts, end: SoakEnd) -> tuple[Decision, str]:
    most = 1 if policy.max_failures is UNSET else policy.max_failures
    if counts.failures >= most:
        return Decision.NO_SHIP, f"{counts.failures} of {counts.judged} judged runs failed"
    unrun = 0 if end.stopped in BY_DESIGN else end.iterations - counts.runs
    left = counts.infra_errors + unrun
    if counts.failures + left < most:
        return (
            Decision.SHIP,
            f"all {counts.judged} runs were judged, and {counts.failures} failed",
        )
    parts = [
        f"{count} {what}"
        for count, what in (
            (counts.infra_errors, "could not be judged"),
            (unrun, "were not run"),
        )
        if count
    ]
    return Decision.INCONCLUSIVE, f"of {end.iterations} runs {' and '.join(parts)}"
