"""Reads a claim about cells of a table: finds row and column by their names, and compares.

The readers of `documents` write one line per row: `| Plan: Annual; price: 20 EUR. |`. The steps:
1. Parse the rows of all passages into tables; a table may go on in the next passage.
2. Find the row whose name the claim says, and the column whose name the claim says.
3. Compare the claimed value, comparison or difference with the cells.
Where the row, the column or the value is not certain, nothing is found: a wrong word about a
cell is worse than none. Not covered: superlatives over rows, sums, shares and negated claims.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from types import MappingProxyType
from typing import Final, NamedTuple

from msgspec import Struct

from affidavit.judge.lexical.lexicon import Kind
from affidavit.judge.lexical.numerals import find_numeral, value_of_digits
from affidavit.judge.lexical.stemming import stem
from affidavit.judge.lexical.tables import STOP_WORDS, cues, listed
from affidavit.judge.lexical.tokens import Token, norm_at, tokens_of
from affidavit.judge.lexical.units import Unit, find_unit, money_named
from affidavit.ledger.model import Span


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
    read = _read_claim(claim)
    if read is None:
        return None
    around = " ".join((*headings, *(_ROW.sub(" ", passage) for passage in passages)))
    found = [
        finding
        for table in _tables(passages)
        if (finding := _examine(read, table, _Context(around)))
    ]
    best = max((weight for weight, _ in found), default=0)
    outcomes = [finding for weight, finding in found if weight == best]
    if len({finding.agrees for finding in outcomes}) != 1:
        return None
    return outcomes[0]


# 1. Rows and tables.

_ROW: Final = re.compile(r"^\| (.*\S) \|[ \t]*$", re.M)


class _Cell(NamedTuple):
    column: str
    """The name of its column; "" for the name of the row."""
    text: str


class _Row(NamedTuple):
    cells: tuple[_Cell, ...]
    passage: int
    span: Span
    text: str


class _Table(NamedTuple):
    rows: tuple[_Row, ...]
    columns: tuple[str, ...]


def _tables(passages: Sequence[str]) -> list[_Table]:
    """Return the tables, in order; rows with the columns of an earlier table go on with it."""
    tables: list[list[_Row]] = []
    for number, passage in enumerate(passages):
        lines: list[_Row] = []
        end = -1
        for found in _ROW.finditer(passage):
            line = _Row((), number, Span(*found.span()), found[0].rstrip())
            if lines and passage[end : found.start()].strip():
                _add_rows(tables, lines)
                lines = []
            lines.append(line)
            end = found.end()
        _add_rows(tables, lines)
    return [
        _Table(tuple(rows), tuple(dict.fromkeys(cell.column for row in rows for cell in row.cells)))
        for rows in tables
    ]


def _add_rows(tables: list[list[_Row]], lines: Sequence[_Row]) -> None:
    heads = [line.text[2:-2].split("; ", 1)[0].split(": ") for line in lines]
    named = _shared_names(heads)
    rows = [line._replace(cells=tuple(_cells(line.text, named))) for line in lines]
    rows = [row for row in rows if len(row.cells) > 1]
    if not rows:
        return
    columns = {cell.column for row in rows for cell in row.cells}
    for table in tables:
        known = {cell.column for row in table for cell in row.cells}
        if 2 * len(known & columns - {""}) > len((known | columns) - {""}):
            there = {row.text for row in table}
            table.extend(row for row in rows if row.text not in there)
            return
    tables.append(rows)


def _shared_names(heads: Sequence[Sequence[str]]) -> int:
    """Return how many parts of a row's beginning are names of rows, not of the first column."""
    if len(heads) < 2:
        return max(len(heads[0]) - 2, 0) if heads else 0
    for place in range(min(map(len, heads)) - 1):
        if len({head[place] for head in heads}) == 1:
            is_label = len({tuple(head[place + 1 : place + 2]) for head in heads}) == 1
            return place + (is_label and min(map(len, heads)) > place + 2)
    return max(min(map(len, heads)) - 2, 1)


def _cells(line: str, named: int) -> Iterator[_Cell]:
    body = line[2:-2].removesuffix(".") if not line.endswith("... |") else line[2:-2]
    first, *others = body.split("; ")
    *heads, value = first.split(": ", named + 1) if first.count(": ") >= named else [first]
    yield from (_Cell("", head) for head in heads[:named])
    if len(heads) > named:
        yield _Cell(heads[named], value)
    elif value:
        yield _Cell("", value)
    for part in others:
        name, colon, text = part.partition(": ")
        yield _Cell(name, text) if colon else _Cell("", name)


