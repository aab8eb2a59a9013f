"""What stands around a number: the name that it carries, its rate, its side."""

from collections.abc import Sequence
from typing import Final

from affidavit.judge.lexical.lexicon import Kind
from affidavit.judge.lexical.tables import cues
from affidavit.judge.lexical.tokens import Token, norm_at
from affidavit.judge.lexical.units import PERIODS_A_YEAR

_LABELS: Final = cues("labels")
_ADJECTIVES: Final = cues("rate-adjectives")
_BEFORE_ONE: Final = frozenset({"no", "the", "this", "that", "any", "every"})


def counts_one(tokens: Sequence[Token], at: int) -> bool:
    """Say whether "one" counts something: not in "the one", "no one"."""
    behind = tokens[at + 1].word.weight if at + 1 < len(tokens) else 0
    return behind > 0 and norm_at(tokens, at - 1) not in _BEFORE_ONE


def label_of(tokens: Sequence[Token], at: int) -> str:
    """Return the name that a numbered thing carries: "Section 4.2", "Python 3.11", "Form 1040"."""
    if at == 0 or tokens[at].word.kind is not Kind.NUMBER:
        return ""
    place = at - 2 if norm_at(tokens, at - 1) in ("#", ".") else at - 1
    before = tokens[place] if place >= 0 else tokens[at - 1]
    if before.word.norm in _LABELS:
        return before.word.stem
    is_name = before.text[0].isupper() and before.word.weight > 0 and place > 0
    return before.word.stem if is_name and before.word.kind is Kind.WORD else ""


def rate_of(tokens: Sequence[Token], at: int, end: int) -> tuple[str, int]:
    """Return the period of "per month", "a day", "/year", "monthly", and where it ends."""
    joint = norm_at(tokens, end)
    if joint in ("per", "a", "an", "/", "each", "every") and end + 1 < len(tokens):
        period = tokens[end + 1].word.stem
        if period in PERIODS_A_YEAR:
            return period, end + 2
    behind = tokens[end].word.stem if end < len(tokens) else ""
    if joint.endswith("ly") and behind in PERIODS_A_YEAR:
        return behind, end + 1
    for place in range(at - 1, max(at - 6, -1), -1):
        if tokens[place].word.norm in _ADJECTIVES:
            return tokens[place].word.stem, end
    return "", end


def role_of(tokens: Sequence[Token], at: int) -> str:
    """Return the word that gives a number its side: "from 5 to 7"."""
    before = norm_at(tokens, at - 1)
    return before if before in ("from", "to") else ""
