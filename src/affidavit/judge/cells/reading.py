"""Reads a claim about cells of a table: finds row and column by their names, and compares.

The readers of `documents` write one line per row: `| Plan: Annual; price: 20 EUR. |`. The steps:
1. Parse the rows of all passages into tables; a table may go on in the next passage.
2. Find the row whose name the claim says, and the column whose name the claim says.
3. Compare the claimed value, comparison or difference with the cells.
Where the row, the column or the value is not certain, nothing is found: a wrong word about a
cell is worse than none. Not covered: superlatives over rows, sums, shares and negated claims.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final

from msgspec import Struct

from affidavit.judge.cells.claims import (
    ABOUT,
    FAST,
    FELL,
    LASTS,
    LESS,
    MORE,
    ROSE,
    SKIPPED,
    SLOW,
    YEAR,
    CellAmount,
    CellClaim,
    cell_amount,
    read_claim,
    word_set,
)
from affidavit.judge.cells.places import NOWHERE, CellPlace, Places, find_mention, locate
from affidavit.judge.cells.rows import ROW, ParsedTable, parse_tables
from affidavit.judge.cells.values import TableContext, unit_of, value_agrees
from affidavit.judge.lexical.lexicon import Kind
from affidavit.judge.lexical.tables import STOP_WORDS
from affidavit.judge.lexical.tokens import norm_at
from affidavit.judge.lexical.units import Unit
from affidavit.ledger.model import Span

_NUMBERED: Final = frozenset({"per", "table", "figure", "section", "chapter", "page", "appendix"})
"""The number behind one of these words says which one is meant; it is no value of a cell."""


class QuotedCell(Struct, frozen=True, kw_only=True):
    """A cell that was compared, with the place of its row in a passage."""

    passage: int
    span: Span
    row: str
    column: str
    value: str


class CellFinding(Struct, frozen=True, kw_only=True):
    """What the cells say of a claim: they agree with it, or they conflict with it."""

    agrees: bool
    cells: tuple[QuotedCell, ...]
    note: str


def read_cells(
    claim: str, passages: Sequence[str], headings: Sequence[str] = ()
) -> CellFinding | None:
    """Return what the tables of the passages say of the claim; None if that is not certain.

    `headings` are titles and captions that hold for the passages without being part of them.
    """
    read = read_claim(claim)
    if read is None:
        return None
    found = []
    for table in parse_tables(passages):
        used = sorted({row.passage for row in table.rows})
        around = " ".join((*headings, *(ROW.sub(" ", passages[number]) for number in used)))
        finding = _examine(read, table, TableContext(around))
        if finding is not None:
            found.append(finding)
    best = max((weight for weight, _ in found), default=0)
    outcomes = [finding for weight, finding in found if weight == best]
    if len({finding.agrees for finding in outcomes}) != 1:
        return None
    return outcomes[0]


def _examine(
    claim: CellClaim, table: ParsedTable, context: TableContext
) -> tuple[Fraction, CellFinding] | None:
    norms = [token.word.norm for token in claim.tokens]
    than = norms.index("than") if "than" in norms else 0
    if (MORE | LESS) & set(norms[:than]):
        is_bound = any(said.bound and than < said.first for said in claim.amounts)
        found = _compared(claim, table, context, norms)
        return _stated(claim, table, context) if found is None and is_bound else found
    if {"differ", "differs", "difference"} & set(norms):
        return _apart(claim, table, context, norms)
    if "by" in norms and (ROSE | FELL) & set(norms) and "to" in norms:
        return _changed(claim, table, context, norms)
    span = next((place for place, norm in enumerate(norms) if norm in {"after", "before"}), 0)
    if span and any(said.unit_end == span and said.unit for said in claim.amounts):
        return _later(claim, table, context, span)
    return _stated(claim, table, context)


def _all(claim: CellClaim, start: int = 0, end: int | None = None) -> Places:
    return frozenset(range(start, len(claim.tokens) if end is None else end))


def _stated(
    claim: CellClaim, table: ParsedTable, context: TableContext
) -> tuple[Fraction, CellFinding] | None:
    """Compare "the price of X is 20" with the price of X."""
    values = {place for said in claim.amounts for place in range(said.first, said.unit_end)}
    kinds = frozenset(said.kind for said in claim.amounts) | {"text"}
    for own, wanted in ((_all(claim), kinds), (_all(claim) - values, kinds - {"text"})):
        ats = locate(table, claim, own, NOWHERE, wanted) if wanted else []
        found = [
            _cell_stated(claim, table, at, context)
            for at in ats
            if _is_covered(claim, table, [at], context)
        ]
        told = [each for each in found if each is not None]
        if len(told) == len(ats) and len({each.agrees for _, each in told}) == 1:
            return told[0]
    return None


def _cell_stated(
    claim: CellClaim, table: ParsedTable, at: CellPlace, context: TableContext
) -> tuple[Fraction, CellFinding] | None:
    if cell_amount(at.cell.text) is None:
        return _text_stated(claim, table, at)
    said = _claimed(claim, [at], context)
    agrees = value_agrees(claim, said, at, context) if said else None
    return None if agrees is None else _finding(agrees, [at])


def _text_stated(
    claim: CellClaim, table: ParsedTable, at: CellPlace
) -> tuple[Fraction, CellFinding] | None:
    """Compare a cell of words: the claim has all of them, or all of another row's."""
    if not at.score:
        return None
    free = _all(claim) - at.row_places - at.column_places
    own = find_mention(at.cell.text, claim, free)
    others = [
        find_mention(cell.text, claim, free)
        for row in table.rows
        for cell in row.cells
        if cell.column == at.cell.column and cell.text != at.cell.text
    ]
    best = max(others, key=len, default=NOWHERE)
    # Words that the row's name shares with the cell may have been said for either.
    is_shared = not own and bool(find_mention(at.cell.text, claim, _all(claim)))
    if own == best or is_shared or (own and len(own) <= len(best)):
        return None
    return _finding(bool(own), [at])


