"""Edits of numbers, dates and units: each returns the claim with one value made wrong, or None.

A value is replaced by another of the same shape that stands in the window where there is one
(the hard case: every value of the claim is then "in the source"), else by a changed one.
"""

import re

from numpy.random import Generator

from tools.train_judge.word_lists import word_pairs, words

MONTHS = tuple(words("months"))
_WEEKDAYS = tuple(words("weekdays"))
_COUNTS = tuple(word for word, _ in word_pairs("counts"))
_RANKS = tuple(words("ranks"))

_YEAR = re.compile(r"(?<![\w.,$£€-])(1[0-9]{3}|20[0-9]{2})(?![\w%]|[.,]\d)")
_NUMBER = re.compile(r"(?<![\w.,/:-])(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?(?![\w/:]|[.,]\d|-\d)")
_COUNT_WORD = re.compile(rf"\b({'|'.join(_COUNTS)})\b", re.IGNORECASE)
_RANK_WORD = re.compile(rf"\b({'|'.join(_RANKS)})\b")
_MONTH = re.compile(rf"\b({'|'.join(MONTHS)})\b")
_WEEKDAY = re.compile(rf"\b({'|'.join(_WEEKDAYS)})s?\b")
_DAY = re.compile(rf"(?<=\b)(\d{{1,2}})(?= (?:{'|'.join(MONTHS)})\b)")

# Units of one dimension, each with its spellings; a wrong unit is another of the same row.
_UNIT_ROWS = (
    (("kilometres", "kilometers", "km"), ("miles", "mi"), ("metres", "meters"), ("feet", "ft")),
    (("centimetres", "centimeters", "cm"), ("inches",), ("millimetres", "millimeters", "mm")),
    (("kilograms", "kg"), ("pounds", "lb", "lbs"), ("grams",), ("tonnes", "tons"), ("ounces",)),
    (("milligrams", "mg"), ("grams", "g"), ("micrograms", "µg")),
    (("million",), ("billion",), ("thousand",), ("trillion",), ("hundred",)),
    (("years",), ("months",), ("weeks",), ("days",), ("decades",), ("centuries",)),
    (("hours",), ("minutes",), ("seconds",)),
    (("year",), ("month",), ("week",), ("day",), ("hour",), ("minute",)),
    (("hectares", "ha"), ("acres",), ("square kilometres", "km2"), ("square miles", "sq mi")),
    (("litres", "liters"), ("gallons",), ("millilitres", "ml")),
    (("kilowatts", "kW"), ("megawatts", "MW"), ("watts",)),
    (("megabytes", "MB"), ("gigabytes", "GB"), ("kilobytes", "KB"), ("terabytes", "TB")),
    (("mph",), ("km/h", "kmh"), ("knots",)),
    (("°C",), ("°F",)),
    (("dollars",), ("euros",), ("pounds",), ("yen",), ("rupees",)),
    (("percent", "per cent", "%"), ("per thousand",)),
)
_CURRENCY = ("$", "£", "€")
_OTHER_UNITS = {
    unit: [group[0] for group in row if group is not spellings]
    for row in _UNIT_ROWS
    for spellings in row
    for unit in spellings
}
_MEASURED = re.compile(
    rf"\b(?:\d[\d,.]*|{'|'.join(_COUNTS)}|hundred|thousand|million)[ -]?"
    rf"({'|'.join(re.escape(unit) for unit in sorted(_OTHER_UNITS, key=len, reverse=True))})(?!\w)"
)


def pick(options: list[str], rng: Generator) -> str | None:
    """One of the options, or None when there is none."""
    return options[int(rng.integers(len(options)))] if options else None


def _replaced(text: str, found: re.Match[str], new: str) -> str:
    return text[: found.start()] + new + text[found.end() :]


def _one(pattern: re.Pattern[str], text: str, rng: Generator) -> re.Match[str] | None:
    matches = list(pattern.finditer(text))
    return matches[int(rng.integers(len(matches)))] if matches else None