# 2. Words: of names, of cells and of the claim.


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])|_")
_MONTHS: Final = MappingProxyType(
    {name: names.split()[0] for names in listed("months") for name in names.split()}
)
# Words of which one may stand for another in the name of a column.
_SAME_MEASURE: Final = MappingProxyType(
    {
        stem(word): group.split()[0]
        for group in (
            "mean average averaged avg",
            "max maximum highest largest greatest biggest peak longest widest tallest fastest most "
            "warmest hottest heaviest oldest deepest top",
            "min minimum lowest smallest least shortest narrowest slowest coldest coolest lightest "
            "youngest fewest",
            "speed fast faster quick quicker slow slower velocity",
            "temperature temp warm warmer hot hotter cold colder cool cooler",
            "price cost costs cheap cheaper expensive",
            "weight mass heavy heavier light lighter",
            "second sec s",
            "number count no",
            "percent percentage share pct proportion",
        )
        for word in group.split()
    }
)
# What an adjective says besides its degree: the widest has the largest width.
_DIMENSIONS: Final = MappingProxyType(
    {
        word: stem(measure)
        for measure, words in (
            ("length", "longest shortest longer shorter long"),
            ("width", "widest narrowest wider narrower wide"),
            ("height", "tallest taller"),
            ("depth", "deepest shallowest deeper shallower"),
            ("age", "oldest youngest older younger"),
            ("weight", "heaviest lightest heavier lighter"),
            ("speed", "fastest slowest"),
            ("temperature", "warmest hottest coldest coolest"),
        )
        for word in words.split()
    }
)
_MORE: Final = _words(
    "higher larger greater more bigger longer wider taller faster quicker warmer hotter heavier "
    "older deeper later brighter denser stronger louder costlier"
)
_LESS: Final = _words(
    "lower smaller less fewer shorter narrower slower colder cooler lighter younger shallower "
    "earlier cheaper weaker"
)
_ROSE: Final = _words("rose rise risen increased increase grew grow climbed gained went")
_FELL: Final = _words(
    "fell fall fallen decreased decrease dropped drop declined decline sank shrank"
)
_FAST: Final = frozenset({"faster", "quicker"})
_SLOW: Final = frozenset({"slower"})
_LASTS: Final = frozenset(map(stem, _words("time latency duration ms elapsed runtime")))
_NEGATIONS: Final = cues("negation") - {"zero"}
_ABOUT: Final = _words("about around roughly approximately nearly almost some circa ~")
_SKIPPED: Final = _words(
    "has have had is was were are be been of the a an in on at for with to from by and or than "
    "that this it its their value values row column table data set dataset according listed given "
    "entry shows show stands there per as which"
)


def _keys(norm: str) -> frozenset[str]:
    root = stem(norm)
    found = {root, stem(_MONTHS.get(norm, norm))}
    if root in _SAME_MEASURE:
        found.add("=" + _SAME_MEASURE[root])
    if norm in _DIMENSIONS:
        found.add(_DIMENSIONS[norm])
    return frozenset(found)


def _name_words(name: str) -> tuple[frozenset[str], ...]:
    """Return the words of a name that say something, each with what it may be called."""
    plain = " ".join(_CAMEL.split(name))
    norms = [token.word.norm for token in tokens_of(plain) if token.word.kind is not Kind.MARK]
    telling = [norm for norm in norms if norm not in STOP_WORDS and norm not in _SKIPPED]
    return tuple(_keys(norm) for norm in telling or norms)


class _Claim(NamedTuple):
    tokens: tuple[Token, ...]
    words: tuple[frozenset[str], ...]
    """What each token can be called."""
    amounts: tuple["_Amount", ...]


class _Amount(NamedTuple):
    """A number of the claim or of a cell, from token `first` up to before token `end`."""

    value: Fraction
    first: int
    end: int
    unit: Unit | None = None
    kind: str = "number"
    is_about: bool = False
    decimals: int = 0
    text: str = ""
    bound: str = ""
    unit_end: int = 0
    """The token behind its unit."""
    rate: str = ""
    """The unit as written, where it is one per another: MB/s."""
    step: Fraction = Fraction(0)
    """What the writer rounded to: a million, in "2 million"."""


def _read_claim(claim: str) -> _Claim | None:
    tokens = tokens_of(claim)
    if any(token.word.norm in _NEGATIONS or token.word.norm.endswith("n't") for token in tokens):
        return None
    words = tuple(_keys(token.word.norm) for token in tokens)
    return _Claim(tokens, words, tuple(_amounts(tokens)))


_CLOCK: Final = re.compile(r"(\d{1,2}):(\d{2})$")
_VERSION: Final = re.compile(r"\d+(?:\.\d+){2,}$")
_DATE: Final = re.compile(r"(\d{4})-(\d{2})-(\d{2})$")
_BOUNDS: Final = (
    (("more", "than"), ">"), (("greater", "than"), ">"), (("over",), ">"), (("above",), ">"),
    (("exceeds",), ">"), (("less", "than"), "<"), (("fewer", "than"), "<"), (("under",), "<"),
    (("below",), "<"), (("at", "least"), ">="), (("at", "most"), "<="), (("up", "to"), "<="),
)  # fmt: skip


