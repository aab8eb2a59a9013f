"""The traces of `gate rag`, our own or of other tools, scored while they are read."""

from array import array
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import TYPE_CHECKING, Literal

from msgspec import structs

from affidavit.app.gate_inputs import BadLines, LineIndex, LineRange, digest_of_files
from affidavit.app.gate_rag_inputs import (
    GoldInput,
    ParallelRun,
    Questions,
    RagSource,
    ScoringContext,
    add_item,
    imported_rows,
    merge_bad_lines,
    parts_of,
    score_part,
)
from affidavit.base.errors import Where
from affidavit.base.files import digest_file
from affidavit.decision.counts import listing_of
from affidavit.gates.groundedness import ContextRow, RetrievedContext
from affidavit.gates.rag_counts import MAX_OFFENDERS, decode_profile, is_offender, rank_of
from affidavit.gates.rag_report import ImportedScores
from affidavit.gates.rag_rows import GoldItem, TraceRow, qid_of, trace_from_line
from affidavit.gates.rag_scoring import (
    LastTraces,
    PreparedGold,
    RagScorer,
    RagSettings,
    merge_traces,
)

if TYPE_CHECKING:
    from affidavit.importers.tool_format import ImportedRow


@dataclass(frozen=True, slots=True)
class FoundTrace:
    """A trace and its location; `expected` and `passages` are what another tool's file has."""

    trace: TraceRow
    file: str
    line: int
    expected: tuple[str, ...] = ()
    passages: dict[str, str] = field(default_factory=dict)


class ImportedScoring:
    """Scores the rows of other tools' files while they are read, each of them once.

    The rows of offenders are kept; of very many, those that a report names. A place is the number
    of a row over all files, so that the later of two traces is the one with the larger place.
    """

    def __init__(self, gold: GoldInput, settings: RagSettings, questions: Questions | None) -> None:
        self.scores = ImportedScores()
        self._gold = gold
        self._scorer = RagScorer(settings)
        self._questions = questions
        self._codes: dict[int, tuple[int, int]] = {}
        self._kept: dict[int, tuple[str, FoundTrace]] = {}
        self._asked: dict[str, int] = {}
        self._rows: dict[str, int] = {}
        self._waiting: list[tuple[int, RagSource, ImportedRow, TraceRow]] = []
        self._strays: list[str] = []
        self._traces = 0

    def add(
        self,
        source: RagSource,
        place: int,
        row: "ImportedRow",
        item: GoldItem | None,
        trace: TraceRow | None,
    ) -> ContextRow | None:
        """Score a row; a trace without a known gold item waits until all rows were read.

        Returns the trace as a row to judge against its contexts.
        """
        prepared = None
        if item is not None:
            where = Where(source.shown, row.line, "qid")
            prepared = add_item(self._gold, item, self._scorer, where)
        if trace is None:
            return None
        self._traces += 1
        self.scores.add(str(source.format), row.scores)
        if prepared is None:
            trace = self._named(row, trace)
        if qid_of(trace) in self._gold.ready:
            self._score(source, place, row, trace, own=(item, prepared))
        else:
            # The texts of very many rows would fill the memory; a report names few of them.
            is_kept = len(self._waiting) < MAX_OFFENDERS
            kept = row if is_kept else structs.replace(row, chunks=(), gold=None, trace=None)
            self._waiting.append((place, source, kept, trace))
        return self._context_row(source, row, item, trace)

    def _context_row(
        self, source: RagSource, row: "ImportedRow", item: GoldItem | None, trace: TraceRow
    ) -> ContextRow:
        qid, answer = qid_of(trace), trace.answer_json
        number = self._rows[qid] = self._rows.get(qid, 0) + 1
        contexts = own_contexts(row) if source.has_own_rows else contexts_of(row, trace)
        return ContextRow(
            name=qid if number == 1 or source.appends else f"{qid}#{number}",
            question_id=row.repeats or qid,
            question=str((row.trace or {}).get("q") or (item.question if item else "")),
            answer=None if answer is None else answer.claim,
            contexts=contexts,
            references=(item.gold_claim_substr or ()) if item and item.answerable else (),
            citations=_cited_numbers(trace, len(contexts or ())),
            expected=row.expected,
            file=source.shown,
            line=row.line,
        )

    def _named(self, row: "ImportedRow", trace: TraceRow) -> TraceRow:
        """Return a trace with the qid of the gold item that has its question."""
        qid = qid_of(trace)
        if row.qid_derived and self._questions is not None and qid not in self._gold.ready:
            return structs.replace(trace, qid=self._questions.qid_of(qid))
        return trace

    def _score(
        self,
        source: RagSource,
        place: int,
        row: "ImportedRow",
        trace: TraceRow,
        *,
        own: tuple[GoldItem | None, PreparedGold | None] = (None, None),
    ) -> None:
        """Score a trace; `own` is the gold item of its row, if it has one."""
        gold, qid = self._gold, qid_of(trace)
        item, prepared = own
        asked = self._asked[qid] = self._asked.get(qid, 0) + 1
        name = qid
        if asked > 1 and not source.appends:
            name = gold.add_repeat(qid, asked, item)
        if row.repeats is not None:
            gold.clusters[name] = row.repeats
        number = gold.ready[name].number
        if self._codes.get(number, (0, 0))[0] > place:
            return
        ready = prepared or gold.ready[name]
        code = self._scorer.settle(self._scorer.code_of(ready, trace), ready, trace)
        self._codes[number] = place, code
        if is_offender(decode_profile(code)):
            found = FoundTrace(trace, source.shown, row.line, row.expected, row.passages())
            self._kept[number] = name, found
            if len(self._kept) > 2 * MAX_OFFENDERS:
                self._kept = self._worst()
        else:
            self._kept.pop(number, None)

    def _worst(self) -> dict[int, tuple[str, FoundTrace]]:
        """Return the offenders that a report names."""
        ranks = {
            number: rank_of(name, decode_profile(self._codes[number][1]))
            for number, (name, _) in self._kept.items()
        }
        return {
            number: self._kept[number]
            for number in nsmallest(MAX_OFFENDERS, ranks, ranks.__getitem__)
        }

    def finish(self) -> tuple[LastTraces, dict[int, FoundTrace]]:
        """Return the runs of all rows, and the traces of offenders by their places."""
        for place, source, row, trace in self._waiting:
            if qid_of(trace) in self._gold.ready:
                self._score(source, place, row, trace)
            else:
                self._strays.append(qid_of(trace))
        lines = array("q", bytes(8 * len(self._gold.ready)))
        codes = array("H", bytes(2 * len(self._gold.ready)))
        for number, (place, code) in self._codes.items():
            lines[number], codes[number] = place, code
        runs = LastTraces(lines, codes, self._traces, listing_of(self._strays))
        return runs, {lines[number]: found for number, (_, found) in self._kept.items()}


