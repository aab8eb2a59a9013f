"""All traces of a run, scored: parts of files put together in the order of their lines."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

from affidavit.app.gating.files import BadLines, digest_of_files
from affidavit.app.gating.line_index import LineIndex, Stretch
from affidavit.app.gating.rag_parts import Bench, moved, parts_of, score_part
from affidavit.app.gating.rag_sources import Source
from affidavit.base.errors import AffidavitError
from affidavit.base.files import digest_file
from affidavit.gates.rag_rows import TraceV1, trace_from_line, trace_from_value
from affidavit.gates.rag_runs import Runs, Scoring
from affidavit.gates.rag_scoring import RagScorer

if TYPE_CHECKING:
    from affidavit.formats.importing import ImportedRow

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
    sources: Iterable[Source], bench: Bench, bad: BadLines, jobs: int, run: Run
) -> Traces:
    """Score the traces of all sources; more processes change nothing but the time."""
    traces = Traces(Runs())
    for source in sources:
        if source.is_own:
            _score_own(source, bench, bad, jobs, run, traces)
        else:
            _score_imported(source, bench, bad, traces)
    return traces


def _score_own(
    source: Source, bench: Bench, bad: BadLines, jobs: int, run: Run, traces: Traces
) -> None:
    parts = parts_of(source.file, source.shown, jobs)
    in_file = 0
    for part, scored in zip(
        parts, run(bench, score_part, parts, min(jobs, len(parts))), strict=True
    ):
        for error in scored.bad.first:
            bad(moved(error, in_file))
        bad.count += scored.bad.count - len(scored.bad.first)
        if scored.error is not None:
            raise moved(scored.error, in_file)
        if scored.digest is not None:
            traces.digests.append(scored.digest)
        if part.scores:
            traces.runs = traces.runs + scored.runs.after(traces.before)
            traces.index.stretches.append(
                Stretch(source.file, source.shown, traces.before, in_file, *scored.blocks)
            )
            in_file += scored.lines
            traces.before += scored.lines


def _score_imported(source: Source, bench: Bench, bad: BadLines, traces: Traces) -> None:
    scoring = Scoring(bench.gold, RagScorer(bench.settings))
    last = 0

    def rows() -> Iterator[tuple[int, TraceV1]]:
        nonlocal last
        for row, trace in _imported(source, bad):
            last = row.position
            yield traces.before + row.position, trace

    scoring.take(rows(), source.shown, bad)
    traces.runs = traces.runs + scoring.runs()
    traces.digests.append(digest_file(source.file))
    traces.before += last


def _imported(
    source: Source, on_bad: Callable[[AffidavitError], None]
) -> Iterator[tuple["ImportedRow", TraceV1]]:
    # Only those who have another tool's file wait for the formats to load.
    from affidavit.formats.importing import read_rows

    for row in read_rows(source.file, role="trace", format=source.format, on_bad=on_bad):
        if row.trace is None:
            continue
        try:
            trace = trace_from_value(row.trace, row.line, source.shown)
        except AffidavitError as error:
            on_bad(error)
        else:
            yield row, trace


def traces_again(
    sources: Collection[Source], traces: Traces, places: Collection[int]
) -> dict[int, FoundTrace]:
    """Read some traces again, by their places."""
    if all(source.is_own for source in sources):
        return {
            found.number: FoundTrace(
                trace_from_line(found.raw, found.line, found.file), found.file, found.line
            )
            for found in traces.index.fetch(places)
        }
    again: dict[int, FoundTrace] = {}
    before = 0
    for source in sources:
        last = 0
        for row, trace in _imported(source, _pass_over):
            last = row.position
            if before + last in places:
                again[before + last] = FoundTrace(trace, source.shown, row.line)
        before += last
    return again


def _pass_over(error: AffidavitError) -> None:
    """Say nothing: the line was told of when it was read first."""