def _amounts(tokens: Sequence[Token]) -> Iterator[_Amount]:
    at = 0
    while at < len(tokens):
        found = _amount_at(tokens, at)
        if found is None:
            at += 1
        else:
            yield found
            at = found.end


def _amount_at(tokens: Sequence[Token], at: int) -> _Amount | None:
    text = tokens[at].text
    about = norm_at(tokens, at - 1) in _ABOUT or tokens[at - 1].text == "~" if at else False
    bound = next(
        (
            sign
            for phrase, sign in _BOUNDS
            if tuple(norm_at(tokens, at - len(phrase) + step) for step in range(len(phrase)))
            == phrase
        ),
        "",
    )
    clock = _CLOCK.match(text)
    if clock:
        minutes = Fraction(60 * int(clock[1]) + int(clock[2]))
        return _Amount(minutes, at, at + 1, kind="clock", is_about=about, text=text, bound=bound)
    day = _date_at(tokens, at)
    if day is not None:
        return day
    if _VERSION.match(text):
        return _Amount(Fraction(0), at, at + 1, kind="version", text=text)
    money = money_named(tokens[at - 1]) if at else None
    numeral = find_numeral(tokens, at, money is not None) if _starts_number(tokens, at) else None
    if numeral is None or numeral.shape == "ordinal":
        return None
    unit, unit_end = _unit_at(tokens, numeral.end)
    rate = ""
    if unit and norm_at(tokens, unit_end) == "/" and unit_end + 1 < len(tokens):
        rate = "".join(token.text for token in tokens[numeral.end : unit_end + 2])
        unit_end += 2
    sign = -1 if at and tokens[at - 1].text in "-\u2212" and _is_apart(tokens, at - 1) else 1
    return _Amount(
        value=sign * numeral.value,
        first=at,
        end=numeral.end,
        unit=money or unit,
        unit_end=unit_end,
        rate=rate,
        is_about=about,
        step=numeral.step,
        decimals=len(text.partition(".")[2]) if value_of_digits(text) is not None else 0,
        text=text,
        bound=bound,
    )


_MILLISECOND: Final = Unit("days", Fraction(1, 86_400_000))
_FURTHER_UNITS: Final = MappingProxyType(
    {
        "ms": _MILLISECOND,
        "millisecond": _MILLISECOND,
        "milliseconds": _MILLISECOND,
        "s": Unit("days", Fraction(1, 86_400)),
        "h": Unit("days", Fraction(1, 24)),
        "bit": Unit("data", Fraction(1, 8)),
        "bits": Unit("data", Fraction(1, 8)),
    }
)


def _unit_at(tokens: Sequence[Token], at: int) -> tuple[Unit | None, int]:
    """Return the unit behind a number and the token behind the unit."""
    at += norm_at(tokens, at) in {"degree", "degrees"}
    found = find_unit(tokens, at)
    if found is not None:
        return found.unit, found.end
    known = _FURTHER_UNITS.get(norm_at(tokens, at))
    return known, at + (known is not None)


def _starts_number(tokens: Sequence[Token], at: int) -> bool:
    norm = tokens[at].word.norm
    return norm[0].isdecimal() or norm not in {"a", "an", "half", "one", "second", "no"}


def _is_apart(tokens: Sequence[Token], at: int) -> bool:
    return at == 0 or tokens[at - 1].end < tokens[at].start


_MONTH_NUMBERS: Final = MappingProxyType(
    {name: number for number, names in enumerate(listed("months"), 1) for name in names.split()}
)


def _date_at(tokens: Sequence[Token], at: int) -> _Amount | None:
    """Read 2020-07-07, 7 July 2020 and July 7, 2020 as a count that orders days."""
    iso = _DATE.match(tokens[at].text)
    if iso:
        year, month, day = map(int, iso.groups())
        return _Amount(_day(year, month, day), at, at + 1, kind="date", text=tokens[at].text)
    norms = [norm_at(tokens, at + step) for step in range(4)]
    texts = [norm for norm in norms if norm != ","]
    if len(texts) < 3 or not texts[2].isdecimal() or len(texts[2]) != 4:
        return None
    length = 3 + norms[:3].count(",")
    for day_text, month_text in (texts[:2], texts[1::-1]):
        if month_text in _MONTH_NUMBERS and day_text.isdecimal() and int(day_text) <= 31:
            value = _day(int(texts[2]), _MONTH_NUMBERS[month_text], int(day_text))
            return _Amount(value, at, at + length, kind="date", text=" ".join(norms[:length]))
    return None


def _day(year: int, month: int, day: int) -> Fraction:
    return Fraction(10_000 * year + 100 * month + day)


# Where the claim says the name of a row or of a column.

_Places = frozenset[int]
_NOWHERE: Final[_Places] = frozenset()


