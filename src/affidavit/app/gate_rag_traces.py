"""Score the traces of `gate rag`: parts of files, scored separately and merged in line order."""

from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Final, Protocol, TypeVar

from msgspec.structs import replace as structs_replace

from affidavit.app.gate_inputs import (
    BadLines,
    LineIndex,
    LineRange,
    StreamDigest,
    blocks_of,
    digest_of_files,
    open_input,
)
from affidavit.app.gate_rag_inputs import Questions, RagSource, imported_traces, pass_over
from affidavit.base.errors import AffidavitError
from affidavit.base.files import digest_file, open_to_read
from affidavit.gates.imported_scores import ImportedScores
from affidavit.gates.rag_rows import TRACE_READER, TraceRow, qid_of, trace_from_line
from affidavit.gates.rag_runs import GoldSet, LastTraces, TraceScoring, merge_traces
from affidavit.gates.rag_scoring import RagScorer, RagSettings

# A part is a byte range of whole lines that is scored on its own. It knows only its own lines; the
# lines before it are counted when parts are merged.

SMALLEST_PART_BYTES: Final = 2 << 20
"""For smaller parts the overhead is too large."""
FEWEST_PARTS: Final = 4
"""A smaller file is scored before other processes have started."""
PARTS_LEFT_PER_JOB: Final = 2
"""A part is the remaining size over this number per process. Large parts come first, because each
part has a cost; small ones come last, so that no process waits long."""
PART_BYTES_PER_GOLD_ITEM: Final = 128
"""Each part returns a result for every gold item; with many items, a small part costs more to
return than to score."""


@dataclass(frozen=True, slots=True)
class FilePart:
    """The bytes of a file from `start` to `end`, or to the end of the file."""

    file: str
    shown: str
    start: int = 0
    end: int | None = None
    digests: bool = False
    """Whether the bytes are digested in the same pass; only if the part is the whole file."""
    scores: bool = True


@dataclass(frozen=True, slots=True)
class ScoringContext:
    """What is needed to score a part."""

    gold: GoldSet
    settings: RagSettings
    skip_bad: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredPart:
    """The result of a part. Lines count from the start of the part.

    `error` is why it stopped; `blocks` has line numbers and their byte offsets.
    """

    runs: LastTraces
    lines: int
    blocks: tuple["array[int]", "array[int]"]
    bad: BadLines
    digest: str | None
    error: AffidavitError | None = None


def parts_of(file: str, shown: str, jobs: int, gold_items: int = 0) -> list[FilePart]:
    """Cut a file into parts for a number of processes; one part only digests."""
    size = Path(file).stat().st_size if jobs > 1 else 0
    places = _places_of_parts(size, jobs, gold_items)
    if len(places) <= 1:
        return [FilePart(file, shown, digests=True)]
    with open_to_read(file) as stream:
        cuts = {_line_start_from(stream.seek, stream.readline, place) for place in places}
    bounds = [*sorted(cuts), size]
    ranges = [FilePart(file, shown, start, end) for start, end in pairwise(bounds) if start < end]
    return [FilePart(file, shown, digests=True, scores=False), *ranges]