def own_contexts(row: "ImportedRow") -> tuple[RetrievedContext, ...] | None:
    """Return the texts of one of our own traces; None if it has ids only.

    They stand in `contexts`, beside `retrieved_ids`.
    """
    own = (row.trace or {}).get("contexts")
    if isinstance(own, list | tuple) and all(isinstance(text, str) for text in own):
        return tuple(map(RetrievedContext, own))
    return None


def contexts_of(row: "ImportedRow", trace: TraceRow) -> tuple[RetrievedContext, ...] | None:
    """Return the texts that were retrieved; None if the row does not have all of them."""
    own = own_contexts(row)
    if own is not None:
        return own
    if trace.retrieved_ids is None:
        return None
    chunks = row.chunks[: len(trace.retrieved_ids)]
    if len(chunks) < len(trace.retrieved_ids) or any(chunk.text is None for chunk in chunks):
        return None
    return tuple(RetrievedContext(chunk.text or "", chunk.id) for chunk in chunks)


def _cited_numbers(trace: TraceRow, contexts: int) -> tuple[int, ...] | None:
    """Return the numbers of the contexts that an answer cites, from 1; 0 was not retrieved.

    None if they are not known: the texts of one of our own traces may be others than its ids.
    """
    answer, retrieved = trace.answer_json, trace.retrieved_ids
    if answer is None or answer.citations is None or retrieved is None:
        return None
    if len(retrieved) != contexts:
        return None
    return tuple(retrieved.index(name) + 1 if name in retrieved else 0 for name in answer.citations)


RowSink = Callable[[Iterator[ContextRow]], None]
"""Consumes the rows to judge, all of them; each is scored when it is taken."""


def discard_rows(rows: Iterator[ContextRow]) -> None:
    """Score the rows and judge none."""
    deque(rows, maxlen=0)


