"""Finds the tables of a PDF page: rows of text with gaps that stand below each other.

A PDF has no tables, only words and rules at places. Rows that have gaps, or several numbers, and
follow each other closely are a candidate. Its columns are the strips between the vertical rules, or
between the empty strips that hardly any row crosses. Its rows are the strips between horizontal
rules, or begin where the first column has text. What fails a check stays text.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from statistics import median
from typing import Final, NamedTuple

from affidavit.documents.pdf_lines import PdfLine, PdfRule, PdfWord, rows_by_height, words_of
from affidavit.documents.tables import TableCell, is_number
from affidavit.documents.text_builder import clean_line

_MONOSPACED: Final = re.compile(r"mono|courier|typewriter|consol|menlo|cmtt|sftt|cour", re.I)
_DOTS: Final = re.compile(r"[.\u2026\u00b7]+")
_LEADERS: Final = re.compile(r"(?:\s?[.\u2026\u00b7]){4,}")
_ITEM_MARK: Final = re.compile(r"\W{1,2}|\(?\w{1,4}[.)]|\(?\d+(?:\.\d+)*[.)]?")
CAPTION: Final = re.compile(r"(?:table|figure|fig\.|tab\.|exhibit)\s+[\divxlc]+\b", re.I)
_SIGN: Final = re.compile(r"[^\w\s\u2013-]{1,2}")
_WORD: Final = re.compile(r"[^\W\d_]{3}")
_LABEL: Final = re.compile(r"[^\W\d_]{1,2}-?\d{1,3}")
_YEAR: Final = re.compile(r"(?:19|20)\d\d\D{0,2}")
_ROW_DISTANCE: Final = 2.6
"""Of the letter size: rows further apart are not one table."""
_RIVER_WIDTH: Final = 0.25
_GAP_BETWEEN_WORDS: Final = 0.8
_GAP_INSIDE_CELL: Final = 0.55
_MAX_HEADER_ROWS: Final = 5
_MAX_CELL: Final = 400
_SAME_HEIGHT: Final = 2.0


class PdfTable(NamedTuple):
    """A table: its cells, how many rows are its header, and the lines of every row."""

    rows: tuple[tuple[TableCell, ...], ...]
    header_rows: int
    lines: tuple[tuple[PdfLine, ...], ...]


_Printed = list[PdfLine]
"""The parts of a printed line, from left to right."""


def find_tables(lines: Sequence[PdfLine], rules: Sequence[PdfRule]) -> Iterator[PdfTable]:
    """Yield the tables of one column of text, from top to bottom."""
    if not any(line.words for line in lines):
        return
    printed = rows_by_height(lines)
    at = 0
    while at < len(printed):
        end = _run_end(printed, at)
        if end > at:
            start = _with_header_above(printed, at, rules)
            table = _table(printed[start:end], rules)
            if table is not None:
                yield table
        at = max(end, at + 1)


def _has_cells(row: _Printed) -> bool:
    if any(_MONOSPACED.search(line.font) for line in row):
        return False
    if CAPTION.match(" ".join(line.text for line in row)):
        return False
    if len(row) == 1:
        words = [word for word in row[0].words if not _DOTS.fullmatch(word.text)]
        numbers = sum(is_number(word.text) for word in words)
        return numbers >= 3 and 2 * numbers > len(words)
    return len(row) > 2 or not _ITEM_MARK.fullmatch(row[0].text)


def _run_end(printed: Sequence[_Printed], at: int) -> int:
    """Return behind the last row of a candidate that begins at `at`, or `at` if there is none."""
    if not _has_cells(printed[at]):
        return at
    end, alone = at + 1, 0
    for index in range(at + 1, len(printed)):
        row, above = printed[index], printed[index - 1]
        size = max(line.size for line in (*row, *above))
        if above[0].y - row[0].y > _ROW_DISTANCE * size or alone > 3:
            break
        if _has_cells(row):
            end, alone = index + 1, 0
        elif _is_prose(row, printed[at:end]):
            break
        else:
            alone += 1
            if row[0].x > printed[at][0].right and alone == 1 and end == index:
                end = index + 1  # The cell of a later column goes on.
    return end


def _is_prose(row: _Printed, rows: Sequence[_Printed]) -> bool:
    left = min(line[0].x for line in rows)
    right = max(line[-1].right for line in rows)
    return len(row) == 1 and row[0].right - row[0].x > 0.8 * (right - left)


def _with_header_above(printed: Sequence[_Printed], at: int, rules: Sequence[PdfRule]) -> int:
    """Return where the header begins that stands between two rules above the first row."""
    for first in range(at - 1, max(-1, at - 1 - _MAX_HEADER_ROWS), -1):
        row = printed[first]
        if row[0].y - printed[first + 1][0].y > _ROW_DISTANCE * row[0].size:
            return at
        covering = [
            rule
            for rule in rules
            if rule.is_horizontal
            and rule.x < row[-1].right
            and rule.right > row[0].x
            and rule.right - rule.x > 0.8 * (printed[at][-1].right - printed[at][0].x)
        ]
        is_over = any(0 < rule.y - row[0].y < 2 * row[0].size for rule in covering)
        is_under = any(printed[at][0].y < rule.y < row[0].y for rule in covering)
        if is_over and is_under:
            return first
    return at


def _table(printed: Sequence[_Printed], rules: Sequence[PdfRule]) -> PdfTable | None:
    left = min(row[0].x for row in printed)
    right = max(word.right for row in printed for line in row for word in words_of(line))
    left = min(left, min(word.x for row in printed for word in words_of(row[0])))
    top, bottom = printed[0][0].y + printed[0][0].size, printed[-1][0].y - 3
    inside = [
        rule
        for rule in rules
        if rule.x < right and rule.right > left and rule.y < top + 3 and rule.top > bottom - 6
    ]
    boundaries = _boundaries(printed, inside, left, right)
    if not boundaries or _cuts_sentences(printed, boundaries):
        return None
    table = _Grid(printed, boundaries, _joined_horizontal(inside), right - left).table()
    is_divided = any(not rule.is_horizontal for rule in inside)
    return table if _is_plausible(table, len(boundaries) + 1, bool(inside), is_divided) else None


def _cuts_sentences(printed: Sequence[_Printed], boundaries: Sequence[float]) -> bool:
    """Whether edges of columns go through texts without a gap there, in more than a few places."""
    cuts = 0
    for row in printed:
        for line in row:
            words = [word for word in words_of(line) if not _DOTS.fullmatch(word.text)]
            for before, after in pairwise(words):
                is_close = after.x - before.right < _GAP_INSIDE_CELL * line.size
                first, second = (
                    bisect_right(boundaries, (word.x + word.right) / 2) for word in (before, after)
                )
                is_value = is_number(before.text) or is_number(after.text)
                cuts += is_close and first != second and not is_value
    return cuts > len(printed) / 5


def _boundaries(
    printed: Sequence[_Printed], rules: Sequence[PdfRule], left: float, right: float
) -> list[float]:
    """Return where one column ends and the next begins."""
    height = printed[0][0].y - printed[-1][0].y
    vertical = sorted(
        rule.x
        for rule in _joined_vertical(rules)
        if rule.top - rule.y > 0.6 * height and left + 3 < rule.x < right - 3
    )
    # A line of few names above many columns hides the gaps between them.
    rows = [row for row in printed if _has_cells(row)] or list(printed)
    most = max(map(len, rows))
    rows = [row for row in rows if len(row) >= 0.6 * most or len(row) == 1]
    edges = [*(at for at, after in pairwise((*vertical, 1e9)) if after - at > 6)]
    for at in _rivers(rows, left, right):
        if _divides(rows, at) and all(_is_column(rows, *sorted((at, edge))) for edge in edges):
            edges.append(at)
    return _without_sign_columns(sorted(edges), printed)


def _without_sign_columns(edges: list[float], printed: Sequence[_Printed]) -> list[float]:
    """Return the edges without those behind a column of signs: "$ 5" and "> 5" are one cell."""
    texts: dict[int, list[str]] = {}
    for row in printed:
        for line in row:
            for word in words_of(line):
                column = bisect_right(edges, (word.x + word.right) / 2)
                texts.setdefault(column, []).append(word.text)
    return [
        edge
        for column, edge in enumerate(edges)
        if not all(_SIGN.fullmatch(text) for text in texts.get(column, ("",)))
    ]


def _is_column(rows: Sequence[_Printed], left: float, right: float) -> bool:
    """Whether the strip between two edges has text in more than a few rows."""
    filled = sum(
        any(
            left < (word.x + word.right) / 2 < right and not _DOTS.fullmatch(word.text)
            for line in row
            for word in words_of(line)
        )
        for row in rows
    )
    return filled > len(rows) / 5


def _joined_vertical(rules: Sequence[PdfRule]) -> list[PdfRule]:
    """Return the vertical rules; the pieces of one that is drawn cell by cell are joined."""
    joined: dict[int, PdfRule] = {}
    for rule in rules:
        if not rule.is_horizontal:
            known = joined.get(round(rule.x), rule)
            joined[round(rule.x)] = PdfRule(
                known.x, min(known.y, rule.y), known.right, max(known.top, rule.top)
            )
    return list(joined.values())


def _rivers(rows: Sequence[_Printed], left: float, right: float) -> Iterator[float]:
    """Yield the middle of every empty strip that at most an eighth of the rows cross."""
    scale = 2  # Half a point.
    steps = [0] * (int((right - left) * scale) + 3)
    for row in rows:
        for line in row:
            for word in words_of(line):
                if not _DOTS.fullmatch(word.text) and left <= word.x <= word.right <= right:
                    steps[int((word.x - left) * scale)] += 1
                    steps[int((word.right - left) * scale) + 1] -= 1
    least = _RIVER_WIDTH * median(line.size for row in rows for line in row) * scale
    crossed, start = 0, 0
    for at, step in enumerate(steps):
        was = crossed
        crossed += step
        if was <= len(rows) / 8 < crossed and start and at - start >= least:
            yield left + (start + at) / 2 / scale
        elif crossed <= len(rows) / 8 < was:
            start = at


def _divides(rows: Sequence[_Printed], at: float) -> bool:
    """Tell a column's edge from spaces between words that happen to stand below each other."""
    gaps: list[float] = []
    numbers = cuts = 0
    for row in rows:
        words = [word for line in row for word in words_of(line) if not _DOTS.fullmatch(word.text)]
        before = [word for word in words if word.right <= at]
        after = [word for word in words if word.x >= at]
        if before and after:
            gaps.append((after[0].x - before[-1].right) / row[0].size)
            is_value = is_number(after[0].text)
            numbers += is_value
            cuts += gaps[-1] < _GAP_INSIDE_CELL and not is_value
    if not gaps or cuts > len(gaps) / 8:
        return False
    return median(gaps) >= _GAP_BETWEEN_WORDS or (len(gaps) > 2 and numbers >= 0.7 * len(gaps))


