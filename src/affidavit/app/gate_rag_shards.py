"""Runs `gate rag` with a gold set too large for memory: rows are split into shards by qid."""

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
    LineIndex,
    LineRange,
    OnBadLine,
    StreamDigest,
    blocks_of,
    digest_of_files,
    open_input,
)
from affidavit.app.gate_rag_inputs import RagRequest, RagSource, inputs_of
from affidavit.app.gate_rag_traces import FilePart, ParallelRun, merge_bad_lines, parts_of
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.files import digest_file
from affidavit.base.text import excerpt
from affidavit.gates.rag_counts import ItemProfile, RagCounts, decode_profile
from affidavit.gates.rag_report import PlacedOffender, RagResult, make_offender
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
from affidavit.gates.rag_runs import TraceScoring, codes_from_runs, counts_from_runs
from affidavit.gates.rag_scoring import PreparedGold, RagScorer, RagSettings

# Rows dealt out by their qid into files of a folder, so that no more than a share is held at once.
#
# All rows of a qid go to the same share, in the order of their lines. Parts of a file are dealt out
# by themselves, in one process or several; a share has a piece of each.

BUFFER_BYTES: Final = 8 << 20
"""What is kept before it is written: fewer and larger writes, and no file stays open."""
_GOLD_ITEMS_FOR_FEW_PARTS: Final = 1 << 40
"""As if there were so many gold items: each part has a file for every share."""

Row = TypeVar("Row", GoldItem, TraceRow)
RowsOf = Callable[[bytes, int, str | None, OnBadLine], Iterator[tuple[int, Row]]]


@dataclass(frozen=True, slots=True)
class ShardPiece:
    """Rows of one part that go to one share. Their lines are in a file; where they stand in the
    part is in another, and `before` is how many lines of the input stand before the part.
    """

    lines: Path
    places: Path
    before: int = 0


@dataclass(slots=True)
class ShardedInput:
    """An input that was dealt out."""

    shares: tuple[list[ShardPiece], ...]
    digests: list[str] = field(default_factory=list)
    index: LineIndex = field(default_factory=LineIndex)

    @property
    def digest(self) -> str | None:
        """The digest of the input."""
        return digest_of_files(self.digests)


@dataclass(frozen=True, slots=True)
class ShardTask:
    """A part of a file that is to be dealt out into files whose names begin with `stem`."""

    part: FilePart
    stem: Path
    shares: int
    skip_bad: bool


@dataclass(frozen=True, slots=True)
class ShardedPart:
    """What came of a part: how many lines it has, and which of them start at which bytes."""

    lines: int
    blocks: tuple["array[int]", "array[int]"]
    bad: BadLines
    digest: str | None
    error: AffidavitError | None


def shard_input(
    sources: Iterable[RagSource],
    rows_of: RowsOf[Row],
    folder: Path,
    shares: int,
    bad: BadLines,
    jobs: int,
    run: ParallelRun,
) -> ShardedInput:
    """Deal the rows of an input into so many shares; more processes change nothing but the time."""
    folder.mkdir()
    numbers = count()
    dealt = ShardedInput(tuple([] for _ in range(shares)))
    before = 0
    for source in sources:
        parts = parts_of(source.file, source.shown, jobs, _GOLD_ITEMS_FOR_FEW_PARTS)
        works = [ShardTask(part, folder / f"{next(numbers)}", shares, bad.skip) for part in parts]
        in_file = 0
        made = run(rows_of, shard_part, works, min(jobs, len(parts)))
        for work, hand in zip(works, made, strict=True):
            merge_bad_lines(hand.bad, hand.error, bad, in_file)
            if hand.digest is not None:
                dealt.digests.append(hand.digest)
            for share, pieces in enumerate(dealt.shares):
                pieces.append(_shard_piece(work.stem, share, before))
            dealt.index.stretches.append(
                LineRange(
                    file=source.file,
                    shown=source.shown,
                    before=before,
                    before_in_file=in_file,
                    lines=hand.blocks[0],
                    offsets=hand.blocks[1],
                )
            )
            in_file += hand.lines
            before += hand.lines
    return dealt


def _shard_piece(stem: Path, share: int, before: int = 0) -> ShardPiece:
    name = f"{stem.name}-{share}"
    return ShardPiece(stem.with_name(f"{name}.jsonl"), stem.with_name(f"{name}.places"), before)


def shard_part(rows_of: RowsOf[Row], work: ShardTask) -> ShardedPart:
    """Deal out a part; what stops it is returned, since an earlier part may stop earlier."""
    part, bad, seen = work.part, BadLines(work.skip_bad), StreamDigest()
    lines, offsets = array("q"), array("q")
    if not part.scores:
        return ShardedPart(0, (lines, offsets), bad, digest_file(part.file), None)
    hands = _ShardWriter(work)
    total, error = 0, None
    watch = seen if part.digests else len
    try:
        with open_input(part.file) as stream:
            stream.seek(part.start)
            for block in blocks_of(stream, part.shown, bad, watch, start=part.start, end=part.end):
                lines.append(block.first_line)
                offsets.append(block.offset)
                total += block.lines
                hands.take(
                    block.raw,
                    block.first_line,
                    rows_of(block.raw, block.first_line, part.shown, bad),
                )
    except AffidavitError as caught:
        error = caught
    hands.write()
    digest = seen.digest if part.digests and error is None else None
    return ShardedPart(total, (lines, offsets), bad, digest, error)


