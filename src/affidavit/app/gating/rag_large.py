"""`gate rag` with a gold set that is too large to be held at once: share by share."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from affidavit.app.gating.files import BadLines
from affidavit.app.gating.rag_dealing import Dealt, deal
from affidavit.app.gating.rag_request import RagRequest, inputs_of
from affidavit.app.gating.rag_shares import Decided, GroupedItems, Work, decide_share
from affidavit.app.gating.rag_sources import Source
from affidavit.app.gating.rag_traces import Run
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.places import excerpt
from affidavit.gates.offenders import Offender, offender_of
from affidavit.gates.rag_counts import RagCounts
from affidavit.gates.rag_outcome import RagOutcome
from affidavit.gates.rag_profiles import profile_of
from affidavit.gates.rag_rows import (
    gold_from_chunk,
    gold_from_line,
    hold_to_digest,
    trace_from_line,
    traces_from_chunk,
)


def found_in_shares(
    request: RagRequest,
    golds: tuple[Source, ...],
    sources: tuple[Source, ...],
    count: int,
    run: Run,
) -> RagOutcome:
    """Find out what a report is made of, with so many shares."""
    bad_gold, bad_traces = BadLines(request.skip_bad), BadLines(request.skip_bad)
    with tempfile.TemporaryDirectory(prefix="affidavit-") as place:
        folder = Path(place)
        gold = deal(golds, gold_from_chunk, folder / "gold", count, bad_gold, request.jobs, run)
        hold_to_digest(gold.digest or "", request.expect_gold_digest, golds[0].shown)
        traces = deal(
            sources, traces_from_chunk, folder / "trace", count, bad_traces, request.jobs, run
        )
        works = [
            Work(tuple(mine), tuple(theirs), request.policy.settings, request.needs_items)
            for mine, theirs in zip(gold.shares, traces.shares, strict=True)
        ]
        decided = _merged(run(None, decide_share, works, request.jobs))
    _refuse_twice(decided, gold)
    return RagOutcome(
        decided.counts,
        inputs_of(
            request,
            (golds, gold.digest, bad_gold),
            (sources, traces.digest, bad_traces),
            decided.counts,
        ),
        tuple(_offenders(decided, gold, traces)),
        GroupedItems(decided.items) if request.needs_items else None,
    )


def _merged(shares: Iterator[Decided]) -> Decided:
    counts = RagCounts()
    worst: dict[str, tuple[int, int, int]] = {}
    items: dict[int, list[str]] = {}
    twice: list[tuple[int, str]] = []
    for share in shares:
        counts = counts + share.counts
        worst.update(share.worst)
        for code, qids in share.items.items():
            items.setdefault(code, []).extend(qids)
        twice += [share.twice] if share.twice is not None else []
    return Decided(counts, worst, items, min(twice, default=None))


def _refuse_twice(decided: Decided, gold: Dealt) -> None:
    if decided.twice is None:
        return
    place, qid = decided.twice
    for line in gold.index.fetch([place]):
        where = Where(line.file, line.line, "qid")
        raise AffidavitError(faults.GOLD_TWICE, where, qid=excerpt(qid))


def _offenders(decided: Decided, gold: Dealt, traces: Dealt) -> Iterator[Offender]:
    for *_, qid in decided.counts.offenders:
        item_place, run_place, code = decided.worst[qid]
        for item, found in zip(
            gold.index.fetch([item_place]), traces.index.fetch([run_place]), strict=True
        ):
            yield offender_of(
                gold_from_line(item.raw, item.line, item.file),
                trace_from_line(found.raw, found.line, found.file),
                profile_of(code),
                found.line,
                found.file,
            )
