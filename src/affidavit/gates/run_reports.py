"""The reports of latency, agreement and stability, each made from its counts."""

from collections.abc import Iterable, Mapping
from typing import Final

from affidavit.base.statistics import rounded
from affidavit.base.text import excerpt
from affidavit.decision import metric
from affidavit.decision.baseline import Configuration, RollbackGuard
from affidavit.decision.comparison import Comparison, comparison_doubts, regression_reasons
from affidavit.decision.counts import Listing, listing_of
from affidavit.decision.evaluation import decide
from affidavit.decision.gate import AGREEMENT_GATES, LATENCY_GATES, STABILITY_GATES, override_gates
from affidavit.decision.report import Report, ReportInput, ReportItem, group_items, make_report
from affidavit.decision.report_details import (
    LatencyDetails,
    ReleaseFigures,
    StabilityDetails,
    StabilityRunCounts,
    Tradeoff,
)
from affidavit.gates.agreement import AgreementCounts
from affidavit.gates.latency import LatencyCounts
from affidavit.gates.stability import QuestionStability, StabilityCounts

_MAX_NAMED: Final = 8


def latency_report(
    counts: LatencyCounts,
    inputs: Mapping[str, ReportInput],
    *,
    overrides: Iterable[str] = (),
    tradeoff: Tradeoff | None = None,
    releases: tuple[Configuration, Configuration] | None = None,
    guard: RollbackGuard | None = None,
    precision: float | None = None,
    refusals: Iterable[str] = (),
    doubts: Iterable[str] = (),
) -> Report:
    """Return the report of latencies; `releases` are the last one and this one, for the guard.

    `precision` is stored for the guard of the next release. `refusals` and `doubts` come from the
    accuracy report of the same release.
    """
    watch = guard or RollbackGuard()
    measures = counts.measures()
    guarded = (
        ((), ()) if releases is None else (watch.objections(*releases), watch.doubts(*releases))
    )
    decision = decide(
        override_gates(overrides, LATENCY_GATES, metric.LATENCY_METRICS),
        measures,
        doubts=(*doubts, *_skipped_rows(inputs), *guarded[1]),
        refusals=(*refusals, *guarded[0]),
    )
    return make_report(
        "latency",
        decision,
        measures,
        inputs=dict(inputs),
        warnings=(
            *_counted_warning("questions without an answer, which have no latency", counts.silent),
            *_tradeoff_warnings(tradeoff),
        ),
        counts={"answers": counts.everything.count, "no_answer": counts.silent},
        details=LatencyDetails(
            load=counts.percentiles("load"),
            config=counts.percentiles("config"),
            stage=counts.percentiles("stage"),
            tradeoff=tradeoff,
            release=ReleaseFigures(rounded(measures["p95_ms"].value), rounded(precision)),
        ),
    )


def _tradeoff_warnings(tradeoff: Tradeoff | None) -> tuple[str, ...]:
    """Warn if no configuration has both figures: a name may be misspelt on one side."""
    if tradeoff is None or tradeoff.frontier:
        return ()
    names = ", ".join(excerpt(name) for name in tradeoff.not_measured[:_MAX_NAMED])
    return (f"no configuration has both a latency and a precision, of {names}",)


def agreement_report(
    counts: AgreementCounts,
    inputs: Mapping[str, ReportInput],
    *,
    overrides: Iterable[str] = (),
    unpaired: Iterable[str] = (),
    duplicates: int = 0,
    allow_missing: bool = False,
    items: tuple[ReportItem, ...] | None = None,
    comparison: Comparison | None = None,
) -> Report:
    """Return the report of two agents; `unpaired` are the qids that only one of them labelled."""
    single = listing_of(unpaired)
    measures = counts.measures()
    gaps = _counted_warning("questions that only one agent labelled", single.total)
    decision = decide(
        override_gates(overrides, AGREEMENT_GATES, metric.AGREEMENT_METRICS),
        measures,
        doubts=(
            *_skipped_rows(inputs),
            *(() if allow_missing else gaps),
            *comparison_doubts(comparison),
        ),
        refusals=regression_reasons(comparison),
    )
    return make_report(
        "agreement",
        decision,
        measures,
        inputs=dict(inputs),
        offenders=counts.disagreements[:10],
        warnings=(
            *_counted_warning("pairs that gave way to a later one of the same qid", duplicates),
            *(gaps if allow_missing else ()),
        ),
        listings={"labelled_once": single},
        counts={"pairs": sum(counts.pairs.values()), "duplicates": duplicates},
        settings={"allow_missing": allow_missing},
        details=counts.details(),
        items=None if items is None else group_items(item.group for item in items),
        comparison=comparison,
    )


def stability_report(
    counts: StabilityCounts,
    figures: Iterable[QuestionStability],
    inputs: Mapping[str, ReportInput],
    *,
    overrides: Iterable[str] = (),
    strays: Listing | None = None,
    duplicates: int = 0,
    allow_missing: bool = False,
    comparison: Comparison | None = None,
) -> Report:
    """Return the report of repeated runs; `strays` are the qids that the gold set does not have."""
    unknown = strays or Listing()
    each = sorted(figures, key=lambda made: made.qid)
    measures = counts.measures(allow_missing=allow_missing)
    gaps = _counted_warning("gold items without a run", counts.without_runs.total)
    decision = decide(
        override_gates(overrides, STABILITY_GATES, metric.STABILITY_METRICS),
        measures,
        doubts=(
            *_nothing_to_decide(counts, each),
            *_skipped_rows(inputs),
            *(() if allow_missing else gaps),
            *comparison_doubts(comparison),
        ),
        refusals=regression_reasons(comparison),
    )
    return make_report(
        "stability",
        decision,
        measures,
        inputs=dict(inputs),
        offenders=tuple(made.figures() for made in each if made.outcome is False)[:10],
        warnings=(
            *_counted_warning("qids of runs that are not in the gold set", unknown.total),
            *_counted_warning(
                "runs that gave way to a later one of the same seed and jitter", duplicates
            ),
            *_counted_warning(
                "runs without an answer, which are no refusal and no agreement", counts.silent.total
            ),
            *(gaps if allow_missing else ()),
        ),
        listings={
            "unstable": counts.unstable,
            "without_runs": counts.without_runs,
            "runs_without_answer": counts.silent,
            "runs_without_gold": unknown,
        },
        counts={"duplicates": duplicates, "questions": len(each)},
        settings={"allow_missing": allow_missing},
        details=StabilityDetails(
            questions=tuple(made.figures() for made in each),
            by_run=tuple(
                StabilityRunCounts(
                    seed=seed,
                    jitter=jitter,
                    right=tally.hits,
                    wrong=tally.misses,
                    not_measured=tally.not_measured,
                )
                for (seed, jitter), tally in counts.by_run.items()
            ),
        ),
        items=group_items(((made.qid,), made.outcome, made.checks) for made in each),
        comparison=comparison,
    )


def _nothing_to_decide(
    counts: StabilityCounts, figures: list[QuestionStability]
) -> tuple[str, ...]:
    """Return why there is nothing to decide."""
    if not figures:
        return ("the gold set is empty",)
    return () if counts.by_run else ("no run has a qid of the gold set",)


def _skipped_rows(inputs: Mapping[str, ReportInput]) -> tuple[str, ...]:
    skipped = sum(given.skipped for given in inputs.values())
    return _counted_warning("lines that were not rows and were skipped", skipped)


def _counted_warning(text: str, count: int) -> tuple[str, ...]:
    return (f"{text}: {count}",) if count else ()
