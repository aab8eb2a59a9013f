"""The inputs of `gate rag`: its request, gold set and traces, our own or of other tools."""

import sys
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import UNSET

from affidavit.app.gate_inputs import STANDARD_INPUT, files_named, shown_name
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.files import open_to_read

if TYPE_CHECKING:
    from affidavit.importers.model import ToolName
from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING

from affidavit.decision.counts import Listing, listing_of
from affidavit.gates.rag_rows import GoldItem, TraceRow, gold_from_value, qid_of, trace_from_value

if TYPE_CHECKING:
    from affidavit.importers.model import ImportedRow
from array import array
from collections.abc import Collection, Mapping

from msgspec.structs import replace

from affidavit.app.gate_inputs import (
    BadLines,
    LineIndex,
    LineRange,
    StreamDigest,
    blocks_of,
    digest_of_files,
    open_input,
)
from affidavit.base.files import digest_file
from affidavit.base.text import excerpt
from affidavit.decision.report import ReportInput
from affidavit.gates.imported_scores import is_sentence
from affidavit.gates.rag_counts import RagCounts
from affidavit.gates.rag_report import TRACE_ROLE, RagPolicy
from affidavit.gates.rag_rows import GOLD_READER, gold_from_line, gold_without_qid
from affidavit.gates.rag_scoring import PreparedGold, RagScorer, RagSettings

# The files of a gold set or of traces: our own JSON lines, or files of another tool.

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
    from affidavit.importers.model import ToolName
    from affidavit.importers.reader import detect

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

OnBadRow = Callable[[AffidavitError], None]


def imported_gold(
    source: RagSource, refusal: str, on_bad: OnBadRow
) -> Iterator[tuple["ImportedRow", GoldItem]]:
    """Yield the gold items of a file; a row without a reference answer has none."""
    from affidavit.importers.reader import read_rows

    rows = read_rows(source.file, role="gold", format=source.format, on_bad=on_bad, refusal=refusal)
    for row in rows:
        if row.gold is not None:
            try:
                item = gold_from_value(row.gold, row.line, source.shown)
            except AffidavitError as error:
                on_bad(error)
            else:
                yield row, item


def imported_traces(
    source: RagSource, refusal: str, on_bad: OnBadRow
) -> Iterator[tuple["ImportedRow", TraceRow]]:
    """Yield the traces of a file."""
    from affidavit.importers.reader import read_rows

    rows = read_rows(
        source.file, role="trace", format=source.format, on_bad=on_bad, refusal=refusal
    )
    for row in rows:
        if row.trace is not None:
            try:
                trace = trace_from_value(row.trace, row.line, source.shown)
            except AffidavitError as error:
                on_bad(error)
            else:
                yield row, trace


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


# The request of a run, and its inputs as the report describes them.

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

_OnBadRow = Callable[[AffidavitError], None]


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
    on_bad: _OnBadRow,
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
        lines = _Counted()
        rows = _own_rows(source, gold, on_bad, before, lines)
        if not source.is_own:
            rows = _imported_rows(source, settings.refusal, on_bad, lines)
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
            elif not beside_traces or replace(item, number=known.number) != known:
                where = Where(source.shown, line, "qid")
                raise AffidavitError(faults.GOLD_TWICE, where, qid=excerpt(qid))
        before += lines.count
    return gold


class _Counted:
    """The number of lines or rows of a file, known after reading."""

    count = 0


def _own_rows(
    source: RagSource, gold: GoldInput, on_bad: _OnBadRow, before: int, counted: _Counted
) -> Iterator[tuple[int, int, GoldItem]]:
    seen = StreamDigest()
    lines, offsets = array("q"), array("q")
    with open_input(source.file) as stream:
        for block in blocks_of(stream, source.shown, on_bad, seen):
            lines.append(block.first_line)
            offsets.append(block.offset)
            counted.count += block.lines
            rows = GOLD_READER.from_chunk(
                block.raw, block.first_line, source.shown, on_bad, block.lines
            )
            for line, row in rows:
                if row.qid == "":
                    on_bad(gold_without_qid(line, source.shown))
                else:
                    yield line, line, row
    gold.digests.append(seen.digest)
    gold.index.ranges.append(
        LineRange(
            file=source.file,
            shown=source.shown,
            before=before,
            before_in_file=0,
            lines=lines,
            offsets=offsets,
        )
    )


def _imported_rows(
    source: RagSource, refusal: str, on_bad: _OnBadRow, counted: _Counted
) -> Iterator[tuple[int, int, GoldItem]]:
    for row, item in imported_gold(source, refusal, on_bad):
        counted.count = row.position
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
