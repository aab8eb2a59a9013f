"""Clauses, as far as marks and joining words show them."""

from collections.abc import Sequence
from typing import Final

from affidavit.judge.lexical.tables import cues
from affidavit.judge.lexical.tokens import Token

HARD_ENDS: Final = cues("clause-ends")
JOINTS: Final = cues("joints")


def clause_around(tokens: Sequence[Token], at: int, reach: int = 30) -> range:
    """Return the tokens of the clause that holds token `at`."""
    start, end = at, at + 1
    while start > 0 and at - start < reach and tokens[start - 1].word.norm not in HARD_ENDS:
        start -= 1
    while end < len(tokens) and end - at < reach and tokens[end].word.norm not in HARD_ENDS:
        end += 1
    return range(start, end)
