"""Search terms of a text or a claim: stems, synonyms, and exact keys for numbers and compounds."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from affidavit.base.digest import sha256_hex
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence as faults

if TYPE_CHECKING:
    from tantivy import TextAnalyzer


# The thesaurus: words of like meaning, as a sentence encoder places them.
#
# `tools/build_thesaurus.py` writes its two files. A claim says "staff", the document "employees":
# the search looks for both. Opposites are near each other too (cheap, expensive), which is right
# for a search: the passage that contradicts a claim must be found as well.

THESAURUS: Final = "thesaurus.bin"
MANIFEST: Final = "manifest.json"
DATA: Final = files(__package__) / "data"
# Before the lists: how many bytes the words and the stems take, and how many synonyms a word has.
HEADER: Final = Struct("<III")
WHOLE: Final = 255
"""The stored strength of a synonym that would be as good as the word itself."""


class _ThesaurusManifest(msgspec.Struct, frozen=True):
    sha256: str


class Thesaurus:
    """For each word, the stems of words of like meaning with their strengths, nearest first.

    After the header come the sorted words and the stems, one per line; then a row per word with
    two bytes for the number of each stem, and after all rows the strengths, a byte each. 0 is no
    synonym. Everything is an integer, so the same claim finds the same on every machine.
    """

    def __init__(self, data: bytes) -> None:
        word_bytes, stem_bytes, self._each = HEADER.unpack_from(data)
        lists = data[HEADER.size : HEADER.size + word_bytes + stem_bytes]
        self._words = lists[:word_bytes].decode("ascii").split("\n")
        self._stems = lists[word_bytes:].decode("ascii").split("\n")
        rows = memoryview(data)[HEADER.size + len(lists) :]
        count = len(self._words) * self._each
        self._numbers, self._strengths = rows[: 2 * count], rows[2 * count :]
        self._row = Struct(f"<{self._each}H")

    def synonyms(self, word: str) -> list[tuple[str, float]]:
        """Return the stems that a text may have instead of this word, each with its strength."""
        at = bisect_left(self._words, word)
        if at == len(self._words) or self._words[at] != word:
            return []
        numbers = self._row.unpack_from(self._numbers, at * self._row.size)
        strengths = self._strengths[at * self._each : (at + 1) * self._each]
        return [
            (self._stems[number], strength / WHOLE)
            for number, strength in zip(numbers, strengths, strict=True)
            if strength
        ]


def read_thesaurus(folder: Traversable = DATA) -> Thesaurus:
    """Read the thesaurus and refuse it if one byte is not as released."""
    try:
        manifest = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=_ThesaurusManifest)
        data = (folder / THESAURUS).read_bytes()
    except (OSError, msgspec.DecodeError) as error:
        raise AffidavitError(faults.THESAURUS_MISSING, Where(file=THESAURUS)) from error
    if sha256_hex(data) != manifest.sha256:
        raise AffidavitError(faults.THESAURUS_CHANGED, Where(file=THESAURUS))
    return Thesaurus(data)


@cache
def load_thesaurus() -> Thesaurus:
    """Return the thesaurus that ships with Affidavit, loaded once per process."""
    return read_thesaurus()


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
