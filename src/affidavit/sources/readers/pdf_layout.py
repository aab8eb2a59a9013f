"""What the lines of a PDF are: body text of one size, and the headings above it.

A heading is a line that the document's outline names, or one that is set clearly larger than the
body. Levels come from the outline; a size that the outline never uses ranks by how large it is.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from affidavit.sources.readers.pdf_lines import Line
from affidavit.sources.readers.pdf_running import without_running_lines
from affidavit.sources.structure import clean

_LARGER: Final = 1.12
"""A heading is at least this much larger than the body; sizes of one text differ by less."""
_LONGEST_HEADING: Final = 200
_NEAR_POINTS: Final = 60.0
_NUMBERING: Final = re.compile(
    r"^(?:chapter|section|part|article|appendix)?\s*(?:[\divxlc]+|[a-z])(?:\.\d+)*[.:)]?\s+", re.I
)
_NOT_WORD: Final = re.compile(r"[\W_]+")
_DEPTH: Final = re.compile(r"^(?:chapter\s+|section\s+)?(\d+(?:\.\d+)*)\.?\s+\S", re.I)


class Page(NamedTuple):
    """A page as it was read. `is_picture`: an image and no text."""

    number: int
    lines: tuple[Line, ...]
    is_picture: bool


class Bookmark(NamedTuple):
    """An entry of the outline: on which page it points, and how high on it."""

    page: int
    top: float | None
    title: str
    level: int


class Heading(NamedTuple):
    """That a line belongs to a heading, and whether it is the first of it."""

    level: int
    starts: bool


class Layout(NamedTuple):
    """The pages without furniture, and what was learnt about them."""

    pages: tuple[Page, ...]
    pitch: float
    """The usual distance of two lines, in units of the letter size."""
    headings: "Headings"
    title: str


Headings: TypeAlias = dict[tuple[int, int], Heading]
"""(page, index of line), for every line of every heading."""


def lay_out(pages: Sequence[Page], bookmarks: Sequence[Bookmark]) -> Layout:
    """Return the body of the pages and its headings."""
    bodies = without_running_lines([page.lines for page in pages])
    body_pages = tuple(
        page._replace(lines=lines) for page, lines in zip(pages, bodies, strict=True)
    )
    body_size = _body_size(body_pages)
    outlined = _outlined(body_pages, bookmarks)
    headings = _with_large_lines(body_pages, body_size, outlined)
    return Layout(body_pages, _pitch(body_pages), headings, _title(body_pages))


def _body_size(pages: Sequence[Page]) -> float:
    """Return the size that most letters have."""
    letters: Counter[float] = Counter()
    for page in pages:
        for line in page.lines:
            letters[round(line.size, 1)] += len(line.text)
    return max(letters, key=lambda size: (letters[size], -size), default=0.0)


def _pitch(pages: Sequence[Page]) -> float:
    steps: Counter[float] = Counter()
    for page in pages:
        for above, below in zip(page.lines, page.lines[1:], strict=False):
            gap = above.y - below.y
            if above.size == below.size and 0 < gap < 3 * above.size:
                steps[round(gap / above.height / above.size, 1)] += 1
    return max(steps, key=lambda step: (steps[step], -step), default=1.2)


def _outlined(pages: Sequence[Page], bookmarks: Sequence[Bookmark]) -> Headings:
    found: Headings = {}
    by_number = {page.number: page for page in pages}
    for bookmark in bookmarks:
        page = by_number.get(bookmark.page)
        wanted = _squeezed(bookmark.title)
        if page is None or not wanted:
            continue
        for index in _nearest_first(page.lines, bookmark.top):
            span = _span_of_title(page.lines, index, wanted)
            if span and (page.number, index) not in found:
                found |= {(page.number, at): Heading(bookmark.level, at == index) for at in span}
                break
    return found


def _nearest_first(lines: Sequence[Line], top: float | None) -> Iterator[int]:
    """Yield the indices of lines: first those near the place that a bookmark points to."""
    distances = [0.0 if top is None else abs(line.y - top) for line in lines]
    near = [index for index, distance in enumerate(distances) if distance < _NEAR_POINTS]
    yield from sorted(near, key=distances.__getitem__)
    far = [index for index, distance in enumerate(distances) if distance >= _NEAR_POINTS]
    yield from sorted(far, key=distances.__getitem__)


def _span_of_title(lines: Sequence[Line], index: int, wanted: str) -> range | None:
    """Return the lines from `index` on that say the title, with or without a number before it."""
    text = lines[index].text
    if len(text) > _LONGEST_HEADING:
        return None
    for start in (_squeezed(text), _squeezed(_NUMBERING.sub("", text))):
        said, end = start, index + 1
        while said and said != wanted and wanted.startswith(said) and end < len(lines):
            said, end = said + _squeezed(lines[end].text), end + 1
        if said == wanted:
            return range(index, end)
    return None


def _squeezed(text: str) -> str:
    return _NOT_WORD.sub("", text).lower()


def _with_large_lines(pages: Sequence[Page], body_size: float, outlined: Headings) -> Headings:
    least = _LARGER * body_size
    large = {
        (page.number, index): line
        for page in pages
        for index, line in enumerate(page.lines)
        if line.size >= least and (page.number, index) not in outlined and _is_title(line.text)
    }
    known = _level_by_size(pages, outlined)
    deepest = max(known.values(), default=0)
    unknown = sorted({round(line.size, 1) for line in large.values()} - known.keys(), reverse=True)
    ranks = {size: deepest + rank for rank, size in enumerate(unknown, start=1)} | known
    levels = {
        (page, index): Heading(
            _level(line, ranks), not _continues(large.get((page, index - 1)), line)
        )
        for (page, index), line in large.items()
    }
    return {**levels, **outlined}


def _continues(above: Line | None, line: Line) -> bool:
    return (
        above is not None
        and above.size == line.size
        and 0 < above.y - line.y < 1.6 * line.size
        and not _DEPTH.match(line.text)
    )


def _is_title(text: str) -> bool:
    return len(text) <= _LONGEST_HEADING and any(letter.isalpha() for letter in text)


def _level(line: Line, ranks: Mapping[float, int]) -> int:
    numbered = _DEPTH.match(line.text)
    return numbered[1].count(".") + 1 if numbered else ranks[round(line.size, 1)]


def _level_by_size(pages: Sequence[Page], outlined: Headings) -> dict[float, int]:
    lines = {page.number: page.lines for page in pages}
    sizes: dict[float, int] = {}
    for (page, index), heading in sorted(outlined.items()):
        sizes.setdefault(round(lines[page][index].size, 1), heading.level)
    return sizes


def _title(pages: Sequence[Page]) -> str:
    """Return the largest lines of the first page that has any: what a reader would call it."""
    first = next((page.lines for page in pages if page.lines), ())
    largest = max((line.size for line in first), default=0.0)
    return clean(" ".join(_leading(first, largest)))[:_LONGEST_HEADING]


def _leading(lines: Sequence[Line], size: float) -> Iterator[str]:
    """Yield the first run of lines of this size."""
    started = False
    for line in lines:
        if line.size == size:
            started = True
            yield line.text
        elif started:
            return
