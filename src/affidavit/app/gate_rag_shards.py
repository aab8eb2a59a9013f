"""`gate rag` with a gold set that is too large for memory: rows are split into shards by qid."""

import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from operator import itemgetter
from pathlib import Path
from typing import Final, TypeVar
from zlib import crc32

from affidavit.app.gate_inputs import (
    BLOCK_BYTES,
    BadLines,
    BlockIndex,
    LineIndex,
    LineRange,
    OnBadLine,
    StreamDigest,
    blocks_of,
    digest_of_files,
)
from affidavit.app.gate_rag_inputs import (
    FilePart,
    ParallelRun,
    RagRequest,
    RagSource,
    blocks_of_part,
    inputs_of,
    merge_bad_lines,
    parts_of,
)
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.files import digest_file
from affidavit.base.text import excerpt
from affidavit.gates.rag_counts import ItemProfile, RagCounts, decode_profile
from affidavit.gates.rag_report import RagResult, make_offender
from affidavit.gates.rag_rows import (
    GOLD_READER,
    TRACE_READER,
    GoldItem,
    TraceRow,
    gold_from_chunk,
    gold_from_line,
    qid_of,
    require_digest,
    trace_from_line,
    traces_from_chunk,
)
from affidavit.gates.rag_scoring import (
    PreparedGold,
    RagScorer,
    RagSettings,
    TraceScoring,
    codes_from_runs,
    counts_from_runs,
)
from affidavit.gates.report import PlacedOffender

# Rows are distributed by qid to files in a folder, so that only one shard is in memory. All rows of
# a qid go to the same shard, in the order of their lines. Parts of a file are distributed
# independently, in one process or several; a shard has a piece of each part.

BUFFER_BYTES: Final = 8 << 20
"""Bytes that are buffered before a write, so that writes are few and no file stays open."""
_GOLD_ITEMS_FOR_FEW_PARTS: Final = 1 << 40
"""Bounds the number of shards: each part has a file for every shard."""

Row = TypeVar("Row", GoldItem, TraceRow)
RowsOf = Callable[[bytes, int, str | None, OnBadLine], Iterator[tuple[int, Row]]]


@dataclass(frozen=True, slots=True)
class ShardPiece:
    """The rows of one part in one shard. Their lines are in one file and their line numbers in
    another; `before` counts the lines of the input before the part.
    """

    lines: Path
    places: Path
    before: int = 0


@dataclass(slots=True)
class ShardedInput:
    """An input that was split into shards."""

    shards: tuple[list[ShardPiece], ...]
    digests: list[str] = field(default_factory=list)
    index: LineIndex = field(default_factory=LineIndex)

    @property
    def digest(self) -> str | None:
        """The digest of the input."""
        return digest_of_files(self.digests)


@dataclass(frozen=True, slots=True)
class ShardTask:
    """A part of a file to be split into files whose names begin with `stem`."""

    part: FilePart
    stem: Path
    shards: int
    skip_bad: bool


@dataclass(frozen=True, slots=True)
class ShardedPart:
    """The result of a part."""

    blocks: BlockIndex
    bad: BadLines
    digest: str | None
    error: AffidavitError | None


def shard_input(
    sources: Iterable[RagSource],
    rows_of: RowsOf[Row],
    folder: Path,
    shards: int,
    bad: BadLines,
    jobs: int,
    run: ParallelRun,
) -> ShardedInput:
    """Split the rows of an input into shards, with the same result for any number of processes."""
    folder.mkdir()
    numbers = count()
    sharded = ShardedInput(tuple([] for _ in range(shards)))
    before = 0
    for source in sources:
        parts = parts_of(source.file, source.shown, jobs, _GOLD_ITEMS_FOR_FEW_PARTS)
        works = [ShardTask(part, folder / f"{next(numbers)}", shards, bad.skip) for part in parts]
        in_file = 0
        made = run(rows_of, shard_part, works, min(jobs, len(parts)))
        for work, result in zip(works, made, strict=True):
            merge_bad_lines(result.bad, result.error, bad, in_file)
            if result.digest is not None:
                sharded.digests.append(result.digest)
            for shard, pieces in enumerate(sharded.shards):
                pieces.append(_shard_piece(work.stem, shard, before))
            sharded.index.ranges.append(
                LineRange(source.file, source.shown, before, in_file, result.blocks)
            )
            in_file += result.blocks.count
            before += result.blocks.count
    return sharded


