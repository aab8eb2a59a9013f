"""From the lines of a PDF to headings, paragraphs and list items."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias

from affidavit.documents.model import TextBlockKind
from affidavit.documents.pdf_lines import HYPHEN, PdfLine, without_running_lines
from affidavit.documents.text_builder import TextBuilder, clean_line

# What the lines of a PDF are: body text of one size, and the headings above it.
#
# A heading is a line that the document's outline names, or one that is set clearly larger than the
# body. Levels come from the outline; a size that the outline never uses ranks by how large it is.

_HEADING_SIZE_RATIO: Final = 1.12
"""A heading is at least this much larger than the body; sizes of one text differ by less."""
_LONGEST_HEADING: Final = 200
_NEAR_POINTS: Final = 60.0
_NUMBERING: Final = re.compile(
    r"^(?:chapter|section|part|article|appendix)?\s*(?:[\divxlc]+|[a-z])(?:\.\d+)*[.:)]?\s+", re.I
)
_NOT_WORD: Final = re.compile(r"[\W_]+")
_DEPTH: Final = re.compile(r"^(?:chapter\s+|section\s+)?(\d+(?:\.\d+)*)\.?\s+\S", re.I)


class PageLines(NamedTuple):
    """A page as it was read. `is_picture`: an image and no text."""

    number: int
    lines: tuple[PdfLine, ...]
    is_picture: bool


class Bookmark(NamedTuple):
    """An entry of the outline: on which page it points, and how high on it."""

    page: int
    top: float | None
    title: str
    level: int


class HeadingLine(NamedTuple):
    """That a line belongs to a heading, and whether it is the first of it."""

    level: int
    starts: bool


class PdfLayout(NamedTuple):
    """The pages without furniture, and what was learnt about them."""

    pages: tuple[PageLines, ...]
    pitch: float
    """The usual distance of two lines, in units of the letter size."""
    headings: "Headings"
    title: str


Headings: TypeAlias = dict[tuple[int, int], HeadingLine]
"""(page, index of line), for every line of every heading."""


def analyse_layout(pages: Sequence[PageLines], bookmarks: Sequence[Bookmark]) -> PdfLayout:
    """Return the body of the pages and its headings."""
    bodies = without_running_lines([page.lines for page in pages])
    body_pages = tuple(
        page._replace(lines=lines) for page, lines in zip(pages, bodies, strict=True)
    )
    body_size = _body_size(body_pages)
    outlined = _outline_headings(body_pages, bookmarks)
    headings = _with_large_lines(body_pages, body_size, outlined)
    return PdfLayout(body_pages, _pitch(body_pages), headings, _title(body_pages))


def _body_size(pages: Sequence[PageLines]) -> float:
    """Return the size that most letters have."""
    letters: Counter[float] = Counter()
    for page in pages:
        for line in page.lines:
            letters[round(line.size, 1)] += len(line.text)
    return max(letters, key=lambda size: (letters[size], -size), default=0.0)


def _pitch(pages: Sequence[PageLines]) -> float:
    steps: Counter[float] = Counter()
    for page in pages:
        for above, below in zip(page.lines, page.lines[1:], strict=False):
            gap = above.y - below.y
            if above.size == below.size and 0 < gap < 3 * above.size:
                steps[round(gap / above.height / above.size, 1)] += 1
    return max(steps, key=lambda step: (steps[step], -step), default=1.2)


def _outline_headings(pages: Sequence[PageLines], bookmarks: Sequence[Bookmark]) -> Headings:
    found: Headings = {}
    by_number = {page.number: page for page in pages}
    for bookmark in bookmarks:
        page = by_number.get(bookmark.page)
        wanted = _letters_of(bookmark.title)
        if page is None or not wanted:
            continue
        for index in _nearest_first(page.lines, bookmark.top):
            span = _span_of_title(page.lines, index, wanted)
            if span and (page.number, index) not in found:
                found |= {
                    (page.number, at): HeadingLine(bookmark.level, at == index) for at in span
                }
                break
    return found


def _nearest_first(lines: Sequence[PdfLine], top: float | None) -> Iterator[int]:
    """Yield the indices of lines: first those near the place that a bookmark points to."""
    distances = [0.0 if top is None else abs(line.y - top) for line in lines]
    near = [index for index, distance in enumerate(distances) if distance < _NEAR_POINTS]
    yield from sorted(near, key=distances.__getitem__)
    far = [index for index, distance in enumerate(distances) if distance >= _NEAR_POINTS]
    yield from sorted(far, key=distances.__getitem__)


def _span_of_title(lines: Sequence[PdfLine], index: int, wanted: str) -> range | None:
    """Return the lines from `index` on that form the title, with or without a number before it."""
    text = lines[index].text
    if len(text) > _LONGEST_HEADING:
        return None
    for start in (_letters_of(text), _letters_of(_NUMBERING.sub("", text))):
        found, end = start, index + 1
        while found and found != wanted and wanted.startswith(found) and end < len(lines):
            found, end = found + _letters_of(lines[end].text), end + 1
        if found == wanted:
            return range(index, end)
    return None


def _letters_of(text: str) -> str:
    return _NOT_WORD.sub("", text).lower()


def _with_large_lines(pages: Sequence[PageLines], body_size: float, outlined: Headings) -> Headings:
    least = _HEADING_SIZE_RATIO * body_size
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
        (page, index): HeadingLine(
            _level(line, ranks), not _continues(large.get((page, index - 1)), line)
        )
        for (page, index), line in large.items()
    }
    return {**levels, **outlined}


def _continues(above: PdfLine | None, line: PdfLine) -> bool:
    return (
        above is not None
        and above.size == line.size
        and 0 < above.y - line.y < 1.6 * line.size
        and not _DEPTH.match(line.text)
    )


def _is_title(text: str) -> bool:
    return len(text) <= _LONGEST_HEADING and any(letter.isalpha() for letter in text)


def _level(line: PdfLine, ranks: Mapping[float, int]) -> int:
    numbered = _DEPTH.match(line.text)
    return numbered[1].count(".") + 1 if numbered else ranks[round(line.size, 1)]


def _level_by_size(pages: Sequence[PageLines], outlined: Headings) -> dict[float, int]:
    lines = {page.number: page.lines for page in pages}
    sizes: dict[float, int] = {}
    for (page, index), heading in sorted(outlined.items()):
        sizes.setdefault(round(lines[page][index].size, 1), heading.level)
    return sizes


def _title(pages: Sequence[PageLines]) -> str:
    """Return the largest lines of the first page that has any: what a reader would call it."""
    first = next((page.lines for page in pages if page.lines), ())
    largest = max((line.size for line in first), default=0.0)
    return clean_line(" ".join(_first_run(first, largest)))[:_LONGEST_HEADING]


def _first_run(lines: Sequence[PdfLine], size: float) -> Iterator[str]:
    """Yield the first run of lines of this size."""
    started = False
    for line in lines:
        if line.size == size:
            started = True
            yield line.text
        elif started:
            return


# From the lines of a PDF to paragraphs, list items and headings.
#
# A PDF has no paragraphs, only lines at places. A line goes on with the one above when it stands
# right below it, in the same size, at the same edge, and its first word would not have fitted
# above.

_LEADERS: Final = re.compile(r"(?:\s?[.\u2026\u00b7]){4,}\s*(?:\d+|[ivxlc]+)$", re.I)
_BULLETS: Final = "\u2022\u2023\u25aa\u25cf\u25e6\u25a0\u00b7\uf0b7\u2043"
_ITEM_MARK: Final = re.compile(
    rf"(?P<bullet>[{_BULLETS}])\s*"
    r"|(?P<dash>[*+\u2013-])\s+"
    r"|\(?(?P<number>\d{1,3}|[a-z]|[ivx]{1,5})[.)]\s+"
)
_FIRST_NUMBERS: Final = frozenset({"1", "a", "i"})
_SENTENCE_END: Final = re.compile(r"[.:;!?][\"'\u2019\u201d)\]]*\d{0,2}$")
_BROKEN: Final = re.compile(rf"(\w*){HYPHEN}(\w*)")
_LETTER_WIDTH: Final = 0.5  # Of the size: an average over the usual text faces.


class _LineRun(NamedTuple):
    """A run of lines that belong together."""

    kind: TextBlockKind
    level: int
    lines: list[PdfLine]


def build_blocks(layout: PdfLayout, builder: TextBuilder) -> None:
    """Put the pages into the builder, and join what a page break tore apart."""
    words = _Hyphenation(layout)
    for page in layout.pages:
        builder.on_page(page.number)
        for index, piece in enumerate(_line_runs(page, layout)):
            text = clean_line(words.joined(" ".join(line.text for line in piece.lines)))
            if index == 0 and _continues_block(builder, piece, text):
                builder.extend(f" {text}")
            else:
                _add_run(builder, piece, text)


def _add_run(builder: TextBuilder, piece: _LineRun, text: str) -> None:
    mark = _ITEM_MARK.match(text) if piece.kind is TextBlockKind.ITEM else None
    if mark and not mark["number"]:
        text = f"- {text[mark.end() :]}"
    builder.add(piece.kind, text, piece.level)


def _continues_block(builder: TextBuilder, piece: _LineRun, text: str) -> bool:
    last = builder.last
    return (
        last is not None
        and last.kind in (TextBlockKind.PARAGRAPH, TextBlockKind.ITEM)
        and piece.kind is TextBlockKind.PARAGRAPH
        and text[:1].islower()
        and not _SENTENCE_END.search(builder.tail)
    )


def _line_runs(page: PageLines, layout: PdfLayout) -> Iterator[_LineRun]:
    """Yield the runs of lines of a page."""
    edges = _right_edges(page.lines)
    run: _LineRun | None = None
    for index, line in enumerate(page.lines):
        heading = layout.headings.get((page.number, index))
        kind = _run_kind(line, heading)
        flows = run is not None and _fits_run(run, line, edges, layout.pitch)
        if run and _continues_run(run, kind, heading, flows=flows, text=line.text):
            run.lines.append(line)
            continue
        if run:
            yield run
        run = _LineRun(kind, heading.level if heading else 0, [line])
    if run:
        yield run


def _run_kind(line: PdfLine, heading: HeadingLine | None) -> TextBlockKind:
    if heading:
        return TextBlockKind.HEADING
    if line.text[-1].isalnum() and _has_leaders(line.text):
        return TextBlockKind.CONTENTS
    return TextBlockKind.ITEM if _ITEM_MARK.match(line.text) else TextBlockKind.PARAGRAPH


def _has_leaders(text: str) -> bool:
    # Two substring tests spare most lines the regular expression.
    return (". ." in text or "..." in text or "\u2026" in text) and bool(_LEADERS.search(text))


def _continues_run(
    run: _LineRun, kind: TextBlockKind, heading: HeadingLine | None, *, flows: bool, text: str
) -> bool:
    if heading:
        return run.kind is TextBlockKind.HEADING and not heading.starts
    if (
        run.kind in (TextBlockKind.HEADING, TextBlockKind.CONTENTS)
        or kind is TextBlockKind.CONTENTS
    ):
        return False
    return flows and (kind is TextBlockKind.PARAGRAPH or not _starts_item(run, text))


def _starts_item(run: _LineRun, text: str) -> bool:
    """Tell a new item from a wrapped line that happens to begin with a dash or a number."""
    mark = _ITEM_MARK.match(text)
    return mark is not None and (
        run.kind is TextBlockKind.ITEM or bool(mark["bullet"]) or mark["number"] in _FIRST_NUMBERS
    )


def _fits_run(run: _LineRun, line: PdfLine, edges: Mapping[int, float], pitch: float) -> bool:
    """Whether the place of a line lets it go on with the run above it."""
    above = run.lines[-1]
    if abs(line.size - above.size) > 0.08 * above.size:
        return False
    gap = (above.y - line.y) / above.height
    if not 0 < gap <= 1.25 * pitch * above.size:
        return False
    shift = line.x - above.x
    if shift > 0.6 * above.size and not (run.kind is TextBlockKind.ITEM and len(run.lines) == 1):
        return False
    if shift < -0.6 * above.size and len(run.lines) > 1:
        return False
    first_word = len(line.text.split(" ", 1)[0]) * _LETTER_WIDTH * line.size
    edge = max(edges[round(above.x)], edges[round(line.x)])
    return above.right + first_word >= edge - above.size


def _right_edges(lines: Iterable[PdfLine]) -> dict[int, float]:
    """Return how far the lines reach that begin at the same place: the edge of their column."""
    edges: dict[int, float] = {}
    for line in lines:
        edges[round(line.x)] = max(edges.get(round(line.x), 0.0), line.right)
    return edges


class _Hyphenation:
    """The document's words, to tell a hyphen that belongs to a word from one that broke it."""

    def __init__(self, layout: PdfLayout) -> None:
        self._layout = layout

    @cached_property
    def _known(self) -> frozenset[str]:
        lines = (line.text for page in self._layout.pages for line in page.lines)
        return frozenset(" ".join(lines).lower().split())

    def joined(self, text: str) -> str:
        """Return the text with the words whole that were broken at a line's end."""
        return _BROKEN.sub(self._whole, text) if HYPHEN in text else text

    def _whole(self, broken: re.Match[str]) -> str:
        before, after = broken[1], broken[2]
        hyphenated = f"{before}-{after}"
        if f"{before}{after}".lower() in self._known:
            return f"{before}{after}"
        keep = after[:1].isupper() or after[:1].isdigit() or hyphenated.lower() in self._known
        return hyphenated if keep else f"{before}{after}"
