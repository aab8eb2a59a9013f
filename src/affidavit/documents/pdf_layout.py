"""From the lines of a PDF to headings, paragraphs, list items, tables and footnotes."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

from affidavit.documents.model import LineBox, TextBlockKind
from affidavit.documents.pdf_lines import HYPHEN, PdfLine, PdfRule, join_line, without_running_lines
from affidavit.documents.pdf_tables import CAPTION, PdfTable, find_tables
from affidavit.documents.tables import numbered_lines
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
    rules: tuple[PdfRule, ...] = ()
    columns: tuple[int, ...] = ()
    """For every line the column of text that it is in, in reading order."""
    tables: Mapping[int, PdfTable] = {}
    """The tables, each by the index of the line that follows it."""


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
    body_size: float
    headings: "Headings"
    title: str


Headings: TypeAlias = dict[tuple[int, int], HeadingLine]
"""(page, index of line), for every line of every heading."""


def analyse_layout(pages: Sequence[PageLines], bookmarks: Sequence[Bookmark]) -> PdfLayout:
    """Return the body of the pages and its headings."""
    bodies = without_running_lines([page.lines for page in pages])
    body_pages = tuple(
        _in_reading_order(page._replace(lines=lines))
        for page, lines in zip(pages, bodies, strict=True)
    )
    body_size = _body_size(body_pages)
    outlined = _outline_headings(body_pages, bookmarks)
    headings = _with_large_lines(body_pages, body_size, outlined)
    return PdfLayout(body_pages, _pitch(body_pages), body_size, headings, _title(body_pages))


# The columns of a page. A gutter is an edge at which many lines begin, before which many lines end,
# and that few lines cross. Lines across a gutter divide the page into bands; in every band one
# column is read after the other.

_PROSE_LETTERS: Final = 18
_LINES_OF_COLUMN: Final = 4
_NARROWEST: Final = 0.15
"""Of the width of the text on a page."""
_MOST_CROSSING: Final = 0.4


def _in_reading_order(page: PageLines) -> PageLines:
    """Return a page with its lines column by column, its tables apart."""
    page = page._replace(lines=_without_raised_marks(page.lines))
    gutters = _gutters(page.lines)
    columns = _columns(page.lines, gutters) if gutters else [0] * len(page.lines)
    order = sorted(range(len(columns)), key=columns.__getitem__)
    lines: list[PdfLine] = []
    numbers: list[int] = []
    tables: dict[int, PdfTable] = {}
    for column in dict.fromkeys(columns[at] for at in order):
        found = [page.lines[at] for at in order if columns[at] == column]
        for item in _with_tables(found, page.rules):
            if isinstance(item, PdfTable):
                # Two tables in a row: an empty place between them would lose the first.
                if len(lines) in tables:
                    item = _stacked(tables[len(lines)], item)
                tables[len(lines)] = item
            elif (
                lines
                and numbers[-1] == column
                and len(lines) not in tables
                and _is_same_line(lines[-1], item)
            ):
                lines[-1] = join_line((lines[-1], item))
            else:
                lines.append(item)
                numbers.append(column)
    return page._replace(lines=tuple(lines), columns=tuple(numbers), tables=tables)


_RAISED_MARK: Final = re.compile(r"\d{1,3}|[*\u2020\u2021\u00a7]{1,2}")


def _without_raised_marks(lines: tuple[PdfLine, ...]) -> tuple[PdfLine, ...]:
    """Put the mark of a note that was drawn apart behind the line that it belongs to."""
    kept: list[PdfLine] = []
    for line in lines:
        last = kept[-1] if kept else line
        if (
            len(line.text) < 4
            and line.size < 0.85 * last.size
            and last.bottom <= line.y <= last.top
            and -2 <= line.x - last.right < last.size
            and _RAISED_MARK.fullmatch(line.text)
        ):
            kept[-1] = last._replace(text=f"{last.text} {line.text}")
        else:
            kept.append(line)
    return tuple(kept)


def _stacked(first: PdfTable, second: PdfTable) -> PdfTable:
    rows = (*first.rows, *second.rows)
    return PdfTable(rows, first.header_rows, (*first.lines, *second.lines))


def _is_same_line(before: PdfLine, line: PdfLine) -> bool:
    return abs(before.y - line.y) < 0.35 * line.size and line.x > before.right - 0.1 * line.size


def _with_tables(
    lines: Sequence[PdfLine], rules: Sequence[PdfRule]
) -> Iterator[PdfLine | PdfTable]:
    """Yield the lines of a column in order, with each table in the place of its first line."""
    table_of: dict[int, PdfTable] = {}
    for table in find_tables(lines, rules):
        table_of.update((id(line), table) for row in table.lines for line in row)
    done: set[int] = set()
    for line in lines:
        found = table_of.get(id(line))
        if found is None:
            yield line
        elif id(found) not in done:
            done.add(id(found))
            yield found


def _gutters(lines: Sequence[PdfLine]) -> list[float]:
    prose = [line for line in lines if len(line.text) >= _PROSE_LETTERS]
    if len(prose) < 2 * _LINES_OF_COLUMN:
        return []
    left, right = min(line.x for line in prose), max(line.right for line in prose)
    narrowest = _NARROWEST * (right - left)
    starts = Counter(round(line.x) for line in prose)
    gutters: list[float] = []
    for edge in sorted(starts):
        last = gutters[-1] if gutters else left
        count = starts[edge] + starts[edge + 1]
        if edge - last < narrowest or right - edge < narrowest or count < _LINES_OF_COLUMN:
            continue
        if _is_gutter(prose, last, edge - 1.0):
            gutters.append(edge - 1.0)
    return gutters


def _is_gutter(prose: Sequence[PdfLine], last: float, edge: float) -> bool:
    before = [line for line in prose if line.x >= last - 2 and line.right <= edge]
    after = [line for line in prose if line.x >= edge]
    crossing = sum(
        line.x < edge - 3 and line.right > edge + 3 for line in prose if line.x >= last - 2
    )
    if min(len(before), len(after)) < _LINES_OF_COLUMN:
        return False
    if crossing > _MOST_CROSSING * (len(before) + len(after)):
        return False
    widths = sorted(line.right - line.x for line in before)
    if widths[len(widths) // 2] < 0.5 * (edge - last):
        return False  # Short texts before an edge are the first column of a table.
    top = min(max(line.y for line in before), max(line.y for line in after))
    bottom = max(min(line.y for line in before), min(line.y for line in after))
    return top - bottom > 2 * _LINES_OF_COLUMN


def _columns(lines: Sequence[PdfLine], gutters: Sequence[float]) -> list[int]:
    """Return for every line its place in reading order: its band, and its column in the band."""
    crossing = [
        any(line.x < gutter - 3 and line.right > gutter + 3 for gutter in gutters) for line in lines
    ]
    heights = sorted((line.y for line, is_across in zip(lines, crossing, strict=True) if is_across))
    step = len(gutters) + 2
    places: list[int] = []
    for line, is_across in zip(lines, crossing, strict=True):
        above = sum(height > line.y + 1 for height in heights)
        column = 0 if is_across else 1 + sum(line.x >= gutter for gutter in gutters)
        places.append(above * step + column)
    return _merged_bands(places, step)


def _merged_bands(places: Sequence[int], step: int) -> list[int]:
    """Number the places so that lines across the page that follow each other are one column."""
    used = sorted(set(places))
    numbers: dict[int, int] = {}
    number = 0
    for at, place in enumerate(used):
        if at and not (place % step == 0 and used[at - 1] % step == 0):
            number += 1
        numbers[place] = number
    return [numbers[place] for place in places]


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
        for above, below in pairwise(page.lines):
            gap = above.y - below.y
            if above.size == below.size and 0 < gap < 3 * above.size:
                steps[round(gap / above.size, 1)] += 1
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
# above. A paragraph that is open at the end of a column or page goes on with the first text behind
# it that can only be the rest of a sentence.

_LEADERS: Final = re.compile(r"(?:\s?[.\u2026\u00b7]){4,}\s*(?:\d+|[ivxlc]+)$", re.I)
_BULLETS: Final = "\u2022\u2023\u25aa\u25cf\u25e6\u25a0\u00b7\uf0b7\u2043"
_ITEM_MARK: Final = re.compile(
    rf"(?P<bullet>[{_BULLETS}])\s*"
    r"|(?P<dash>[*+\u2013-])\s+"
    r"|\(?(?P<number>\d{1,3}|[a-z]|[ivx]{1,5})[.)]\s+"
)
_FIRST_NUMBERS: Final = frozenset({"1", "a", "i"})
_SENTENCE_END: Final = re.compile(r"[.:;!?][\"'\u2019\u201d)\]]*\d{0,2}$")
_NOTE_MARK: Final = re.compile(r"(?:\d{1,3}|[*\u2020\u2021\u00a7])\s?(?=[^\W\d_]|[\"'\u201c(])")
_NOTE_SIZE_RATIO: Final = 0.93
_LETTER_WIDTH: Final = 0.5  # Of the size: an average over the usual text faces.
_OPENED_BY: Final = (TextBlockKind.PARAGRAPH, TextBlockKind.ITEM)
_FLOATS: Final = (TextBlockKind.ROW, TextBlockKind.CAPTION, TextBlockKind.NOTE)


class _LineRun(NamedTuple):
    """Lines that belong together, each with its page, or a table."""

    kind: TextBlockKind
    level: int
    lines: list[tuple[int, PdfLine]]
    ends_column: bool = False
    """Whether the column ends behind it with a full line, so that its sentence may go on."""
    table: PdfTable | None = None

    @property
    def text(self) -> str:
        return " ".join(line.text for _, line in self.lines)


def build_blocks(layout: PdfLayout, builder: TextBuilder) -> None:
    """Put the pages into the builder, and join what a column or a page break tore apart."""
    words = _Hyphenation(layout)
    runs = [run for page in layout.pages for run in _page_runs(page, layout)]
    for run in _captions_first(_joined_runs(runs)):
        if run.table is not None:
            _add_table(builder, run, run.table)
        else:
            _add_run(builder, run, words)


def _add_run(builder: TextBuilder, run: _LineRun, words: "_Hyphenation") -> None:
    pieces = words.pieces([line.text for _, line in run.lines])
    mark = _ITEM_MARK.match(pieces[0]) if run.kind is TextBlockKind.ITEM else None
    if mark and not mark["number"]:
        pieces[0] = f"- {pieces[0][mark.end() :]}"
    boxes = [_box(page, (line,)) for page, line in run.lines]
    builder.add_lines(run.kind, list(zip(pieces, boxes, strict=True)), run.level)


def _add_table(builder: TextBuilder, run: _LineRun, table: PdfTable) -> None:
    page = run.lines[0][0]
    for row, text in numbered_lines(table.rows, table.header_rows):
        box = _box(page, table.lines[row])
        builder.add_lines(TextBlockKind.ROW, [(text, box)])


def _box(page: int, lines: Sequence[PdfLine]) -> LineBox:
    return LineBox(
        page=page,
        x0=round(min(line.x for line in lines), 1),
        y0=round(min(line.bottom for line in lines), 1),
        x1=round(max(line.right for line in lines), 1),
        y1=round(max(line.top for line in lines), 1),
    )


def _joined_runs(runs: Sequence[_LineRun]) -> Iterator[_LineRun]:
    """Yield the runs; one that a column's end left open goes on with its rest."""
    taken: set[int] = set()
    for at, run in enumerate(runs):
        if at in taken:
            continue
        rest = _rest_of(runs, at)
        while rest is not None:
            taken.add(rest)
            run = run._replace(lines=[*run.lines, *runs[rest].lines])
            rest = _rest_of(runs, rest)
        yield run