def _shard_piece(stem: Path, shard: int, before: int = 0) -> ShardPiece:
    name = f"{stem.name}-{shard}"
    return ShardPiece(stem.with_name(f"{name}.jsonl"), stem.with_name(f"{name}.places"), before)


def shard_part(rows_of: RowsOf[Row], work: ShardTask) -> ShardedPart:
    """Split a part; an error is returned, because an earlier part may have an earlier one."""
    part, bad = work.part, BadLines(work.skip_bad)
    blocks, seen = BlockIndex(), StreamDigest()
    if not part.scores:
        return ShardedPart(blocks, bad, digest_file(part.file), None)
    buffers, error = _ShardWriter(work), None
    try:
        for block in blocks.watch(blocks_of_part(part, bad, seen)):
            rows = rows_of(block.raw, block.first_line, part.shown, bad)
            buffers.add(block.raw, block.first_line, rows)
    except AffidavitError as caught:
        error = caught
    buffers.write()
    digest = seen.digest if part.digests and error is None else None
    return ShardedPart(blocks, bad, digest, error)


class _ShardWriter:
    """The buffered rows of each shard."""

    def __init__(self, work: ShardTask) -> None:
        self._pieces = [_shard_piece(work.stem, shard) for shard in range(work.shards)]
        self._held = 0
        self._clear()

    def _clear(self) -> None:
        self._texts: list[list[bytes]] = [[] for _ in self._pieces]
        self._places = [array("q") for _ in self._pieces]

    def add(self, raw: bytes, first_line: int, rows: Iterator[tuple[int, Row]]) -> None:
        """Add the rows of a block."""
        lines = raw.split(b"\n")
        texts, places, shards = self._texts, self._places, len(self._pieces)
        for line, row in rows:
            qid = row.qid
            name = qid if isinstance(qid, str) else qid_of(row)
            # The built-in hash differs between processes; this one does not.
            shard = crc32(name.encode("utf-8", "surrogatepass")) % shards
            texts[shard].append(lines[line - first_line])
            places[shard].append(line)
        self._held += len(raw)
        if self._held >= BUFFER_BYTES:
            self.write()

    def write(self) -> None:
        """Write the buffers."""
        for piece, texts, places in zip(self._pieces, self._texts, self._places, strict=True):
            if texts:
                with piece.lines.open("ab") as file:
                    file.writelines((b"\n".join(texts), b"\n"))
                with piece.places.open("ab") as file:
                    places.tofile(file)
        self._held = 0
        self._clear()


def shard_rows(shard: Iterable[ShardPiece], rows_of: RowsOf[Row]) -> Iterator[tuple[int, Row]]:
    """Yield the rows of a shard in order, each with its line number in the input."""
    for piece in shard:
        if not piece.lines.exists():
            continue
        with (
            piece.lines.open("rb", buffering=BLOCK_BYTES) as stream,
            piece.places.open("rb", buffering=BLOCK_BYTES) as numbers,
        ):
            for block in blocks_of(stream, piece.lines.name):
                rows = rows_of(block.raw, block.first_line, None, _refuse_changed_row)
                own = array("q")
                own.fromfile(numbers, block.lines)
                places = map(piece.before.__add__, own)
                yield from zip(places, map(itemgetter(1), rows), strict=True)


def _refuse_changed_row(error: Exception) -> None:
    """Raise: only valid rows were split, so the file was changed meanwhile."""
    raise error


# All rows of a qid are in the same shard, so each shard is evaluated on its own and the counts are
# added. Memory is that of one shard.


@dataclass(frozen=True, slots=True)
class ShardWork:
    """A shard of the gold set, and the shard of the traces with the same qids."""

    gold: tuple[ShardPiece, ...]
    traces: tuple[ShardPiece, ...]
    settings: RagSettings
    items: bool


@dataclass(frozen=True, slots=True)
class ShardResult:
    """The result of a shard; `worst` has the lines of the rows of its offenders, and their codes.

    `twice` is the line and the qid of the first duplicate gold item.
    """

    counts: RagCounts
    worst: dict[str, tuple[int, int, int]]
    items: dict[int, list[str]]
    twice: tuple[int, str] | None


