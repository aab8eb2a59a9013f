"""Words to search by: stems for meaning, keys for what must match to the letter.

Keys are numbers in one spelling (1,000 and 1000, fourteen and 14) and words that hyphens, slashes
or dots hold together, written as one (carry-over and carryover, debian/control). Both sides of the
search are made here, so a claim is never parsed as a query: no character of it has a meaning.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tantivy import TextAnalyzer

STEMS: Final = "affidavit_stems"
_LONGEST_WORD: Final = 60
_KEY: Final = re.compile(
    r"(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w,])|\d+(?:\.\d+)?(?![\w.]*\w))"
    r"|(?P<compound>[^\W_]+(?:[-/._:+][^\W_]+)+)"
    r"|(?P<word>\b(?:t(?:w|h|en)|f|s|e|n|zero)[a-z]+\b)"
)
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
_NOT_JOINED: Final = re.compile(r"[-/._:+]")
_SPAN_OF_TIME: Final = re.compile(
    r"\b(?P<count>\d{1,4}|[a-z]+)[ -](?P<unit>week|day|year|month|hour|minute)s?\b"
)
_SAME_TIME: Final = {"week": 7, "year": 12, "hour": 60}
_INTO_SAME_TIME: Final = {"day": 7, "month": 12, "minute": 60}
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


@cache
def _stop_stems() -> frozenset[str]:
    return frozenset(stem_analyzer().analyze(_SMALL_WORDS))


def claim_stems(claim: str) -> tuple[str, ...]:
    """Return the distinct stems of a claim in order; small words only if it has no others."""
    stems = tuple(dict.fromkeys(stem_analyzer().analyze(claim)))
    telling = tuple(stem for stem in stems if stem not in _stop_stems())
    return telling or stems


def keys_of(text: str) -> list[str]:
    """Return the keys of a text, each as often as it stands there."""
    keys: list[str] = []
    for match in _KEY.finditer(text.lower()):
        if match["number"]:
            keys.append(match["number"].replace(",", ""))
        elif match["compound"]:
            keys.append(_NOT_JOINED.sub("", match["compound"]))
        elif match["word"] in _NUMBER_WORDS:
            keys.append(_NUMBER_WORDS[match["word"]])
    return keys


def claim_keys(claim: str) -> tuple[str, ...]:
    """Return the distinct keys that a passage about this claim may have.

    Besides its own: every plain word, because a passage may write it with a hyphen, and the same
    span of time in the other unit (2 weeks and 14 days).
    """
    words = (word for word in re.findall(r"[^\W\d_]{6,}", claim.lower()))
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
