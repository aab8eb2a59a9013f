"""Finds the tables of plain text: grids, simple tables, barred, comma-separated and aligned ones.

The forms, in the order in which they are tried at a line:
1. A grid: `+---+---+` above and below, `|` between the cells (reStructuredText, MySQL, tabulate).
2. A simple table: rules of two or more runs of `=`, such as `==== =====` (reStructuredText).
3. A barred table: cells between `|`, and a rule such as `---+---` or `|---|---|` below the header.
4. Separated values: as many tabs, commas or semicolons on every line.
5. Aligned columns: every column is apart from the next on all lines, and the header has a rule
   below it, or a column holds nothing but numbers below a name.
What fails a check stays text: a wrong row is worse than none.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from affidavit.documents.tables import TableCell, TableRow, is_number
from affidavit.documents.text_builder import clean_line

_MOST_LINES: Final = 5_000
"""Lines of one table; a limit on the search for the rule that closes a table."""
_MOST_HEADER_LINES: Final = 3
_LONGEST_NAME: Final = 60
_FEWEST_ROWS: Final = 2
_TAB_WIDTH: Final = 8
_SEPARATORS: Final = "\t,;"
_SIMPLE_RULE: Final = re.compile(r"[ \t]*=+(?:[ ]+=+)+[ \t]*$")
_UNDERLINE: Final = re.compile(r"[ \t]*-+(?:[ ]+-+)*[ \t]*$")
_COLUMN_RULE: Final = re.compile(r"[ ]*[-=_]{2,}(?:[ ]+[-=_]{2,})*[ ]*$")
_GRID_RULE: Final = re.compile(r"[+|](?:[-=:]+[+|])+$")
_GRID_START: Final = re.compile(r"[ \t]*\+(?:[-=]+\+)+[ \t]*$")
_BARRED_RULE: Final = re.compile(
    r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:[|+][ \t]*:?-+:?[ \t]*)+\|?[ \t]*$"
)
_PART_OF_RULE: Final = re.compile(r"\+[-=]+\+")
_PIECE: Final = re.compile(r"\S+(?: \S+)*")
_QUOTED: Final = re.compile('"[^"]*"')
_CODE: Final = re.compile(r"[{};|],?$|/\*|\*/|^\s*[#$>%] |(?:^| )= ")
"""Signs of program text, of a shell's prompt and of drawings."""
_YEAR: Final = re.compile(r"(?:19|20)\d\d$")
# The marks of reStructuredText around words: they would read as part of the word.
_MARKUP: Final = (
    (re.compile(r":[\w.+-]+:`([^`]*)`"), r"\1"),
    (re.compile(r"``([^`]*)``"), r"\1"),
    (re.compile(r"`([^`<]*?)(?:[ ]*<[^`>]*>)?`__?"), r"\1"),
    (re.compile(r"(?<![\w|])\|([^|\s](?:[^|]*[^|\s])?)\|_?(?![\w|])"), r"\1"),
    (re.compile(r"\*\*([^*]+)\*\*"), r"\1"),
)


class FoundTable(NamedTuple):
    """A table in the lines from `start` up to `end`."""

    start: int
    end: int
    rows: Sequence[TableRow]
    header_rows: int


def find_tables(lines: Sequence[str]) -> Iterator[FoundTable]:
    """Yield the tables among the lines, from top to bottom."""
    spaced = [line.expandtabs(_TAB_WIDTH).rstrip() for line in lines]
    at = 0
    while at < len(lines):
        table = _table_at(lines, spaced, at) if spaced[at] else None
        if table is not None:
            yield table
        at = at + 1 if table is None else table.end


def _table_at(lines: Sequence[str], spaced: Sequence[str], at: int) -> FoundTable | None:
    found = _grid(spaced, at) or _simple(spaced, at) or _barred(spaced, at)
    if found is not None or not _begins_paragraph(spaced, at):
        return found
    end = at
    while end < len(lines) and end - at < _MOST_LINES and spaced[end]:
        end += 1
    if any(_CODE.search(line) for line in spaced[at:end]):
        return None
    return _separated(lines, at, end) or _aligned(spaced, at, end)


def _begins_paragraph(lines: Sequence[str], at: int) -> bool:
    """Tell whether the line is the first of its paragraph, or the second, below a title."""
    return at < 2 or not lines[at - 1] or not lines[at - 2]


# Grids.


