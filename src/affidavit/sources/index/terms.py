"""Words to search by: stems and their synonyms for meaning, keys for what is exact.

Keys are numbers in one spelling (1,000 and 1000, fourteen and 14) and words that hyphens, slashes
or dots hold together, written as one (carry-over and carryover, debian/control). Both sides of the
search are made here, so a claim is never parsed as a query: no character of it has a meaning.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from affidavit.sources.index.synonyms import synonyms_by_stem

if TYPE_CHECKING:
    from tantivy import TextAnalyzer

STEMS: Final = "affidavit_stems"
_LONGEST_WORD: Final = 60
_MAX_STEMS: Final = 200_000
_WORD: Final = re.compile(r"[^\W_]+")
_LONG_WORD: Final = re.compile(r"[^\W\d_]{6,}")
_AROUND: Final = "\"'()[]{}<>.,;:!?%$\u20ac\u00a3\u2018\u2019\u201c\u201d\u2026*#|`~=&"
_NUMBER: Final = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?")
_JOINT: Final = re.compile(r"[\W_]+")
_UNSPACED: Final = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]{2,}")
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
_SMALL_WORD: Final = 0.3
_SYNONYM: Final = 0.4
_SMALL_WORDS: Final = """
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
def _small_stems() -> frozenset[str]:
    return frozenset(stem_analyzer().analyze(_SMALL_WORDS))


@cache
def _synonyms() -> Mapping[str, frozenset[str]]:
    return synonyms_by_stem(stem_analyzer().analyze)


class Term(NamedTuple):
    """A stem to look for: which word of the claim it stands for, and how well, up to 1."""

    word: int
    strength: float
    is_own: bool = True
    """The claim itself says it; else it is a synonym."""


def claim_terms(claim: str) -> dict[str, Term]:
    """Return the stems to look for: the claim's own, and what may be said in their place.

    Small words count little rather than nothing: "templates should not say I or we".
    """
    stems = tuple(dict.fromkeys(filter(None, stems_of(claim))))
    small, synonyms = _small_stems(), _synonyms()
    terms = {
        stem: Term(word, _SMALL_WORD if stem in small else 1.0) for word, stem in enumerate(stems)
    }
    for word, stem in enumerate(stems):
        if stem not in small:
            for other in sorted(synonyms.get(stem, ())):
                terms.setdefault(other, Term(word, _SYNONYM, is_own=False))
    return terms


def keys_of(text: str) -> list[str]:
    """Return the keys of a text, each as often as it stands there: first those in words."""
    words = text.lower().split()
    keys = [_NUMBER_WORDS[word] for word in words if word in _NUMBER_WORDS]
    # Most words are letters only, and end here.
    for written in [word for word in words if not word.isalpha()]:
        word = written.strip(_AROUND)
        if word.isalpha():
            if word in _NUMBER_WORDS:
                keys.append(_NUMBER_WORDS[word])
        elif _NUMBER.fullmatch(word):
            keys.append(word.lstrip("+-").replace(",", ""))
        elif joined := _JOINT.sub("", word):
            keys.append(joined[:_LONGEST_WORD])
    # Chinese and Japanese are written without spaces: every two signs that touch are a key.
    for run in () if text.isascii() else _UNSPACED.findall(text):
        keys.extend(map(str.__add__, run, run[1:]))
    return keys


def claim_keys(claim: str) -> tuple[str, ...]:
    """Return the distinct keys that a passage about this claim may have.

    Besides its own: every long word, because a passage may write it with a hyphen, and the same
    span of time in the other unit (2 weeks and 14 days).
    """
    words = _LONG_WORD.findall(claim.lower())
    return tuple(dict.fromkeys((*keys_of(claim), *_same_times(claim), *words)))


def _same_times(claim: str) -> Iterator[str]:
    for match in _SPAN_OF_TIME.finditer(claim.lower()):
        written = _NUMBER_WORDS.get(match["count"], match["count"])
        if not written.isdecimal():
            continue
        count, unit = int(written), match["unit"]
        if unit in _SAME_TIME:
            yield str(count * _SAME_TIME[unit])
        elif count and count % _INTO_SAME_TIME[unit] == 0:
            yield str(count // _INTO_SAME_TIME[unit])
