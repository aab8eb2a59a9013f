"""Rows dealt out by their qid into files of a folder, so that no more than a share is held at once.

All rows of a qid go to the same share, in the order of their lines. Parts of a file are dealt out
by themselves, in one process or several; a share has a piece of each.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from operator import itemgetter
from pathlib import Path
from typing import Final, TypeVar
from zlib import crc32

from affidavit.app.gating.blocks import BLOCK_BYTES, OnBad, blocks_of
from affidavit.app.gating.files import BadLines, Digested, digest_of_files, opened
from affidavit.app.gating.line_index import LineIndex, Stretch
from affidavit.app.gating.rag_parts import Part, parts_of, pass_on
from affidavit.app.gating.rag_sources import Source
from affidavit.app.gating.rag_traces import Run
from affidavit.base.errors import AffidavitError
from affidavit.base.files import digest_file
from affidavit.gates.rag_rows import GoldV1, TraceV1, qid_of

HELD_BYTES: Final = 8 << 20
"""What is kept before it is written: fewer and larger writes, and no file stays open."""
_FEW_PARTS: Final = 1 << 40
"""As if there were so many gold items: each part has a file for every share."""

Row = TypeVar("Row", GoldV1, TraceV1)
RowsOf = Callable[[bytes, int, str | None, OnBad], Iterator[tuple[int, Row]]]


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of one part that go to one share. Their lines are in a file; where they stand in the
    part is in another, and `before` is how many lines of the input stand before the part.
    """

    lines: Path
    places: Path
    before: int = 0


@dataclass(slots=True)
class Dealt:
    """An input that was dealt out."""

    shares: tuple[list[Piece], ...]
    digests: list[str] = field(default_factory=list)
    index: LineIndex = field(default_factory=LineIndex)

    @property
    def digest(self) -> str | None:
        """The digest of the input."""
        return digest_of_files(self.digests)


@dataclass(frozen=True, slots=True)
class Dealing:
    """A part of a file that is to be dealt out into files whose names begin with `stem`."""

    part: Part
    stem: Path
    shares: int
    skip_bad: bool


@dataclass(frozen=True, slots=True)
class DealtPart:
    """What came of a part: how many lines it has, and which of them start at which bytes."""

    lines: int
    blocks: tuple["array[int]", "array[int]"]
    bad: BadLines
    digest: str | None
    error: AffidavitError | None


def deal(
    sources: Iterable[Source],
    rows_of: RowsOf[Row],
    folder: Path,
    shares: int,
    bad: BadLines,
    jobs: int,
    run: Run,
) -> Dealt:
    """Deal the rows of an input into so many shares; more processes change nothing but the time."""
    folder.mkdir()
    numbers = count()
    dealt = Dealt(tuple([] for _ in range(shares)))
    before = 0
    for source in sources:
        parts = parts_of(source.file, source.shown, jobs, _FEW_PARTS)
        works = [Dealing(part, folder / f"{next(numbers)}", shares, bad.skip) for part in parts]
        in_file = 0
        made = run(rows_of, deal_part, works, min(jobs, len(parts)))
        for work, hand in zip(works, made, strict=True):
            pass_on(hand.bad, hand.error, bad, in_file)
            if hand.digest is not None:
                dealt.digests.append(hand.digest)
            for share, pieces in enumerate(dealt.shares):
                pieces.append(_piece(work.stem, share, before))
            dealt.index.stretches.append(
                Stretch(source.file, source.shown, before, in_file, *hand.blocks)
            )
            in_file += hand.lines
            before += hand.lines
    return dealt


def _piece(stem: Path, share: int, before: int = 0) -> Piece:
    name = f"{stem.name}-{share}"
    return Piece(stem.with_name(f"{name}.jsonl"), stem.with_name(f"{name}.places"), before)


def deal_part(rows_of: RowsOf[Row], work: Dealing) -> DealtPart:
    """Deal out a part; what stops it is returned, since an earlier part may stop earlier."""
    part, bad, seen = work.part, BadLines(work.skip_bad), Digested()
    lines, offsets = array("q"), array("q")
    if not part.scores:
        return DealtPart(0, (lines, offsets), bad, digest_file(part.file), None)
    hands = _Hands(work)
    total, error = 0, None
    watch = seen if part.digests else len
    try:
        with opened(part.file) as stream:
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
    return DealtPart(total, (lines, offsets), bad, digest, error)


class _Hands:
    """What goes to each share, kept until there is enough of it to be written."""

    def __init__(self, work: Dealing) -> None:
        self._pieces = [_piece(work.stem, share) for share in range(work.shares)]
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
        if self._held >= HELD_BYTES:
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


def rows_in(share: Iterable[Piece], rows_of: RowsOf[Row]) -> Iterator[tuple[int, Row]]:
    """Yield the rows of a share in their order, each with its line among all of the input."""
    for piece in share:
        if not piece.lines.exists():
            continue
        with (
            piece.lines.open("rb", buffering=BLOCK_BYTES) as stream,
            piece.places.open("rb", buffering=BLOCK_BYTES) as numbers,
        ):
            for block in blocks_of(stream, piece.lines.name):
                rows = rows_of(block.raw, block.first_line, None, _cannot_be_bad)
                own = array("q")
                own.fromfile(numbers, block.lines)
                places = map(piece.before.__add__, own)
                yield from zip(places, map(itemgetter(1), rows), strict=True)


def _cannot_be_bad(error: Exception) -> None:
    """Stop: only rows were dealt out, so the file was changed meanwhile."""
    raise error
