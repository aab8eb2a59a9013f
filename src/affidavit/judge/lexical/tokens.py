"""Words, numbers and marks of a text, each with its place."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from affidavit.judge.lexical.lexicon import Lexeme, lexeme

# Every alternative is linear: one run of one class, or a bounded repeat behind a fixed shape.
_TOKEN: Final = re.compile(
    r"""
    [Nn]on-[a-z]{3,20}+                                   # non-refundable is one word
  | [A-Za-z]++(?![\w'\u2019-])                            # most words, without a second look
  | [\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]            # a sign of an unspaced script
  | \d{4}-\d{2}-\d{2}(?!\d)                               # 2024-03-12
  | \d{1,2}[./-]\d{1,2}[./-](?:\d{4}|\d{2})(?![\d.])      # 12/03/2024, 12.03.24
  | \d{1,2}:\d{2}(?::\d{2})?(?!\d)                        # 14:30
  | \d+(?:[.,]\d+){0,8}                                   # 1,200.50 and 1.2.3
  | (?:USD|EUR|GBP|CHF|JPY|AUD|CAD|INR|SEK|NOK|DKK)(?=\d)  # EUR20.57
  | [A-Z]{2,8}-?\d[\dA-Za-z]{0,16}(?:-[\dA-Za-z]{1,16}){0,4}  # ISO27001, COVID-19, INV-2024-17
  | [^\W\d_]{1,4}\d[\dA-Za-z]{0,16}                       # v2, A4, sha256 and the like
  | [^\W\d_]+(?:['\u2019](?:[^\W\d_]{1,2}(?![^\W\d_])|[A-Z][a-z]+))?  # words; 's, n't, O'Brien
  | [%\u2030\u00b0\u20ac$\u00a3\u00a5\u20b9#&+=<>\u2264\u2265\u00b1~/|]
  | [:;,.!?()\[\]"\u201c\u201d\u2013\u2014-]
    """,
    re.VERBOSE,
)


class Token(NamedTuple):
    """A token: its spelling as written, what is known of the word, and its place."""

    text: str
    word: Lexeme
    start: int
    end: int


def words_of(text: str, start: int, end: int) -> tuple[Lexeme, ...]:
    """Return the same without spellings and places, for texts of which most is never read."""
    return tuple([lexeme(spelling) for spelling in _TOKEN.findall(text, start, end)])


def tokens_of(text: str, start: int = 0, end: int | None = None) -> tuple[Token, ...]:
    """Return the tokens of `text[start:end]`, with places counted in `text`."""
    stop = len(text) if end is None else end
    return tuple(
        [
            Token(spelling := found[0], lexeme(spelling), *found.span())
            for found in _TOKEN.finditer(text, start, stop)
        ]
    )


def norm_at(tokens: Sequence[Token], at: int) -> str:
    """Return the word at a place in lower case, "" where there is none."""
    return tokens[at].word.norm if 0 <= at < len(tokens) else ""