class _ShardWriter:
    """What goes to each share, kept until there is enough of it to be written."""

    def __init__(self, work: ShardTask) -> None:
        self._pieces = [_shard_piece(work.stem, share) for share in range(work.shares)]
        self._held = 0
        self._clear()

    def _clear(self) -> None:
        self._texts: list[list[bytes]] = [[] for _ in self._pieces]
        self._places = [array("q") for _ in self._pieces]

    def take(self, raw: bytes, first_line: int, rows: Iterator[tuple[int, Row]]) -> None:
        """Deal out the rows of a block."""
        lines = raw.split(b"\n")
        texts, places, shares = self._texts, self._places, len(self._pieces)
        for line, row in rows:
            qid = row.qid
            name = qid if isinstance(qid, str) else qid_of(row)
            # The hash of a process is its own; this one is the same in all of them.
            share = crc32(name.encode("utf-8", "surrogatepass")) % shares
            texts[share].append(lines[line - first_line])
            places[share].append(line)
        self._held += len(raw)
        if self._held >= BUFFER_BYTES:
            self.write()

    def write(self) -> None:
        """Write what is held."""
        for piece, texts, places in zip(self._pieces, self._texts, self._places, strict=True):
            if texts:
                with piece.lines.open("ab") as file:
                    file.writelines((b"\n".join(texts), b"\n"))
                with piece.places.open("ab") as file:
                    places.tofile(file)
        self._held = 0
        self._clear()


def shard_rows(share: Iterable[ShardPiece], rows_of: RowsOf[Row]) -> Iterator[tuple[int, Row]]:
    """Yield the rows of a share in their order, each with its line among all of the input."""
    for piece in share:
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
    """Stop: only rows were dealt out, so the file was changed meanwhile."""
    raise error


# A gold set that is too large to be held at once, decided share by share.
#
# All rows of a qid are in the same share, in the order of their lines. So a share is decided by
# itself, and the counts of all shares are added: memory is that of one share, whatever the size.


@dataclass(frozen=True, slots=True)
class ShardWork:
    """A share of the gold set and that of the traces with the same qids."""

    gold: tuple[ShardPiece, ...]
    traces: tuple[ShardPiece, ...]
    settings: RagSettings
    items: bool


@dataclass(frozen=True, slots=True)
class ShardResult:
    """What a share gave; `worst` are the places of its offenders' rows, and their codes.

    `twice` is the place and the qid of the first gold item that stands there again.
    """

    counts: RagCounts
    worst: dict[str, tuple[int, int, int]]
    items: dict[int, list[str]]
    twice: tuple[int, str] | None


def decide_shard(_: None, work: ShardWork) -> ShardResult:
    """Score the traces of a share against its gold items."""
    scorer = RagScorer(work.settings)
    ready: dict[str, PreparedGold] = {}
    places = array("q")
    twice = None
    for place, row in shard_rows(work.gold, GOLD_READER.from_chunk):
        qid = qid_of(row)
        if qid not in ready:
            ready[qid] = scorer.ready(row, len(places))
            places.append(place)
        elif twice is None:
            twice = (place, qid)
    scoring = TraceScoring(ready, scorer)
    scoring.take(shard_rows(work.traces, TRACE_READER.from_chunk))
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
    """Every item's qid and profile, from names that are grouped by their codes."""

    groups: dict[int, list[str]]

    def __iter__(self) -> Iterator[tuple[str, ItemProfile]]:
        for code, qids in self.groups.items():
            profile = decode_profile(code)
            yield from ((qid, profile) for qid in qids)


# `gate rag` with a gold set that is too large to be held at once: share by share.


def evaluate_in_shards(
    request: RagRequest,
    golds: tuple[RagSource, ...],
    sources: tuple[RagSource, ...],
    count: int,
    run: ParallelRun,
) -> RagResult:
    """Find out what a report is made of, with so many shares."""
    bad_gold, bad_traces = BadLines(request.skip_bad), BadLines(request.skip_bad)
    with tempfile.TemporaryDirectory(prefix="affidavit-") as place:
        folder = Path(place)
        gold = shard_input(
            sources=golds,
            rows_of=gold_from_chunk,
            folder=folder / "gold",
            shares=count,
            bad=bad_gold,
            jobs=request.jobs,
            run=run,
        )
        require_digest(gold.digest or "", request.expect_gold_digest, golds[0].shown)
        traces = shard_input(
            sources=sources,
            rows_of=traces_from_chunk,
            folder=folder / "trace",
            shares=count,
            bad=bad_traces,
            jobs=request.jobs,
            run=run,
        )
        works = [
            ShardWork(tuple(mine), tuple(theirs), request.policy.settings, request.needs_items)
            for mine, theirs in zip(gold.shares, traces.shares, strict=True)
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


def _merged(shares: Iterator[ShardResult]) -> ShardResult:
    counts = RagCounts()
    worst: dict[str, tuple[int, int, int]] = {}
    items: dict[int, list[str]] = {}
    twice: list[tuple[int, str]] = []
    for share in shares:
        counts = counts + share.counts
        worst.update(share.worst)
        for code, qids in share.items.items():
            items.setdefault(code, []).extend(qids)
        twice += [share.twice] if share.twice is not None else []
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
