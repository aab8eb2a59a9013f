"""`gate rag`: a gold set and traces in, a report out; one pass over each, and ten rows again."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from affidavit.app.gating.files import BadLines
from affidavit.app.gating.rag_gold import Gold, items_again, read_gold
from affidavit.app.gating.rag_imports import Questions
from affidavit.app.gating.rag_parts import Bench
from affidavit.app.gating.rag_request import RagRequest, inputs_of
from affidavit.app.gating.rag_sources import Source, shares_needed, sources_named
from affidavit.app.gating.rag_traces import Run, Traces, score_traces, traces_again
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.gates.comparison import Comparison, compare
from affidavit.gates.offenders import Offender, offender_of
from affidavit.gates.rag import rag_report
from affidavit.gates.rag_brought import Brought
from affidavit.gates.rag_counts import RagCounts, outcome_of
from affidavit.gates.rag_outcome import RagOutcome
from affidavit.gates.rag_profiles import profile_of
from affidavit.gates.rag_rows import hold_to_digest
from affidavit.gates.rag_runs import ScoredItems, counts_from_runs
from affidavit.gates.report import Report
from affidavit.gates.tally import NOTHING_LISTED


def rag_gate(request: RagRequest, find_out: Callable[[RagRequest], RagOutcome]) -> Report:
    """Decide from what an engine finds out."""
    outcome = find_out(request)
    return rag_report(
        outcome.counts,
        request.policy,
        outcome.inputs,
        offenders=outcome.offenders,
        items=outcome.items if request.items else None,
        comparison=_compared(request, outcome),
        fail_on_regression=True,
        brought=outcome.brought,
    )


def _compared(request: RagRequest, outcome: RagOutcome) -> Comparison | None:
    if request.baseline is None:
        return None
    now = {qid: outcome_of(profile) for qid, profile in outcome.items or ()}
    return compare(request.baseline, now)


def found_here(request: RagRequest, run: Run) -> RagOutcome:
    """Find out on this machine; `run` runs the parts of files, in one process or several."""
    with (
        sources_named("trace", request.trace) as traces,
        sources_named("gold", request.gold) as named,
        _without_collections(),
    ):
        golds = named or _gold_beside(traces)
        count = shares_needed(golds, traces)
        if count:
            from affidavit.app.gating.rag_large import found_in_shares

            return found_in_shares(request, golds, traces, count, run)
        return _found(request, golds, traces, run)


def _gold_beside(traces: tuple[Source, ...]) -> tuple[Source, ...]:
    for source in traces:
        if source.is_own and not source.is_empty:
            raise source.doubt or AffidavitError(faults.GOLD_UNNAMED, Where(source.shown))
    return traces


def _found(
    request: RagRequest, golds: tuple[Source, ...], sources: tuple[Source, ...], run: Run
) -> RagOutcome:
    settings = request.policy.settings
    bad_gold, bad_traces = BadLines(request.skip_bad), BadLines(request.skip_bad)
    is_beside = golds == sources
    # In one file both are named alike; and our own traces have a name.
    is_unnamed = not is_beside and not all(source.is_own for source in sources)
    questions = Questions() if is_unnamed else None
    gold = read_gold(golds, settings, bad_gold, beside_traces=is_beside, questions=questions)
    hold_to_digest(gold.digest or "", request.expect_gold_digest, golds[0].shown)
    bench = Bench(gold.ready, settings, request.skip_bad)
    traces = score_traces(sources, bench, bad_traces, request.jobs, run, questions)
    counts = counts_from_runs(gold.ready, traces.runs)
    return RagOutcome(
        counts,
        inputs_of(
            request, (golds, gold.digest, bad_gold), (sources, traces.digest, bad_traces), counts
        ),
        tuple(_offenders(golds, gold, traces, counts, settings.refusal)),
        ScoredItems(gold.ready, traces.runs) if request.needs_items else None,
        Brought(
            traces.scores,
            NOTHING_LISTED if questions is None else questions.same(),
            gold.sentences if counts.lacks_texts() else 0,
        ),
    )


def _offenders(
    golds: tuple[Source, ...], gold: Gold, traces: Traces, counts: RagCounts, refusal: str
) -> Iterator[Offender]:
    """Yield the worst, with their rows read again."""
    qids = [qid for *_, qid in counts.offenders]
    numbers = {qid: gold.ready[qid].number for qid in qids}
    places = {qid: traces.runs.lines[number] for qid, number in numbers.items()}
    items = items_again(golds, gold, qids, refusal)
    found = traces_again(traces, places.values(), refusal)
    for qid in qids:
        again = found[places[qid]]
        profile = profile_of(traces.runs.codes[numbers[qid]])
        yield offender_of(items[qid], again.trace, profile, again.line, again.file)


@contextmanager
def _without_collections() -> Iterator[None]:
    """Rows hold no cycles, so the collector would look at all of them for nothing."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