def _grid(lines: Sequence[str], at: int) -> FoundTable | None:
    if not _GRID_START.match(lines[at]) or "".join(lines[at + 1 : at + 2]).lstrip()[:1] != "|":
        return None
    end = at
    while end < len(lines) and end - at < _MOST_LINES and lines[end].lstrip()[:1] in {"+", "|"}:
        end += 1
    block = [line.strip() for line in lines[at:end]]
    if len({len(line) for line in block}) > 1 or not _GRID_RULE.match(block[-1]):
        return None
    rules = [line for line in block if _GRID_RULE.match(line) or _PART_OF_RULE.search(line)]
    edges = sorted({place for line in rules for place, mark in enumerate(line) if mark == "+"})
    bands, above, header_rows = _bands(block)
    if len(edges) < 3 or (len(bands) < 2 and len(bands[0]) < 2):
        return None
    if len(bands) == 2 and _are_lines_rows(bands, edges):
        bands = [bands[0], *([line] for line in bands[1])]
        above = [*above[:2], *[block[0]] * (len(bands) - 2)]
        header_rows = 1
    rows = _grid_rows(bands, above, edges)
    return FoundTable(at, end, rows, header_rows or _implied_header(rows))


def _bands(block: Sequence[str]) -> tuple[list[list[str]], list[str], int]:
    """Return the lines between the rules, the rule above each, and the rows above a `===` rule."""
    bands: list[list[str]] = []
    above: list[str] = []
    header_rows, is_open = 0, False
    for line in block:
        if _GRID_RULE.match(line) or _PART_OF_RULE.search(line):
            rule, is_open = line, False
            header_rows = len(bands) if "=" in line else header_rows
        elif is_open:
            bands[-1].append(line)
        else:
            bands.append([line])
            above.append(rule)
            is_open = True
    return bands or [[]], above, header_rows


def _are_lines_rows(bands: Sequence[Sequence[str]], edges: Sequence[int]) -> bool:
    """Tell the grid of a database client: one header line, then one line per row."""
    first = slice(edges[0] + 1, edges[1])
    return len(bands[0]) == 1 and all(line[first].strip() for line in bands[1])


def _grid_rows(
    bands: Sequence[Sequence[str]], above: Sequence[str], edges: Sequence[int]
) -> list[TableRow]:
    rows: list[dict[int, tuple[str, int]]] = []
    for band, rule in zip(bands, above, strict=True):
        cells: dict[int, tuple[str, int]] = {}
        for column, after in _spans(band, edges):
            inside = slice(edges[column] + 1, edges[after])
            text = _cell_text(line[inside] for line in band)
            is_apart = "-" in rule[inside] or "=" in rule[inside]
            if rows and not is_apart and column in rows[-1]:
                # A cell over several rows is in each of them.
                text = f"{rows[-1][column][0]} {text}".strip()
                rows[-1][column] = (text, after - column)
            cells[column] = (text, after - column)
        rows.append(cells)
    return [
        [TableCell(text, column, span) for column, (text, span) in cells.items()] for cells in rows
    ]