def _claimed(
    claim: CellClaim, ats: Sequence[CellPlace], context: TableContext
) -> CellAmount | None:
    """Return the one number of the claim that no name, rate or date of the table explains."""
    taken = NOWHERE.union(*(at.row_places | at.column_places for at in ats))
    left = _free_amounts(claim, taken)
    if len(left) > 1:
        names = {(number.kind, number.value) for at in ats for number in _row_numbers(at)}
        left = [
            said
            for said in left
            if not _is_scenery(claim, said, context) or (said.kind, said.value) in names
        ] or left
    return left[0] if len(left) == 1 else None


def _free_amounts(claim: CellClaim, taken: Places) -> list[CellAmount]:
    """Return the amounts of the claim that name nothing: neither a row nor "Table 4"."""
    return [
        said
        for said in claim.amounts
        if said.first not in taken and norm_at(claim.tokens, said.first - 1) not in _NUMBERED
    ]


def _row_numbers(at: CellPlace) -> Iterator[CellAmount]:
    amount = cell_amount(at.cell.text)
    if amount is not None:
        yield amount


def _is_scenery(claim: CellClaim, said: CellAmount, context: TableContext) -> bool:
    """Tell whether the text around the table has the number: its year, date or "16-bit"."""
    is_named = (said.kind, said.value) in context.numbers
    is_part = norm_at(claim.tokens, said.end) == "-"
    return is_named and (said.kind == "date" or is_part or bool(YEAR.match(said.text)))


def _is_covered(
    claim: CellClaim, table: ParsedTable, ats: Sequence[CellPlace], context: TableContext
) -> bool:
    """Tell whether most words of the claim are in the row, its columns or the text around them."""
    columns = {at.cell.column for at in ats}
    known = set(context.words).union(*map(word_set, table.columns))
    for row in table.rows:
        is_meant = any(row is at.row for at in ats)
        for cell in row.cells:
            if is_meant or cell.column in columns:
                known |= word_set(cell.text)
    named = NOWHERE.union(*(at.row_places | at.column_places for at in ats))
    units = {place for said in claim.amounts for place in range(said.first, said.unit_end)}
    telling = [
        place
        for place, token in enumerate(claim.tokens)
        if token.word.kind is Kind.WORD
        and token.word.norm not in STOP_WORDS | SKIPPED | MORE | LESS | ROSE | FELL | ABOUT
        and place not in units
    ]
    met = [place for place in telling if place in named or claim.words[place] & known]
    return 5 * len(met) >= 3 * len(telling)


def _compared(
    claim: CellClaim, table: ParsedTable, context: TableContext, norms: Sequence[str]
) -> tuple[Fraction, CellFinding] | None:
    """Compare "A is (20) higher than B"."""
    cut = norms.index("than")
    word = next(norm for norm in reversed(norms[:cut]) if norm in MORE | LESS)
    pair = _locate_two(claim, table, _all(claim, 0, cut), _all(claim, cut + 1))
    if pair is None or not _is_covered(claim, table, pair, context):
        return None
    sign = 1 if word in MORE else -1
    if word in FAST | SLOW and word_set(pair[0].cell.column) & LASTS:
        sign = -sign
    return _difference(claim, context, pair, sign)


def _apart(
    claim: CellClaim, table: ParsedTable, context: TableContext, norms: Sequence[str]
) -> tuple[Fraction, CellFinding] | None:
    """Compare "A and B differ by 20"."""
    verb = next(place for place, norm in enumerate(norms) if norm.startswith("differ"))
    start, end = (0, verb) if norms[verb] != "difference" else (verb + 1, len(norms))
    joints = [place for place in range(start, end) if norms[place] == "and"]
    if len(joints) != 1:
        return None
    pair = _locate_two(claim, table, _all(claim, 0, joints[0]), _all(claim, joints[0] + 1))
    if pair is None or not _is_covered(claim, table, pair, context):
        return None
    return _difference(claim, context, pair, 0)