@dataclass(slots=True)
class ScoredTraces:
    """The result of all traces. A place is a line number over all files, or a row of an imported
    file.
    """

    runs: LastTraces
    digests: list[str] = field(default_factory=list)
    index: LineIndex = field(default_factory=LineIndex)
    found: dict[int, FoundTrace] = field(default_factory=dict)
    """The traces of offenders in files of other tools, by their places."""
    scores: ImportedScores = field(default_factory=ImportedScores)
    before: int = 0

    @property
    def digest(self) -> str | None:
        """The digest of the traces."""
        return digest_of_files(self.digests)

    def reread(self, places: Iterable[int]) -> dict[int, FoundTrace]:
        """Return some traces by their places; those of our own files are read again."""
        again = {place: self.found[place] for place in places if place in self.found}
        for line in self.index.fetch(place for place in places if place not in again):
            trace = trace_from_line(line.raw, line.line, line.file)
            again[line.number] = FoundTrace(trace, line.file, line.line)
        return again


def score_traces(
    sources: Iterable[RagSource],
    gold: GoldInput,
    settings: RagSettings,
    bad: BadLines,
    *,
    jobs: int,
    run: ParallelRun,
    on_doubt: Callable[[str], None],
    questions: Questions | None = None,
    sink: RowSink = discard_rows,
) -> ScoredTraces:
    """Score the traces of all sources; the result is the same for any number of processes.

    `questions` gives the item of an imported trace without a qid. `sink` gets the rows that may
    have contexts.
    """
    traces = ScoredTraces(LastTraces())
    imported = ImportedScoring(gold, settings, questions)

    def rows() -> Iterator[ContextRow]:
        for source in sources:
            if source.is_own:
                context = ScoringContext(gold.ready, settings, bad.skip)
                _score_own(source, context, bad, jobs=jobs, run=run, traces=traces)
            else:
                yield from _score_imported(
                    source=source,
                    role="trace",
                    settings=settings,
                    bad=bad,
                    on_doubt=on_doubt,
                    imported=imported,
                    traces=traces,
                )

    sink(rows())
    _finish_imported(imported, traces)
    return traces


def score_result_files(
    sources: Collection[RagSource],
    settings: RagSettings,
    bad: BadLines,
    on_doubt: Callable[[str], None],
    sink: RowSink = discard_rows,
) -> tuple[GoldInput, ScoredTraces]:
    """Read files that have both gold items and traces in one pass, and score them."""
    gold, traces = GoldInput(), ScoredTraces(LastTraces())
    imported = ImportedScoring(gold, settings, None)
    sink(
        row
        for source in sources
        if not source.is_own
        for row in _score_imported(
            source=source,
            role="both",
            settings=settings,
            bad=bad,
            on_doubt=on_doubt,
            imported=imported,
            traces=traces,
        )
    )
    _finish_imported(imported, traces)
    gold.digests = traces.digests = traces.digests or [digest_file(each.file) for each in sources]
    return gold, traces


def _score_own(
    source: RagSource,
    context: ScoringContext,
    bad: BadLines,
    jobs: int,
    run: ParallelRun,
    traces: ScoredTraces,
) -> None:
    parts = parts_of(source.file, source.shown, jobs, len(context.gold))
    found, in_file = [(0, traces.runs)], 0
    for part, scored in zip(
        parts, run(context, score_part, parts, min(jobs, len(parts))), strict=True
    ):
        merge_bad_lines(scored.bad, scored.error, bad, in_file)
        if scored.digest is not None:
            traces.digests.append(scored.digest)
        if part.scores:
            found.append((traces.before, scored.runs))
            traces.index.ranges.append(
                LineRange(source.file, source.shown, traces.before, in_file, scored.blocks)
            )
            in_file += scored.blocks.count
            traces.before += scored.blocks.count
    traces.runs = merge_traces(found)


def _score_imported(
    *,
    source: RagSource,
    role: Literal["trace", "both"],
    settings: RagSettings,
    bad: BadLines,
    on_doubt: Callable[[str], None],
    imported: ImportedScoring,
    traces: ScoredTraces,
) -> Iterator[ContextRow]:
    last = 0
    for row, item, trace in imported_rows(source, role, settings, bad, on_doubt):
        last = row.position
        scored = imported.add(source, traces.before + last, row, item, trace)
        if scored is not None:
            yield scored
    traces.digests.append(digest_file(source.file))
    traces.before += last


def _finish_imported(imported: ImportedScoring, traces: ScoredTraces) -> None:
    """Merge the traces of other tools' files with those of our own; the later place counts."""
    runs, traces.found = imported.finish()
    traces.scores = imported.scores
    for number, line in enumerate(traces.runs.lines):
        if line > runs.lines[number]:
            runs.lines[number], runs.codes[number] = line, traces.runs.codes[number]
    traces.runs = LastTraces(
        runs.lines,
        runs.codes,
        runs.traces + traces.runs.traces,
        runs.strays + traces.runs.strays,
    )
