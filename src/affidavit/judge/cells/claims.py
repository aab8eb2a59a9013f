"""The words and the numbers of a claim and of a cell, and what they may be called."""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple

from affidavit.judge.lexical.lexicon import Kind
from affidavit.judge.lexical.numerals import find_numeral, value_of_digits
from affidavit.judge.lexical.stemming import stem
from affidavit.judge.lexical.tables import STOP_WORDS, cues, listed
from affidavit.judge.lexical.tokens import Token, norm_at, tokens_of
from affidavit.judge.lexical.units import Unit, find_unit, money_named


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
DIMENSIONS: Final = MappingProxyType(
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
MORE: Final = _words(
    "higher larger greater more bigger longer wider taller faster quicker warmer hotter heavier "
    "older deeper later brighter denser stronger louder costlier"
)
LESS: Final = _words(
    "lower smaller less fewer shorter narrower slower colder cooler lighter younger shallower "
    "earlier cheaper weaker"
)
ROSE: Final = _words("rose rise risen increased increase grew grow climbed gained went")
FELL: Final = _words(
    "fell fall fallen decreased decrease dropped drop declined decline sank shrank"
)
FAST: Final = frozenset({"faster", "quicker"})
SLOW: Final = frozenset({"slower"})
LASTS: Final = frozenset(map(stem, _words("time latency duration ms elapsed runtime")))
_NEGATIONS: Final = cues("negation") - {"zero"}
ABOUT: Final = _words("about around roughly approximately nearly almost some circa ~")
SKIPPED: Final = _words(
    "has have had is was were are be been of the a an in on at for with to from by and or than "
    "that this it its their value values row column table data set dataset according listed given "
    "entry shows show stands there per as which"
)


def _keys(norm: str) -> frozenset[str]:
    root = stem(norm)
    found = {root, stem(_MONTHS.get(norm, norm))}
    if root in _SAME_MEASURE:
        found.add("=" + _SAME_MEASURE[root])
    if norm in DIMENSIONS:
        found.add(DIMENSIONS[norm])
    return frozenset(found)


@lru_cache(maxsize=1 << 14)
def name_words(name: str) -> tuple[frozenset[str], ...]:
    """Return the words of a name that say something, each with what it may be called."""
    plain = " ".join(_CAMEL.split(name))
    norms = [token.word.norm for token in tokens_of(plain) if token.word.kind is not Kind.MARK]
    telling = [norm for norm in norms if norm not in STOP_WORDS and norm not in SKIPPED]
    return tuple(_keys(norm) for norm in telling or norms)


class CellClaim(NamedTuple):
    """A claim as its tokens, what each of them can be called, and its numbers."""

    tokens: tuple[Token, ...]
    words: tuple[frozenset[str], ...]
    amounts: tuple["CellAmount", ...]


class CellAmount(NamedTuple):
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


def read_claim(claim: str) -> CellClaim | None:
    """Return the claim by words and numbers; None for a negated one, which no cell states."""
    tokens = tokens_of(claim)
    if any(token.word.norm in _NEGATIONS or token.word.norm.endswith("n't") for token in tokens):
        return None
    words = tuple(_keys(token.word.norm) for token in tokens)
    return CellClaim(tokens, words, tuple(find_amounts(tokens)))


YEAR: Final = re.compile(r"(?:1[5-9]|20)\d\d$")
_CLOCK: Final = re.compile(r"(\d{1,2}):(\d{2})$")
_VERSION: Final = re.compile(r"\d+(?:\.\d+){2,}$")
DATE: Final = re.compile(r"(\d{4})-(\d{2})-(\d{2})$")
_BOUNDS: Final = (
    (("more", "than"), ">"), (("greater", "than"), ">"), (("over",), ">"), (("above",), ">"),
    (("exceeds",), ">"), (("less", "than"), "<"), (("fewer", "than"), "<"), (("under",), "<"),
    (("below",), "<"), (("at", "least"), ">="), (("at", "most"), "<="), (("up", "to"), "<="),
)  # fmt: skip


def find_amounts(tokens: Sequence[Token]) -> Iterator[CellAmount]:
    """Yield the numbers, times, dates and versions among the tokens."""
    at = 0
    while at < len(tokens):
        found = _amount_at(tokens, at)
        if found is None:
            at += 1
        else:
            yield found
            at = found.end


def _amount_at(tokens: Sequence[Token], at: int) -> CellAmount | None:
    text = tokens[at].text
    about = norm_at(tokens, at - 1) in ABOUT or tokens[at - 1].text == "~" if at else False
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
        return CellAmount(minutes, at, at + 1, kind="clock", is_about=about, text=text, bound=bound)
    day = _date_at(tokens, at)
    if day is not None:
        return day
    if _VERSION.match(text):
        return CellAmount(Fraction(0), at, at + 1, kind="version", text=text)
    money = money_named(tokens[at - 1]) if at else None
    numeral = find_numeral(tokens, at, money is not None) if _starts_number(tokens, at) else None
    if numeral is None or numeral.shape == "ordinal":
        return None
    unit, unit_end = find_unit_at(tokens, numeral.end)
    if unit is None and _touches_word(tokens, numeral.end):
        return None  # 0x1F is a code, not the number 0.
    rate = ""
    if unit and norm_at(tokens, unit_end) == "/" and unit_end + 1 < len(tokens):
        rate = "".join(token.text for token in tokens[numeral.end : unit_end + 2])
        unit_end += 2
    sign = -1 if at and tokens[at - 1].text in "-\u2212" and _is_apart(tokens, at - 1) else 1
    return CellAmount(
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


def find_unit_at(tokens: Sequence[Token], at: int) -> tuple[Unit | None, int]:
    """Return the unit behind a number and the token behind the unit."""
    at += norm_at(tokens, at) in {"degree", "degrees"}
    found = find_unit(tokens, at)
    if found is not None:
        return found.unit, found.end
    known = _FURTHER_UNITS.get(norm_at(tokens, at))
    return known, at + (known is not None)


def _touches_word(tokens: Sequence[Token], at: int) -> bool:
    return (
        at < len(tokens)
        and tokens[at].word.kind is Kind.WORD
        and tokens[at].start == tokens[at - 1].end
    )


def _starts_number(tokens: Sequence[Token], at: int) -> bool:
    norm = tokens[at].word.norm
    return norm[0].isdecimal() or norm not in {"a", "an", "half", "one", "second", "no"}


def _is_apart(tokens: Sequence[Token], at: int) -> bool:
    return at == 0 or tokens[at - 1].end < tokens[at].start


_MONTH_NUMBERS: Final = MappingProxyType(
    {name: number for number, names in enumerate(listed("months"), 1) for name in names.split()}
)


def _date_at(tokens: Sequence[Token], at: int) -> CellAmount | None:
    """Read 2020-07-07, 7 July 2020 and July 7, 2020 as a count that orders days."""
    iso = DATE.match(tokens[at].text)
    if iso:
        year, month, day = map(int, iso.groups())
        return CellAmount(_day(year, month, day), at, at + 1, kind="date", text=tokens[at].text)
    norms = [norm_at(tokens, at + step) for step in range(4)]
    texts = [norm for norm in norms if norm != ","]
    if len(texts) < 3 or not texts[2].isdecimal() or len(texts[2]) != 4:
        return None
    length = 3 + norms[:3].count(",")
    for day_text, month_text in (texts[:2], texts[1::-1]):
        if month_text in _MONTH_NUMBERS and day_text.isdecimal() and int(day_text) <= 31:
            value = _day(int(texts[2]), _MONTH_NUMBERS[month_text], int(day_text))
            return CellAmount(value, at, at + length, kind="date", text=" ".join(norms[:length]))
    return None


def _day(year: int, month: int, day: int) -> Fraction:
    return Fraction(10_000 * year + 100 * month + day)


_CODE: Final = re.compile(r"\b\d\w*[A-Za-z_]\w*\d|\b\d+_")
"""Letters between digits, as in 06_7EH2: a name, not a number."""
_RANGE: Final = re.compile(r"\d\S*\s*(?:\u2013|-|to|\u2026)\s*\d")


@lru_cache(maxsize=1 << 14)
def cell_amount(text: str) -> CellAmount | None:
    """Return the number of a cell that holds one number, with a unit or a few words."""
    if _CODE.search(text) or (_RANGE.search(text) and not DATE.match(text)):
        return None
    tokens = tokens_of(text)
    amounts = list(find_amounts(tokens))
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


def kind_of(text: str) -> str:
    """Return what a cell holds: "text", or the kind of its number."""
    amount = cell_amount(text)
    return amount.kind if amount else "text"


@lru_cache(maxsize=1 << 14)
def word_set(name: str) -> frozenset[str]:
    """Return all that the words of a name can be called."""
    return frozenset[str]().union(*name_words(name)) if name else frozenset()
