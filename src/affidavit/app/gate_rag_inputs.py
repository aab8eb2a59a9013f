"""The inputs of `gate rag`: a gold set and traces, our own or of other tools, read and scored."""

import sys
from array import array
from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from pathlib import Path
from types import MappingProxyType
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
from affidavit.engine.local import LocalRunner, Runner
from affidavit.gates.rag_counts import (
    RagCounts,
)
from affidavit.gates.rag_report import TRACE_ROLE, RagPolicy, is_sentence
from affidavit.gates.rag_rows import (
    GOLD_READER,
    TRACE_READER,
    GoldItem,
    TraceRow,
    gold_from_line,
    gold_from_value,
    gold_without_qid,
    qid_of,
    trace_from_value,
)
from affidavit.gates.rag_scoring import (
    GoldSet,
    LastTraces,
    PreparedGold,
    RagScorer,
    RagSettings,
    TraceScoring,
)

if TYPE_CHECKING:
    from affidavit.importers.tool_format import ImportedRow, ToolName


# A key that only our own rows have, by input.
_OWN_KEYS: Final = {"gold": b'"answerable"', "trace": b'"answer_json"'}
_CONTEXTS_KEY: Final = b'"contexts"'
"""Traces with the texts of their contexts are judged, which the fast way does not do."""
_SAID_OF_FILES: Final = (faults.IMPORT_UNKNOWN, faults.IMPORT_PACKED, faults.IMPORT_BROKEN)
_OWN_ENDINGS: Final = (".jsonl", ".ndjson")
_NO_NAMES: Final[Mapping[str, str]] = MappingProxyType({})
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
    columns: Mapping[str, str] = field(default_factory=dict)
    """The names of the file's columns by ours, if the user maps them."""

    @property
    def has_own_rows(self) -> bool:
        """Whether the rows are ours, in whatever kind of file."""
        from affidavit.importers.tool_format import ToolName

        return self.format in (None, ToolName.NATIVE, ToolName.NATIVE_ROWS)

    @property
    def appends(self) -> bool:
        """Whether a later row replaces an earlier one of the same qid."""
        from affidavit.importers.reader import TOOL_FORMATS

        return any(each.appends for each in TOOL_FORMATS if each.format is self.format)

    @property
    def without_contexts(self) -> str:
        """What to do about a file without contexts, if no column of it can have them."""
        from affidavit.importers.reader import TOOL_FORMATS

        return next((each.remedy for each in TOOL_FORMATS if each.format is self.format), "")


@contextmanager
def sources_named(
    role: str,
    names: Iterable[str],
    columns: Mapping[str, str] = _NO_NAMES,
    copies: Mapping[str, str] = _NO_NAMES,
) -> Iterator[tuple[RagSource, ...]]:
    """Yield the sources of some names; `columns` maps the columns of tables.

    `copies` has the files to read for names of other file systems.

    Standard input is copied to a temporary file, because rows are read twice.
    """
    files = files_named(names)
    with _standard_input() if STANDARD_INPUT in files else nullcontext("") as kept:
        yield tuple(
            _detect_source(
                kept if name == STANDARD_INPUT else copies.get(name, name),
                shown_name(name),
                role,
                columns,
            )
            for name in chain.from_iterable(map(_files_in, files))
        )


def _files_in(name: str) -> tuple[str, ...]:
    """Return the files of a data set that is a folder; a file is itself."""
    if name == STANDARD_INPUT or not Path(name).is_dir():
        return (name,)
    from affidavit.importers.packed import data_files

    return tuple(map(str, data_files(Path(name), shown_name(name))))


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


def _detect_source(file: str, shown: str, role: str, columns: Mapping[str, str]) -> RagSource:
    """Return a file with its format; our own lines are recognised by the first one.

    A .jsonl file that is not recognised is assumed to be ours, so that each bad line is reported.
    """
    with open_to_read(file) as stream:
        head = stream.read(_HEAD_BYTES).lstrip()
    first_line = head.partition(b"\n")[0]
    has_contexts = role == "trace" and _CONTEXTS_KEY in first_line
    is_own = first_line.startswith(b"{") and _OWN_KEYS[role] in first_line
    if not head or (is_own and not has_contexts):
        return RagSource(file, shown, is_empty=not head)
    from affidavit.importers.reader import detect
    from affidavit.importers.tool_format import ToolName

    try:
        found = detect(file, columns=columns)
    except AffidavitError as error:
        where = Where(shown, error.where.line, error.where.field)
        doubt = AffidavitError(error.fault, where, **error.values)
        is_said_of_lines = error.fault not in _SAID_OF_FILES
        if is_said_of_lines and file.endswith(_OWN_ENDINGS):
            return RagSource(file, shown, doubt=doubt)
        raise doubt from None
    # A byte order mark is harmless, except to the fast reader.
    is_fast = found is ToolName.NATIVE and not head.startswith(BOM_UTF8) and not has_contexts
    return RagSource(file, shown, is_fast, found, columns=columns)