def _in_window(pattern: re.Pattern[str], claim: str, window: str) -> list[str]:
    """Values of this shape that the window holds and the claim does not, in order."""
    own = {match.group().lower() for match in pattern.finditer(claim)}
    others = (match.group() for match in pattern.finditer(window))
    return sorted({value for value in others if value.lower() not in own})


def _like(old: str, new: str) -> str:
    return new.capitalize() if old[:1].isupper() else new


def _moved(value: str, rng: Generator) -> str:
    """Another number in the same notation (thousands separators and decimals are kept)."""
    decimals = len(value.partition(".")[2])
    number = float(value.replace(",", ""))
    factor = float(rng.choice([0.1, 0.5, 1.0, 1.0, 1.0, 2.0, 3.0, 10.0]))
    step = float(rng.choice([1, 2, 3, 5, 7, 10])) * max(1.0, 10 ** (len(str(int(number))) - 2))
    changed = number * factor if factor != 1.0 else number + step * float(rng.choice([-1, 1]))
    if changed <= 0 or f"{changed:.{decimals}f}" == f"{number:.{decimals}f}":
        changed = number + step
    return f"{changed:,.{decimals}f}" if "," in value else f"{changed:.{decimals}f}"


def _is_year(value: str) -> bool:
    return bool(re.fullmatch(r"1[0-9]{3}|20[0-9]{2}", value))


def change_number(claim: str, window: str, rng: Generator) -> str | None:
    """A figure, number word or rank becomes another."""
    options: list[str] = []
    digits = [m for m in _NUMBER.finditer(claim) if not _is_year(m.group())]
    if digits:
        found = digits[int(rng.integers(len(digits)))]
        near = [v for v in _in_window(_NUMBER, claim, window) if not _is_year(v)]
        value = pick(near, rng) if rng.integers(2) else None
        options.append(_replaced(claim, found, value or _moved(found.group(), rng)))
    for pattern, series in ((_COUNT_WORD, _COUNTS), (_RANK_WORD, _RANKS)):
        found_word = _one(pattern, claim, rng)
        if found_word:
            old = found_word.group()
            new = pick([word for word in series if word != old.lower()], rng)
            options.append(_replaced(claim, found_word, _like(old, new or "")))
    return pick(options, rng)


def change_date(claim: str, window: str, rng: Generator) -> str | None:
    """A year, month, day or weekday becomes another."""
    options: list[str] = []
    year = _one(_YEAR, claim, rng)
    if year:
        near = pick(_in_window(_YEAR, claim, window), rng) if rng.integers(2) else None
        shift = int(rng.choice([-20, -10, -5, -3, -2, -1, 1, 2, 3, 4, 6, 10, 12]))
        dated = _replaced(claim, year, near or str(int(year.group()) + shift))
        options += [dated, dated]
    for pattern, names in ((_MONTH, MONTHS), (_WEEKDAY, _WEEKDAYS)):
        found = _one(pattern, claim, rng)
        if found and not (found.group() in ("May", "March") and not re.search(r"\d", claim)):
            new = pick([name for name in names if name != found.group(1)], rng)
            options.append(claim[: found.start(1)] + (new or "") + claim[found.end(1) :])
    day = _one(_DAY, claim, rng)
    if day:
        moved = (int(day.group()) + int(rng.integers(27))) % 28 + 1
        options.append(_replaced(claim, day, str(moved)))
    return pick(options, rng)


def change_unit(claim: str, window: str, rng: Generator) -> str | None:
    """The number stays, its unit becomes another of the same dimension."""
    del window
    options: list[str] = []
    for found in _MEASURED.finditer(claim):
        unit = found.group(1)
        new = pick(_OTHER_UNITS[unit], rng) or ""
        gap = " " if unit == "%" else ""
        options.append(claim[: found.start(1)] + gap + new + claim[found.end(1) :])
    for sign in _CURRENCY:
        if f"{sign}" in claim:
            other = pick([s for s in _CURRENCY if s != sign], rng) or ""
            options.append(claim.replace(sign, other))
    return pick(options, rng)