def _mention(name: str, claim: _Claim, within: _Places) -> _Places:
    """Return the tokens that say the whole name; none if a word of it is missing."""
    found: set[int] = set()
    for keys in _name_words(name):
        places = _word_places(keys, claim, within)
        if not places:
            return _as_one_word(name, claim, within)
        found |= places
    return frozenset(found)


def _word_places(keys: frozenset[str], claim: _Claim, within: _Places) -> set[int]:
    single = {place for place in within if claim.words[place] & keys}
    if single:
        return single
    for first, second in pairwise(sorted(within)):
        joined = claim.tokens[first].word.norm + claim.tokens[second].word.norm
        if second == first + 1 and stem(joined) in keys:
            return {first, second}
    return set()


def _as_one_word(name: str, claim: _Claim, within: _Places) -> _Places:
    """Find solarNoon for "solar noon" written as one word, and SD for "standard deviation"."""
    letters = "".join(character for character in name.lower() if character.isalnum())
    whole = {place for place in within if claim.tokens[place].word.norm == letters}
    phrase = _WRITTEN_OUT.get(letters, ())
    for start in sorted(within) if phrase else ():
        run = range(start, start + len(phrase))
        if tuple(norm_at(claim.tokens, place) for place in run) == phrase and within.issuperset(
            run
        ):
            whole |= set(run)
    return frozenset(whole)


_WRITTEN_OUT: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "sd": ("standard", "deviation"),
        "std": ("standard", "deviation"),
        "se": ("standard", "error"),
    }
)
_IN_PARENTHESES: Final = re.compile(r"\(([^()]*)\)")


def _column_places(name: str, claim: _Claim, within: _Places) -> tuple[_Places, Fraction]:
    """Return the tokens that name a column, and how well: at least half of its words."""
    if not name:
        return _NOWHERE, Fraction(0)
    whole = _mention(name, claim, within)
    plain = _IN_PARENTHESES.sub(" ", name).partition(" per ")[0]
    words = _name_words(plain) if plain.strip() else ()
    found = [_word_places(keys, claim, within) for keys in words]
    hits = sum(map(bool, found))
    if not whole and (2 * hits < len(words) or not hits):
        return _NOWHERE, Fraction(0)
    extra = [
        places
        for keys in _name_words(name)
        if keys not in words and (places := _word_places(keys, claim, within))
    ]
    places = whole.union(*found, *extra)
    share = Fraction(hits, len(words)) if words else Fraction(1)
    return places, max(Fraction(hits), Fraction(bool(whole))) + Fraction(len(extra), 2) + share


_YEAR: Final = re.compile(r"(?:1[5-9]|20)\d\d$")
_NEAR: Final = 3


def _key_places(cell: _Cell, claim: _Claim, within: _Places) -> _Places:
    """Return the tokens that say this cell as a name of its row."""
    amount = _cell_amount(cell.text)
    if amount is None:
        return _mention(cell.text, claim, within)
    names = _word_set(cell.column)
    is_year = bool(_YEAR.match(cell.text)) and (not cell.column or stem("year") in names)
    found: set[int] = set()
    for said in claim.amounts:
        near = range(max(said.first - _NEAR, 0), said.end + _NEAR)
        heads = {place for place in near if place in within and claim.words[place : place + 1]}
        named = {place for place in heads if claim.words[place] & names}
        if said.first in within and said.value == amount.value and said.kind == amount.kind:
            if is_year or not cell.column:
                found |= {said.first}
            elif named:
                found |= {said.first, *named}
    return frozenset(found)


def _word_set(name: str) -> frozenset[str]:
    return frozenset[str]().union(*_name_words(name)) if name else frozenset()


class _Found(NamedTuple):
    """A row with the tokens that name it, by column."""

    row: _Row
    keys: Mapping[str, _Places]

    @property
    def places(self) -> _Places:
        return _NOWHERE.union(*self.keys.values())


def _rows_named(
    table: _Table, claim: _Claim, own: _Places, other: _Places, target: str
) -> list[_Found]:
    """Return the rows that the claim names best; `other` completes what `own` leaves open."""
    found = _best_rows(table, claim, own, target) or _best_rows(table, claim, other, target)
    if len(found) > 1 and other:
        used = {column for each in found for column in each.keys}
        more = [
            (
                each,
                sum(
                    len(_key_places(cell, claim, other))
                    for cell in each.row.cells
                    if cell.column not in used and cell.column != target
                ),
            )
            for each in found
        ]
        most = max(count for _, count in more)
        found = [each for each, count in more if count == most]
    if not found and len(table.rows) == 1:
        found = [_Found(table.rows[0], {})]
    return found