def _places_of_parts(size: int, jobs: int, gold_items: int) -> list[int]:
    """Return the approximate starts of the parts."""
    left_for = jobs * PARTS_LEFT_PER_JOB
    worth_it = min(PART_BYTES_PER_GOLD_ITEM * gold_items, size // left_for)
    smallest = max(SMALLEST_PART_BYTES, worth_it)
    places = [0]
    if size < FEWEST_PARTS * smallest:
        return places
    while (left := size - places[-1]) >= 2 * smallest:
        places.append(places[-1] + max(smallest, left // left_for))
    return places


def _line_start_from(
    seek: Callable[[int], int], readline: Callable[[int], bytes], place: int
) -> int:
    """Return the offset of the first line that starts at or after a byte."""
    if not place:
        return 0
    seek(place - 1)
    position = place - 1
    while piece := readline(1 << 20):
        position += len(piece)
        if piece.endswith(b"\n"):
            break
    return position


def score_part(context: ScoringContext, part: FilePart) -> ScoredPart:
    """Score a part; an error is returned, because an earlier part may have an earlier one."""
    work = _PartScoring(context, part)
    error = None
    try:
        work.score() if part.scores else work.digest()
    except AffidavitError as caught:
        error = caught
    return work.done(error)


class _PartScoring:
    """A part while it is scored."""

    def __init__(self, context: ScoringContext, part: FilePart) -> None:
        self._part = part
        self._scoring = TraceScoring(context.gold, RagScorer(context.settings))
        self._bad = BadLines(context.skip_bad)
        self._digest: str | None = None
        self._lines, self._offsets = array("q"), array("q")
        self._count = 0

    def digest(self) -> None:
        self._digest = digest_file(self._part.file)

    def score(self) -> None:
        part, bad, seen = self._part, self._bad, StreamDigest()
        watch = seen if part.digests else len
        with open_input(part.file) as stream:
            stream.seek(part.start)
            for block in blocks_of(stream, part.shown, bad, watch, start=part.start, end=part.end):
                self._lines.append(block.first_line)
                self._offsets.append(block.offset)
                self._count += block.lines
                rows = TRACE_READER.from_chunk(
                    block.raw, block.first_line, part.shown, bad, block.lines
                )
                self._scoring.score(rows, part.shown, bad)
        self._digest = seen.digest if part.digests else None

    def done(self, error: AffidavitError | None) -> ScoredPart:
        return ScoredPart(
            runs=self._scoring.runs(),
            lines=self._count,
            blocks=(self._lines, self._offsets),
            bad=self._bad,
            digest=self._digest,
            error=error,
        )


def merge_bad_lines(
    found: BadLines, error: AffidavitError | None, bad: BadLines, lines_before: int
) -> None:
    """Report the bad lines of a part and its error, with the line numbers of the file."""
    for each in found.first:
        bad(shift_error_line(each, lines_before))
    bad.count += found.count - len(found.first)
    if error is not None:
        raise shift_error_line(error, lines_before)


def shift_error_line(error: AffidavitError, lines: int) -> AffidavitError:
    """Return the error of a part with the line number of the file."""
    if error.where.line is None:
        return error
    where = replace(error.where, line=error.where.line + lines)
    return AffidavitError(error.fault, where, **error.values)


# All traces of a run: parts of files merged in the order of their lines.

Shared = TypeVar("Shared")
Item = TypeVar("Item")
Result = TypeVar("Result")


class ParallelRun(Protocol):
    """Runs a function over items with shared data, results in order: `engine.local`."""

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
class ScoredTraces:
    """The result of all traces. A place is a line number over all files, or a row of an imported
    file.
    """

    runs: LastTraces
    digests: list[str] = field(default_factory=list)
    index: LineIndex = field(default_factory=LineIndex)
    imported: list[tuple[RagSource, int, int]] = field(default_factory=list)
    """Files of other tools, with the range of places of their rows."""
    scores: ImportedScores = field(default_factory=ImportedScores)
    before: int = 0

    @property
    def digest(self) -> str | None:
        """The digest of the traces."""
        return digest_of_files(self.digests)


@dataclass(frozen=True, slots=True)
class FoundTrace:
    """A trace that was read again, and its location."""

    trace: TraceRow
    file: str
    line: int


def score_traces(
    sources: Iterable[RagSource],
    context: ScoringContext,
    bad: BadLines,
    jobs: int,
    run: ParallelRun,
    questions: Questions | None = None,
) -> ScoredTraces:
    """Score the traces of all sources; the result is the same for any number of processes.

    `questions` gives the item of an imported trace without a qid.
    """
    traces = ScoredTraces(LastTraces())
    for source in sources:
        if source.is_own:
            _score_own(source=source, context=context, bad=bad, jobs=jobs, run=run, traces=traces)
        else:
            _score_imported(source, context, bad, questions, traces)
    return traces


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
                LineRange(
                    file=source.file,
                    shown=source.shown,
                    before=traces.before,
                    before_in_file=in_file,
                    lines=scored.blocks[0],
                    offsets=scored.blocks[1],
                )
            )
            in_file += scored.lines
            traces.before += scored.lines
    traces.runs = merge_traces(found)


def _score_imported(
    source: RagSource,
    context: ScoringContext,
    bad: BadLines,
    questions: Questions | None,
    traces: ScoredTraces,
) -> None:
    scoring = TraceScoring(context.gold, RagScorer(context.settings))
    last = 0

    def rows() -> Iterator[tuple[int, TraceRow]]:
        nonlocal last
        for row, trace in imported_traces(source, context.settings.refusal, bad):
            last = row.position
            traces.scores.add(row.scores)
            if row.qid_derived and questions is not None and trace.qid not in context.gold:
                trace = structs_replace(trace, qid=questions.qid_of(qid_of(trace)))
            yield traces.before + row.position, trace

    scoring.score(rows(), source.shown, bad)
    traces.runs = merge_traces([(0, traces.runs), (0, scoring.runs())])
    traces.digests.append(digest_file(source.file))
    traces.imported.append((source, traces.before, traces.before + last))
    traces.before += last


def reread_traces(
    traces: ScoredTraces, places: Iterable[int], refusal: str
) -> dict[int, FoundTrace]:
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
