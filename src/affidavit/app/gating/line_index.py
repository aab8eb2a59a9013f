"""Where the lines of an input stand, so that a few rows can be read again and none is kept."""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from affidavit.app.gating.files import opened


@dataclass(frozen=True, slots=True)
class Stretch:
    """Lines that stand together in a file: which line, counted from 1, starts at which byte.

    `before` lines of the whole input stand before it, `before_in_file` lines of its own file.
    """

    file: str
    shown: str
    before: int
    before_in_file: int
    lines: "array[int]"
    offsets: "array[int]"


@dataclass(frozen=True, slots=True)
class FoundLine:
    """A line that was read again: its number among all lines, and where it stands."""

    number: int
    raw: bytes
    file: str
    line: int


@dataclass(slots=True)
class LineIndex:
    """The stretches of an input, in their order."""

    stretches: list[Stretch] = field(default_factory=list)

    def fetch(self, numbers: Iterable[int]) -> Iterator[FoundLine]:
        """Yield lines by their numbers among all lines of the input."""
        starts = [stretch.before for stretch in self.stretches]
        for number in sorted(numbers):
            stretch = self.stretches[bisect_right(starts, number - 1) - 1]
            own = number - stretch.before
            block = bisect_right(stretch.lines, own) - 1
            with opened(stretch.file) as stream:
                stream.seek(stretch.offsets[block])
                raw = next(islice(stream, own - stretch.lines[block], None), b"")
            yield FoundLine(number, raw, stretch.shown, stretch.before_in_file + own)