def _rest_of(runs: Sequence[_LineRun], at: int) -> int | None:
    """Return the run that goes on with the sentence of a run at the end of its column."""
    run = runs[at]
    behind = at + 1
    # Notes at the foot of a column, and tables and captions at the head of the next, are passed.
    while behind < len(runs) and runs[behind].kind in _FLOATS:
        behind += 1
    if behind == len(runs) or run.kind not in _OPENED_BY or not run.ends_column:
        return None
    text, following = run.lines[-1][1].text, runs[behind]
    if following.kind is not TextBlockKind.PARAGRAPH or _SENTENCE_END.search(text):
        return None
    if abs(following.lines[0][1].size - run.lines[-1][1].size) > 0.08 * run.lines[-1][1].size:
        return None
    first = following.lines[0][1].text
    return behind if first[:1].islower() or text.endswith(HYPHEN) or behind == at + 1 else None


def _captions_first(runs: Iterable[_LineRun]) -> Iterator[_LineRun]:
    """Yield a caption that stands below its table before it."""
    held: _LineRun | None = None
    last_is_caption = False
    for run in runs:
        if held is not None and run.kind is TextBlockKind.CAPTION and not last_is_caption:
            yield from (run, held)
            held = None
            continue
        if held is not None:
            yield held
            held, last_is_caption = None, False
        if run.table is not None:
            held = run
        else:
            last_is_caption = run.kind is TextBlockKind.CAPTION
            yield run
    if held is not None:
        yield held


