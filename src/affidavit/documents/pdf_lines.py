"""The positioned text lines of PDF pages, and the removal of running headers, footers and page
numbers.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from ctypes import byref, c_double, c_float, create_string_buffer
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from pypdfium2 import PdfPage, PdfTextPage

# The lines of a PDF page, each with its place: a few cheap questions to pdfium per line.
#
# pdfium tells for a range of text in how many rectangles it stands. Most lines are one; only a line
# of several with a wide gap between them, or a line of numbers, is measured word by word.

HYPHEN: Final = "\ufffe"
"""pdfium writes this where a word was broken over two lines, and leaves out the line's end."""
_WORD: Final = re.compile(r"\S+")
_SEVERAL_NUMBERS: Final = re.compile(r"\d\S*\s+\S*\d\S*\s+\S*\d")
_CONTENTS: Final = re.compile(r"(?:\s?[.\u2026\u00b7]){6,}\s*\w{0,5}$")
_ITEM_MARK: Final = re.compile(r"(?:[^\w\s]|\(?\w{1,3}[.)])\s")
_CELL_GAP: Final = 1.0
"""In units of the letter size: the space between two words of one justified line is smaller."""
_WIDE_LETTER: Final = 0.8
"""Of the size. Where letters are wider on average, a single rectangle hides gaps."""
_NEAR_LINES: Final = 4.0
_NEAR_ROWS: Final = 40.0
_NARROWEST_COLUMN: Final = 90.0
_LINES_OF_COLUMN: Final = 4
_PATH_OBJECT: Final = 2  # FPDF_PAGEOBJ_PATH of fpdf_edit.h
_THIN: Final = 2.5
_SHORTEST_RULE: Final = 12.0


class PdfWord(NamedTuple):
    """A word and where it begins and ends on its line."""

    text: str
    x: float
    right: float


class PdfLine(NamedTuple):
    """A run of text at one height, without gaps. All places are in points, with y upwards.

    `y` is the height of the baseline. `words` are only known near gaps and numbers.
    """

    text: str
    x: float
    y: float
    right: float
    size: float
    bottom: float = 0.0
    top: float = 0.0
    words: tuple[PdfWord, ...] = ()
    font: str = ""


class PdfRule(NamedTuple):
    """A straight line on a page."""

    x: float
    y: float
    right: float
    top: float

    @property
    def is_horizontal(self) -> bool:
        """Tell a horizontal rule from a vertical one."""
        return self.right - self.x > self.top - self.y


class _Piece(NamedTuple):
    """A line, and the range of the page's text that it stands in."""

    line: PdfLine
    start: int
    end: int


def lines_of(page: "PdfTextPage") -> tuple[PdfLine, ...]:
    """Return the lines of a page in the order in which the file draws them."""
    text = _page_text(page)
    reader = _LineReader(page, text)
    pieces = [piece for start, end in _printed_ranges(text) for piece in reader.pieces(start, end)]
    edges = _inner_edges(pieces)
    if edges:
        pieces = [
            part
            for piece in pieces
            for part in (reader.parts(piece) if _crosses(piece.line, edges) else (piece,))
        ]
    heights = {piece.line.y for piece in pieces if piece.line.words}
    gaps = [y for y in heights if any(0 < abs(y - other) < _NEAR_ROWS for other in heights)]
    if gaps:
        # The rows of a table are measured by words, the wrapped lines of its cells too.
        pieces = [
            reader.with_words(piece)
            if not piece.line.words
            and any(abs(piece.line.y - y) < _NEAR_LINES * piece.line.size for y in gaps)
            else piece
            for piece in pieces
        ]
    return tuple(_whole_lines(piece.line for piece in pieces))