def _best_rows(table: _Table, claim: _Claim, within: _Places, target: str) -> list[_Found]:
    found = []
    for row in table.rows:
        keys: dict[str, _Places] = {}
        for cell in row.cells:
            places = _NOWHERE if cell.column == target else _key_places(cell, claim, within)
            if places:
                keys[cell.column] = keys.get(cell.column, _NOWHERE) | places
        if keys:
            found.append(_Found(row, keys))
    return [each for each in found if not any(each.places < other.places for other in found)]


class _Coordinates(NamedTuple):
    """A cell that the claim speaks of, and how many of the claim's words name it."""

    row: _Row
    cell: _Cell
    row_places: _Places
    column_places: _Places
    score: Fraction


def _locate(
    table: _Table,
    claim: _Claim,
    own: _Places,
    other: _Places,
    kinds: frozenset[str],
    target: str = "",
) -> list[_Coordinates]:
    """Return the cells that `own` names best, with the row that `other` adds.

    `target` is the column, if it is known. Several cells: the claim can be read in several ways.
    """
    candidates: list[_Coordinates] = []
    for column in (target,) if target else table.columns:
        rows = _rows_named(table, claim, own, other, column)
        if len(rows) != 1 or column in rows[0].keys:
            continue
        (found,) = rows
        cell = next((cell for cell in found.row.cells if cell.column == column), None)
        if cell is None or (kinds and _kind(cell.text) not in kinds):
            continue
        # "The longest leaves" names the row, the length of leaves, and the column, the maximum.
        adjectives = {
            place for place in found.places if claim.tokens[place].word.norm in _DIMENSIONS
        }
        places, score = _column_places(column, claim, own - found.places | adjectives)
        # A row is rather named by its first cell than by another one.
        score += Fraction(bool(score) and found.row.cells[0].column in found.keys, 2)
        candidates.append(_Coordinates(found.row, cell, found.places, places, score))
    best = max((candidate.score for candidate in candidates), default=Fraction(0))
    if best or target:
        return [candidate for candidate in candidates if candidate.score == best]
    # No column is named: only where there is no other column of this kind.
    return candidates if len(candidates) == 1 and candidates[0].row_places else []


# 3. Values.

_RANGE: Final = re.compile(r"\d\S*\s*(?:\u2013|-|to|\u2026)\s*\d")


def _cell_amount(text: str) -> _Amount | None:
    """Return the number of a cell that holds one number, with a unit or a few words."""
    if _RANGE.search(text) and not _DATE.match(text):
        return None
    tokens = tokens_of(text)
    amounts = list(_amounts(tokens))
    if len(amounts) != 1 or not any(map(str.isdecimal, text)):
        return None
    amount = amounts[0]
    words = [
        token
        for place, token in enumerate(tokens)
        if token.word.kind is Kind.WORD
        and not amount.first <= place < max(amount.end, amount.unit_end)
    ]
    return None if (words and amount.first > 0) or len(words) > 3 else amount


def _kind(text: str) -> str:
    amount = _cell_amount(text)
    return amount.kind if amount else "text"


class _Context:
    """The text around a table: it may give the unit, the year and the scale of its values."""

    def __init__(self, text: str) -> None:
        self.tokens = tokens_of(text)
        self.words = frozenset(token.word.stem for token in self.tokens)
        self.numbers = frozenset((said.kind, said.value) for said in _amounts(self.tokens))
        self.text = text

    def unit_like(self, unit: Unit) -> Unit | None:
        """Return the only unit of the same kind of quantity that the text gives."""
        found = {known for known in _units_named(self.text) if _quantity(known) == _quantity(unit)}
        return found.pop() if len(found) == 1 else None

    @property
    def scale(self) -> Fraction:
        """What the values are to be multiplied by: "in thousands"."""
        found = _SCALE.search(self.text)
        return Fraction(_SCALES[found[1].lower()]) if found else Fraction(1)


_SCALE: Final = re.compile(r"\bin (thousand|million|billion)s?\b", re.I)
_SCALES: Final = MappingProxyType({"thousand": 10**3, "million": 10**6, "billion": 10**9})
_UNIT_PLACES: Final = re.compile(
    r"\bin (?:degrees? |(?:thousand|million|billion)s? of )?([A-Za-z]+)"
    r"|\(([^()]{1,20})\)|(\u00b0\s?[CF])\b"
)


def _units_named(text: str) -> Iterator[Unit]:
    for found in _UNIT_PLACES.finditer(text):
        said = next(filter(None, found.groups()))
        letter = said.strip("\u00b0 ")
        if letter in _TEMPERATURES:
            yield Unit(_TEMPERATURES[letter], Fraction(1))
        tokens = tokens_of(f"1 {said}")
        unit, end = _unit_at(tokens, 1) if len(tokens) > 1 else (None, 0)
        if unit and end == len(tokens):
            yield unit


_TEMPERATURES: Final = MappingProxyType({"C": "celsius", "F": "fahrenheit"})


def _quantity(unit: Unit) -> str:
    return "temperature" if unit.dimension in {"celsius", "fahrenheit"} else unit.dimension