def decide_shard(_: None, work: ShardWork) -> ShardResult:
    """Score the traces of a shard against its gold items."""
    scorer = RagScorer(work.settings)
    ready: dict[str, PreparedGold] = {}
    places = array("q")
    twice = None
    for place, row in shard_rows(work.gold, GOLD_READER.from_chunk):
        qid = qid_of(row)
        if qid not in ready:
            ready[qid] = scorer.prepare(row, len(places))
            places.append(place)
        elif twice is None:
            twice = (place, qid)
    scoring = TraceScoring(ready, scorer)
    scoring.score(shard_rows(work.traces, TRACE_READER.from_chunk))
    runs = scoring.runs()
    counts = counts_from_runs(ready, runs)
    numbers = {qid: ready[qid].number for *_, qid in counts.offenders}
    worst = {qid: (places[n], runs.lines[n], runs.codes[n]) for qid, n in numbers.items()}
    items: dict[int, list[str]] = {}
    if work.items:
        for qid, code in zip(ready, codes_from_runs(ready, runs), strict=True):
            items.setdefault(code, []).append(qid)
    return ShardResult(counts, worst, items, twice)


@dataclass(frozen=True, slots=True)
class GroupedItems:
    """The qid and profile of every item, from names grouped by code."""

    groups: dict[int, list[str]]

    def __iter__(self) -> Iterator[tuple[str, ItemProfile]]:
        for code, qids in self.groups.items():
            profile = decode_profile(code)
            yield from ((qid, profile) for qid in qids)


def evaluate_in_shards(
    request: RagRequest,
    golds: tuple[RagSource, ...],
    sources: tuple[RagSource, ...],
    count: int,
    run: ParallelRun,
) -> RagResult:
    """Return the result of a run that is evaluated in shards."""
    bad_gold, bad_traces = BadLines(request.skip_bad), BadLines(request.skip_bad)
    with tempfile.TemporaryDirectory(prefix="affidavit-") as place:
        folder = Path(place)
        gold = shard_input(
            sources=golds,
            rows_of=gold_from_chunk,
            folder=folder / "gold",
            shards=count,
            bad=bad_gold,
            jobs=request.jobs,
            run=run,
        )
        require_digest(gold.digest or "", request.expect_gold_digest, golds[0].shown)
        traces = shard_input(
            sources=sources,
            rows_of=traces_from_chunk,
            folder=folder / "trace",
            shards=count,
            bad=bad_traces,
            jobs=request.jobs,
            run=run,
        )
        works = [
            ShardWork(tuple(mine), tuple(theirs), request.policy.settings, request.needs_items)
            for mine, theirs in zip(gold.shards, traces.shards, strict=True)
        ]
        decided = _merged(run(None, decide_shard, works, request.jobs))
    _refuse_twice(decided, gold)
    return RagResult(
        decided.counts,
        inputs_of(
            request,
            (golds, gold.digest, bad_gold),
            (sources, traces.digest, bad_traces),
            decided.counts,
        ),
        tuple(_offenders(decided, gold, traces)),
        GroupedItems(decided.items) if request.needs_items else None,
    )


def _merged(shards: Iterator[ShardResult]) -> ShardResult:
    counts = RagCounts()
    worst: dict[str, tuple[int, int, int]] = {}
    items: dict[int, list[str]] = {}
    twice: list[tuple[int, str]] = []
    for shard in shards:
        counts = counts + shard.counts
        worst.update(shard.worst)
        for code, qids in shard.items.items():
            items.setdefault(code, []).extend(qids)
        twice += [shard.twice] if shard.twice is not None else []
    return ShardResult(counts, worst, items, min(twice, default=None))


def _refuse_twice(decided: ShardResult, gold: ShardedInput) -> None:
    if decided.twice is None:
        return
    place, qid = decided.twice
    for line in gold.index.fetch([place]):
        where = Where(line.file, line.line, "qid")
        raise AffidavitError(faults.GOLD_TWICE, where, qid=excerpt(qid))


def _offenders(
    decided: ShardResult, gold: ShardedInput, traces: ShardedInput
) -> Iterator[PlacedOffender]:
    for *_, qid in decided.counts.offenders:
        item_place, run_place, code = decided.worst[qid]
        for item, found in zip(
            gold.index.fetch([item_place]), traces.index.fetch([run_place]), strict=True
        ):
            yield make_offender(
                gold_from_line(item.raw, item.line, item.file),
                trace_from_line(found.raw, found.line, found.file),
                decode_profile(code),
                line=found.line,
                file=found.file,
            )
