"""The two documents of a soak: soak-report-v1, and affidavit-soak/1 with everything else.

soak-report-v1 is data contract 1 of ADR-025. It is closed, so what it has no place for is in the
second document. Both are computed from the plan and the trials alone.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, to_builtins

from affidavit.base.canonical import jcs
from affidavit.base.digest import digest_of
from affidavit.base.statistics import Rate, rounded, wilson
from affidavit.decision.gate import Gate
from affidavit.soak.drift import Drift
from affidavit.soak.fault_plan import FaultLevel
from affidavit.soak.figures import (
    CaseFigures,
    Ci95,
    PassHatKTable,
    Posterior,
    case_figures,
    counts_by_case,
    pass_hat_k_table,
    posterior_of,
    rounded_ci95,
)
from affidavit.soak.policy import (
    DecisionPolicy,
    SoakCounts,
    SoakDecision,
    SoakEnd,
    StopPolicy,
    StopReason,
    StopRule,
    decide_soak,
)
from affidavit.soak.sequential import METHOD, RateBound, Side, confidence_sequence
from affidavit.soak.trial import Count, Position, Trial, TrialStatus

SOAK_VERSION: Final = "soak-report-v1"
DETAILS_VERSION: Final = "affidavit-soak/1"
Share = Annotated[float, Meta(ge=0, le=1)]


class SoakPackV1(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A pack that judged the runs."""

    name: Annotated[str, Meta(min_length=1)]
    version: Annotated[str, Meta(min_length=1)]
    kind: Annotated[str, Meta(min_length=1)] | UnsetType = UNSET
    digest: Annotated[str, Meta(min_length=1)] | UnsetType = UNSET
    source: str | UnsetType = UNSET