def _page_runs(page: PageLines, layout: PdfLayout) -> Iterator[_LineRun]:
    """Yield the runs of lines of a page, its tables and, behind each column, its notes."""
    edges = _right_edges(page)
    notes = _note_lines(page, layout.body_size)
    for column in _ranges(page.columns or (0,) * len(page.lines), page.tables):
        runs = list(_column_runs(page, layout, column, edges, notes))
        last = next((run for run in reversed(runs) if run.kind in _OPENED_BY), None)
        for run in runs:
            if run is last:
                line = run.lines[-1][1]
                is_full = (
                    line.right >= edges[_edge_key(page, column.stop - 1, line)] - 3 * line.size
                )
                yield run._replace(ends_column=is_full or line.text.endswith(HYPHEN))
            else:
                yield run


def _ranges(columns: Sequence[int], tables: Mapping[int, PdfTable]) -> Iterator[range]:
    """Yield the range of lines of each column; one of tables only has no lines."""
    start = 0
    for at, (column, following) in enumerate(pairwise((*columns, -1))):
        if column != following:
            yield range(start, at + 1)
            start = at + 1
    if not columns and tables:
        yield range(0)


def _column_runs(
    page: PageLines,
    layout: PdfLayout,
    column: range,
    edges: Mapping[tuple[int, int], float],
    notes: frozenset[int],
) -> Iterator[_LineRun]:
    run: _LineRun | None = None
    for index in column:
        if index in page.tables:
            if run:
                yield run
                run = None
            yield _table_run(page, index)
        line = page.lines[index]
        heading = layout.headings.get((page.number, index))
        kind = TextBlockKind.NOTE if index in notes else _run_kind(line, heading)
        flows = run is not None and _fits_run(
            run, line, page, index, edges=edges, pitch=layout.pitch
        )
        if run and _continues_run(run, kind, heading, flows=flows, text=line.text):
            run.lines.append((page.number, line))
            continue
        if run:
            yield _as_caption(run)
        run = _LineRun(kind, heading.level if heading else 0, [(page.number, line)])
    if run:
        yield _as_caption(run)
    if column.stop == len(page.lines) and column.stop in page.tables:
        yield _table_run(page, column.stop)


