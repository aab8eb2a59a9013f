"""A gold set that is too large to be held at once: rows are dealt out by their qid, then scored.

All rows of a qid go to the same share, in the order of their lines. So a share is decided by
itself, and the counts of all shares are added: memory is that of one share, whatever the size.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import IO, Final, TypeVar

from affidavit.app.gating.blocks import BLOCK_BYTES, OnBad, blocks_of
from affidavit.app.gating.files import Digested, digest_of_files, opened
from affidavit.app.gating.line_index import LineIndex, Stretch
from affidavit.app.gating.rag_sources import Source
from affidavit.gates.rag_counts import RagCounts
from affidavit.gates.rag_profiles import Profile, profile_of
from affidavit.gates.rag_rows import GOLD, TRACE, GoldV1, TraceV1, qid_of
from affidavit.gates.rag_runs import Scoring, codes_from_runs, counts_from_runs
from affidavit.gates.rag_scoring import RagScorer, RagSettings, Ready

LARGE_GOLD_BYTES: Final = 32 << 20
"""About 100,000 items; fewer are quicker held at once."""
SHARE_BYTES: Final = 8 << 20
MOST_SHARES: Final = 200

Row = TypeVar("Row", GoldV1, TraceV1)
RowsOf = Callable[[bytes, int, str | None, OnBad], Iterator[tuple[int, Row]]]


@dataclass(frozen=True, slots=True)
class Share:
    """Some of the rows of an input: their lines in a file, and the places where they stood."""

    file: Path
    places: "array[int]" = field(default_factory=lambda: array("q"))


@dataclass(slots=True)
class Dealt:
    """An input that was dealt out."""

    shares: tuple[Share, ...]
    digests: list[str] = field(default_factory=list)
    index: LineIndex = field(default_factory=LineIndex)

    @property
    def digest(self) -> str | None:
        """The digest of the input."""
        return digest_of_files(self.digests)


@dataclass(frozen=True, slots=True)
class Work:
    """A share of the gold set and that of the traces with the same qids."""

    gold: Share
    traces: Share
    settings: RagSettings
    items: bool


@dataclass(frozen=True, slots=True)
class Decided:
    """What a share gave; `worst` are the places of its offenders' rows, and their codes.

    `twice` is the place and the qid of the first gold item that stands there again.
    """

    counts: RagCounts
    worst: dict[str, tuple[int, int, int]]
    items: dict[int, list[str]]
    twice: tuple[int, str] | None


def shares_needed(golds: Iterable[Source], sources: Iterable[Source]) -> int:
    """Return how many shares a gold set is dealt into; none if it is small, or another tool's."""
    given = tuple(golds)
    size = sum(Path(source.file).stat().st_size for source in given)
    if size <= LARGE_GOLD_BYTES or not all(source.is_own for source in chain(given, sources)):
        return 0
    return min(MOST_SHARES, size // SHARE_BYTES + 1)


def deal(
    sources: Iterable[Source], rows_of: RowsOf[Row], folder: Path, count: int, bad: OnBad
) -> Dealt:
    """Deal the rows of an input into so many files."""
    dealt = Dealt(tuple(Share(folder / f"{number}.jsonl") for number in range(count)))
    before = 0
    folder.mkdir()
    with ExitStack() as stack:
        files = [stack.enter_context(share.file.open("wb")) for share in dealt.shares]
        for source in sources:
            before += _deal_one(source, rows_of, dealt, files, before, bad)
    return dealt


def _deal_one(
    source: Source,
    rows_of: RowsOf[Row],
    dealt: Dealt,
    files: Sequence[IO[bytes]],
    before: int,
    bad: OnBad,
) -> int:
    """Deal out one file, and return how many lines it has."""
    seen, count = Digested(), len(files)
    lines, offsets = array("q"), array("q")
    total = 0
    with opened(source.file) as stream:
        for block in blocks_of(stream, source.shown, bad, seen):
            lines.append(block.first_line)
            offsets.append(block.offset)
            total += block.lines
            texts = block.raw.split(b"\n")
            hands: list[list[bytes]] = [[] for _ in files]
            for line, row in rows_of(block.raw, block.first_line, source.shown, bad):
                # Which share it is decides nothing, so the hash of this process will do.
                qid = row.qid
                share = hash(qid if isinstance(qid, str) else qid_of(row)) % count
                hands[share].append(texts[line - block.first_line])
                dealt.shares[share].places.append(before + line)
            for file, dealt_out in zip(files, hands, strict=True):
                file.writelines((b"\n".join(dealt_out), b"\n") if dealt_out else ())
    dealt.digests.append(seen.digest)
    dealt.index.stretches.append(Stretch(source.file, source.shown, before, 0, lines, offsets))
    return total


def _rows(share: Share, rows_of: RowsOf[Row]) -> Iterator[tuple[int, Row]]:
    with share.file.open("rb", buffering=BLOCK_BYTES) as stream:
        for block in blocks_of(stream, share.file.name):
            rows = rows_of(block.raw, block.first_line, None, _cannot_be_bad)
            start = block.first_line - 1
            places = share.places[start : start + block.lines]
            yield from zip(places, map(itemgetter(1), rows), strict=True)


def _cannot_be_bad(error: Exception) -> None:
    """Stop: only rows were dealt out, so the file was changed meanwhile."""
    raise error


def decide_share(_: None, work: Work) -> Decided:
    """Score the traces of a share against its gold items."""
    scorer = RagScorer(work.settings)
    ready: dict[str, Ready] = {}
    places = array("q")
    twice = None
    for place, row in _rows(work.gold, GOLD.from_chunk):
        qid = qid_of(row)
        if qid not in ready:
            ready[qid] = scorer.ready(row, len(places))
            places.append(place)
        elif twice is None:
            twice = (place, qid)
    scoring = Scoring(ready, scorer)
    scoring.take(_rows(work.traces, TRACE.from_chunk))
    runs = scoring.runs()
    counts = counts_from_runs(ready, runs)
    numbers = {qid: ready[qid].number for *_, qid in counts.offenders}
    worst = {qid: (places[n], runs.lines[n], runs.codes[n]) for qid, n in numbers.items()}
    items: dict[int, list[str]] = {}
    if work.items:
        for qid, code in zip(ready, codes_from_runs(ready, runs), strict=True):
            items.setdefault(code, []).append(qid)
    return Decided(counts, worst, items, twice)


@dataclass(frozen=True, slots=True)
class GroupedItems:
    """Every item's qid and profile, from names that are grouped by their codes."""

    groups: dict[int, list[str]]

    def __iter__(self) -> Iterator[tuple[str, Profile]]:
        for code, qids in self.groups.items():
            profile = profile_of(code)
            yield from ((qid, profile) for qid in qids)