def _joined_horizontal(rules: Sequence[PdfRule]) -> list[PdfRule]:
    """Return the horizontal rules from top to bottom; pieces that touch are one rule."""
    joined: list[PdfRule] = []
    flat = (rule for rule in rules if rule.is_horizontal)
    for rule in sorted(flat, key=lambda rule: (-round(rule.y / _SAME_HEIGHT), rule.x)):
        last = joined[-1] if joined else rule
        if last.y - rule.y < _SAME_HEIGHT and last.x <= rule.x <= last.right + _SAME_HEIGHT:
            joined[-1:] = [last._replace(right=max(last.right, rule.right))]
        else:
            joined.append(rule)
    return joined


class _Grid:
    """The words of a candidate, sorted into columns and rows."""

    def __init__(
        self,
        printed: Sequence[_Printed],
        boundaries: Sequence[float],
        rules: Sequence[PdfRule],
        width: float,
    ) -> None:
        self._printed = printed
        self._boundaries = boundaries
        self._rules = rules
        self._width = len(boundaries) + 1
        self._heights = [
            rule.y
            for rule in rules
            if printed[-1][0].y < rule.y < printed[0][0].y and rule.right - rule.x > 0.6 * width
        ]
        self._cells = [self._cells_of(row) for row in printed]

    def table(self) -> PdfTable:
        header = self._header_count()
        names = [self._spanned(index, header) for index in range(header)]
        body = self._body_rows(header)
        rows = (*names, *(cells for cells, _ in body))
        lines = (*map(tuple, self._printed[:header]), *(tuple(used) for _, used in body))
        return PdfTable(tuple(map(tuple, rows)), header, lines)

    def _column(self, word: PdfWord) -> int:
        return bisect_right(self._boundaries, (word.x + word.right) / 2)

    def _cells_of(self, row: _Printed) -> list[TableCell]:
        found: dict[int, list[str]] = {}
        has_leaders = any(_LEADERS.search(line.text) for line in row)
        for line in row:
            for word in words_of(line):
                if not has_leaders or not _DOTS.fullmatch(word.text):
                    found.setdefault(self._column(word), []).append(word.text)
        cells = {column: clean_line(" ".join(words)) for column, words in found.items()}
        if has_leaders and 0 in cells:
            cells[0] = cells[0].rstrip(" .\u2026")
        return [TableCell(text, column) for column, text in sorted(cells.items()) if text]

    @cached_property
    def _is_ruled(self) -> bool:
        """Whether a rule divides every two rows, so that the lines between rules are one row."""
        if len(self._heights) < 2 or len(self._heights) + 1 < 0.3 * len(self._printed):
            return False
        # Two lines of numbers between two rules are two rows.
        strips = [
            sum(height > row[0].y for height in self._heights)
            for index, row in enumerate(self._printed)
            if self._is_numeric(index)
        ]
        return len(set(strips)) == len(strips)

    def _header_count(self) -> int:
        """Return how many printed lines are the header."""
        numeric = [self._is_numeric(index) for index in range(len(self._printed))]
        above_rules = [
            count
            for height in self._heights[: 1 if self._is_ruled else None]
            if (count := sum(row[0].y > height for row in self._printed)) <= _MAX_HEADER_ROWS
            and not any(numeric[:count])
        ]
        first = next((index for index, is_data in enumerate(numeric) if is_data), 0)
        if first > _MAX_HEADER_ROWS or 2 * sum(numeric) <= len(numeric) - first:
            first = 0
        if self._is_ruled and not first:
            return above_rules[0] if above_rules and self._stands_out(above_rules[0]) else 0
        if above_rules or first:
            return max((*above_rules, first))
        return 1 if len(self._printed) > 2 and self._stands_out(1) else 0

    def _is_numeric(self, index: int) -> bool:
        values = [cell.text for cell in self._cells[index] if cell.column]
        if not values or all(_YEAR.fullmatch(text) for text in values):
            return False
        return 2 * sum(map(is_number, values)) >= len(values)

    def _stands_out(self, count: int) -> bool:
        """Whether the first lines are set in another face, or name columns of numbers."""
        fonts = {line.font for row in self._printed[:count] for line in row}
        others = {line.font for row in self._printed[count:] for line in row}
        if fonts.isdisjoint(others) and "" not in fonts:
            return True
        named = {cell.column for row in self._cells[:count] for cell in row}
        body = self._cells[count:]
        numeric = sum(self._is_numeric(index) for index in range(count, len(self._printed)))
        return len(named) == self._width and 2 * numeric > len(body)

    def _spanned(self, index: int, header: int) -> list[TableCell]:
        """Return the names of a header line; a name above several columns covers them all."""
        cells, row = self._cells[index], self._printed[index]
        if index == header - 1 or len(row) >= self._width:
            return cells
        parts = [(clean_line(line.text), line) for line in row]
        spanned = [self._span_by_rule(text, line, row, index) for text, line in parts]
        if all(spanned):
            return [cell for cell in spanned if cell]
        return self._spans_by_center(parts) or [
            TableCell(text, self._column(words_of(line)[0]), self._reach(line))
            for text, line in parts
        ]

    def _reach(self, line: PdfLine) -> int:
        words = words_of(line)
        return self._column(words[-1]) - self._column(words[0]) + 1

    def _extents(self) -> list[tuple[float, float]]:
        left = min(row[0].x for row in self._printed)
        right = max(line.right for row in self._printed for line in row)
        return list(pairwise((left, *self._boundaries, right)))

    def _span_by_rule(
        self, text: str, line: PdfLine, row: _Printed, index: int
    ) -> TableCell | None:
        """Return a name with the columns above which only it has a rule below it."""
        below = self._printed[index + 1][0].y
        for rule in self._rules:
            over = [part for part in row if rule.x <= (part.x + part.right) / 2 <= rule.right]
            if below - 2 < rule.y < line.y and over == [line]:
                inside = [
                    column
                    for column, (left, right) in enumerate(self._extents())
                    if rule.x - 3 <= (left + right) / 2 <= rule.right + 3
                ]
                if inside and len(inside) < self._width:
                    return TableCell(text, inside[0], len(inside))
        return None

    def _spans_by_center(self, parts: Sequence[tuple[str, PdfLine]]) -> list[TableCell]:
        """Divide the columns equally, with or without the first, below names that are centred."""
        extents = self._extents()
        for begin in (1, 0):
            size, rest = divmod(self._width - begin, len(parts))
            if rest or size < 2:
                continue
            cells = [
                TableCell(text, begin + number * size, size)
                for number, (text, _) in enumerate(parts)
            ]
            if all(
                _is_centred(line, extents[cell.column][0], extents[cell.column + size - 1][1])
                for cell, (_, line) in zip(cells, parts, strict=True)
            ):
                return cells
        return []

    def _body_rows(self, header: int) -> list[tuple[list[TableCell], _Printed]]:
        rows: list[tuple[list[TableCell], _Printed]] = []
        waiting: list[int] = []  # Lines that only name a row, which goes on below.
        for index in range(header, len(self._printed)):
            cells, line = self._cells[index], self._printed[index]
            if rows and self._goes_on(index, header):
                self._append(rows[-1], cells, line)
            elif waiting:
                base = ([*self._cells[waiting[0]]], [*self._printed[waiting[0]]])
                self._append(base, cells, line)
                rows.append(base)
            elif self._names_next(index):
                waiting = [index]
                continue
            else:
                rows.append(([*cells], [*line]))
            waiting = []
        rows += [([*self._cells[at]], [*self._printed[at]]) for at in waiting]
        return rows

    def _goes_on(self, index: int, header: int) -> bool:
        """Whether a printed line belongs to the row above it."""
        above, row = self._printed[index - 1][0].y, self._printed[index][0].y
        if self._is_ruled:
            return index > header and not any(row < height < above for height in self._heights)
        cells = self._cells[index]
        if not cells:
            return True
        if above - row > 1.5 * self._printed[index][0].size:
            return False
        if cells[0].column == 0:
            return len(cells) == 1 and cells[0].text[0].islower()
        return not self._is_numeric(index) or not self._is_numeric(index - 1)

    def _names_next(self, index: int) -> bool:
        """Whether a line is the first part of a name that goes on in the next row."""
        if self._is_ruled or index + 1 >= len(self._printed):
            return False
        cells, following = self._cells[index], self._cells[index + 1]
        return (
            len(cells) == 1
            and cells[0].column == 0
            and len(following) > 1
            and following[0].column == 0
            and following[0].text[0].islower()
        )

    def _append(
        self, row: tuple[list[TableCell], _Printed], cells: Sequence[TableCell], line: _Printed
    ) -> None:
        known = {cell.column: cell for cell in row[0]}
        for cell in cells:
            before = known.get(cell.column)
            text = f"{before.text} {cell.text}" if before else cell.text
            known[cell.column] = cell._replace(text=text)
        row[0][:] = [known[column] for column in sorted(known)]
        row[1].extend(line)


