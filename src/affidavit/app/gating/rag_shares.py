"""A gold set that is too large to be held at once, decided share by share.

All rows of a qid are in the same share, in the order of their lines. So a share is decided by
itself, and the counts of all shares are added: memory is that of one share, whatever the size.
"""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass

from affidavit.app.gating.rag_dealing import Piece, rows_in
from affidavit.gates.rag_counts import RagCounts
from affidavit.gates.rag_profiles import Profile, profile_of
from affidavit.gates.rag_rows import GOLD, TRACE, qid_of
from affidavit.gates.rag_runs import Scoring, codes_from_runs, counts_from_runs
from affidavit.gates.rag_scoring import RagScorer, RagSettings, Ready


@dataclass(frozen=True, slots=True)
class Work:
    """A share of the gold set and that of the traces with the same qids."""

    gold: tuple[Piece, ...]
    traces: tuple[Piece, ...]
    settings: RagSettings
    items: bool


@dataclass(frozen=True, slots=True)
class Decided:
    """What a share gave; `worst` are the places of its offenders' rows, and their codes.

    `twice` is the place and the qid of the first gold item that stands there again.
    """

    counts: RagCounts
    worst: dict[str, tuple[int, int, int]]
    items: dict[int, list[str]]
    twice: tuple[int, str] | None


def decide_share(_: None, work: Work) -> Decided:
    """Score the traces of a share against its gold items."""
    scorer = RagScorer(work.settings)
    ready: dict[str, Ready] = {}
    places = array("q")
    twice = None
    for place, row in rows_in(work.gold, GOLD.from_chunk):
        qid = qid_of(row)
        if qid not in ready:
            ready[qid] = scorer.ready(row, len(places))
            places.append(place)
        elif twice is None:
            twice = (place, qid)
    scoring = Scoring(ready, scorer)
    scoring.take(rows_in(work.traces, TRACE.from_chunk))
    runs = scoring.runs()
    counts = counts_from_runs(ready, runs)
    numbers = {qid: ready[qid].number for *_, qid in counts.offenders}
    worst = {qid: (places[n], runs.lines[n], runs.codes[n]) for qid, n in numbers.items()}
    items: dict[int, list[str]] = {}
    if work.items:
        for qid, code in zip(ready, codes_from_runs(ready, runs), strict=True):
            items.setdefault(code, []).append(qid)
    return Decided(counts, worst, items, twice)


@dataclass(frozen=True, slots=True)
class GroupedItems:
    """Every item's qid and profile, from names that are grouped by their codes."""

    groups: dict[int, list[str]]

    def __iter__(self) -> Iterator[tuple[str, Profile]]:
        for code, qids in self.groups.items():
            profile = profile_of(code)
            yield from ((qid, profile) for qid in qids)