def _table_run(page: PageLines, index: int) -> _LineRun:
    table = page.tables[index]
    return _LineRun(TextBlockKind.ROW, 0, [(page.number, table.lines[0][0])], table=table)


def _as_caption(run: _LineRun) -> _LineRun:
    is_caption = run.kind is TextBlockKind.PARAGRAPH and CAPTION.match(run.lines[0][1].text)
    return run._replace(kind=TextBlockKind.CAPTION) if is_caption else run


def _note_lines(page: PageLines, body_size: float) -> frozenset[int]:
    """Return the lines at the foot of a column that are set small and begin with a mark."""
    notes: set[int] = set()
    for column in _ranges(page.columns or (0,) * len(page.lines), {}):
        small = column.stop
        while small > column.start and page.lines[small - 1].size <= _NOTE_SIZE_RATIO * body_size:
            small -= 1
        if small == column.start:
            continue  # A page that is set small as a whole.
        first = next(
            (at for at in range(small, column.stop) if _NOTE_MARK.match(page.lines[at].text)),
            column.stop,
        )
        notes.update(range(first, column.stop))
    return frozenset(notes)


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
    if TextBlockKind.NOTE in (kind, run.kind):
        return kind is run.kind and not _NOTE_MARK.match(text)
    return flows and (kind is TextBlockKind.PARAGRAPH or not _starts_item(run, text))


