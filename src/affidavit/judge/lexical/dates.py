"""Finds dates and times of day in a row of tokens, in the spellings that English prose uses."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from affidavit.judge.lexical.moments import Moment, Parts
from affidavit.judge.lexical.numerals import find_numeral
from affidavit.judge.lexical.tables import cues, listed
from affidavit.judge.lexical.tokens import Token, norm_at
from affidavit.judge.lexical.units import find_unit

_MONTHS: Final = {
    name: number for number, names in enumerate(listed("months"), start=1) for name in names.split()
}
_CLEAR: Final = cues("months-clear")
_WEEKDAYS: Final = {
    form: number for number, name in enumerate(listed("weekdays")) for form in (name, name + "s")
}
_ROLES: Final = cues("moment-roles")
_BEFORE_MONTH: Final = cues("before-month")
_TEMPORAL: Final = cues("before-year")
_COMPARING: Final = cues("before-count")
_ISO: Final = re.compile(r"(\d{4})-(\d{2})-(\d{2})$")
_SLASHED: Final = re.compile(r"(\d{1,2})[./-](\d{1,2})[./-](\d{2,4})$")
_CLOCK: Final = re.compile(r"(\d{1,2})[:.](\d{2})(?::\d{2})?$")
_YEAR: Final = re.compile(r"(?:1[0-9]|20)\d\d$")
_QUARTER: Final = re.compile(r"q([1-4])$")
_FISCAL: Final = re.compile(r"fy(?:20)?(\d\d)$")

MOMENT_WORDS: Final = frozenset(_MONTHS | _WEEKDAYS) | {"noon", "midday", "midnight", "last"}
_Found = tuple[tuple[Parts, ...], int, str]


def find_moments(tokens: Sequence[Token]) -> tuple[Moment, ...]:
    """Return the dates and times among the tokens, in order, none inside another."""
    return tuple(_moments(tokens))


def _moments(tokens: Sequence[Token]) -> Iterator[Moment]:
    at = 0
    while at < len(tokens):
        found = _moment_at(tokens, at)
        if found is None:
            at += 1
            continue
        readings, end, dimension = found
        yield Moment(readings, at, end, _role_before(tokens, at), dimension)
        at = end


def _role_before(tokens: Sequence[Token], at: int) -> str:
    for place in range(at - 1, max(at - 4, -1), -1):
        word = tokens[place].word.norm
        if word in _ROLES:
            return word
        if word not in ("the", "to", "than", "later", ",", "or", "starting", "as", "of"):
            return ""
    return ""


def _moment_at(tokens: Sequence[Token], at: int) -> _Found | None:
    word = tokens[at].word.norm
    if word[0].isdecimal():
        return _from_digits(tokens, at, word)
    if word in _MONTHS:
        return _month_first(tokens, at)
    if word in _WEEKDAYS:
        return (Parts(weekday=_WEEKDAYS[word]),), at + 1, "weekday"
    if word in ("noon", "midday", "midnight"):
        return (Parts(minute=0 if word == "midnight" else 720),), at + 1, "clock"
    return _quarter(tokens, at, word)


def _from_digits(tokens: Sequence[Token], at: int, word: str) -> _Found | None:
    readers: tuple[Callable[[Sequence[Token], int, str], _Found | None], ...] = (
        _iso, _slashed, _clock, _day_first, _half_day_hour, _decade_or_century, _year_alone,
    )  # fmt: skip
    for reader in readers:
        found = reader(tokens, at, word)
        if found:
            return found
    return None


def _touches(tokens: Sequence[Token], at: int) -> bool:
    return 0 < at < len(tokens) and tokens[at].start == tokens[at - 1].end


def _iso(tokens: Sequence[Token], at: int, word: str) -> _Found | None:
    found = _ISO.match(word)
    if not found:
        return None
    year, month, day = (int(part) for part in found.groups())
    return ((Parts((year, year), month, day),), at + 1, "date") if month <= 12 else None


def _slashed(tokens: Sequence[Token], at: int, word: str) -> _Found | None:
    """Read 03/04/2024 both ways, day first and month first."""
    found = _SLASHED.match(word)
    if not found:
        return None
    one, other, year = (int(part) for part in found.groups())
    year += 0 if year > 99 else 2000 if year < 70 else 1900
    readings = tuple(
        Parts((year, year), month, day)
        for day, month in dict.fromkeys(((one, other), (other, one)))
        if 1 <= month <= 12 and 1 <= day <= 31
    )
    return (readings, at + 1, "date") if readings else None


def _clock(tokens: Sequence[Token], at: int, word: str) -> _Found | None:
    found = _CLOCK.match(word)
    if not found or int(found[1]) > 24 or int(found[2]) > 59:
        return None
    minute = int(found[1]) * 60 + int(found[2])
    half, end = _half_day(tokens, at + 1)
    if half is not None:
        return (Parts(minute=minute % 720 + half),), end, "clock"
    if "." in word:
        return None  # Without am or pm, 9.30 is a number.
    both = (Parts(minute=minute), Parts(minute=minute + 720))
    return (both if 60 <= minute < 720 and word[0] != "0" else both[:1]), at + 1, "clock"


def _half_day(tokens: Sequence[Token], at: int) -> tuple[int | None, int]:
    """Return 0 for am, 720 for pm, and where it ends; "a.m." is four tokens."""
    word = norm_at(tokens, at)
    if word in ("am", "pm"):
        return (0 if word == "am" else 720), at + 1
    if word in ("a", "p") and norm_at(tokens, at + 1) == "." and norm_at(tokens, at + 2) == "m":
        end = at + 4 if norm_at(tokens, at + 3) == "." and _touches(tokens, at + 3) else at + 3
        return (0 if word == "a" else 720), end
    return None, at


def _half_day_hour(tokens: Sequence[Token], at: int, word: str) -> _Found | None:
    if not (word.isdecimal() and 1 <= len(word) <= 2 and 1 <= int(word) <= 12):
        return None
    half, end = _half_day(tokens, at + 1)
    if half is None:
        return None
    return (Parts(minute=int(word) % 12 * 60 + half),), end, "clock"


def _day_number(tokens: Sequence[Token], at: int) -> tuple[int, int]:
    """Return a day of the month and where it ends; day 0 if there is none."""
    if at >= len(tokens) or not tokens[at].text.isdecimal() or len(tokens[at].text) > 2:
        return 0, at
    day = int(tokens[at].text)
    end = at + 2 if norm_at(tokens, at + 1) in ("st", "nd", "rd", "th") else at + 1
    return (day, end) if 1 <= day <= 31 else (0, at)


def _year_number(tokens: Sequence[Token], at: int) -> tuple[int, int]:
    place = at + 1 if norm_at(tokens, at) in (",", "of") else at
    if _YEAR.match(norm_at(tokens, place)) and norm_at(tokens, place + 1) != "%":
        return int(tokens[place].text), place + 1
    return 0, at


def _day_first(tokens: Sequence[Token], at: int, word: str) -> _Found | None:
    day, end = _day_number(tokens, at)
    if not day:
        return None
    place = end + 1 if norm_at(tokens, end) in ("of", "-") else end
    month = _MONTHS.get(norm_at(tokens, place))
    if month is None or not (tokens[place].text[0].isupper() or len(tokens[place].text) > 3):
        return None
    year, stop = _year_number(tokens, place + 1)
    return (Parts((year, year) if year else None, month, day),), stop, "date"


def _month_first(tokens: Sequence[Token], at: int) -> _Found | None:
    month = _MONTHS[tokens[at].word.norm]
    after = at + 2 if norm_at(tokens, at + 1) == "." and len(tokens[at].text) < 5 else at + 1
    day, end = _day_number(tokens, after)
    year, stop = _year_number(tokens, end)
    # "May", "March" and "August" are also other words; in lower case a month needs its day.
    is_name = tokens[at].text[0].isupper() and (
        day or year or tokens[at].word.norm in _CLEAR or norm_at(tokens, at - 1) in _BEFORE_MONTH
    )
    if not is_name and not (day and len(tokens[at].text) > 3):
        return None
    return (Parts((year, year) if year else None, month, day or None),), stop, "date"


def _decade_or_century(tokens: Sequence[Token], at: int, word: str) -> _Found | None:
    if _YEAR.match(word) and word.endswith("0") and norm_at(tokens, at + 1) == "s":
        return (Parts((int(word), int(word) + 9)),), at + 2, "date"
    numeral = find_numeral(tokens, at)
    if numeral and numeral.shape == "ordinal" and norm_at(tokens, numeral.end) == "century":
        last = int(numeral.value) * 100
        return (Parts((last - 99, last)),), numeral.end + 1, "date"
    return None


def _year_alone(tokens: Sequence[Token], at: int, word: str) -> _Found | None:
    if not _YEAR.match(word) or _is_counted(tokens, at):
        return None
    return (Parts((int(word), int(word))),), at + 1, "date"


def _is_counted(tokens: Sequence[Token], at: int) -> bool:
    """Tell "2000 employees" and "$1999" from the years."""
    before, after = norm_at(tokens, at - 1), norm_at(tokens, at + 1)
    if before in ("$", "\u20ac", "\u00a3", "\u00a5", "#") or after in ("%", "$", "\u20ac"):
        return True
    if find_unit(tokens, at + 1) or (_touches(tokens, at + 1) and after.isalpha()):
        return True
    if before in _COMPARING:
        return True
    is_noun = after.endswith("s") and after.isalpha() and tokens[at + 1].text.islower()
    return is_noun and len(after) > 3 and before not in _TEMPORAL


def _quarter(tokens: Sequence[Token], at: int, word: str) -> _Found | None:
    short = _QUARTER.match(word)
    fiscal = _FISCAL.match(word)
    if fiscal:
        year = 2000 + int(fiscal[1])
        return (Parts((year, year)),), at + 1, "date"
    if short:
        number, end = int(short[1]), at + 1
    else:
        number, end = _worded_quarter(tokens, at)
    if not number:
        return None
    year, stop = _year_number(tokens, end)
    return (Parts((year, year) if year else None, quarter=number),), stop, "date"


def _worded_quarter(tokens: Sequence[Token], at: int) -> tuple[int, int]:
    """Read "third quarter"; quarter 0 if there is none. A seventh one is wrong, and still said."""
    numeral = find_numeral(tokens, at)
    if not numeral or numeral.shape != "ordinal" or norm_at(tokens, numeral.end) != "quarter":
        return 0, at
    return int(numeral.value), numeral.end + 1
