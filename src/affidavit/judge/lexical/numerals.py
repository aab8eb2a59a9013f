"""Numbers as people write them: digits with separators, words, ordinals, fractions, magnitudes."""

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, NamedTuple

from affidavit.judge.lexical.tables import listed
from affidavit.judge.lexical.tokens import Token, norm_at

_ONES: Final = {word: value for value, word in enumerate(listed("ones"))}
_TENS: Final = {word: 10 * value for value, word in enumerate(listed("tens"), start=2)}
_ORDINALS: Final = {word: value for value, word in enumerate(listed("ordinals"), start=1)} | {
    "thirtieth": 30, "fortieth": 40, "fiftieth": 50, "hundredth": 100,
}  # fmt: skip
_PARTS: Final = {
    part: value for word, value in _ORDINALS.items() if value > 2 for part in (word, word + "s")
} | {"half": 2, "halves": 2, "quarter": 4, "quarters": 4}
_MAGNITUDES: Final = {
    "hundred": 100, "thousand": 1_000, "million": 10**6, "billion": 10**9, "trillion": 10**12,
    "dozen": 12, "lakh": 10**5, "crore": 10**7, "bn": 10**9, "mn": 10**6, "mln": 10**6,
    "mio": 10**6, "tn": 10**12,
}  # fmt: skip
# A single letter is a magnitude only where it touches the digits, and "m" only behind a currency
# or as a capital: "5 m" is a length.
_LETTERS: Final = {"k": 1_000, "K": 1_000, "M": 10**6, "B": 10**9}
_MONEY_LETTERS: Final = _LETTERS | {"m": 10**6, "b": 10**9}
_NUMERATORS: Final = frozenset("1234579")
_SUFFIXES: Final = frozenset({"st", "nd", "rd", "th"})
NUMBER_WORDS: Final = frozenset(_ONES | _TENS | _ORDINALS | _PARTS | _MAGNITUDES)
_MOST_DIGITS: Final = 24  # Longer runs are identifiers: nobody counts that far.
_MOST_WORDS: Final = 12

_PLAIN: Final = re.compile(r"\d+(?:\.\d+)?$")
_GROUPED: Final = re.compile(r"\d{1,3}(?:,\d{2,3})*,\d{3}(?:\.\d+)?$")
_CONTINENTAL: Final = re.compile(r"\d{1,3}(?:\.\d{3})+,\d{1,2}$|\d{1,3}(?:\.\d{3}){2,}$")
_DECIMAL_COMMA: Final = re.compile(r"\d+,\d{1,2}$")


class Numeral(NamedTuple):
    """A number in a row of tokens; it ends before token `end`.

    `shape` is "cardinal", "ordinal" or "ratio". `step` is the size of the last written digit where
    a magnitude was used ("1.2 million": 100,000), else 0: such a number was rounded by its writer.
    """

    value: Fraction
    end: int
    shape: str = "cardinal"
    step: Fraction = Fraction(0)


def value_of_digits(text: str) -> Fraction | None:
    """Return the value of a number written in digits; None for versions and over-long runs."""
    if len(text) > _MOST_DIGITS:
        return None
    if _PLAIN.match(text):
        return Fraction(text)
    if _GROUPED.match(text):
        return Fraction(text.replace(",", ""))
    if _CONTINENTAL.match(text):
        return Fraction(text.replace(".", "").replace(",", "."))
    if _DECIMAL_COMMA.match(text):
        return Fraction(text.replace(",", "."))
    return None


def find_numeral(tokens: Sequence[Token], at: int, is_money: bool = False) -> Numeral | None:
    """Return the number that begins at token `at`, if one does."""
    word = tokens[at].word.norm
    if word[0].isdecimal():
        return _digits(tokens, at, is_money)
    if word in ("a", "an"):
        return _after_article(tokens, at)
    if word in _ONES or word in _TENS:
        return _words(tokens, at)
    if word in _ORDINALS:
        return Numeral(Fraction(_ORDINALS[word]), at + 1, "ordinal")
    return _half(tokens, at) if word == "half" else None


def _over_hyphen(tokens: Sequence[Token], at: int) -> int:
    return at + 1 if norm_at(tokens, at) == "-" else at


def _digits(tokens: Sequence[Token], at: int, is_money: bool) -> Numeral | None:
    if _is_torn(tokens, at):
        whole = Fraction(tokens[at].text + tokens[at + 2].text)
        return _with_magnitudes("", whole, tokens, at + 3)
    digits = tokens[at].text
    value = value_of_digits(digits)
    if value is None:
        return None
    if at + 1 < len(tokens) and tokens[at + 1].start == tokens[at].end:
        touching = tokens[at + 1].text
        letters = _MONEY_LETTERS if is_money else _LETTERS
        if touching in _SUFFIXES:
            return Numeral(value, at + 2, "ordinal")
        if touching in letters:
            return _scaled(digits, value, letters[touching], at + 2)
        if _is_simple_fraction(tokens, at):
            return Numeral(value / Fraction(tokens[at + 2].text), at + 3, "ratio")
    if at + 3 < len(tokens) and digits.isdecimal() and _is_simple_fraction(tokens, at + 1):
        part = Fraction(int(tokens[at + 1].text), int(tokens[at + 3].text))
        return Numeral(value + part, at + 4)  # 2 1/2
    return _with_magnitudes(digits, value, tokens, at + 1)