def shards_needed(golds: Iterable[RagSource], sources: Iterable[RagSource]) -> int:
    """Return the number of shards for a gold set; 0 if it is small or of another tool."""
    given = tuple(golds)
    size = sum(Path(source.file).stat().st_size for source in given)
    if size <= LARGE_GOLD_BYTES or not all(source.is_own for source in chain(given, sources)):
        return 0
    return min(MAX_SHARDS, size // SHARD_BYTES + 1)


# Gold items and traces from files of other tools, and the item of a trace without a qid. The
# importers are loaded only if such a file is read.


def imported_rows(
    source: RagSource,
    role: Literal["gold", "trace", "both"],
    settings: RagSettings,
    on_bad: OnBadLine,
    on_doubt: Callable[[str], None],
) -> Iterator[tuple["ImportedRow", GoldItem | None, TraceRow | None]]:
    """Yield each row of a file with its gold item and its trace, if it has them."""
    from affidavit.importers.reader import read_rows

    for row in read_rows(
        source.file,
        role=role,
        format=source.format,
        on_bad=on_bad,
        on_doubt=on_doubt,
        refusals=settings.refusals,
        exact_refusals=settings.exact_refusals,
        shown=source.shown,
        columns=source.columns,
    ):
        try:
            gold = row.gold and gold_from_value(row.gold, row.line, source.shown)
            trace = row.trace and trace_from_value(row.trace, row.line, source.shown)
        except AffidavitError as error:
            on_bad(error)
        else:
            yield row, gold or None, trace or None


@dataclass(slots=True)
class Questions:
    """The gold item of each question, for traces that have only their question."""

    _qids: dict[str, str] = field(default_factory=dict)
    _same: dict[str, set[str]] = field(default_factory=dict)
    _met: set[str] = field(default_factory=set)

    def note(self, item: GoldItem) -> None:
        """Remember the question of a gold item."""
        from affidavit.importers.tool_format import qid_from_question

        if item.question.strip():
            self._note(qid_from_question(item.question), qid_of(item))

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
class RowJudging:
    """How answers are judged against their contexts; see the options of `gate rag`."""

    judge: str | None = None
    rules: str | None = None
    top_k: int = 8
    sample: int | None = None
    seed: int = 0
    store: str | None = None
    progress: Callable[[int, int], None] | None = None
    on_cost: Callable[[str], None] | None = None
    """Gets the estimated and the actual use of a judge behind a server, in words."""
    above_budget: bool = False
    """Whether a run may start whose estimate exceeds its budget; only with `on_cost`."""


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
    columns: Mapping[str, str] = field(default_factory=dict)
    judging: RowJudging | None = None
    """How answers are judged against their contexts; None leaves it out."""
    runner: Runner = field(default_factory=LocalRunner)
    """Where they are judged."""
    copies: Mapping[str, str] = field(default_factory=dict)
    """Copies on this machine of files of other file systems, by name."""

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
    """The items by qid, and their lines; `places` counts over all files.

    A row of a result table that asks a question again is an item of its own, `qid#2`. `repeats` has
    the qid of its gold item, `clusters` the qid of its question.
    """

    ready: dict[str, PreparedGold] = field(default_factory=dict)
    places: "array[int]" = field(default_factory=lambda: array("q"))
    digests: list[str] = field(default_factory=list)
    index: LineIndex = field(default_factory=LineIndex)
    items: dict[str, GoldItem] = field(default_factory=dict)
    """The items of other tools' files, so that each row is imported once."""
    repeats: dict[str, str] = field(default_factory=dict)
    clusters: dict[str, str] = field(default_factory=dict)
    sentences: int = 0
    """Items of other tools whose reference is a whole sentence."""

    @property
    def digest(self) -> str | None:
        """The digest of the gold set."""
        return digest_of_files(self.digests)

    def keep(self, item: GoldItem) -> None:
        """Keep an item of another tool's file."""
        self.items[qid_of(item)] = item
        self.sentences += is_sentence(item.gold_claim_substr or ())

    def add_repeat(self, qid: str, number: int, item: GoldItem | None) -> str:
        """Add the item of a row that asks a question for the second time or more."""
        name = f"{qid}#{number}"
        while name in self.ready:
            number += 1
            name = f"{qid}#{number}"
        self.ready[name] = structs.replace(self.ready[qid], number=len(self.ready))
        self.places.append(0)
        self.repeats[name] = qid
        self.clusters[name] = self.clusters.get(qid, qid)
        if item is not None:
            self.items[name] = structs.replace(item, qid=name)
        return name

    def reread(self, qids: Collection[str]) -> dict[str, GoldItem]:
        """Return some gold items; those of our own files are read again."""
        found = {qid: self.items[qid] for qid in qids if qid in self.items}
        own = {qid: self.repeats.get(qid, qid) for qid in qids if qid not in found}
        places = {self.places[self.ready[qid].number] for qid in own.values()}
        lines = self.index.fetch(places)
        items = [gold_from_line(line.raw, line.line, line.file) for line in lines]
        by_qid = {qid_of(item): item for item in items}
        for name, qid in own.items():
            item = self.items[qid] if qid in self.items else by_qid[qid]
            found[name] = structs.replace(item, qid=name)
        return found


def read_gold(
    sources: Collection[RagSource],
    settings: RagSettings,
    on_bad: OnBadLine,
    *,
    on_doubt: Callable[[str], None],
    questions: Questions | None = None,
) -> GoldInput:
    """Read a gold set; a duplicate qid is an error.

    `questions` remembers the questions, for traces without a qid.
    """
    gold, scorer = GoldInput(), RagScorer(settings)
    ready, places = gold.ready, gold.places
    before = 0
    for source in sources:
        blocks = BlockIndex()
        rows = _own_rows(source, gold, on_bad, before, blocks)
        if not source.is_own:
            rows = _imported_gold(source, settings, on_bad, on_doubt)
            gold.digests.append(digest_file(source.file))
        for line, item in rows:
            qid = item.qid if isinstance(item.qid, str) else str(item.qid)
            prepared = scorer.prepare(item, len(places))
            if ready.setdefault(qid, prepared) is not prepared:
                raise _gold_twice(qid, Where(source.shown, line, "qid"))
            places.append(before + line)
            if not source.is_own:
                gold.keep(item)
            if questions is not None:
                questions.note(item)
        before += blocks.count
    return gold


def _imported_gold(
    source: RagSource,
    settings: RagSettings,
    on_bad: OnBadLine,
    on_doubt: Callable[[str], None],
) -> Iterator[tuple[int, GoldItem]]:
    for row, item, _ in imported_rows(source, "gold", settings, on_bad, on_doubt):
        if item is not None:
            yield row.line, item


def add_item(gold: GoldInput, item: GoldItem, scorer: RagScorer, where: Where) -> PreparedGold:
    """Add the item of a row, and return it as prepared; an equal one may be there already.

    The passages of a repeated question may differ, because each row has its own retrieval.
    """
    prepared = scorer.prepare(item, len(gold.ready))
    known = gold.ready.setdefault(qid_of(item), prepared)
    if known is prepared:
        gold.places.append(0)
        gold.keep(item)
        return prepared
    same = structs.replace(prepared, number=known.number, wanted=known.wanted, only=known.only)
    if same != known:
        raise _gold_twice(qid_of(item), where)
    return prepared


def _gold_twice(qid: str, where: Where) -> AffidavitError:
    return AffidavitError(faults.GOLD_TWICE, where, qid=excerpt(qid))


def _own_rows(
    source: RagSource, gold: GoldInput, on_bad: OnBadLine, before: int, blocks: BlockIndex
) -> Iterator[tuple[int, GoldItem]]:
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
                    yield line, row
    gold.digests.append(seen.digest)
    gold.index.ranges.append(LineRange(source.file, source.shown, before, 0, blocks))


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
