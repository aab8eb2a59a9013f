"""The figures of a soak: pass^k, the posterior, and the table of cases."""

from collections.abc import Iterable, Sequence
from typing import Final, Literal

from msgspec import Struct

from affidavit.base.statistics import Interval, beta_interval, bootstrap, mean, rounded, wilson
from affidavit.soak.policy import SoakCounts
from affidavit.soak.trial import Position, Trial

Ci95 = tuple[float, float]
ESTIMATOR: Final = "C(c,k)/C(n,k)"
_SEED: Final = 1
_RESAMPLES: Final = 500
_FEWEST_CASES: Final = 20
"""Resampling fewer cases gives intervals that are far too narrow: two that are alike give none."""
_MOST_INTERVALS: Final = 64
"""Beyond this k the bootstrap over cases is not run: it takes as long as the soak."""


class PassHatK(Struct, frozen=True, forbid_unknown_fields=True):
    """The probability that k runs all pass.

    Without an interval, there are too few cases, or they do not differ.
    """

    k: Position
    value: float
    ci95: Ci95 | None


class PassHatKTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """pass^k for every k that the runs allow.

    Over runs the interval is Wilson's of the pass rate, to the power of k. Over cases the value is
    the mean of the cases, as in tau-bench, and the interval resamples cases if there are enough.
    """

    estimator: Literal["C(c,k)/C(n,k)"] = ESTIMATOR
    over: Literal["runs", "cases"]
    values: tuple[PassHatK, ...]


class Posterior(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The beta posterior of the pass rate."""

    prior: Literal["uniform"] = "uniform"
    alpha: Position
    beta: Position
    mean: float
    ci95: Ci95


class CaseFigures(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One case: a case that always fails is not hidden by the others."""

    case: str
    counts: SoakCounts
    pass_rate: float | None
    ci95: Ci95 | None
    pass_all: bool


def rounded_ci95(interval: Interval | None) -> Ci95 | None:
    """Return an interval as a report has it."""
    return None if interval is None else (rounded(interval.low), rounded(interval.high))


def posterior_of(counts: SoakCounts) -> Posterior:
    """Return the posterior of the pass rate under a uniform prior."""
    alpha, beta = counts.passes + 1, counts.failures + 1
    interval = beta_interval(counts.passes, counts.failures)
    return Posterior(
        alpha=alpha,
        beta=beta,
        mean=rounded(alpha / (alpha + beta)),
        ci95=(rounded(interval.low), rounded(interval.high)),
    )


def counts_by_case(trials: Iterable[Trial]) -> dict[str, SoakCounts]:
    """Return the counts of each case, sorted by its name."""
    by_case: dict[str, list[Trial]] = {}
    for trial in trials:
        if trial.case is not None:
            by_case.setdefault(trial.case, []).append(trial)
    return {case: SoakCounts.of(by_case[case]) for case in sorted(by_case)}


def case_figures(cases: dict[str, SoakCounts]) -> tuple[CaseFigures, ...]:
    """Return the table of cases, the worst first."""
    made = [
        CaseFigures(
            case=case,
            counts=counts,
            pass_rate=rounded(counts.rate.value),
            ci95=rounded_ci95(wilson(counts.rate)),
            pass_all=bool(counts.judged) and counts.passes == counts.runs,
        )
        for case, counts in cases.items()
    ]
    # A case that was never judged comes first: nothing is known of it.
    return tuple(sorted(made, key=lambda each: -1 if each.pass_rate is None else each.pass_rate))


def pass_hat_k_values(passes: int, runs: int, most: int | None = None) -> list[float]:
    """Return pass^k for k from 1 to the number of runs, or to `most`.

    Each follows from the one before it: pass^(k+1) = pass^k (c - k) / (n - k).
    """
    values, value = [], 1.0
    for k in range(runs if most is None else min(runs, most)):
        value = value * (passes - k) / (runs - k) if passes > k else 0.0
        values.append(value)
    return values


def pass_hat_k_table(counts: SoakCounts, cases: Sequence[SoakCounts]) -> PassHatKTable:
    """Return pass^k over runs, or over cases if there are any.

    Over cases, k goes up to the least number of judged runs of a case: beyond it pass^k of that
    case is not measured.
    """
    if cases:
        return PassHatKTable(over="cases", values=tuple(_over_cases(cases)))
    return PassHatKTable(over="runs", values=tuple(_over_runs(counts)))


def _over_runs(counts: SoakCounts) -> Iterable[PassHatK]:
    interval = wilson(counts.rate)
    if interval is None:
        return
    low = high = 1.0
    for k, value in enumerate(pass_hat_k_values(counts.passes, counts.judged), 1):
        low, high = low * interval.low, high * interval.high
        yield PassHatK(k, rounded(value), (rounded(low), rounded(high)))


def _over_cases(cases: Sequence[SoakCounts]) -> Iterable[PassHatK]:
    most = min(counts.judged for counts in cases)
    by_case = [pass_hat_k_values(counts.passes, counts.judged, most) for counts in cases]
    for k in range(1, most + 1):
        values = [each[k - 1] for each in by_case]
        interval = None
        if len(cases) >= _FEWEST_CASES and k <= _MOST_INTERVALS and len(set(values)) > 1:
            interval = bootstrap(values, mean, seed=_SEED, resamples=_RESAMPLES).interval
        yield PassHatK(k, rounded(mean(values) or 0.0), rounded_ci95(interval))
