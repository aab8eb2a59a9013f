"""Detects claims in a language that the judge does not know.

The rules know English words. In another language they recognise neither negations nor number words,
so matching words must not count as support. A share of words that are not in the background table
does not prove another language, but it is a reason not to support the claim.
"""

from functools import lru_cache
from typing import Final

from affidavit.judge.lexical.claims import claim_of
from affidavit.judge.lexical.lexicon import IDF, Kind

FOREIGN_SCORE: Final = "unknown_words"
NOTE: Final = "too few of its words are English for more than a repetition to count"
TOO_MANY: Final = 0.41


@lru_cache(maxsize=64)
def unknown_words(sentence: str) -> float:
    """Return the share of the claim's words that the background table has never seen."""
    words = [
        token.word
        for part in claim_of(sentence).parts
        for token in part.sentence.tokens
        if token.word.kind is Kind.WORD and token.text.isalpha()
    ]
    unknown = [word for word in words if word.weight and word.stem not in IDF]
    return len(unknown) / len(words) if words else 0.0


def repeats(sentence: str, snippet: str) -> bool:
    """Say whether the claim stands in the source letter for letter, which needs no language."""
    return _plain(sentence) in _plain(snippet)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".!?\u3002")