def _is_centred(line: PdfLine, left: float, right: float) -> bool:
    return abs((left + right) - (line.x + line.right)) < 0.5 * (right - left)


def _is_plausible(table: PdfTable, width: int, has_rules: bool, is_divided: bool) -> bool:
    body = table.rows[table.header_rows :]
    filled = [row for row in body if len(row) > 1]
    if len(filled) < (2 if has_rules or table.header_rows else 3) or 2 * len(filled) < len(body):
        return False
    texts = [cell.text for row in body for cell in row]
    if max(map(len, texts)) > _MAX_CELL:
        return False
    first = [row[0].text for row in filled if row[0].column == 0]
    if first and all(_ITEM_MARK.fullmatch(text) for text in first) and width == 2:
        return False
    marks = sum(bool(_ITEM_MARK.fullmatch(text)) for text in first)
    is_numbered = width == 2 or marks > 0.7 * len(first)
    if is_numbered and _are_page_numbers([row[-1].text for row in table.rows if len(row) > 1]):
        return False
    # Formulas have gaps too, but neither words nor numbers, and hardly a column of labels.
    labels = _label_columns(body)
    readable = sum(
        is_number(cell.text) or bool(_WORD.search(cell.text)) or cell.column in labels
        for row in body
        for cell in row
    )
    if readable < 0.75 * len(texts):
        return False
    # Columns of running text that no rule divides are no table.
    rest = [len(cell.text) for row in filled for cell in row if cell.column]
    return is_divided or not (median(map(len, first or [""])) > 25 and median(rest) > 22)


def _label_columns(rows: Sequence[Sequence[TableCell]]) -> set[int]:
    """Return the columns of labels such as C1, C2, C3: all of one letter, no two alike."""
    columns: dict[int, list[str]] = {}
    for row in rows:
        for cell in row:
            columns.setdefault(cell.column, []).append(cell.text)
    return {
        column
        for column, texts in columns.items()
        if len(texts) > 2 and len(set(texts)) == len(texts)
        if all(map(_LABEL.fullmatch, texts)) and len({text[0] for text in texts}) == 1
    }


def _are_page_numbers(texts: Sequence[str]) -> bool:
    """Tell a table of contents: whole numbers that never decrease."""
    if not all(text.isdecimal() and len(text) < 5 for text in texts):
        return False
    return all(int(before) <= int(after) for before, after in pairwise(texts))
