"""The reports of latency, agreement and stability, each from its counts."""

from collections.abc import Iterable
from typing import Final

from affidavit.base.statistics.arithmetic import rounded
from affidavit.base.text import excerpt
from affidavit.decision import metric
from affidavit.decision.baseline import Configuration, RollbackGuard, Tradeoff
from affidavit.decision.comparison import Comparison, comparison_doubts, regression_reasons
from affidavit.decision.counts import Listing, listing_of
from affidavit.decision.evaluation import decide
from affidavit.decision.gate import AGREEMENT_GATES, LATENCY_GATES, STABILITY_GATES, override_gates
from affidavit.decision.report import Report, ReportInput, ReportItem
from affidavit.gates.agreement import AgreementCounts
from affidavit.gates.latency import LatencyCounts
from affidavit.gates.stability import QuestionStability, StabilityCounts

_MAX_NAMED: Final = 8


def latency_report(
    counts: LatencyCounts,
    inputs: Iterable[ReportInput],
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

    `precision` is this release's, kept for the guard of the next one; `refusals` and `doubts` are
    those of the accuracy that goes with the latencies.
    """
    given = tuple(inputs)
    watch = guard or RollbackGuard()
    measures = counts.measures()
    guarded = (
        ((), ()) if releases is None else (watch.objections(*releases), watch.doubts(*releases))
    )
    ruling = decide(
        override_gates(overrides, LATENCY_GATES, metric.LATENCY_METRICS),
        measures,
        doubts=(*doubts, *_skipped_rows(given), *guarded[1]),
        refusals=(*refusals, *guarded[0]),
    )
    return Report(
        "latency",
        ruling,
        given,
        measures,
        warnings=(
            *_counted_warning("questions without an answer, which have no latency", counts.silent),
            *_tradeoff_warnings(tradeoff),
        ),
        counts={"answers": counts.everything.count, "no_answer": counts.silent},
        details={
            **counts.details(),
            "tradeoff": None if tradeoff is None else tradeoff.as_wire(),
            "release": {
                "p95_ms": rounded(measures["p95_ms"].value),
                "precision": rounded(precision),
            },
        },
    )


def _tradeoff_warnings(tradeoff: Tradeoff | None) -> tuple[str, ...]:
    """Say that no configuration has both figures: a name may be misspelt on one side."""
    if tradeoff is None or tradeoff.frontier:
        return ()
    names = ", ".join(excerpt(name) for name in tradeoff.not_measured[:_MAX_NAMED])
    return (f"no configuration has both a latency and a precision, of {names}",)


def agreement_report(
    counts: AgreementCounts,
    inputs: Iterable[ReportInput],
    *,
    overrides: Iterable[str] = (),
    unpaired: Iterable[str] = (),
    duplicates: int = 0,
    allow_missing: bool = False,
    items: tuple[ReportItem, ...] | None = None,
    comparison: Comparison | None = None,
) -> Report:
    """Return the report of two agents; `unpaired` are the qids that only one of them labelled."""
    given, single = tuple(inputs), listing_of(unpaired)
    measures = counts.measures()
    gaps = _counted_warning("questions that only one agent labelled", single.total)
    ruling = decide(
        override_gates(overrides, AGREEMENT_GATES, metric.AGREEMENT_METRICS),
        measures,
        doubts=(
            *_skipped_rows(given),
            *(() if allow_missing else gaps),
            *comparison_doubts(comparison),
        ),
        refusals=regression_reasons(comparison),
    )
    return Report(
        "agreement",
        ruling,
        given,
        measures,
        tuple(
            dict(zip(("qid", "scholar", "auditor", "final", "why"), made.row(), strict=True))
            for made in counts.disagreements[:10]
        ),
        (
            *_counted_warning("pairs that gave way to a later one of the same qid", duplicates),
            *(gaps if allow_missing else ()),
        ),
        {"labelled_once": single},
        {"pairs": sum(counts.pairs.values()), "duplicates": duplicates},
        {"allow_missing": allow_missing},
        counts.details(),
        items,
        comparison,
    )


def stability_report(
    counts: StabilityCounts,
    figures: Iterable[QuestionStability],
    inputs: Iterable[ReportInput],
    *,
    overrides: Iterable[str] = (),
    strays: Listing | None = None,
    duplicates: int = 0,
    allow_missing: bool = False,
    comparison: Comparison | None = None,
) -> Report:
    """Return the report of repeated runs; `strays` are the qids that the gold set does not have."""
    given, unknown = tuple(inputs), strays or Listing()
    each = sorted(figures, key=lambda made: made.qid)
    measures = counts.measures(allow_missing=allow_missing)
    gaps = _counted_warning("gold items without a run", counts.without_runs.total)
    ruling = decide(
        override_gates(overrides, STABILITY_GATES, metric.STABILITY_METRICS),
        measures,
        doubts=(
            *_nothing_to_decide(counts, each),
            *_skipped_rows(given),
            *(() if allow_missing else gaps),
            *comparison_doubts(comparison),
        ),
        refusals=regression_reasons(comparison),
    )
    return Report(
        "stability",
        ruling,
        given,
        measures,
        tuple(made.as_wire() for made in each if made.outcome is False)[:10],
        (
            *_counted_warning("qids of runs that are not in the gold set", unknown.total),
            *_counted_warning(
                "runs that gave way to a later one of the same seed and jitter", duplicates
            ),
            *_counted_warning(
                "runs without an answer, which are no refusal and no agreement", counts.silent.total
            ),
            *(gaps if allow_missing else ()),
        ),
        {
            "unstable": counts.unstable,
            "without_runs": counts.without_runs,
            "runs_without_answer": counts.silent,
            "runs_without_gold": unknown,
        },
        {"duplicates": duplicates, "questions": len(each)},
        {"allow_missing": allow_missing},
        {
            "questions": [made.as_wire() for made in each],
            "by_run": [
                {
                    "seed": seed,
                    "jitter": jitter,
                    "right": tally.hits,
                    "wrong": tally.misses,
                    "not_measured": tally.not_measured,
                }
                for (seed, jitter), tally in counts.by_run.items()
            ],
        },
        tuple(ReportItem(made.qid, made.outcome, made.checks) for made in each),
        comparison,
    )


def _nothing_to_decide(
    counts: StabilityCounts, figures: list[QuestionStability]
) -> tuple[str, ...]:
    """Return why there is nothing to decide, whatever may be missing."""
    if not figures:
        return ("the gold set is empty",)
    return () if counts.by_run else ("no run has a qid of the gold set",)


def _skipped_rows(inputs: tuple[ReportInput, ...]) -> tuple[str, ...]:
    skipped = sum(given.skipped for given in inputs)
    return _counted_warning("lines that were not rows and were skipped", skipped)


def _counted_warning(text: str, count: int) -> tuple[str, ...]:
    return (f"{text}: {count}",) if count else ()
