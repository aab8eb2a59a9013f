"""Search terms of a text or a claim: stems, synonyms, and exact keys for numbers and compounds."""

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from affidavit.documents.thesaurus import load_thesaurus

if TYPE_CHECKING:
    from tantivy import TextAnalyzer

# Words to search by: stems and their synonyms for meaning, keys for what is exact.
#
# Keys are numbers in one spelling (1,000 and 1000, fourteen and 14) and words that hyphens, slashes
# or dots hold together, written as one (carry-over and carryover, debian/control). Both sides of
# the search are made here, so a claim is never parsed as a query: no character of it has a meaning.

STEMS: Final = "affidavit_stems"
_LONGEST_WORD: Final = 60
_MAX_STEMS: Final = 200_000
_WORD: Final = re.compile(r"[^\W_]+")
_LONG_WORD: Final = re.compile(r"[^\W\d_]{6,}")
_PUNCTUATION: Final = "\"'()[]{}<>.,;:!?%$\u20ac\u00a3\u2018\u2019\u201c\u201d\u2026*#|`~=&"
_NUMBER: Final = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?")
_JOINER: Final = re.compile(r"[\W_]+")
_CJK_RUN: Final = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]{2,}")
_ONES: Final = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"),
    *("eighteen", "nineteen"),
)
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
# "One" is a pronoun far more often than a number.
_NUMBER_WORDS: Final = {word: str(value) for value, word in enumerate(_ONES) if value != 1} | {
    word: str(20 + 10 * index) for index, word in enumerate(_TENS)
}
_SPAN_OF_TIME: Final = re.compile(
    r"\b(?P<count>\d{1,4}|[a-z]+)[ -](?P<unit>week|day|year|month|hour|minute)s?\b"
)
_SAME_TIME: Final = {"week": 7, "year": 12, "hour": 60}
_INTO_SAME_TIME: Final = {"day": 7, "month": 12, "minute": 60}
_STOP_WORD_WEIGHT: Final = 0.3
_STOP_WORDS: Final = """
a an and any are as at be been being but by can could did do does for from had has have he her his
how i if in into is it its may might must no nor not of on or our shall she should so some such
than that the their them then there these they this those to was we were what when where which who
whom whose why will with would you your
"""


@cache
def stem_analyzer() -> "TextAnalyzer":
    """Return what turns text into stems: letters and digits, lower case, no accents, English."""
    import tantivy

    return (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        .filter(tantivy.Filter.remove_long(_LONGEST_WORD))
        .filter(tantivy.Filter.lowercase())
        .filter(tantivy.Filter.ascii_fold())
        .filter(tantivy.Filter.stemmer("english"))
        .build()
    )


class _Stems(dict[str, str]):
    """Stems by word: the analyzer is asked for every word only once."""

    def __missing__(self, word: str) -> str:
        if len(self) >= _MAX_STEMS:
            self.clear()
        self[word] = stem = next(iter(stem_analyzer().analyze(word)), "")
        return stem


_stems: Final = _Stems()


def stems_of(text: str) -> list[str]:
    """Return the stems of a text in order."""
    return list(map(_stems.__getitem__, _WORD.findall(text.lower())))


@cache
def stop_stems() -> frozenset[str]:
    """Return the stems of words that say little by themselves."""
    return frozenset(stem_analyzer().analyze(_STOP_WORDS))


class SearchTerm(NamedTuple):
    """A stem to search for: the word of the claim that it represents, and how well, up to 1."""

    word: int
    strength: float
    is_own: bool = True
    """Whether the claim itself has it; otherwise it is a synonym."""


def claim_terms(claim: str) -> dict[str, SearchTerm]:
    """Return the stems to search for: those of the claim, and those of words of like meaning.

    Stop words count little, but not nothing: "templates should not say I or we". They have no
    synonyms. A stem that is like several words of the claim stands for the nearest.
    """
    words = {_stems[word]: word for word in reversed(_WORD.findall(claim.lower()))}
    written = {stem: words[stem] for stem in stems_of(claim) if stem}
    small, thesaurus = stop_stems(), load_thesaurus()
    terms = {
        stem: SearchTerm(number, _STOP_WORD_WEIGHT if stem in small else 1.0)
        for number, stem in enumerate(written)
    }
    for number, (stem, word) in enumerate(written.items()):
        for other, strength in () if stem in small else thesaurus.synonyms(word):
            known = terms.get(other)
            if known is None or (not known.is_own and strength > known.strength):
                terms[other] = SearchTerm(number, strength, is_own=False)
    return terms


def exact_keys(text: str) -> list[str]:
    """Return the keys of a text, with repetitions: first those in words."""
    words = text.lower().split()
    keys = [_NUMBER_WORDS[word] for word in words if word in _NUMBER_WORDS]
    # Most words are letters only, and end here.
    for written in [word for word in words if not word.isalpha()]:
        word = written.strip(_PUNCTUATION)
        if word.isalpha():
            if word in _NUMBER_WORDS:
                keys.append(_NUMBER_WORDS[word])
        elif _NUMBER.fullmatch(word):
            keys.append(word.lstrip("+-").replace(",", ""))
        elif joined := _JOINER.sub("", word):
            keys.append(joined[:_LONGEST_WORD])
    # Chinese and Japanese are written without spaces: every two signs that touch are a key.
    for run in () if text.isascii() else _CJK_RUN.findall(text):
        keys.extend(map(str.__add__, run, run[1:]))
    return keys


def claim_keys(claim: str) -> tuple[str, ...]:
    """Return the distinct keys that a passage about this claim may have.

    Besides its own: every long word, because a passage may write it with a hyphen, and the same
    span of time in the other unit (2 weeks and 14 days).
    """
    words = _LONG_WORD.findall(claim.lower())
    return tuple(dict.fromkeys((*exact_keys(claim), *_equivalent_durations(claim), *words)))


def _equivalent_durations(claim: str) -> Iterator[str]:
    for match in _SPAN_OF_TIME.finditer(claim.lower()):
        written = _NUMBER_WORDS.get(match["count"], match["count"])
        if not written.isdecimal():
            continue
        count, unit = int(written), match["unit"]
        if unit in _SAME_TIME:
            yield str(count * _SAME_TIME[unit])
        elif count and count % _INTO_SAME_TIME[unit] == 0:
            yield str(count // _INTO_SAME_TIME[unit])