def _starts_item(run: _LineRun, text: str) -> bool:
    """Tell a new item from a wrapped line that happens to begin with a dash or a number."""
    mark = _ITEM_MARK.match(text)
    return mark is not None and (
        run.kind is TextBlockKind.ITEM or bool(mark["bullet"]) or mark["number"] in _FIRST_NUMBERS
    )


def _fits_run(
    run: _LineRun,
    line: PdfLine,
    page: PageLines,
    index: int,
    edges: Mapping[tuple[int, int], float],
    pitch: float,
) -> bool:
    """Whether the place of a line lets it go on with the run above it."""
    above = run.lines[-1][1]
    if abs(line.size - above.size) > 0.08 * above.size:
        return False
    if not 0 < above.y - line.y <= 1.25 * pitch * above.size:
        return False
    first_word = len(line.text.split(" ", 1)[0]) * _LETTER_WIDTH * line.size
    edge = max(edges[_edge_key(page, index, above)], edges[_edge_key(page, index, line)])
    is_full = above.right + first_word >= edge - above.size
    is_open = not _SENTENCE_END.search(above.text)
    shift = line.x - above.x
    if shift > 0.6 * above.size:
        # The second line of an item, or of a text whose first line stands out, is set in.
        is_second = len(run.lines) == 1
        return is_second and (is_full if run.kind is TextBlockKind.ITEM else is_full and is_open)
    if shift < -0.6 * above.size and len(run.lines) > 1:
        return False
    return is_full or (is_open and line.text[0].islower())


def _edge_key(page: PageLines, index: int, line: PdfLine) -> tuple[int, int]:
    return (page.columns[index] if page.columns else 0), round(line.x)


def _right_edges(page: PageLines) -> dict[tuple[int, int], float]:
    """Return how far the lines of a column reach that begin at the same place."""
    edges: dict[tuple[int, int], float] = {}
    for index, line in enumerate(page.lines):
        key = _edge_key(page, index, line)
        edges[key] = max(edges.get(key, 0.0), line.right)
    return edges


class _Hyphenation:
    """The document's words, to tell a hyphen that belongs to a word from one that broke it."""

    def __init__(self, layout: PdfLayout) -> None:
        self._layout = layout

    @cached_property
    def _known(self) -> frozenset[str]:
        lines = (line.text for page in self._layout.pages for line in page.lines)
        return frozenset(" ".join(lines).lower().split())

    def pieces(self, lines: Sequence[str]) -> list[str]:
        """Return the lines as pieces of one text, with words whole that a line's end broke."""
        pieces: list[str] = []
        is_broken = False
        for line in lines:
            text = clean_line(line.replace(HYPHEN, ""))
            if is_broken:
                text = self._joint(pieces[-1], text) + text
            elif pieces:
                text = f" {text}"
            pieces.append(text)
            is_broken = line.endswith(HYPHEN)
        return pieces

    def _joint(self, before: str, after: str) -> str:
        """Return the hyphen if it belongs to the word, or nothing."""
        first, second = before.rpartition(" ")[2], after.partition(" ")[0]
        bare = second.rstrip(".,;:!?)\"'\u201d\u2019")
        if f"{first}{bare}".lower() in self._known:
            return ""
        keeps = bare[:1].isupper() or bare[:1].isdigit() or f"{first}-{bare}".lower() in self._known
        return "-" if keeps else ""
