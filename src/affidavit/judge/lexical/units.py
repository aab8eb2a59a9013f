"""Units of measure: which dimension, how much of its base, and what "business" does to days.

Days and months are two dimensions: how many days a month has is not said. "15 business days" and
"15 days" are told apart (a reader who counts weekends comes a week too early); "14 calendar days",
"14 days" and "2 weeks" are one.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Final, NamedTuple

from affidavit.judge.lexical.stemming import stem
from affidavit.judge.lexical.tables import cues, lines_of
from affidavit.judge.lexical.tokens import Token


class Unit(NamedTuple):
    """A unit: 1 of it is `factor` of its dimension's base. `system` tells metric from imperial."""

    dimension: str
    factor: Fraction
    system: str = ""


class UnitFound(NamedTuple):
    """The unit behind a number; it ends before token `end`. `day_kind` is business or calendar."""

    unit: Unit
    end: int
    day_kind: str = ""


def _table() -> Mapping[str, Unit]:
    rows = (line.split() for line in lines_of("units.txt"))
    return MappingProxyType(
        {
            stem(name): Unit(dimension, Fraction(factor), system.strip("-"))
            for dimension, factor, system, *names in rows
            for name in names
        }
    )


_NAMED: Final = _table()
# Letters that are a unit only where they touch the digits: "24h", "5m", "10s".
_LETTERS: Final = {
    "s": _NAMED[stem("second")], "h": _NAMED["hour"], "d": _NAMED["day"], "y": _NAMED["year"],
    "ms": Unit("days", Fraction(1, 86_400_000)), "m": Unit("length", Fraction(1), "metric"),
    "g": _NAMED["gram"], "l": Unit("volume", Fraction(1), "metric"), "w": _NAMED["watt"],
    "t": Unit("mass", Fraction(1000), "metric"), "x": Unit("times", Fraction(1)),
}  # fmt: skip
_MARKS: Final = {
    "%": Unit("ratio", Fraction(1, 100)), "\u2030": Unit("ratio", Fraction(1, 1000)),
    "$": Unit("money-dollar", Fraction(1)), "\u20ac": Unit("money-eur", Fraction(1)),
    "\u00a3": Unit("money-gbp", Fraction(1)), "\u00a5": Unit("money-jpy", Fraction(1)),
    "\u20b9": Unit("money-inr", Fraction(1)),
}  # fmt: skip
_PER: Final = {
    "cent": _MARKS["%"], "thousand": _MARKS["\u2030"], "mille": _MARKS["\u2030"],
    "million": Unit("ratio", Fraction(1, 10**6)),
}  # fmt: skip
_DEGREES: Final = {"c": "celsius", "f": "fahrenheit"}
_DAY_KINDS: Final = {
    "business": "business", "working": "business", "work": "business", "calendar": "calendar",
    "consecutive": "calendar",
}  # fmt: skip
_SKIPPED: Final = cues("before-unit")
_MOST_SKIPPED: Final = 3
PERIODS_A_YEAR: Final[Mapping[str, Fraction]] = MappingProxyType(
    {
        stem(word): Fraction(times)
        for words, times in (
            ("year annum annually yearly annual", 1),
            ("quarter quarterly", 4),
            ("month monthly", 12),
            ("week weekly", 52),
            ("day daily", 365),
            ("hour hourly", 8_760),
            ("minute", 525_600),
            ("second", 31_536_000),
        )
        for word in words.split()
    }
)


def money_named(token: Token) -> Unit | None:
    """Return the currency that a mark or code before a number names."""
    unit = _MARKS.get(token.text) or _NAMED.get(token.word.stem)
    return unit if unit and unit.dimension.startswith("money-") else None


def find_unit(tokens: Sequence[Token], at: int) -> UnitFound | None:
    """Return the unit that begins at token `at`, right behind a number."""
    if at >= len(tokens):
        return None
    touching = tokens[at].start == tokens[at - 1].end
    if touching and tokens[at].text.lower() in _LETTERS:
        return UnitFound(_LETTERS[tokens[at].text.lower()], at + 1)
    if tokens[at].text in _MARKS:
        return _point_or_percent(tokens, UnitFound(_MARKS[tokens[at].text], at + 1))
    if tokens[at].text == "\u00b0":
        return _degrees(tokens, at)
    return _worded(tokens, at)


def _worded(tokens: Sequence[Token], at: int) -> UnitFound | None:
    day_kind, power = "", 1
    for place in range(at, min(at + 1 + _MOST_SKIPPED, len(tokens))):
        word = tokens[place].word
        found = _NAMED.get(word.stem)
        if found:
            return _point_or_percent(tokens, _powered(found, power, place + 1, day_kind))
        if word.norm == "per" and place + 1 < len(tokens) and tokens[place + 1].word.norm in _PER:
            return UnitFound(_PER[tokens[place + 1].word.norm], place + 2)
        if word.norm in _DAY_KINDS:
            day_kind = _DAY_KINDS[word.norm]
        elif word.norm in _POWERS:
            power = _POWERS[word.norm]
        elif word.norm not in _SKIPPED:
            return None
    return None


_POWERS: Final = {"square": 2, "sq": 2, "cubic": 3}


def _powered(unit: Unit, power: int, end: int, day_kind: str) -> UnitFound:
    if power == 1:
        return UnitFound(unit, end, day_kind)
    name = "area" if (unit.dimension, power) == ("length", 2) else f"{unit.dimension}{power}"
    return UnitFound(Unit(name, unit.factor**power, unit.system), end, day_kind)


def _point_or_percent(tokens: Sequence[Token], found: UnitFound) -> UnitFound:
    """Tell "5 percentage points" from "5 percent": the first is a difference of the second."""
    after = tokens[found.end].word.stem if found.end < len(tokens) else ""
    if found.unit.dimension == "ratio" and after == "point":
        return UnitFound(Unit("points", Fraction(1, 100)), found.end + 1)
    return found


def _degrees(tokens: Sequence[Token], at: int) -> UnitFound | None:
    letter = tokens[at + 1].text.lower() if at + 1 < len(tokens) else ""
    if letter in _DEGREES:
        return UnitFound(Unit(_DEGREES[letter], Fraction(1)), at + 2)
    return UnitFound(Unit("degrees", Fraction(1)), at + 1)
