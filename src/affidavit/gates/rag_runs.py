"""Choose the trace that counts for each question: the last one in the order of lines.

Parts of the traces are scored independently, in any order and any process, and merged in the order
of their lines. Memory does not grow with the number of traces: ten bytes for each gold item, and
the first names of traces without a gold item.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from affidavit.base.errors import AffidavitError
from affidavit.base.json_rows import raise_error
from affidavit.decision.counts import EMPTY_LISTING, MAX_LISTED, Listing
from affidavit.gates.rag_counts import MISSING, ItemProfile, RagCounts, count_codes, decode_profile
from affidavit.gates.rag_rows import GoldItem, TraceRow, qid_of, trace_without_qid
from affidavit.gates.rag_scoring import PreparedGold, RagScorer

GoldSet = Mapping[str, PreparedGold]
"""The prepared gold items by qid, numbered in their order."""


def gold_set(gold: Mapping[str, GoldItem], scorer: RagScorer) -> dict[str, PreparedGold]:
    """Prepare a gold set for scoring."""
    return {qid: scorer.prepare(item, number) for number, (qid, item) in enumerate(gold.items())}


@dataclass(frozen=True, slots=True)
class LastTraces:
    """The last trace of each gold item: its line, and the code of its profile.

    Lines count from 1; 0 means no trace. `traces` counts all traces, `strays` those without a gold
    item.
    """

    lines: "array[int]" = field(default_factory=lambda: array("q"))
    codes: "array[int]" = field(default_factory=lambda: array("H"))
    traces: int = 0
    strays: Listing = EMPTY_LISTING


def merge_traces(parts: Sequence[tuple[int, LastTraces]]) -> LastTraces:
    """Return the merged runs of consecutive parts, each with the number of lines before it.

    The last part comes first: with many traces it often covers every gold item, and the other parts
    need not be searched.
    """
    lines, codes = array("q"), array("H")
    for before, runs in reversed(parts):
        if not lines:
            lines = array("q", [line and line + before for line in runs.lines])
            codes = runs.codes[:]
        elif 0 in lines:
            for number, line in enumerate(runs.lines):
                if line and not lines[number]:
                    lines[number], codes[number] = line + before, runs.codes[number]
    return LastTraces(
        lines,
        codes,
        sum(runs.traces for _, runs in parts),
        sum((runs.strays for _, runs in parts), EMPTY_LISTING),
    )


class TraceScoring:
    """Scores the traces of a part in blocks, in the order of its lines."""

    def __init__(self, gold: GoldSet, scorer: RagScorer) -> None:
        self._gold = gold
        self._code_of = scorer.code_of
        self._lines = array("q", bytes(8 * len(gold)))
        self._codes = array("H", bytes(2 * len(gold)))
        self._traces = 0
        self._stray_names: set[str] = set()
        self._strays = 0

    def score(
        self,
        traces: Iterable[tuple[int, TraceRow]],
        file: str | None = None,
        on_bad: Callable[[AffidavitError], None] = raise_error,
    ) -> None:
        """Score traces with their lines, in ascending order."""
        find, code_of = self._gold.get, self._code_of
        lines, codes = self._lines, self._codes
        count = 0
        for line, trace in traces:
            # Nearly every qid is a string in the gold set; the others are handled below.
            ready = find(trace.qid)  # type: ignore[arg-type]  # A number is looked up by its text.
            if ready is None:
                qid = qid_of(trace)
                if not qid:
                    on_bad(trace_without_qid(line, file))
                    continue
                ready = find(qid)
            count += 1
            if ready is None:
                self._note_stray(qid)
            else:
                number = ready.number
                lines[number], codes[number] = line, code_of(ready, trace)
        self._traces += count

    def runs(self) -> LastTraces:
        """Return the runs of the part."""
        first = tuple(sorted(self._stray_names)[:MAX_LISTED])
        return LastTraces(self._lines, self._codes, self._traces, Listing(self._strays, first))

    def _note_stray(self, qid: str) -> None:
        self._strays += 1
        self._stray_names.add(qid)
        if len(self._stray_names) > 2 * MAX_LISTED:
            self._stray_names = set(sorted(self._stray_names)[:MAX_LISTED])


def score_traces(
    traces: Iterable[tuple[int, TraceRow]], gold: GoldSet, scorer: RagScorer
) -> LastTraces:
    """Score traces, each with its line."""
    scoring = TraceScoring(gold, scorer)
    scoring.score(traces)
    return scoring.runs()


def codes_from_runs(gold: GoldSet, runs: LastTraces) -> Sequence[int]:
    """Return the code of every gold item, in their order."""
    if 0 not in runs.lines:  # Nearly always every item has a trace.
        return runs.codes
    return array(
        "H",
        (
            code if line else ready.base | MISSING
            for ready, line, code in zip(gold.values(), runs.lines, runs.codes, strict=True)
        ),
    )


def counts_from_runs(gold: GoldSet, runs: LastTraces) -> RagCounts:
    """Return the counts of a gold set with all its traces; an item without one is MISSING."""
    found = len(runs.lines) - runs.lines.count(0)
    return count_codes(
        gold.keys(),
        codes_from_runs(gold, runs),
        traces=runs.traces,
        duplicates=runs.traces - runs.strays.total - found,
        strays=runs.strays,
    )


@dataclass(frozen=True, slots=True)
class ScoredItems:
    """The qid and profile of every gold item, in the order of the gold set, computed lazily."""

    gold: GoldSet
    runs: LastTraces

    def __iter__(self) -> Iterator[tuple[str, ItemProfile]]:
        return items_from_runs(self.gold, self.runs)


def items_from_runs(gold: GoldSet, runs: LastTraces) -> Iterator[tuple[str, ItemProfile]]:
    """Yield every gold item's qid and profile, in the order of the gold set."""
    return zip(gold, map(decode_profile, codes_from_runs(gold, runs)), strict=True)
