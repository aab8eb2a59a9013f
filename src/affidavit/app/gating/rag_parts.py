"""A part of a file of traces, scored by itself: byte ranges that start and end with whole lines.

Whoever puts the parts together counts the lines before each; a part knows only its own.
"""

from array import array
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Final

from affidavit.app.gating.blocks import blocks_of
from affidavit.app.gating.files import BadLines, Digested, opened
from affidavit.base.errors import AffidavitError
from affidavit.base.files import digest_file, open_to_read
from affidavit.gates.rag_rows import TRACE
from affidavit.gates.rag_runs import GoldSet, Runs, Scoring
from affidavit.gates.rag_scoring import RagScorer, RagSettings

SMALLEST_PART_BYTES: Final = 2 << 20
"""Below it, handing out a part costs too much of the time that it takes."""
FEWEST_PARTS: Final = 4
"""A file that is too small for so many is scored before other processes have started."""
PARTS_LEFT_PER_JOB: Final = 2
"""A part is what is left of the file, divided by so many for each process: large ones first, as
each of them costs a little, and small ones last, so that no process waits long for another."""
PART_BYTES_PER_GOLD_ITEM: Final = 128
"""Each part tells of every gold item: with many of them, a small part costs more to tell of than to
score."""


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes of a file from `start` to `end`; without an end, to wherever the file ends."""

    file: str
    shown: str
    start: int = 0
    end: int | None = None
    digests: bool = False
    """Whether the bytes are digested on the way: only where the part is the whole file."""
    scores: bool = True


@dataclass(frozen=True, slots=True)
class Bench:
    """What every part is scored with."""

    gold: GoldSet
    settings: RagSettings
    skip_bad: bool


@dataclass(frozen=True, slots=True)
class Scored:
    """What a part gave. Lines count from the start of the part.

    `error` is why it stopped. `blocks` says which line of the part stands at which byte.
    """

    runs: Runs
    lines: int
    blocks: tuple["array[int]", "array[int]"]
    bad: BadLines
    digest: str | None
    error: AffidavitError | None = None


def parts_of(file: str, shown: str, jobs: int, gold_items: int = 0) -> list[Part]:
    """Cut a file into parts for so many processes; one of them only digests."""
    size = Path(file).stat().st_size if jobs > 1 else 0
    places = _places_of_parts(size, jobs, gold_items)
    if len(places) <= 1:
        return [Part(file, shown, digests=True)]
    with open_to_read(file) as stream:
        cuts = {_line_start_from(stream.seek, stream.readline, place) for place in places}
    bounds = [*sorted(cuts), size]
    ranges = [Part(file, shown, start, end) for start, end in pairwise(bounds) if start < end]
    return [Part(file, shown, digests=True, scores=False), *ranges]


def _places_of_parts(size: int, jobs: int, gold_items: int) -> list[int]:
    """Return about where parts begin."""
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
    """Return the first start of a line from a byte on."""
    if not place:
        return 0
    seek(place - 1)
    position = place - 1
    while piece := readline(1 << 20):
        position += len(piece)
        if piece.endswith(b"\n"):
            break
    return position


def score_part(bench: Bench, part: Part) -> Scored:
    """Score a part; what stops it is returned, since an earlier part may stop earlier."""
    work = _Work(bench, part)
    error = None
    try:
        work.score() if part.scores else work.digest()
    except AffidavitError as caught:
        error = caught
    return work.done(error)


class _Work:
    """A part while it is scored."""

    def __init__(self, bench: Bench, part: Part) -> None:
        self._part = part
        self._scoring = Scoring(bench.gold, RagScorer(bench.settings))
        self._bad = BadLines(bench.skip_bad)
        self._digest: str | None = None
        self._lines, self._offsets = array("q"), array("q")
        self._count = 0

    def digest(self) -> None:
        self._digest = digest_file(self._part.file)

    def score(self) -> None:
        part, bad, seen = self._part, self._bad, Digested()
        watch = seen if part.digests else len
        with opened(part.file) as stream:
            stream.seek(part.start)
            for block in blocks_of(stream, part.shown, bad, watch, start=part.start, end=part.end):
                self._lines.append(block.first_line)
                self._offsets.append(block.offset)
                self._count += block.lines
                rows = TRACE.from_chunk(block.raw, block.first_line, part.shown, bad, block.lines)
                self._scoring.take(rows, part.shown, bad)
        self._digest = seen.digest if part.digests else None

    def done(self, error: AffidavitError | None) -> Scored:
        return Scored(
            self._scoring.runs(),
            self._count,
            (self._lines, self._offsets),
            self._bad,
            self._digest,
            error,
        )


def pass_on(
    found: BadLines, error: AffidavitError | None, bad: BadLines, lines_before: int
) -> None:
    """Tell of the bad lines of a part, and of what stopped it, with the lines of the file."""
    for each in found.first:
        bad(moved(each, lines_before))
    bad.count += found.count - len(found.first)
    if error is not None:
        raise moved(error, lines_before)


def moved(error: AffidavitError, lines: int) -> AffidavitError:
    """Return an error of a part with the line of the file that it names."""
    if error.where.line is None:
        return error
    where = replace(error.where, line=error.where.line + lines)
    return AffidavitError(error.fault, where, **error.values)