def _unit_of(at: _Coordinates, claimed: Unit, context: _Context) -> Unit | None:
    """Return the unit of a cell: its own, its column's, its row's, or that of the text around."""
    amount = _cell_amount(at.cell.text)
    if amount and amount.unit:
        return amount.unit
    for name in (at.cell.column, *(cell.text for cell in at.row.cells if not cell.column)):
        for unit in _units_named(name):
            return unit
    return context.unit_like(claimed)


_PER: Final = re.compile(r"\bper ([\d,]+)")


def _agrees(claim: _Claim, said: _Amount, at: _Coordinates, context: _Context) -> bool | None:
    """Compare a claimed value with a cell. None: it cannot be told."""
    cell = _cell_amount(at.cell.text)
    if cell is None or said.kind != cell.kind:
        return None
    if said.kind == "version" or stem("version") in _word_set(at.cell.column):
        # 3.0 and 3.00 may be two versions.
        return (
            None if said.text != cell.text and said.value == cell.value else said.text == cell.text
        )
    if said.kind == "clock":
        zone = norm_at(claim.tokens, said.end)
        is_moved = zone in {"utc", "gmt"} and "local time" in context.text
        return said.value == cell.value and not is_moved
    return _quantity_agrees(claim, said, at, cell, context)


def _quantity_agrees(
    claim: _Claim, said: _Amount, at: _Coordinates, cell: _Amount, context: _Context
) -> bool | None:
    value = said.value * _per_scale(claim, said, at)
    if said.rate:
        is_given = said.rate in " ".join((at.cell.column, at.cell.text, context.text))
        return (
            _is_near(said, value, cell, context)
            if is_given
            else _without_unit(said, value, cell, at)
        )
    if said.unit is None or said.unit.dimension == "times":
        return _is_near(said, value, cell, context)
    unit = _unit_of(at, said.unit, context)
    if unit is None:
        return _without_unit(said, value, cell, at)
    if unit.dimension != said.unit.dimension:
        # Degrees Celsius and Fahrenheit measure the same; kilograms and metres do not.
        return False if _quantity(unit) == _quantity(said.unit) else None
    return _is_near(said, value * said.unit.factor / unit.factor, cell, context)


def _per_scale(claim: _Claim, said: _Amount, at: _Coordinates) -> Fraction:
    named = _PER.search(at.cell.column)
    rate = next(
        (one for one in claim.amounts if norm_at(claim.tokens, one.first - 1) == "per"), None
    )
    base = value_of_digits(named[1]) if named else None
    return base / rate.value if base and rate and rate.value and rate is not said else Fraction(1)


def _without_unit(said: _Amount, value: Fraction, cell: _Amount, at: _Coordinates) -> bool | None:
    """Compare where the table does not give a unit: a percentage may be written as a share."""
    if said.unit is not None and said.unit.dimension == "ratio":
        if value == cell.value or value / 100 == cell.value:
            return True
    elif value == cell.value:
        return None
    others = [_cell_amount(other.text) for other in at.row.cells if other is not at.cell]
    is_neighbour = any(other is not None and other.value == value for other in others)
    return False if is_neighbour else None


def _is_near(said: _Amount, value: Fraction, cell: _Amount, context: _Context) -> bool | None:
    for real in {cell.value, cell.value * context.scale}:
        if _holds(said, value, real) or (value == said.value and _rounds(said, real)):
            return True
        if said.step and 2 * abs(value - real) <= said.step * abs(value / said.value):
            return True
        if (said.is_about or cell.is_about) and abs(value - real) * 20 <= abs(real):
            return True
    return None if cell.text.endswith("+") and value > cell.value else False


def _holds(said: _Amount, value: Fraction, real: Fraction) -> bool:
    match said.bound:
        case ">":
            return real > value
        case "<":
            return real < value
        case ">=":
            return real >= value
        case "<=":
            return real <= value
        case _:
            return real == value


def _rounds(said: _Amount, real: Fraction) -> bool:
    digits = sum(map(str.isdecimal, said.text))
    step = Fraction(1, 10**said.decimals)
    return digits > 1 and said.decimals > 0 and 2 * abs(said.value - real) <= step


# The forms of a claim.


def _examine(
    claim: _Claim, table: _Table, context: _Context
) -> tuple[Fraction, CellFinding] | None:
    norms = [token.word.norm for token in claim.tokens]
    than = norms.index("than") if "than" in norms else 0
    if (_MORE | _LESS) & set(norms[:than]):
        is_bound = any(said.bound and than < said.first for said in claim.amounts)
        found = _compared(claim, table, context, norms)
        return _stated(claim, table, context) if found is None and is_bound else found
    if {"differ", "differs", "difference"} & set(norms):
        return _apart(claim, table, context, norms)
    if "by" in norms and (_ROSE | _FELL) & set(norms) and "to" in norms:
        return _changed(claim, table, context, norms)
    span = next((place for place, norm in enumerate(norms) if norm in {"after", "before"}), 0)
    if span and any(said.unit_end == span and said.unit for said in claim.amounts):
        return _later(claim, table, context, span)
    return _stated(claim, table, context)