def _printed_ranges(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the lines of the text stand; a broken word ends a line, with its hyphen."""
    at = 0
    for printed in text.split("\r\n"):
        start = at
        for part in printed.split(HYPHEN):
            end = start + len(part)
            is_broken = end < at + len(printed)
            bare = part.strip()
            if bare:
                first = start + len(part) - len(part.lstrip())
                yield first, end + 1 if is_broken else first + len(bare)
            start = end + 1
        at += len(printed) + 2


def _inner_edges(pieces: Sequence[_Piece]) -> list[float]:
    """Return where several lines begin far from the left edge: a line across may hide a gap."""
    least = min((piece.line.x for piece in pieces), default=0.0) + _NARROWEST_COLUMN
    counts = Counter(piece.line.x // 3 for piece in pieces if piece.line.x > least)
    return [3 * at for at, count in counts.items() if count + counts[at - 1] >= _LINES_OF_COLUMN]


def _is_contents(text: str) -> bool:
    # Two substring tests spare most lines the regular expression.
    has_dots = ". ." in text or ".." in text
    return has_dots and _CONTENTS.search(text, max(0, len(text) - 20)) is not None


def _crosses(line: PdfLine, edges: Sequence[float]) -> bool:
    if line.words or _is_contents(line.text):
        return False
    return any(line.x < edge - line.size < line.right for edge in edges)


class _LineReader:
    """Asks pdfium for the places of the text of one page."""

    def __init__(self, page: "PdfTextPage", text: str) -> None:
        from pypdfium2 import raw

        self._raw = raw
        self._page = page.raw
        self._text = text
        # Where every letter of the page is in its text, both are counted alike; but pdfium counts a
        # letter beyond the basic plane twice.
        count = page.count_chars() if text else 0
        self._is_plain = count == len(text)
        self._doubled = (
            [] if self._is_plain else [at for at, letter in enumerate(text) if letter > "\uffff"]
        )
        self._is_doubled = count == len(text) + len(self._doubled)
        self._x, self._y, self._left, self._right, self._bottom, self._top = (
            c_double() for _ in range(6)
        )
        self._origin = byref(self._x), byref(self._y)
        self._box = byref(self._left), byref(self._right), byref(self._bottom), byref(self._top)
        self._rect = byref(self._left), byref(self._top), byref(self._right), byref(self._bottom)
        self._matrix = raw.FS_MATRIX()

    def pieces(self, start: int, end: int) -> Iterator[_Piece]:
        """Yield the parts of a range of text that stand without gaps at one height."""
        text = self._text[start:end]
        rects = self._rects(start, end)
        if not rects:
            return
        x, y = self._place(start)
        size = self._size(start, end) if len(rects) > 1 else self._letter_size(self._index(start))
        if self._is_simple(text, rects, size):
            _, bottom, right, top = rects[0]
            for other in rects[1:]:
                right, bottom, top = other[2], min(bottom, other[1]), max(top, other[3])
            yield _Piece(PdfLine(text, x, y, right, size, bottom=bottom, top=top), start, end)
            return
        yield from self._measured(start, end, size)

    def parts(self, piece: _Piece) -> Sequence[_Piece]:
        """Return a piece cut at gaps that one rectangle hides; whole if there are none."""
        parts = tuple(self._measured(piece.start, piece.end, piece.line.size))
        return parts if len(parts) > 1 else (piece,)

    def with_words(self, piece: _Piece) -> _Piece:
        """Return a piece with its words."""
        words = tuple(word for _, word, _ in self._words(piece.start, piece.end))
        font = self._font(piece.start)
        return piece._replace(line=piece.line._replace(words=words, font=font))

    def _measured(self, start: int, end: int, size: float) -> Iterator[_Piece]:
        found: list[tuple[int, PdfWord, float]] = []
        for at, word, y in self._words(start, end):
            if found and _is_apart(found[-1], (at, word, y), size):
                yield self._piece(found)
                found = []
            found.append((at, word, y))
        if found:
            yield self._piece(found)

    def _piece(self, found: Sequence[tuple[int, PdfWord, float]]) -> _Piece:
        start, end = found[0][0], found[-1][0] + len(found[-1][1].text)
        words = tuple(word for _, word, _ in found)
        rects = self._rects(start, end)
        line = PdfLine(
            text=self._text[start:end],
            x=self._place(start)[0],
            y=found[0][2],
            right=words[-1].right,
            size=self._size(start, end),
            bottom=min((rect[1] for rect in rects), default=found[0][2]),
            top=max((rect[3] for rect in rects), default=found[0][2]),
            words=words,
            font=self._font(start),
        )
        return _Piece(line, start, end)

    def _words(self, start: int, end: int) -> Iterator[tuple[int, PdfWord, float]]:
        box_of = self._raw.FPDFText_GetCharBox
        for word in _WORD.finditer(self._text, start, end):
            first, last = self._index(word.start()), self._index(word.end() - 1)
            if word[0][-1] == HYPHEN:  # It has no place of its own.
                last = max(first, last - 1)
            box_of(self._page, first, *self._box)
            left = self._left.value
            box_of(self._page, last, *self._box)
            _, y = self._place(word.start())
            yield word.start(), PdfWord(word[0], left, self._right.value), y

    def _rects(self, start: int, end: int) -> list[tuple[float, float, float, float]]:
        first = self._index(start)
        count = self._raw.FPDFText_CountRects(self._page, first, self._index(end - 1) - first + 1)
        rects: list[tuple[float, float, float, float]] = []
        for number in range(count):
            self._raw.FPDFText_GetRect(self._page, number, *self._rect)
            rects.append((self._left.value, self._bottom.value, self._right.value, self._top.value))
        return rects

    def _is_simple(
        self, text: str, rects: Sequence[tuple[float, float, float, float]], size: float
    ) -> bool:
        if _is_contents(text):
            return True
        if rects[-1][2] - rects[0][0] > _WIDE_LETTER * size * len(text):
            return False
        widest = 3.0 if len(rects) > 1 and _ITEM_MARK.match(text) else 0.9 * _CELL_GAP
        for (_, bottom, right, top), (left, next_bottom, _, next_top) in pairwise(rects):
            if not -size < left - right < widest * size:
                return False
            widest = 0.9 * _CELL_GAP
            if next_bottom > top or next_top < bottom:
                return False
        return not _SEVERAL_NUMBERS.search(text)

    def _index(self, at: int) -> int:
        if self._is_plain:
            return at
        if self._is_doubled:
            return at + bisect_left(self._doubled, at)
        return int(self._raw.FPDFText_GetCharIndexFromTextIndex(self._page, at))

    def _place(self, at: int) -> tuple[float, float]:
        self._raw.FPDFText_GetCharOrigin(self._page, self._index(at), *self._origin)
        return self._x.value, self._y.value

    def _size(self, start: int, end: int) -> float:
        """Return the size of a line in points; many files write size 1 and scale it."""
        # A line may begin with a large bullet, or with a small raised mark.
        last = self._index(end - 1 - (self._text[end - 1] == HYPHEN))
        size = self._letter_size(last)
        if self._text[start].isalnum() or end - start < 3:
            size = max(size, self._letter_size(self._index(start)))
        return size

    def _letter_size(self, index: int) -> float:
        size = self._raw.FPDFText_GetFontSize(self._page, index)
        self._raw.FPDFText_GetMatrix(self._page, index, byref(self._matrix))
        scale = abs(self._matrix.a * self._matrix.d - self._matrix.b * self._matrix.c) ** 0.5
        return float(size * scale if scale else size) or 1.0

    def _font(self, at: int) -> str:
        buffer = create_string_buffer(128)
        self._raw.FPDFText_GetFontInfo(self._page, self._index(at), buffer, 128, None)
        return buffer.value.decode("utf-8", "replace")


def _is_apart(
    before: tuple[int, PdfWord, float], after: tuple[int, PdfWord, float], size: float
) -> bool:
    gap = after[1].x - before[1].right
    return abs(after[2] - before[2]) > 0.6 * size or not -size < gap < _CELL_GAP * size


def _whole_lines(drawn: Iterable[PdfLine]) -> Iterator[PdfLine]:
    """Join adjacent parts: dots of a contents line are often drawn one by one."""
    pieces: list[PdfLine] = []
    for line in drawn:
        if pieces and not _adjoins(pieces[-1], line):
            yield join_line(pieces)
            pieces = []
        pieces.append(line)
    if pieces:
        yield join_line(pieces)


def _adjoins(before: PdfLine, line: PdfLine) -> bool:
    slack = 0.1 * line.size
    return abs(line.y - before.y) < slack and -slack <= line.x - before.right < _CELL_GAP * max(
        line.size, before.size
    )


def join_line(pieces: Sequence[PdfLine]) -> PdfLine:
    """Return the parts of one printed line as one."""
    if len(pieces) == 1:
        return pieces[0]
    return pieces[0]._replace(
        text=" ".join(piece.text for piece in pieces),
        right=pieces[-1].right,
        size=max(piece.size for piece in pieces),
        bottom=min(piece.bottom for piece in pieces),
        top=max(piece.top for piece in pieces),
        words=tuple(word for piece in pieces for word in words_of(piece)),
    )


def words_of(line: PdfLine) -> tuple[PdfWord, ...]:
    """Return the words of a line; one that was not measured counts as a single word."""
    return line.words or (PdfWord(line.text, line.x, line.right),)


def rules_of(page: "PdfPage") -> tuple[PdfRule, ...]:
    """Return the straight lines that a page draws."""
    from pypdfium2 import raw

    places = tuple(c_float() for _ in range(4))
    bounds = tuple(map(byref, places))
    rules: list[PdfRule] = []
    for number in range(raw.FPDFPage_CountObjects(page.raw)):
        item = raw.FPDFPage_GetObject(page.raw, number)
        if raw.FPDFPageObj_GetType(item) == _PATH_OBJECT:
            raw.FPDFPageObj_GetBounds(item, *bounds)
            rules += _edges_of(*(place.value for place in places))
    return tuple(rules)


def _edges_of(left: float, bottom: float, right: float, top: float) -> Iterator[PdfRule]:
    """Yield a thin shape as one rule, and a box as the rules above and below it."""
    width, height = right - left, top - bottom
    if max(width, height) < _SHORTEST_RULE:
        return
    if min(width, height) <= _THIN:
        yield PdfRule(left, bottom, right, top)
    elif height < 400:
        yield PdfRule(left, bottom, right, bottom)
        yield PdfRule(left, top, right, top)


def _page_text(page: "PdfTextPage") -> str:
    try:
        return str(page.get_text_range(errors="replace"))
    except (RecursionError, AssertionError):
        # pypdfium2 counts unprintable letters at the edges by recursion; a page may have thousands.
        return str(page.get_text_bounded(errors="replace"))


def rows_by_height(lines: Iterable[PdfLine]) -> list[list[PdfLine]]:
    """Return the lines from top to bottom, those at the same height together from left to right."""
    rows: list[list[PdfLine]] = []
    for line in sorted(lines, key=lambda line: -line.y):
        if rows and abs(rows[-1][0].y - line.y) <= 0.35 * min(line.size, rows[-1][0].size):
            rows[-1].append(line)
        else:
            rows.append([line])
    for row in rows:
        row.sort(key=lambda line: line.x)
    return rows


# Which lines of a PDF are page furniture: running heads and feet, and page numbers.
#
# They are found by what they are: lines of the outermost rows of a page that come again on other
# pages (the page's number aside), that carry the page's number, or that stand exactly where other
# pages have such lines. Left in, they would stand in the middle of every sentence that runs over a
# page. The first of each kind is kept, so that a date or version that is only printed at the foot
# is not lost; a title beside a page number is not, nor one that an earlier page has as a heading.

_BARE_NUMBER: Final = re.compile(r"\W*(?:page\s+)?(\d{1,5})(?:\s*(?:/|of)\s*\d{1,5})?\W*$", re.I)
_EDGE_NUMBERS: Final = re.compile(r"^(\d{1,5})(?![\w.])|(?<![\w.])(\d{1,5})$")
_NUMBER: Final = re.compile(r"(?<![\w.])\d{1,5}(?!\w|\.\d)")  # Not inside of "Version 2.1".
_ROMAN_NUMBER: Final = re.compile(r"[ivxlc]{1,8}$")
_YEAR: Final = re.compile(r"\b(?:19|20)\d\d\b")
_HEADING_NUMBER: Final = re.compile(r"^(?:chapter |appendix )?(?:\d[\d.]*|[A-Z]\.)[ .:]+", re.I)
_MASK: Final = "#"
_OUTERMOST: Final = 2
_PAGES_TO_REPEAT: Final = 3
_Page = Sequence[Sequence[PdfLine]]
"""The rows of a page, from top to bottom."""


class _PageNumbering(NamedTuple):
    """Where page numbers are printed, and by how much they differ from the page's index."""

    at_top: bool
    shift: int


def without_running_lines(pages: Sequence[tuple[PdfLine, ...]]) -> tuple[tuple[PdfLine, ...], ...]:
    """Return the pages without their furniture."""
    by_height = tuple(rows_by_height(lines) for lines in pages)
    numbering = _page_numbering(by_height)
    shapes = tuple(_shapes(rows, index, numbering) for index, rows in enumerate(by_height))
    repeated = Counter(shape for page_shapes in shapes for shape in set(page_shapes.values()))
    places = Counter(
        place
        for page_shapes in shapes
        for place in {
            _place(line)
            for line, shape in page_shapes.items()
            if repeated[shape] >= _PAGES_TO_REPEAT
        }
    )
    seen: set[str] = set()
    said: set[str] = set()
    bodies: list[tuple[PdfLine, ...]] = []
    for index, (lines, page_shapes) in enumerate(zip(pages, shapes, strict=True)):
        numbered = _page_number_line(by_height[index], index, numbering)
        dropped = {
            line
            for line, shape in page_shapes.items()
            if (line is numbered and (shape in seen or not _YEAR.search(shape)))
            or (
                repeated[shape] >= _PAGES_TO_REPEAT
                and (shape in seen or line.text in said or not _has_letter(shape))
            )
            or (places[_place(line)] > len(pages) // 2 and repeated[shape] < _PAGES_TO_REPEAT)
        }
        bodies.append(tuple(line for line in lines if line not in dropped) if dropped else lines)
        seen.update(page_shapes.values())
        said.update(text for line in lines for text in (line.text, _without_number(line.text)))
    return tuple(bodies)


def _without_number(text: str) -> str:
    """Return a heading without its number, as running heads repeat it."""
    return _HEADING_NUMBER.sub("", text)


def _place(line: PdfLine) -> tuple[int, float]:
    return round(line.y), round(line.size, 1)


def _shapes(rows: _Page, index: int, numbering: _PageNumbering | None) -> Mapping[PdfLine, str]:
    """Return the outermost lines, and each without what makes it differ from page to page."""
    number = "" if numbering is None else str(index + numbering.shift)
    edges = (*rows[:_OUTERMOST], *rows[max(_OUTERMOST, len(rows) - _OUTERMOST) :])
    return {line: _shape(line.text, number) for row in edges for line in row}


def _shape(text: str, number: str) -> str:
    if _ROMAN_NUMBER.match(text):
        return _MASK
    return _NUMBER.sub(lambda found: _MASK if found[0] == number else found[0], text)


def _has_letter(shape: str) -> bool:
    return any(letter.isalpha() for letter in shape)


def _page_numbering(pages: Sequence[_Page]) -> _PageNumbering | None:
    """Return where most pages have their number; a line of nothing else is believed first."""
    written = sum(1 for rows in pages if rows)
    for numbers in (_bare_numbers, _edge_numbers):
        found = Counter(
            place
            for index, rows in enumerate(pages)
            if rows
            for place in {
                _PageNumbering(at_top, number - index)
                for at_top in (False, True)
                for line in rows[0 if at_top else -1]
                for number in numbers(line.text)
            }
        )
        best = max(found, key=lambda place: (found[place], -abs(place.shift)), default=None)
        if best is not None and found[best] >= max(_PAGES_TO_REPEAT, written // 2 + 1):
            return best
    return None


def _page_number_line(rows: _Page, index: int, numbering: _PageNumbering | None) -> PdfLine | None:
    if numbering is None or not rows:
        return None
    wanted = index + numbering.shift
    return next(
        (
            line
            for numbers in (_bare_numbers, _edge_numbers)
            for line in rows[0 if numbering.at_top else -1]
            if wanted in numbers(line.text)
        ),
        None,
    )


def _bare_numbers(text: str) -> tuple[int, ...]:
    bare = _BARE_NUMBER.match(text)
    return (int(bare[1]),) if bare else ()


def _edge_numbers(text: str) -> tuple[int, ...]:
    return tuple({int(left or right) for left, right in _EDGE_NUMBERS.findall(text)})
