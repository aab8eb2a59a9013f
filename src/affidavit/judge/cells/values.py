"""Compares a claimed value with a cell, in the unit that the table or the text around it gives."""

import re
from collections.abc import Iterator
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from affidavit.judge.cells.claims import (
    CellAmount,
    CellClaim,
    cell_amount,
    find_amounts,
    find_unit_at,
    word_set,
)
from affidavit.judge.cells.places import CellPlace
from affidavit.judge.lexical.numerals import value_of_digits
from affidavit.judge.lexical.stemming import stem
from affidavit.judge.lexical.tokens import norm_at, tokens_of
from affidavit.judge.lexical.units import Unit


class TableContext:
    """The text around a table: it may give the unit, the year and the scale of its values."""

    def __init__(self, text: str) -> None:
        self.tokens = tokens_of(text)
        self.words = frozenset(token.word.stem for token in self.tokens)
        self.numbers = frozenset((said.kind, said.value) for said in find_amounts(self.tokens))
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
        unit, end = find_unit_at(tokens, 1) if len(tokens) > 1 else (None, 0)
        if unit and end == len(tokens):
            yield unit


_TEMPERATURES: Final = MappingProxyType({"C": "celsius", "F": "fahrenheit"})


def _quantity(unit: Unit) -> str:
    return "temperature" if unit.dimension in {"celsius", "fahrenheit"} else unit.dimension


def unit_of(at: CellPlace, claimed: Unit, context: TableContext) -> Unit | None:
    """Return the unit of a cell: its own, its column's, its row's, or that of the text around."""
    amount = cell_amount(at.cell.text)
    if amount and amount.unit:
        return amount.unit
    for name in (at.cell.column, *(cell.text for cell in at.row.cells if not cell.column)):
        for unit in _units_named(name):
            return unit
    return context.unit_like(claimed)


_PER: Final = re.compile(r"\bper ([\d,]+)")


def value_agrees(
    claim: CellClaim, said: CellAmount, at: CellPlace, context: TableContext
) -> bool | None:
    """Compare a claimed value with a cell. None: it cannot be told."""
    cell = cell_amount(at.cell.text)
    if cell is None or said.kind != cell.kind:
        return None
    if said.kind == "version" or stem("version") in word_set(at.cell.column):
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
    claim: CellClaim, said: CellAmount, at: CellPlace, cell: CellAmount, context: TableContext
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
    unit = unit_of(at, said.unit, context)
    if unit is None:
        return _without_unit(said, value, cell, at)
    if unit.dimension != said.unit.dimension:
        # Degrees Celsius and Fahrenheit measure the same; kilograms and metres do not.
        return False if _quantity(unit) == _quantity(said.unit) else None
    return _is_near(said, value * said.unit.factor / unit.factor, cell, context)


def _per_scale(claim: CellClaim, said: CellAmount, at: CellPlace) -> Fraction:
    named = _PER.search(at.cell.column)
    rate = next(
        (one for one in claim.amounts if norm_at(claim.tokens, one.first - 1) == "per"), None
    )
    base = value_of_digits(named[1]) if named else None
    return base / rate.value if base and rate and rate.value and rate is not said else Fraction(1)


def _without_unit(
    said: CellAmount, value: Fraction, cell: CellAmount, at: CellPlace
) -> bool | None:
    """Compare where the table does not give a unit: a percentage may be written as a share."""
    if said.unit is not None and said.unit.dimension == "ratio":
        if value == cell.value or value / 100 == cell.value:
            return True
    elif value == cell.value:
        return None
    others = [cell_amount(other.text) for other in at.row.cells if other is not at.cell]
    is_neighbour = any(other is not None and other.value == value for other in others)
    return False if is_neighbour else None


def _is_near(
    said: CellAmount, value: Fraction, cell: CellAmount, context: TableContext
) -> bool | None:
    for real in {cell.value, cell.value * context.scale}:
        if said.bound in {">=", "<="} and _holds(said, value, real):
            # A limit of the source is repeated as it is; any other limit is not what it says.
            return True if value == real else None
        if _holds(said, value, real) or (value == said.value and _rounds(said, real)):
            return True
        if said.step and 2 * abs(value - real) <= said.step * abs(value / said.value):
            return True
        if (said.is_about or cell.is_about) and abs(value - real) * 20 <= abs(real):
            return True
    return None if cell.text.endswith("+") and value > cell.value else False


def _holds(said: CellAmount, value: Fraction, real: Fraction) -> bool:
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


def _rounds(said: CellAmount, real: Fraction) -> bool:
    digits = sum(map(str.isdecimal, said.text))
    step = Fraction(1, 10**said.decimals)
    return digits > 1 and said.decimals > 0 and 2 * abs(said.value - real) <= step