def _changed(
    claim: CellClaim, table: ParsedTable, context: TableContext, norms: Sequence[str]
) -> tuple[Fraction, CellFinding] | None:
    """Compare "rose by 20 from A to B"."""
    first = max((place for place, norm in enumerate(norms) if norm == "from"), default=-1)
    cut = next((place for place in range(first + 1, len(norms)) if norms[place] == "to"), -1)
    if first < 0 or cut < 0:
        return None
    before = _all(claim, first + 1, cut)
    pair = _locate_two(claim, table, _all(claim, cut + 1), before, _all(claim, 0, first))
    if pair is None or not _is_covered(claim, table, pair, context):
        return None
    return _difference(claim, context, pair, 1 if ROSE & set(norms) else -1)


def _later(
    claim: CellClaim, table: ParsedTable, context: TableContext, cut: int
) -> tuple[Fraction, CellFinding] | None:
    """Compare "A comes 20 minutes after B"."""
    pair = _locate_two(claim, table, _all(claim, 0, cut), _all(claim, cut + 1))
    if pair is None or not _is_covered(claim, table, pair, context):
        return None
    return _difference(claim, context, pair, 1 if norm_at(claim.tokens, cut) == "after" else -1)


def _locate_two(
    claim: CellClaim, table: ParsedTable, one: Places, two: Places, shared: Places = NOWHERE
) -> list[CellPlace] | None:
    numbers = frozenset({"number", "clock", "date"})
    found = [
        locate(table, claim, one | shared, two, numbers),
        locate(table, claim, two | shared, one, numbers),
    ]
    columns = [ats[0].cell.column if len(ats) == 1 and ats[0].score else "" for ats in found]
    for side, own, other in ((0, one, two), (1, two, one)):
        if not columns[side] and columns[1 - side]:
            found[side] = locate(
                table, claim, own | shared, other, numbers, target=columns[1 - side]
            )
    if not all(len(ats) == 1 for ats in found):
        return None
    first, second = found[0][0], found[1][0]
    is_same = (first.row, first.cell) == (second.row, second.cell)
    if is_same or (first.row != second.row and first.cell.column != second.cell.column):
        return None
    return [first, second]


def _difference(
    claim: CellClaim, context: TableContext, pair: Sequence[CellPlace], sign: int
) -> tuple[Fraction, CellFinding] | None:
    """Compare the claimed difference, or its sign alone where the claim has no number."""
    one, two = (cell_amount(at.cell.text) for at in pair)
    if one is None or two is None or (one.kind, one.unit) != (two.kind, two.unit):
        return None
    if one.is_about or two.is_about or one.kind == "version":
        return None
    real = one.value - two.value
    said = _claimed(claim, pair, context)
    if said is None:
        taken = NOWHERE.union(*(at.row_places | at.column_places for at in pair))
        left = _free_amounts(claim, taken)
        return _finding(real * sign > 0, pair) if not left and sign else None
    value = _in_unit_of(said, pair[0], one.kind, context)
    if value is None:
        return None
    met = abs(real) if sign == 0 else sign * real
    is_near = said.is_about and abs(value - met) * 20 <= abs(met)
    return _finding(value == met or is_near, pair)


def _in_unit_of(
    said: CellAmount, at: CellPlace, kind: str, context: TableContext
) -> Fraction | None:
    """Return a claimed difference in the unit of the cells: minutes for times of day."""
    if kind == "date" or (kind == "clock" and said.unit is None):
        return None
    if said.unit is None:
        return said.value
    minute = Unit("days", Fraction(1, 1440))
    unit = minute if kind == "clock" else unit_of(at, said.unit, context)
    if unit is None or unit.dimension != said.unit.dimension or unit.dimension == "ratio":
        return None
    return said.value * said.unit.factor / unit.factor


def _finding(agrees: bool, ats: Sequence[CellPlace]) -> tuple[Fraction, CellFinding]:
    weight = sum((len(at.row_places) + at.score for at in ats), Fraction(0))
    cells = tuple(
        QuotedCell(
            passage=at.row.passage,
            span=at.row.span,
            row=at.row.text,
            column=at.cell.column,
            value=at.cell.text,
        )
        for at in ats
    )
    said = " and ".join(
        f'"{cell.value}"' + (f' under "{cell.column}"' if cell.column else "") + f' in "{cell.row}"'
        for cell in cells
    )
    return weight, CellFinding(agrees=agrees, cells=cells, note=f"the table has {said}")