def _all(claim: _Claim, start: int = 0, end: int | None = None) -> _Places:
    return frozenset(range(start, len(claim.tokens) if end is None else end))


def _stated(claim: _Claim, table: _Table, context: _Context) -> tuple[Fraction, CellFinding] | None:
    """Compare "the price of X is 20" with the price of X."""
    values = {place for said in claim.amounts for place in range(said.first, said.unit_end)}
    kinds = frozenset(said.kind for said in claim.amounts) | {"text"}
    for own, wanted in ((_all(claim), kinds), (_all(claim) - values, kinds - {"text"})):
        ats = _locate(table, claim, own, _NOWHERE, wanted) if wanted else []
        found = [
            _cell_stated(claim, table, at, context)
            for at in ats
            if _is_covered(claim, [at], context)
        ]
        told = [each for each in found if each is not None]
        if len(told) == len(ats) and len({each.agrees for _, each in told}) == 1:
            return told[0]
    return None


def _cell_stated(
    claim: _Claim, table: _Table, at: _Coordinates, context: _Context
) -> tuple[Fraction, CellFinding] | None:
    if _cell_amount(at.cell.text) is None:
        return _text_stated(claim, table, at)
    said = _claimed(claim, [at], context)
    agrees = _agrees(claim, said, at, context) if said else None
    return None if agrees is None else _finding(agrees, [at])


def _text_stated(
    claim: _Claim, table: _Table, at: _Coordinates
) -> tuple[Fraction, CellFinding] | None:
    """Compare a cell of words: the claim has all of them, or all of another row's."""
    if not at.score:
        return None
    free = _all(claim) - at.row_places - at.column_places
    own = _mention(at.cell.text, claim, free)
    others = [
        _mention(cell.text, claim, free)
        for row in table.rows
        for cell in row.cells
        if cell.column == at.cell.column and cell.text != at.cell.text
    ]
    best = max(others, key=len, default=_NOWHERE)
    if own == best or (own and len(own) <= len(best)):
        return None
    return _finding(bool(own), [at])


def _claimed(claim: _Claim, ats: Sequence[_Coordinates], context: _Context) -> _Amount | None:
    """Return the one number of the claim that no name, rate or date of the table explains."""
    taken = _NOWHERE.union(*(at.row_places | at.column_places for at in ats))
    left = [
        said
        for said in claim.amounts
        if said.first not in taken and norm_at(claim.tokens, said.first - 1) != "per"
    ]
    if len(left) > 1:
        names = {(number.kind, number.value) for at in ats for number in _row_numbers(at)}
        left = [
            said
            for said in left
            if not _is_scenery(claim, said, context) or (said.kind, said.value) in names
        ] or left
    return left[0] if len(left) == 1 else None


def _row_numbers(at: _Coordinates) -> Iterator[_Amount]:
    amount = _cell_amount(at.cell.text)
    if amount is not None:
        yield amount


def _is_scenery(claim: _Claim, said: _Amount, context: _Context) -> bool:
    """Tell whether the text around the table has the number: its year, date or "16-bit"."""
    is_named = (said.kind, said.value) in context.numbers
    is_part = norm_at(claim.tokens, said.end) == "-"
    return is_named and (said.kind == "date" or is_part or bool(_YEAR.match(said.text)))


def _is_covered(claim: _Claim, ats: Sequence[_Coordinates], context: _Context) -> bool:
    """Tell whether most words of the claim are in the row, the names of columns or around them."""
    known = set(context.words)
    for at in ats:
        for cell in at.row.cells:
            known |= _word_set(cell.column) | _word_set(cell.text)
    named = _NOWHERE.union(*(at.row_places | at.column_places for at in ats))
    units = {place for said in claim.amounts for place in range(said.first, said.unit_end)}
    telling = [
        place
        for place, token in enumerate(claim.tokens)
        if token.word.kind is Kind.WORD
        and token.word.norm not in STOP_WORDS | _SKIPPED | _MORE | _LESS | _ROSE | _FELL | _ABOUT
        and place not in units
    ]
    met = [place for place in telling if place in named or claim.words[place] & known]
    return 5 * len(met) >= 3 * len(telling)


def _compared(
    claim: _Claim, table: _Table, context: _Context, norms: Sequence[str]
) -> tuple[Fraction, CellFinding] | None:
    """Compare "A is (20) higher than B"."""
    cut = norms.index("than")
    word = next(norm for norm in reversed(norms[:cut]) if norm in _MORE | _LESS)
    pair = _locate_two(claim, table, _all(claim, 0, cut), _all(claim, cut + 1))
    if pair is None or not _is_covered(claim, pair, context):
        return None
    sign = 1 if word in _MORE else -1
    if word in _FAST | _SLOW and _word_set(pair[0].cell.column) & _LASTS:
        sign = -sign
    return _difference(claim, context, pair, sign)