def _is_torn(tokens: Sequence[Token], at: int) -> bool:
    """Say whether a space fell into a grouped number: "56, 000". No list goes on with a 0."""
    rest = norm_at(tokens, at + 2)
    return (
        norm_at(tokens, at + 1) == ","
        and len(rest) == 3
        and rest.isdecimal()
        and rest[0] == "0"
        and tokens[at].text.isdecimal()
        and len(tokens[at].text) <= 3
    )


def _is_simple_fraction(tokens: Sequence[Token], at: int) -> bool:
    below = norm_at(tokens, at + 2)
    return (
        norm_at(tokens, at + 1) == "/"
        and below in ("2", "3", "4", "5", "8", "10")
        and tokens[at].text in _NUMERATORS
        and int(tokens[at].text) < int(below)
        and tokens[at + 2].start == tokens[at].end + 1
    )


def _scaled(digits: str, value: Fraction, size: int, end: int) -> Numeral:
    decimals = len(digits.partition(".")[2])
    return Numeral(value * size, end, "cardinal", Fraction(size, 10**decimals))


def _with_magnitudes(digits: str, value: Fraction, tokens: Sequence[Token], after: int) -> Numeral:
    size, end = 1, after
    # "2 hundred thousand": magnitudes may follow one another, but not without end.
    for _ in range(3):
        behind = _over_hyphen(tokens, end)
        word = norm_at(tokens, behind)
        if word not in _MAGNITUDES:
            break
        size, end = size * _MAGNITUDES[word], behind + 1
    return Numeral(value, after) if size == 1 else _scaled(digits, value, size, end)


def _after_article(tokens: Sequence[Token], at: int) -> Numeral | None:
    """Read "a hundred", "a third of"; a bare article is no number."""
    word = norm_at(tokens, at + 1)
    if word in _MAGNITUDES:
        return _with_magnitudes("1", Fraction(1), tokens, at + 1)
    if word in _PARTS and word != "half" and norm_at(tokens, at + 2) == "of":
        return Numeral(Fraction(1, _PARTS[word]), at + 2, "ratio")
    return None


def _half(tokens: Sequence[Token], at: int) -> Numeral:
    """Read "half a million" as a number; "half of", "half an hour" as a ratio of what follows."""
    behind = at + 1
    if norm_at(tokens, behind) in ("a", "an") and norm_at(tokens, behind + 1) in _MAGNITUDES:
        found = _with_magnitudes("0.5", Fraction(1, 2), tokens, behind + 1)
        return found
    return Numeral(Fraction(1, 2), behind, "ratio")


def _words(tokens: Sequence[Token], at: int) -> Numeral:
    """Read a run of number words: "two hundred and fifty thousand", "twenty-first"."""
    total, current, end = 0, 0, at
    for _ in range(_MOST_WORDS):
        behind = _next_number_word(tokens, end, at)
        word = norm_at(tokens, behind)
        if word in _ORDINALS and current % 10 == 0 and current >= 20 and _ORDINALS[word] < 10:
            return Numeral(Fraction(total + current + _ORDINALS[word]), behind + 1, "ordinal")
        if word in _MAGNITUDES and end > at:
            total, current = _magnified(total, current, _MAGNITUDES[word])
        elif _fits(current, word):
            current += _ONES.get(word, 0) + _TENS.get(word, 0)
        else:
            break
        end = behind + 1
    return _as_fraction(tokens, end, total + current)


def _next_number_word(tokens: Sequence[Token], end: int, at: int) -> int:
    if end == at:
        return end
    behind = _over_hyphen(tokens, end)
    joined = norm_at(tokens, behind) == "and" and norm_at(tokens, end - 1) in (
        "hundred",
        "thousand",
    )
    return behind + 1 if joined else behind


def _magnified(total: int, current: int, size: int) -> tuple[int, int]:
    if size == 100:
        return total, max(current, 1) * 100
    return total + max(current, 1) * size, 0


def _fits(current: int, word: str) -> bool:
    """Say whether the word continues the number: "twenty one" does, "one two" does not."""
    if word in _ONES:
        return (
            current == 0
            or (current % 100 >= 20 and current % 10 == 0 and _ONES[word] < 10)
            or (current >= 100 and current % 100 == 0)
        )
    return word in _TENS and current % 100 == 0


def _as_fraction(tokens: Sequence[Token], end: int, value: int) -> Numeral:
    behind = _over_hyphen(tokens, end)
    part = norm_at(tokens, behind)
    if part in _PARTS and value < _PARTS[part] and (part.endswith("s") or value == 1):
        return Numeral(Fraction(value, _PARTS[part]), behind + 1, "ratio")
    return Numeral(Fraction(value), end)
