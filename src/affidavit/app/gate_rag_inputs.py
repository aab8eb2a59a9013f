"""The inputs of `gate rag`: a gold set and traces, our own or of other tools, read and scored."""

import sys
from array import array
from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeVar

from msgspec import UNSET, structs

from affidavit.app.gate_inputs import (
    STANDARD_INPUT,
    BadLines,
    BlockIndex,
    LineBlock,
    LineIndex,
    LineRange,
    OnBadLine,
    StreamDigest,
    blocks_of,
    digest_of_files,
    files_named,
    open_input,
    shown_name,
)
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.files import digest_file, open_to_read
from affidavit.base.text import excerpt
from affidavit.decision.counts import Listing, listing_of
from affidavit.decision.report import ReportInput
from affidavit.gates.rag_counts import RagCounts
from affidavit.gates.rag_report import TRACE_ROLE, ImportedScores, RagPolicy, is_sentence
from affidavit.gates.rag_rows import (
    GOLD_READER,
    TRACE_READER,
    GoldItem,
    TraceRow,
    gold_from_line,
    gold_from_value,
    gold_without_qid,
    qid_of,
    trace_from_line,
    trace_from_value,
)
from affidavit.gates.rag_scoring import (
    GoldSet,
    LastTraces,
    PreparedGold,
    RagScorer,
    RagSettings,
    TraceScoring,
    merge_traces,
)

if TYPE_CHECKING:
    from affidavit.importers.tool_format import ImportedRow, ToolName


# A key that only our own rows have, by input.
_OWN_KEYS: Final = {"gold": b'"answerable"', "trace": b'"answer_json"'}
_OWN_ENDINGS: Final = (".jsonl", ".ndjson")
_HEAD_BYTES: Final = 1 << 16
LARGE_GOLD_BYTES: Final = 32 << 20
"""About 100,000 items; fewer are faster in memory."""
SHARD_BYTES: Final = 8 << 20
MAX_SHARDS: Final = 200


@dataclass(frozen=True, slots=True)
class RagSource:
    """A file to read, its name in messages, and the tool that wrote it.

    A file that `is_own` has our JSON lines, which are read the fast way. `doubt` is the detection
    error of a file that is only assumed to be ours.
    """

    file: str
    shown: str
    is_own: bool = True
    format: "ToolName | None" = None
    doubt: AffidavitError | None = None
    is_empty: bool = False


@contextmanager
def sources_named(role: str, names: Iterable[str]) -> Iterator[tuple[RagSource, ...]]:
    """Yield the sources of some names.

    Standard input is copied to a temporary file, because rows are read twice.
    """
    files = files_named(names)
    with _standard_input() if STANDARD_INPUT in files else nullcontext("") as kept:
        yield tuple(
            _detect_source(kept if name == STANDARD_INPUT else name, shown_name(name), role)
            for name in files
        )


@contextmanager
def _standard_input() -> Iterator[str]:
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(prefix="affidavit-") as folder:
        file = Path(folder) / "standard-input.jsonl"
        with file.open("wb") as kept:
            if sys.stdin is not None:  # A closed standard input is None.
                shutil.copyfileobj(sys.stdin.buffer, kept)
        yield str(file)


def _detect_source(file: str, shown: str, role: str) -> RagSource:
    """Return a file with its format; our own lines are recognised by the first one.

    A .jsonl file that is not recognised is assumed to be ours, so that each bad line is reported.
    """
    with open_to_read(file) as stream:
        head = stream.read(_HEAD_BYTES).lstrip()
    first_line = head.partition(b"\n")[0]
    if not head or (first_line.startswith(b"{") and _OWN_KEYS[role] in first_line):
        return RagSource(file, shown, is_empty=not head)
    from affidavit.importers.reader import detect
    from affidavit.importers.tool_format import ToolName

    try:
        found = detect(file)
    except AffidavitError as error:
        where = Where(shown, error.where.line, error.where.field)
        doubt = AffidavitError(error.fault, where, **error.values)
        is_said_of_lines = error.fault not in (faults.IMPORT_UNKNOWN, faults.IMPORT_PACKED)
        if is_said_of_lines and file.endswith(_OWN_ENDINGS):
            return RagSource(file, shown, doubt=doubt)
        raise doubt from None
    # A byte order mark is harmless, except to the fast reader.
    is_own = found is ToolName.NATIVE and not head.startswith(BOM_UTF8)
    return RagSource(file, shown, is_own, found)