def _spans(band: Sequence[str], edges: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first column of every cell and the column behind its last."""
    first = 0
    for column in range(1, len(edges)):
        if all(line[edges[column]] in "|+" for line in band):
            yield first, column
            first = column


# Simple tables.


def _simple(lines: Sequence[str], at: int) -> FoundTable | None:
    rule = lines[at]
    if not _SIMPLE_RULE.match(rule):
        return None
    rules = _closing_rules(lines, at, rule)
    if not rules:
        return None
    columns = [found.span() for found in re.finditer("=+", rule)]
    if any(_is_outside(line, columns[0][0]) for line in lines[at + 1 : rules[-1]]):
        return None
    top = rules[0] if len(rules) == 2 else at
    header = _simple_rows(lines[at + 1 : top], columns, are_names=True)
    body = _simple_rows(lines[top + 1 : rules[-1]], columns, are_names=False)
    return FoundTable(at, rules[-1] + 1, [*header, *body], len(header)) if body else None


def _closing_rules(lines: Sequence[str], at: int, rule: str) -> list[int]:
    """Return the lines with the same rule, up to the one that a blank line follows."""
    found: list[int] = []
    for place in range(at + 1, min(len(lines), at + _MOST_LINES)):
        if lines[place] == rule:
            found.append(place)
            if place + 1 == len(lines) or not lines[place + 1]:
                return found
            if len(found) > 1:
                return []
    return []


def _is_outside(line: str, left: int) -> bool:
    return bool(line[:left].strip())


def _simple_rows(
    lines: Sequence[str], columns: Sequence[tuple[int, int]], *, are_names: bool
) -> list[TableRow]:
    rows: list[list[TableCell]] = []
    for line in lines:
        if _UNDERLINE.match(line):
            if rows:
                rows[-1] = list(_underlined(rows[-1], line, columns))
            continue
        cells = list(_cells_between(line, columns))
        # The first cell is empty: the line goes on with the row above.
        if cells and rows and cells[0].column > 0 and not are_names:
            rows[-1] = _joined(rows[-1], cells)
        elif cells:
            rows.append(cells)
    return [[cell._replace(text=_cell_text([cell.text])) for cell in row] for row in rows]


def _cells_between(line: str, columns: Sequence[tuple[int, int]]) -> Iterator[TableCell]:
    """Yield the cells of a line; text across a gap is in all the columns that it touches."""
    ends = [*(start for start, _ in columns[1:]), len(line)]
    is_aligned = not any(
        line[end:after].strip() for (_, end), after in zip(columns, ends[:-1], strict=False)
    )
    if is_aligned:
        for column, ((start, _), end) in enumerate(zip(columns, ends, strict=True)):
            if line[start:end].strip():
                yield TableCell(line[start:end].strip(), column)
        return
    for piece in _PIECE.finditer(line):
        touched = [
            column
            for column, (start, end) in enumerate(columns)
            if piece.start() < end and start < piece.end()
        ]
        if touched:
            yield TableCell(piece[0], touched[0], len(touched))


def _underlined(
    row: Sequence[TableCell], underline: str, columns: Sequence[tuple[int, int]]
) -> Iterator[TableCell]:
    """Yield the cells as the runs of dashes below them group the columns."""
    for found in re.finditer("-+", underline):
        covered = [
            number
            for number, (start, _) in enumerate(columns)
            if found.start() <= start < found.end()
        ]
        text = " ".join(cell.text for cell in row if cell.column in covered)
        if covered and text:
            yield TableCell(text, covered[0], len(covered))


def _joined(above: Sequence[TableCell], more: Sequence[TableCell]) -> list[TableCell]:
    texts = {cell.column: cell for cell in above}
    for cell in more:
        before = texts.get(cell.column)
        texts[cell.column] = (
            cell if before is None else before._replace(text=f"{before.text} {cell.text}")
        )
    return [texts[column] for column in sorted(texts)]


# Barred tables.


def _barred(lines: Sequence[str], at: int) -> FoundTable | None:
    if at + 2 >= len(lines) or "|" not in lines[at] or not _BARRED_RULE.match(lines[at + 1]):
        return None
    header = _between_bars(lines[at])
    end, rows = at + 2, [header]
    while end < len(lines) and end - at < _MOST_LINES and "|" in lines[end]:
        rows.append(_between_bars(lines[end]))
        end += 1
    if len(rows) < 2 or len(header) < 2 or any(len(row) != len(header) for row in rows):
        return None
    return FoundTable(at, end, _plain_rows(rows), 1)


def _between_bars(line: str) -> list[str]:
    return line.strip().removeprefix("|").removesuffix("|").split("|")


def _plain_rows(rows: Sequence[Sequence[str]]) -> list[TableRow]:
    return [
        [TableCell(_cell_text([text]), column) for column, text in enumerate(row)] for row in rows
    ]


# Separated values.


def _separated(lines: Sequence[str], start: int, end: int) -> FoundTable | None:
    if end - start <= _FEWEST_ROWS:
        return None
    for separator in _SEPARATORS:
        if separator in lines[start] and separator in lines[start + 1]:
            rows = _values(lines[start:end], separator)
            if rows:
                return FoundTable(start, end, _plain_rows(rows), 1)
    return None


def _values(lines: Sequence[str], separator: str) -> list[list[str]]:
    """Return the fields of every line, or nothing if the lines are no table of values."""
    if f"{separator} " in _QUOTED.sub("", lines[0]):
        return []  # A space behind the comma: a sentence has commas too.
    try:
        rows = list(csv.reader(lines, delimiter=separator, strict=True))
    except csv.Error:
        return []
    width = len(rows[0])
    if width < 2 or len(rows) != len(lines) or any(len(row) != width for row in rows):
        return []
    is_quoted = all(field.startswith('"') for field in lines[0].split(separator))
    starts = all(name.strip()[:1].isalpha() or _YEAR.match(name.strip()) for name in rows[0])
    is_table = starts and _are_names(rows[0]) and (is_quoted or _number_columns(rows[1:]))
    return rows if is_table and len(set(rows[0])) == width else []


# Aligned columns.


def _aligned(lines: Sequence[str], start: int, end: int) -> FoundTable | None:
    block = lines[start:end]
    rules = [place for place, line in enumerate(block) if _COLUMN_RULE.match(line)]
    texts = [line for line in block if not _COLUMN_RULE.match(line)]
    header_rows = sum(place not in rules for place in range(rules[0])) if rules else 1
    if rules and rules[0] == 0:
        header_rows = next((place - 1 for place in rules[1:]), 0)
    if not 0 < header_rows <= _MOST_HEADER_LINES or len(texts) - header_rows < _FEWEST_ROWS:
        return None
    if any(len(_PIECE.findall(line)) < 2 for line in texts[: header_rows - 1]):
        return None  # A title: the table begins below it.
    runs = [found.span() for found in re.finditer(r"\S+", block[rules[0]])] if rules else []
    columns = _below_runs(texts, runs) or _columns(texts, header_rows, is_ruled=bool(rules))
    if len(columns) < 2:
        return None
    rows = [[line[left:right].strip() for left, right in columns] for line in texts]
    names = [" ".join(filter(None, cells)) for cells in zip(*rows[:header_rows], strict=True)]
    body = rows[header_rows:]
    if not _are_names([name for name in names[:1] if name] + names[1:]) or not _is_filled(body):
        return None
    numbers = _number_columns(body)
    # Two columns without a rule may be a list of words, so they need one row more.
    enough = bool(rules) or (numbers and len(body) >= (_FEWEST_ROWS + (len(columns) == 2)))
    return FoundTable(start, end, _plain_rows(rows), header_rows) if enough else None


def _below_runs(lines: Sequence[str], runs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the columns as the runs of a rule divide them, unless text crosses a gap."""
    starts = [start for start, _ in runs[1:]]
    gaps = list(zip((end for _, end in runs), starts, strict=False))
    if len(runs) < 2 or any(line[end:start].strip() for line in lines for end, start in gaps):
        return []
    width = max(map(len, lines))
    return [(start, end) for (start, _), end in zip(runs, (*starts, width), strict=True)]


def _columns(lines: Sequence[str], header_rows: int, *, is_ruled: bool) -> list[tuple[int, int]]:
    """Return where the columns are: between gaps that all lines have in the same place.

    A gap of one space only divides a column of numbers from its neighbour, below a ruled header.
    """
    width = max(map(len, lines))
    padded = [line.ljust(width) for line in lines]
    blank = [all(line[place] == " " for line in padded) for place in range(width)]
    filled = "".join(" " if is_blank else "x" for is_blank in blank)
    columns: list[tuple[int, int]] = []
    for found in re.finditer("x+", filled):
        start, end = found.span()
        if columns and start - columns[-1][1] < 2:
            left, before = columns[-1]
            sides = [(line[left:before], line[start:end]) for line in padded[header_rows:]]
            are_values = all(
                all(map(str.strip, pair)) and any(is_number(side.strip()) for side in pair)
                for pair in sides
            )
            if not (is_ruled and are_values):
                columns[-1] = (left, end)
                continue
        columns.append((start, end))
    return columns


def _is_filled(rows: Sequence[Sequence[str]]) -> bool:
    """Tell whether every row has a first cell and another one, and most cells are not empty."""
    filled = sum(bool(text) for row in rows for text in row)
    return all(row[0] and any(row[1:]) for row in rows) and 4 * filled >= 3 * len(rows) * len(
        rows[0]
    )


# What a header and a value are.


def _are_names(texts: Sequence[str]) -> bool:
    """Tell whether the texts can be the names of columns: short words, or several years."""
    years = sum(bool(_YEAR.match(text.strip())) for text in texts)
    names = [text for text in texts if not _YEAR.match(text.strip())]
    return years != 1 and all(
        any(map(str.isalpha, text))
        and len(text) <= _LONGEST_NAME
        and not text.rstrip().endswith((".", ",", ";"))
        and not is_number(text.strip())
        for text in names
    )


def _number_columns(rows: Sequence[Sequence[str]]) -> bool:
    """Tell whether a column has numbers only; a dash alone or an empty cell is none."""
    return any(
        all(is_number(text.strip()) for text in column)
        and any(character.isdecimal() for text in column for character in text)
        for column in zip(*rows, strict=True)
    )


def _implied_header(rows: Sequence[TableRow]) -> int:
    """Return 1 if the first row can only be names: words above a column of numbers."""
    width = {len(row) for row in rows}
    texts = [[cell.text for cell in row] for row in rows]
    if len(width) > 1 or len(rows) <= _FEWEST_ROWS or not _are_names(texts[0]):
        return 0
    return int(_number_columns(texts[1:]))


def _cell_text(lines: Iterable[str]) -> str:
    text = clean_line(" ".join(line.strip() for line in lines))
    for mark, plain in _MARKUP:
        text = mark.sub(plain, text)
    return text
