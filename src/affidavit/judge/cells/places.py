"""Finds the cell that a claim speaks of: where it says the name of a row and of a column."""

import re
from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from types import MappingProxyType
from typing import Final, NamedTuple

from affidavit.judge.cells.claims import (
    DIMENSIONS,
    YEAR,
    CellClaim,
    cell_amount,
    kind_of,
    name_words,
    word_set,
)
from affidavit.judge.cells.rows import ParsedRow, ParsedTable, RowCell
from affidavit.judge.lexical.stemming import stem
from affidavit.judge.lexical.tokens import norm_at

Places = frozenset[int]
NOWHERE: Final[Places] = frozenset()


def find_mention(name: str, claim: CellClaim, within: Places) -> Places:
    """Return the tokens that say the whole name; none if a word of it is missing."""
    found: set[int] = set()
    for keys in name_words(name):
        places = _word_places(keys, claim, within)
        if not places:
            return _as_one_word(name, claim, within)
        found |= places
    return frozenset(found)


def _word_places(keys: frozenset[str], claim: CellClaim, within: Places) -> set[int]:
    single = {place for place in within if claim.words[place] & keys}
    if single:
        return single
    for first, second in pairwise(sorted(within)):
        joined = claim.tokens[first].word.norm + claim.tokens[second].word.norm
        if second == first + 1 and stem(joined) in keys:
            return {first, second}
    return set()


def _as_one_word(name: str, claim: CellClaim, within: Places) -> Places:
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


def _column_places(name: str, claim: CellClaim, within: Places) -> tuple[Places, Fraction]:
    """Return the tokens that name a column, and how well: at least half of its words."""
    if not any(map(str.isalpha, name)) and not YEAR.match(name):
        return NOWHERE, Fraction(0)
    whole = find_mention(name, claim, within)
    plain = _IN_PARENTHESES.sub(" ", name).partition(" per ")[0]
    words = name_words(plain) if plain.strip() else ()
    found = [_word_places(keys, claim, within) for keys in words]
    hits = sum(map(bool, found))
    if not whole and (2 * hits < len(words) or not hits):
        return NOWHERE, Fraction(0)
    others = [keys for keys in name_words(name) if keys not in words]
    extra = list(filter(None, (_word_places(keys, claim, within) for keys in others)))
    places = whole.union(*found, *extra)
    share = Fraction(hits, len(words)) if words else Fraction(1)
    return places, max(Fraction(hits), Fraction(bool(whole))) + Fraction(len(extra), 2) + share


_NEAR: Final = 3


def _key_places(cell: RowCell, claim: CellClaim, within: Places) -> Places:
    """Return the tokens that say this cell as a name of its row."""
    amount = cell_amount(cell.text)
    if amount is None:
        return find_mention(cell.text, claim, within)
    names = word_set(cell.column)
    is_year = bool(YEAR.match(cell.text)) and (not cell.column or stem("year") in names)
    found: set[int] = set()
    for said in claim.amounts:
        near = range(max(said.first - _NEAR, 0), said.end + _NEAR)
        heads = {place for place in near if place in within and claim.words[place : place + 1]}
        named = find_mention(cell.column, claim, frozenset(heads)) if cell.column else NOWHERE
        if said.first in within and said.value == amount.value and said.kind == amount.kind:
            if is_year or not cell.column:
                found |= {said.first}
            elif named:
                found |= {said.first, *named}
    return frozenset(found)


class _NamedRow(NamedTuple):
    """A row with the tokens that name it, by column."""

    row: ParsedRow
    keys: Mapping[str, Places]

    @property
    def places(self) -> Places:
        return NOWHERE.union(*self.keys.values())


def _rows_named(
    table: ParsedTable, claim: CellClaim, own: Places, other: Places, target: str
) -> list[_NamedRow]:
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
        found = [_NamedRow(table.rows[0], {})]
    return found


def _best_rows(
    table: ParsedTable, claim: CellClaim, within: Places, target: str
) -> list[_NamedRow]:
    found = []
    for row in table.rows:
        keys: dict[str, Places] = {}
        for cell in row.cells:
            places = NOWHERE if cell.column == target else _key_places(cell, claim, within)
            if places:
                keys[cell.column] = keys.get(cell.column, NOWHERE) | places
        if keys:
            found.append(_NamedRow(row, keys))
    return [each for each in found if not any(each.places < other.places for other in found)]


def _text_keys(found: _NamedRow) -> list[str]:
    """Return the columns that name the row by words, but for the first."""
    return [
        cell.column
        for cell in found.row.cells[1:]
        if cell.column in found.keys and kind_of(cell.text) == "text"
    ]


class CellPlace(NamedTuple):
    """A cell that the claim speaks of, and how many of the claim's words name it."""

    row: ParsedRow
    cell: RowCell
    row_places: Places
    column_places: Places
    score: Fraction


def locate(
    table: ParsedTable,
    claim: CellClaim,
    own: Places,
    other: Places,
    kinds: frozenset[str],
    target: str = "",
) -> list[CellPlace]:
    """Return the cells that `own` names best, with the row that `other` adds.

    `target` is the column, if it is known. Several cells: the claim can be read in several ways.
    """
    candidates: list[CellPlace] = []
    for column in (target,) if target else table.columns:
        rows = _rows_named(table, claim, own, other, column)
        if len(rows) != 1 or column in rows[0].keys:
            continue
        (found,) = rows
        cells = [cell for cell in found.row.cells if cell.column == column]
        if len(cells) != 1 or (kinds and kind_of(cells[0].text) not in kinds):
            continue
        # "The longest leaves" names the row, the length of leaves, and the column, the maximum.
        adjectives = {
            place for place in found.places if claim.tokens[place].word.norm in DIMENSIONS
        } & own
        places, score = _column_places(column, claim, own - found.places | adjectives)
        if any(_column_places(key, claim, own)[1] > score for key in _text_keys(found)):
            continue  # The claim names the column of this key: it is what the claim states.
        # A row is rather named by its first cell than by another one.
        score += Fraction(bool(score) and found.row.cells[0].column in found.keys, 2)
        candidates.append(CellPlace(found.row, cells[0], found.places, places, score))
    best = max((candidate.score for candidate in candidates), default=Fraction(0))
    if best or target:
        return [candidate for candidate in candidates if candidate.score == best]
    # No column is named at all: then only one can have values of this kind.
    is_named = any(_column_places(column, claim, own)[1] for column in table.columns)
    return candidates if len(candidates) == 1 and not is_named else []
