"""Which trace of a question counts: the last one, wherever its part of the file was read.

A part of the traces is scored by itself; of two records of one qid the later position wins. So
parts merge in any order, and a duplicate is counted once, when it loses.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from affidavit.gates.rag_counts import RagCounts, counts_of
from affidavit.gates.rag_rows import GoldV1, TraceV1, qid_of
from affidavit.gates.rag_scoring import Profile, RagScorer


@dataclass(frozen=True, slots=True)
class Runs:
    """The last trace of each qid: its position, unique among all parts, and its profile.

    A profile of None is a trace that the gold set does not know.
    """

    last: Mapping[str, tuple[int, Profile | None]] = field(default_factory=dict)
    traces: int = 0

    def __add__(self, other: "Runs") -> "Runs":
        larger, smaller = (
            (self.last, other.last)
            if len(self.last) >= len(other.last)
            else (other.last, self.last)
        )
        last = dict(larger)
        for qid, run in smaller.items():
            known = last.get(qid)
            if known is None or known[0] < run[0]:
                last[qid] = run
        return Runs(last, self.traces + other.traces)


def runs_of(
    traces: Iterable[tuple[int, TraceV1]], gold: Mapping[str, GoldV1], scorer: RagScorer
) -> Runs:
    """Score traces, each with its position; positions may come in any order."""
    last: dict[str, tuple[int, Profile | None]] = {}
    count = 0
    for position, trace in traces:
        count += 1
        qid = trace.qid
        if type(qid) is not str:
            qid = qid_of(trace)
        known = last.get(qid)
        if known is None or known[0] < position:
            item = gold.get(qid)
            last[qid] = (position, None if item is None else scorer.score(item, trace))
    return Runs(last, count)


def counts_from_runs(gold: Mapping[str, GoldV1], runs: Runs, scorer: RagScorer) -> RagCounts:
    """Return the counts of a gold set with all of its traces; an item without one is missing."""
    strays = [qid for qid, (_, profile) in runs.last.items() if profile is None]
    return counts_of(
        items_from_runs(gold, runs, scorer),
        traces=runs.traces,
        duplicates=runs.traces - len(runs.last),
        strays=strays,
    )


def items_from_runs(
    gold: Mapping[str, GoldV1], runs: Runs, scorer: RagScorer
) -> Iterable[tuple[str, Profile]]:
    """Yield every gold item's qid and profile, in the order of the gold set."""
    nothing = (0, None)
    for qid, item in gold.items():
        profile = runs.last.get(qid, nothing)[1]
        yield qid, scorer.score(item, None) if profile is None else profile
