"""`gate rag`: a gold set and traces in, a report out; one pass over each, and ten rows again."""

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from affidavit.app.gating.files import BadLines
from affidavit.app.gating.rag_gold import Gold, items_again, read_gold
from affidavit.app.gating.rag_parts import Bench
from affidavit.app.gating.rag_sources import Source, sources_named
from affidavit.app.gating.rag_traces import Run, Traces, score_traces, traces_again
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.gates.comparison import Comparison, compare
from affidavit.gates.offenders import Offender, offender_of
from affidavit.gates.rag import RagPolicy, rag_report
from affidavit.gates.rag_counts import RagCounts, outcome_of
from affidavit.gates.rag_profiles import CODE_MASK, profile_of
from affidavit.gates.rag_rows import hold_to_digest
from affidavit.gates.rag_runs import counts_from_runs, items_from_runs
from affidavit.gates.rag_scoring import RagScorer
from affidavit.gates.report import Input, Report
from affidavit.gates.tally import LISTED, Listing


@dataclass(frozen=True, slots=True)
class RagRequest:
    """What a run is asked for. Without a gold set the traces' files hold it too."""

    gold: tuple[str, ...]
    trace: tuple[str, ...]
    policy: RagPolicy = field(default_factory=RagPolicy)
    skip_bad: bool = False
    expect_gold_digest: str | None = None
    baseline: Mapping[str, bool | None] | None = None
    items: bool = True
    jobs: int = 1


def rag_gate(request: RagRequest, run: Run) -> Report:
    """Decide from files."""
    with (
        sources_named("trace", request.trace) as traces,
        sources_named("gold", request.gold) as named,
        _without_collections(),
    ):
        return _decided(request, named or _gold_beside(traces), traces, run)


def _gold_beside(traces: tuple[Source, ...]) -> tuple[Source, ...]:
    for source in traces:
        if source.is_own:
            raise AffidavitError(faults.GOLD_UNNAMED, Where(source.shown))
    return traces


def _decided(
    request: RagRequest, golds: tuple[Source, ...], sources: tuple[Source, ...], run: Run
) -> Report:
    settings = request.policy.settings
    bad_gold, bad_traces = BadLines(request.skip_bad), BadLines(request.skip_bad)
    gold = read_gold(golds, RagScorer(settings), bad_gold, beside_traces=golds == sources)
    hold_to_digest(gold.digest or "", request.expect_gold_digest, golds[0].shown)
    bench = Bench(gold.ready, settings, request.skip_bad)
    traces = score_traces(sources, bench, bad_traces, request.jobs, run)
    counts = counts_from_runs(gold.ready, traces.runs)
    inputs = (
        Input("gold", _named(golds), gold.digest, len(gold.ready), bad_gold.count),
        Input("trace", _named(sources), traces.digest, counts.traces, bad_traces.count),
    )
    return rag_report(
        counts,
        request.policy,
        inputs,
        offenders=_offenders(golds, sources, gold, traces, counts),
        items=items_from_runs(gold.ready, traces.runs) if request.items else None,
        comparison=_compared(request, gold, traces),
        fail_on_regression=True,
        skipped=_skipped(bad_gold.listing(), bad_traces.listing()),
    )


def _compared(request: RagRequest, gold: Gold, traces: Traces) -> Comparison | None:
    if request.baseline is None:
        return None
    scored = items_from_runs(gold.ready, traces.runs)
    return compare(request.baseline, {qid: outcome_of(profile) for qid, profile in scored})


def _skipped(gold: Listing, traces: Listing) -> Listing:
    """Return the bad lines of both, in the order of the lines."""
    return Listing(gold.total + traces.total, (*gold.first, *traces.first)[:LISTED])


def _named(sources: tuple[Source, ...]) -> str:
    return ", ".join(source.shown for source in sources)


def _offenders(
    golds: tuple[Source, ...],
    sources: tuple[Source, ...],
    gold: Gold,
    traces: Traces,
    counts: RagCounts,
) -> Iterator[Offender]:
    """Yield the worst, with their rows read again."""
    qids = [qid for *_, qid in counts.offenders]
    runs = {qid: traces.runs.last[gold.ready[qid].number] for qid in qids}
    places = {qid: traces.runs.line_of(gold.ready[qid].number) for qid in qids}
    items = items_again(golds, gold, qids)
    found = traces_again(sources, traces, places.values())
    for qid in qids:
        again = found[places[qid]]
        profile = profile_of(runs[qid] & CODE_MASK)
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
