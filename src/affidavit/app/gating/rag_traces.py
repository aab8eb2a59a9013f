"""All traces of a run, scored: parts of files put together in the order of their lines."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from msgspec.structs import replace

from affidavit.app.gating.files import BadLines, digest_of_files
from affidavit.app.gating.line_index import LineIndex, Stretch
from affidavit.app.gating.rag_imports import Questions, imported_traces, pass_over
from affidavit.app.gating.rag_parts import Bench, parts_of, pass_on, score_part
from affidavit.app.gating.rag_sources import Source
from affidavit.base.files import digest_file
from affidavit.gates.rag_brought import OtherScores
from affidavit.gates.rag_rows import TraceV1, qid_of, trace_from_line
from affidavit.gates.rag_runs import Runs, Scoring, put_together
from affidavit.gates.rag_scoring import RagScorer

Shared = TypeVar("Shared")
Item = TypeVar("Item")
Result = TypeVar("Result")


class Run(Protocol):
    """Runs work over items with something shared, results in order: `engine.local.run_with`."""

    def __call__(
        self,
        shared: Shared,
        work: Callable[[Shared, Item], Result],
        items: Iterable[Item],
        jobs: int,
    ) -> Iterator[Result]:
        """Yield the result of each item."""
        ...


@dataclass(slots=True)
class Traces:
    """What all traces gave. A place is a line, counted over all files; of a file that another
    tool wrote it is a row.
    """

    runs: Runs
    digests: list[str] = field(default_factory=list)
    index: LineIndex = field(default_factory=LineIndex)
    imported: list[tuple[Source, int, int]] = field(default_factory=list)
    """Files of other tools, and the places between which their rows are."""
    scores: OtherScores = field(default_factory=OtherScores)
    before: int = 0

    @property
    def digest(self) -> str | None:
        """The digest of the traces."""
        return digest_of_files(self.digests)


@dataclass(frozen=True, slots=True)
class FoundTrace:
    """A trace that was read again, and where it stands."""

    trace: TraceV1
    file: str
    line: int


def score_traces(
    sources: Iterable[Source],
    bench: Bench,
    bad: BadLines,
    jobs: int,
    run: Run,
    questions: Questions | None = None,
) -> Traces:
    """Score the traces of all sources; more processes change nothing but the time.

    `questions` tell which item a trace of another tool belongs to that has no name of its own.
    """
    traces = Traces(Runs())
    for source in sources:
        if source.is_own:
            _score_own(source, bench, bad, jobs, run, traces)
        else:
            _score_imported(source, bench, bad, questions, traces)
    return traces


def _score_own(
    source: Source, bench: Bench, bad: BadLines, jobs: int, run: Run, traces: Traces
) -> None:
    parts = parts_of(source.file, source.shown, jobs, len(bench.gold))
    found, in_file = [(0, traces.runs)], 0
    for part, scored in zip(
        parts, run(bench, score_part, parts, min(jobs, len(parts))), strict=True
    ):
        pass_on(scored.bad, scored.error, bad, in_file)
        if scored.digest is not None:
            traces.digests.append(scored.digest)
        if part.scores:
            found.append((traces.before, scored.runs))
            traces.index.stretches.append(
                Stretch(source.file, source.shown, traces.before, in_file, *scored.blocks)
            )
            in_file += scored.lines
            traces.before += scored.lines
    traces.runs = put_together(found)


def _score_imported(
    source: Source, bench: Bench, bad: BadLines, questions: Questions | None, traces: Traces
) -> None:
    scoring = Scoring(bench.gold, RagScorer(bench.settings))
    last = 0

    def rows() -> Iterator[tuple[int, TraceV1]]:
        nonlocal last
        for row, trace in imported_traces(source, bench.settings.refusal, bad):
            last = row.position
            traces.scores.take(row.scores)
            if row.qid_derived and questions is not None and trace.qid not in bench.gold:
                trace = replace(trace, qid=questions.qid_of(qid_of(trace)))
            yield traces.before + row.position, trace

    scoring.take(rows(), source.shown, bad)
    traces.runs = put_together([(0, traces.runs), (0, scoring.runs())])
    traces.digests.append(digest_file(source.file))
    traces.imported.append((source, traces.before, traces.before + last))
    traces.before += last


def traces_again(traces: Traces, places: Iterable[int], refusal: str) -> dict[int, FoundTrace]:
    """Read some traces again, by their places."""
    rest = set(places)
    again: dict[int, FoundTrace] = {}
    for source, before, last in traces.imported:
        wanted = {place for place in rest if before < place <= last}
        rest -= wanted
        rows = imported_traces(source, refusal, pass_over) if wanted else ()
        for row, trace in rows:
            if before + row.position in wanted:
                again[before + row.position] = FoundTrace(trace, source.shown, row.line)
    for found in traces.index.fetch(rest):
        trace = trace_from_line(found.raw, found.line, found.file)
        again[found.number] = FoundTrace(trace, found.file, found.line)
    return again