def shards_needed(golds: Iterable[RagSource], sources: Iterable[RagSource]) -> int:
    """Return the number of shards for a gold set; 0 if it is small or of another tool."""
    given = tuple(golds)
    size = sum(Path(source.file).stat().st_size for source in given)
    if size <= LARGE_GOLD_BYTES or not all(source.is_own for source in chain(given, sources)):
        return 0
    return min(MAX_SHARDS, size // SHARD_BYTES + 1)


# Gold items and traces from files of other tools, and the item of a trace without a qid. The
# importers are loaded only if such a file is read.


Imported = TypeVar("Imported", GoldItem, TraceRow)


def imported_gold(
    source: RagSource, refusal: str, on_bad: OnBadLine
) -> Iterator[tuple["ImportedRow", GoldItem]]:
    """Yield the gold items of a file; a row without a reference answer has none."""
    return _imported(source, "gold", gold_from_value, refusal, on_bad)


def imported_traces(
    source: RagSource, refusal: str, on_bad: OnBadLine
) -> Iterator[tuple["ImportedRow", TraceRow]]:
    """Yield the traces of a file."""
    return _imported(source, "trace", trace_from_value, refusal, on_bad)


def _imported(
    source: RagSource,
    role: Literal["gold", "trace"],
    from_value: Callable[[object, int, str], Imported],
    refusal: str,
    on_bad: OnBadLine,
) -> Iterator[tuple["ImportedRow", Imported]]:
    from affidavit.importers.reader import read_rows

    for row in read_rows(
        source.file, role=role, format=source.format, on_bad=on_bad, refusal=refusal
    ):
        value = row.gold if role == "gold" else row.trace
        if value is not None:
            try:
                made = from_value(value, row.line, source.shown)
            except AffidavitError as error:
                on_bad(error)
            else:
                yield row, made


def pass_over(error: AffidavitError) -> None:
    """Ignore the error: it was reported when the line was first read."""


@dataclass(slots=True)
class Questions:
    """The gold item of each question, for traces that have only their question."""

    _qids: dict[str, str] = field(default_factory=dict)
    _same: dict[str, set[str]] = field(default_factory=dict)
    _met: set[str] = field(default_factory=set)

    def noted(
        self, rows: Iterable[tuple[int, int, GoldItem]]
    ) -> Iterator[tuple[int, int, GoldItem]]:
        """Yield the gold items unchanged, and remember their questions."""
        from affidavit.importers.tool_format import qid_from_question

        for row in rows:
            item = row[2]
            if item.question.strip():
                self._note(qid_from_question(item.question), qid_of(item))
            yield row

    def _note(self, name: str, qid: str) -> None:
        first = self._qids.setdefault(name, qid)
        if first != qid:
            self._same.setdefault(name, {first}).add(qid)

    def qid_of(self, name: str) -> str:
        """Return the qid of the gold item with the derived name of a question, else that name."""
        if name in self._same:
            self._met.add(name)
            return name
        return self._qids.get(name, name)

    def same(self) -> Listing:
        """Return the gold items that share a question which a trace has."""
        return listing_of(qid for name in self._met for qid in self._same[name])


InputRead = tuple[tuple[RagSource, ...], str | None, BadLines]
"""An input that was read: its files, its digest, and the lines that are not rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RagRequest:
    """The settings of a run. Without `gold`, the files of the traces contain the gold items."""

    gold: tuple[str, ...]
    trace: tuple[str, ...]
    policy: RagPolicy = field(default_factory=RagPolicy)
    skip_bad: bool = False
    expect_gold_digest: str | None = None
    baseline: Mapping[str, bool | None] | None = None
    items: bool = True
    jobs: int = 1

    @property
    def needs_items(self) -> bool:
        """Whether the outcome of every item is needed."""
        return self.items or self.baseline is not None


def inputs_of(
    request: RagRequest, gold: InputRead, traces: InputRead, counts: RagCounts
) -> dict[str, ReportInput]:
    """Return the descriptions of both inputs for the report."""
    return {
        "gold": _input(request.gold, gold, counts.items()),
        TRACE_ROLE: _input(request.trace, traces, counts.traces),
    }


def _input(given: tuple[str, ...], read: InputRead, rows: int) -> ReportInput:
    sources, digest, bad = read
    return ReportInput(
        path=_shown_input(given, sources),
        digest=digest,
        rows=rows,
        skipped=bad.count,
        skipped_lines=bad.described() or UNSET,
    )


def _shown_input(given: tuple[str, ...], sources: tuple[RagSource, ...]) -> str:
    """Return the name of an input as the user gave it."""
    return ", ".join(map(shown_name, given)) or ", ".join(source.shown for source in sources)


# The prepared gold set; its rows are not kept, and a few are read again.


@dataclass(slots=True)
class GoldInput:
    """The items by qid, and their lines; `places` counts over all files."""

    ready: dict[str, PreparedGold] = field(default_factory=dict)
    places: "array[int]" = field(default_factory=lambda: array("q"))
    digests: list[str] = field(default_factory=list)
    index: LineIndex = field(default_factory=LineIndex)
    sentences: int = 0
    """Items of other tools whose reference is a whole sentence."""

    @property
    def digest(self) -> str | None:
        """The digest of the gold set."""
        return digest_of_files(self.digests)


def read_gold(
    sources: Collection[RagSource],
    settings: RagSettings,
    on_bad: OnBadLine,
    *,
    beside_traces: bool = False,
    questions: Questions | None = None,
) -> GoldInput:
    """Read a gold set; a duplicate qid is an error.

    In a file that also has the traces, an item may occur once per trace if it is always the same.
    `questions` remembers the questions, for traces without a qid.
    """
    gold, scorer = GoldInput(), RagScorer(settings)
    ready, places = gold.ready, gold.places
    before = 0
    for source in sources:
        blocks = BlockIndex()
        rows = _own_rows(source, gold, on_bad, before, blocks)
        if not source.is_own:
            rows = _imported_rows(source, settings.refusal, on_bad, blocks)
            gold.digests.append(digest_file(source.file))
        if questions is not None:
            rows = questions.noted(rows)
        for place, line, row in rows:
            qid = row.qid if isinstance(row.qid, str) else str(row.qid)
            item = scorer.prepare(row, len(places))
            known = ready.setdefault(qid, item)
            if known is item:
                places.append(before + place)
                if not source.is_own and is_sentence(row.gold_claim_substr or ()):
                    gold.sentences += 1
            elif not beside_traces or structs.replace(item, number=known.number) != known:
                where = Where(source.shown, line, "qid")
                raise AffidavitError(faults.GOLD_TWICE, where, qid=excerpt(qid))
        before += blocks.count
    return gold


def _own_rows(
    source: RagSource, gold: GoldInput, on_bad: OnBadLine, before: int, blocks: BlockIndex
) -> Iterator[tuple[int, int, GoldItem]]:
    seen = StreamDigest()
    with open_input(source.file) as stream:
        for block in blocks.watch(blocks_of(stream, source.shown, on_bad, seen)):
            rows = GOLD_READER.from_chunk(
                block.raw, block.first_line, source.shown, on_bad, block.lines
            )
            for line, row in rows:
                if row.qid == "":
                    on_bad(gold_without_qid(line, source.shown))
                else:
                    yield line, line, row
    gold.digests.append(seen.digest)
    gold.index.ranges.append(LineRange(source.file, source.shown, before, 0, blocks))


def _imported_rows(
    source: RagSource, refusal: str, on_bad: OnBadLine, blocks: BlockIndex
) -> Iterator[tuple[int, int, GoldItem]]:
    for row, item in imported_gold(source, refusal, on_bad):
        blocks.count = row.position
        yield row.position, row.line, item


def reread_items(
    sources: Collection[RagSource], gold: GoldInput, qids: Collection[str], refusal: str
) -> dict[str, GoldItem]:
    """Read some gold items again."""
    if all(source.is_own for source in sources):
        lines = gold.index.fetch(gold.places[gold.ready[qid].number] for qid in qids)
        found = (gold_from_line(line.raw, line.line, line.file) for line in lines)
        return {qid_of(item): item for item in found}
    wanted = set(qids)
    again: dict[str, GoldItem] = {}
    for source in sources:
        found = (item for _, item in imported_gold(source, refusal, pass_over))
        again.update({qid_of(item): item for item in found if qid_of(item) in wanted})
    return again


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

    `error` is why it stopped.
    """

    runs: LastTraces
    blocks: BlockIndex
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
    scoring = TraceScoring(context.gold, RagScorer(context.settings))
    bad, blocks, seen = BadLines(context.skip_bad), BlockIndex(), StreamDigest()
    digest, error = None, None
    try:
        if part.scores:
            for block in blocks.watch(blocks_of_part(part, bad, seen)):
                rows = TRACE_READER.from_chunk(
                    block.raw, block.first_line, part.shown, bad, block.lines
                )
                scoring.score(rows, part.shown, bad)
            digest = seen.digest if part.digests else None
        else:
            digest = digest_file(part.file)
    except AffidavitError as caught:
        error = caught
    return ScoredPart(runs=scoring.runs(), blocks=blocks, bad=bad, digest=digest, error=error)


def blocks_of_part(part: FilePart, bad: BadLines, seen: StreamDigest) -> Iterator[LineBlock]:
    """Yield the blocks of a part; `seen` gets its bytes if they are digested."""
    watch = seen if part.digests else len
    with open_input(part.file) as stream:
        stream.seek(part.start)
        yield from blocks_of(stream, part.shown, bad, watch, start=part.start, end=part.end)


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
                LineRange(source.file, source.shown, traces.before, in_file, scored.blocks)
            )
            in_file += scored.blocks.count
            traces.before += scored.blocks.count
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
                trace = structs.replace(trace, qid=questions.qid_of(qid_of(trace)))
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