def _apart(
    claim: _Claim, table: _Table, context: _Context, norms: Sequence[str]
) -> tuple[Fraction, CellFinding] | None:
    """Compare "A and B differ by 20"."""
    verb = next(place for place, norm in enumerate(norms) if norm.startswith("differ"))
    start, end = (0, verb) if norms[verb] != "difference" else (verb + 1, len(norms))
    joints = [place for place in range(start, end) if norms[place] == "and"]
    if len(joints) != 1:
        return None
    pair = _locate_two(claim, table, _all(claim, 0, joints[0]), _all(claim, joints[0] + 1))
    if pair is None or not _is_covered(claim, pair, context):
        return None
    return _difference(claim, context, pair, 0)


def _changed(
    claim: _Claim, table: _Table, context: _Context, norms: Sequence[str]
) -> tuple[Fraction, CellFinding] | None:
    """Compare "rose by 20 from A to B"."""
    first = max((place for place, norm in enumerate(norms) if norm == "from"), default=-1)
    cut = next((place for place in range(first + 1, len(norms)) if norms[place] == "to"), -1)
    if first < 0 or cut < 0:
        return None
    before = _all(claim, first + 1, cut)
    pair = _locate_two(claim, table, _all(claim, cut + 1), before, _all(claim, 0, first))
    if pair is None or not _is_covered(claim, pair, context):
        return None
    return _difference(claim, context, pair, 1 if _ROSE & set(norms) else -1)


def _later(
    claim: _Claim, table: _Table, context: _Context, cut: int
) -> tuple[Fraction, CellFinding] | None:
    """Compare "A comes 20 minutes after B"."""
    pair = _locate_two(claim, table, _all(claim, 0, cut), _all(claim, cut + 1))
    if pair is None or not _is_covered(claim, pair, context):
        return None
    return _difference(claim, context, pair, 1 if norm_at(claim.tokens, cut) == "after" else -1)


def _locate_two(
    claim: _Claim, table: _Table, one: _Places, two: _Places, shared: _Places = _NOWHERE
) -> list[_Coordinates] | None:
    numbers = frozenset({"number", "clock", "date"})
    found = [
        _locate(table, claim, one | shared, two, numbers),
        _locate(table, claim, two | shared, one, numbers),
    ]
    columns = [ats[0].cell.column if len(ats) == 1 and ats[0].score else "" for ats in found]
    for side, own, other in ((0, one, two), (1, two, one)):
        if not columns[side] and columns[1 - side]:
            found[side] = _locate(table, claim, own | shared, other, numbers, columns[1 - side])
    if not all(len(ats) == 1 for ats in found):
        return None
    first, second = found[0][0], found[1][0]
    is_same = (first.row, first.cell) == (second.row, second.cell)
    if is_same or (first.row != second.row and first.cell.column != second.cell.column):
        return None
    return [first, second]


def _difference(
    claim: _Claim, context: _Context, pair: Sequence[_Coordinates], sign: int
) -> tuple[Fraction, CellFinding] | None:
    """Compare the claimed difference, or its sign alone where the claim has no number."""
    one, two = (_cell_amount(at.cell.text) for at in pair)
    if one is None or two is None or (one.kind, one.unit) != (two.kind, two.unit):
        return None
    if one.is_about or two.is_about or one.kind == "version":
        return None
    real = one.value - two.value
    said = _claimed(claim, pair, context)
    if said is None:
        taken = _NOWHERE.union(*(at.row_places | at.column_places for at in pair))
        left = [amount for amount in claim.amounts if amount.first not in taken]
        return _finding(real * sign > 0, pair) if not left and sign else None
    value = _in_unit_of(said, pair[0], one.kind, context)
    if value is None:
        return None
    met = abs(real) if sign == 0 else sign * real
    is_near = said.is_about and abs(value - met) * 20 <= abs(met)
    return _finding(value == met or is_near, pair)


def _in_unit_of(said: _Amount, at: _Coordinates, kind: str, context: _Context) -> Fraction | None:
    """Return a claimed difference in the unit of the cells: minutes for times of day."""
    if kind == "date" or (kind == "clock" and said.unit is None):
        return None
    if said.unit is None:
        return said.value
    minute = Unit("days", Fraction(1, 1440))
    unit = minute if kind == "clock" else _unit_of(at, said.unit, context)
    if unit is None or unit.dimension != said.unit.dimension or unit.dimension == "ratio":
        return None
    return said.value * said.unit.factor / unit.factor


def _finding(agrees: bool, ats: Sequence[_Coordinates]) -> tuple[Fraction, CellFinding]:
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