class SoakResultsV1(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`results` of soak-report-v1. The pass rate is over the judged runs."""

    runs: Position
    passes: Count
    failures: Count
    infra_errors: Count
    pass_rate: Share
    pass_all: bool
    first_failure_at: Position | UnsetType | None = UNSET
    violations_by_rule: dict[str, Position] | UnsetType = UNSET
    infra_errors_by_kind: dict[str, Position] | UnsetType = UNSET
    pass_rate_ci95: tuple[Share, Share] | UnsetType = UNSET


class SoakRunV1(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run of soak-report-v1."""

    index: Position
    status: TrialStatus
    duration_ms: Count
    violated_rules: tuple[str, ...] | UnsetType = UNSET
    infra_error_kind: str | UnsetType = UNSET
    infra_error_message: str | UnsetType = UNSET


class SoakReportV1(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `affidavit sim soak --report` writes: data contract 1 of ADR-025."""

    schema_version: Literal["soak-report-v1"] = SOAK_VERSION
    mode: Literal["soak"] = "soak"
    generated_at: str | UnsetType = UNSET
    assay_version: str | UnsetType = UNSET
    suite: str | UnsetType = UNSET
    iterations: Position
    seed: Count
    time_budget_secs: Position
    limits: dict[str, int]
    packs: tuple[SoakPackV1, ...]
    decision_policy: DecisionPolicy | UnsetType = UNSET
    results: SoakResultsV1
    runs: tuple[SoakRunV1, ...] | UnsetType = UNSET


class SoakPlan(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that determines the trials of a soak and what they decide.

    Not part of it: how many run at once, where, and how long the whole soak may take.
    """

    target: str
    target_kind: Literal["command", "http", "python", "bundles"]
    iterations: Position
    seed: Count
    packs: tuple[SoakPackV1, ...]
    policy: DecisionPolicy = DecisionPolicy()
    stop: StopPolicy = StopPolicy()
    cases: tuple[str, ...] = ()
    faults: tuple[FaultLevel, ...] = ()
    fault_delay_ms: Count = 1000
    services: dict[str, str] = {}
    gates: tuple[str, ...] = ()
    trial_gates: tuple[str, ...] = ()
    trial_checks: tuple[str, ...] = ()
    limits: dict[str, int] = {}
    trial_limits: dict[str, float] = {}
    suite: str | None = None

    @property
    def digest(self) -> str:
        """The digest by which recorded trials and shards are recognised."""
        return digest_of(jcs(to_builtins(self)))


class SequentialFigures(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `--until` decided. The interval holds for any number of runs."""

    bound: RateBound
    method: str
    side: Side
    judged_runs: Count
    interval: Ci95 | None


class FaultFigures(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often a kind of fault was injected, and how the runs that it hit came out."""

    kind: str
    injected: Count
    counts: SoakCounts


class Divergence(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a failing run first differs from a passing one: the event, and the places in it.

    A run that ended earlier has no event there.
    """

    index: Position
    compared_with: Position
    event: Position
    type: str | None
    passing_type: str | None
    places: tuple[str, ...] = ()


class SoakDetails(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the second document of a soak has."""

    schema_version: Literal["affidavit-soak/1"] = DETAILS_VERSION
    tool_version: str
    plan: SoakPlan
    plan_digest: str
    time_budget_secs: Position
    shard: str | None = None
    partial: bool
    stopped: StopReason | None
    decision: SoakDecision
    counts: SoakCounts
    pass_rate: Share | None
    pass_rate_ci95: Ci95 | None
    pass_all: bool
    violations_by_rule: dict[str, Position]
    infra_errors_by_kind: dict[str, Position]
    pass_hat_k: PassHatKTable
    posterior: Posterior
    sequential: SequentialFigures | None
    cases: tuple[CaseFigures, ...]
    faults: tuple[FaultFigures, ...]
    drift: Drift | None
    divergences: tuple[Divergence, ...] = ()
    notes: tuple[str, ...] = ()
    trials: tuple[Trial, ...]


class SoakResult(Struct, frozen=True, kw_only=True):
    """The trials of a soak that count, in order, and how it ended."""

    plan: SoakPlan
    trials: tuple[Trial, ...]
    stopped: StopReason | None
    side: Side

    @property
    def counts(self) -> SoakCounts:
        """How the trials came out."""
        return SoakCounts.of(self.trials)

    @property
    def pass_all(self) -> bool:
        """Whether every iteration was judged and passed."""
        return self.counts.passes == self.plan.iterations

    @property
    def violations(self) -> dict[str, int]:
        """In how many runs each rule was violated."""
        return _counted(rule for trial in self.trials for rule in trial.violated_rules)

    @property
    def infra_kinds(self) -> dict[str, int]:
        """How many infra errors there were of each kind."""
        return _counted(
            trial.infra_error.kind.value for trial in self.trials if trial.infra_error is not None
        )


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def soak_result(
    plan: SoakPlan, trials: Sequence[Trial], ended: StopReason | None = None
) -> SoakResult:
    """Return the result of trials that ended in any order.

    The stop rule reads them by their index, up to the first that is missing unless the soak is
    partial. What ran beyond the stop does not count, so the result does not depend on how many
    ran at once.
    """
    rule = StopRule(plan.policy, plan.stop)
    kept: list[Trial] = []
    stopped = ended
    for trial in sorted(trials, key=lambda each: each.index):
        kept.append(trial)
        reason = rule.feed(trial)
        if reason is not None and trial.index < plan.iterations:
            stopped = reason
            break
    side = Side.UNDECIDED if rule.test is None else rule.test.side
    return SoakResult(plan=plan, trials=tuple(kept), stopped=stopped, side=side)


def soak_report(result: SoakResult, time_budget_secs: int, generated_at: str) -> SoakReportV1:
    """Return soak-report-v1; there is none without a judged run."""
    plan, counts = result.plan, result.counts
    interval = wilson(counts.rate)
    rate = counts.rate.value
    if rate is None or interval is None:
        raise ValueError("a soak without a judged run has no report")
    failed = (trial.index for trial in result.trials if trial.status is TrialStatus.FAIL)
    return SoakReportV1(
        generated_at=generated_at,
        suite=UNSET if plan.suite is None else plan.suite,
        iterations=plan.iterations,
        seed=plan.seed,
        time_budget_secs=time_budget_secs,
        limits=plan.limits,
        packs=plan.packs,
        decision_policy=plan.policy,
        results=SoakResultsV1(
            runs=counts.runs,
            passes=counts.passes,
            failures=counts.failures,
            infra_errors=counts.infra_errors,
            pass_rate=rounded(rate),
            pass_all=result.pass_all,
            first_failure_at=next(failed, None),
            violations_by_rule=result.violations,
            infra_errors_by_kind=result.infra_kinds,
            pass_rate_ci95=(rounded(interval.low), rounded(interval.high)),
        ),
        runs=tuple(map(_run_v1, result.trials)),
    )


def _run_v1(trial: Trial) -> SoakRunV1:
    error = trial.infra_error
    return SoakRunV1(
        index=trial.index,
        status=trial.status,
        duration_ms=trial.duration_ms,
        violated_rules=trial.violated_rules or UNSET,
        infra_error_kind=UNSET if error is None else error.kind.value,
        infra_error_message=UNSET if error is None else error.message,
    )


def soak_details(
    result: SoakResult,
    gates: Sequence[Gate],
    *,
    tool_version: str,
    time_budget_secs: int,
    shard: str | None = None,
    drift: Drift | None = None,
    divergences: tuple[Divergence, ...] = (),
    notes: tuple[str, ...] = (),
) -> SoakDetails:
    """Return the second document."""
    plan, counts = result.plan, result.counts
    cases = counts_by_case(result.trials)
    partial = result.stopped in (StopReason.INTERRUPTED, StopReason.TIME_BUDGET) or bool(shard)
    return SoakDetails(
        tool_version=tool_version,
        plan=plan,
        plan_digest=plan.digest,
        time_budget_secs=time_budget_secs,
        shard=shard,
        partial=partial,
        stopped=result.stopped,
        decision=decide_soak(
            plan.policy,
            plan.stop,
            counts,
            SoakEnd(plan.iterations, result.stopped),
            side=result.side,
            gates=gates,
        ),
        counts=counts,
        pass_rate=rounded(counts.rate.value),
        pass_rate_ci95=rounded_ci95(wilson(counts.rate)),
        pass_all=result.pass_all,
        violations_by_rule=result.violations,
        infra_errors_by_kind=result.infra_kinds,
        pass_hat_k=pass_hat_k_table(counts, tuple(cases.values())),
        posterior=posterior_of(counts),
        sequential=_sequential(result),
        cases=case_figures(cases),
        faults=_fault_figures(result.trials),
        drift=drift,
        divergences=divergences,
        notes=notes,
        trials=result.trials,
    )


def _sequential(result: SoakResult) -> SequentialFigures | None:
    bound = result.plan.stop.until
    if bound is None:
        return None
    rate: Rate = result.counts.rate
    return SequentialFigures(
        bound=bound,
        method=METHOD,
        side=result.side,
        judged_runs=rate.denominator,
        interval=rounded_ci95(confidence_sequence(rate, 1 - bound.alpha)),
    )


def _fault_figures(trials: Sequence[Trial]) -> tuple[FaultFigures, ...]:
    kinds = sorted({kind for trial in trials for kind in trial.faults})
    return tuple(
        FaultFigures(
            kind=kind,
            injected=sum(trial.faults.get(kind, 0) for trial in trials),
            counts=SoakCounts.of(trial for trial in trials if kind in trial.faults),
        )
        for kind in kinds
    )
