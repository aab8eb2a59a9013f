"""What is denied in a sentence: negations, what each aims at, and how far it reaches.

A word counts as denied when an odd number of negations reach it. "Not only" denies nothing, and
"no later than" belongs to its number. A prohibition ("is prohibited", "not permitted") denies what
stands before it too: "Carrying over leave is not permitted".
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from affidavit.judge.lexical.lexicon import Kind
from affidavit.judge.lexical.passages import Sentence
from affidavit.judge.lexical.tables import cues
from affidavit.judge.lexical.tokens import Token, norm_at


class Negation(NamedTuple):
    """One negation: the token of its cue, the first content word it aims at, and its reach."""

    cue: int
    focus: int
    reach: range
    is_ban: bool = False


_CUES: Final = cues("negation")
_BEFORE_TO: Final = cues("negation-before-to")
_BEFORE_OF: Final = cues("negation-before-of")
# "No more than 5", "not exceed", "no doubt", "not only": a number's bound or no denial at all.
_NOT_DENYING: Final = cues("not-denying")
_ENDS: Final = cues("negation-ends")
_BANS: Final = cues("bans")
_GRANTS: Final = cues("grants")
# Inside a clause these deny the next noun only: "at no cost to the company".
_NARROW: Final = cues("negation-narrow")
# "Not including meals" is aimed at the meals, "no longer sold" at the sale.
_THROUGH: Final = frozenset({"include", "includes", "included", "including", "longer"})
_NARROW_REACH: Final = 7
_BE: Final = frozenset({"is", "are", "was", "were", "be", "been", "being"})
_SUBJECTS: Final = cues("subjects")
_REACH: Final = 24  # Tokens; a denial that far from its verb is another clause's.


@lru_cache(maxsize=4096)
def negations_of(sentence: Sentence) -> tuple[Negation, ...]:
    """Return the negations of a sentence, in order."""
    tokens = sentence.tokens
    found = []
    for at, token in enumerate(tokens):
        if _is_cue(tokens, at):
            found.append(_negation(tokens, at))
        elif token.word.norm in _BANS and not _is_denied_before(tokens, at):
            found.extend(_ban(tokens, at))
    return tuple(found)


@lru_cache(maxsize=4096)
def denied_places(sentence: Sentence) -> frozenset[int]:
    """Return the tokens that an odd number of negations reach."""
    return denied_by(negations_of(sentence))


def denied_by(negations: Sequence[Negation]) -> frozenset[int]:
    """Return the tokens that an odd number of these negations reach."""
    odd: set[int] = set()
    for negation in negations:
        odd.symmetric_difference_update(negation.reach)
    return frozenset(odd)


def _is_cue(tokens: Sequence[Token], at: int) -> bool:
    word = tokens[at].word.norm
    after = norm_at(tokens, at + 1)
    if word in _CUES or word.endswith("n't"):
        if (word == "no" and (after == "." or after[:1].isdecimal())) or _is_exclusive(tokens, at):
            return False
        if after == "longer" and norm_at(tokens, at + 2) != "than":
            return True
        is_aside = word == "not" and norm_at(tokens, at - 1) in ("or", "if", "whether")
        return after not in _NOT_DENYING and not is_aside
    if word in _BEFORE_TO:
        return after == "to"
    if word in _BEFORE_OF:
        return after == "of"
    return word == "rather" and after == "than"


def _is_exclusive(tokens: Sequence[Token], at: int) -> bool:
    """Say whether the word belongs to "nobody but", "no one except": these name who alone may."""
    for first in range(max(0, at - 2), at + 1):
        words = [norm_at(tokens, first + step) for step in range(3)]
        short = words[0] in ("nobody", "none") and words[1] in ("but", "except")
        if short or (words[:2] == ["no", "one"] and words[2] in ("but", "except")):
            return at < first + (2 if short else 3)
    return False


def _is_denied_before(tokens: Sequence[Token], at: int) -> bool:
    return any(_is_cue(tokens, place) for place in range(max(0, at - 2), at))


def _negation(tokens: Sequence[Token], at: int) -> Negation:
    end = _reach_end(tokens, at)
    aims = [place for place in range(at + 1, end) if tokens[place].word.weight > 0]
    is_through = len(aims) > 1 and tokens[aims[0]].word.norm in _THROUGH
    focus = aims[1] if is_through else aims[0] if aims else at
    grants = any(tokens[place].word.norm in _GRANTS for place in range(at + 1, min(at + 4, end)))
    if grants and tokens[at].word.norm not in ("no", "without"):
        return Negation(at, focus, range(_clause_start(tokens, at), end), is_ban=True)
    return Negation(at, focus, range(at + 1, end))


def _ban(tokens: Sequence[Token], at: int) -> Iterator[Negation]:
    """Yield what a ban denies: what stands before it, or behind "from". An adjective bans nothing.

    "Smoking is banned", "banned from smoking"; "a banned substance".
    """
    after = tokens[at + 1].word if at + 1 < len(tokens) else None
    if after and after.norm == "from":
        yield _negation(tokens, at)
    elif not after or after.weight == 0 or _is_passive(tokens, at):
        yield Negation(at, at, range(_clause_start(tokens, at), at), is_ban=True)


def _is_passive(tokens: Sequence[Token], at: int) -> bool:
    return any(tokens[place].word.norm in _BE for place in range(max(0, at - 3), at))


def _reach_end(tokens: Sequence[Token], at: int) -> int:
    # "In no way" denies like "not".
    is_narrow = (
        tokens[at].word.norm in _NARROW
        and not _opens_clause(tokens, at)
        and norm_at(tokens, at + 1) != "way"
    )
    limit = min(len(tokens), at + 1 + (_NARROW_REACH if is_narrow else _REACH))
    met = False
    for place in range(at + 1, limit):
        word = tokens[place].word.norm
        met = met or tokens[place].word.weight > 0
        if is_narrow and met and tokens[place].word.weight == 0 and word != "of":
            return place
        if word in _ENDS or (word == "," and not _is_list(tokens, place, limit)):
            return place
        if word in ("and", "or") and norm_at(tokens, place + 1) in _SUBJECTS:
            return place
    return limit


def _opens_clause(tokens: Sequence[Token], at: int) -> bool:
    return at == 0 or tokens[at - 1].word.norm in (".", ";", ",", ":", "that", "and", "but")


def _is_list(tokens: Sequence[Token], comma: int, limit: int) -> bool:
    """Say whether the comma goes on with a list: "does not cover theft, loss or damage"."""
    for place in range(comma + 1, limit):
        word = tokens[place].word
        if word.norm in ("or", "nor"):
            return True
        if word.norm in _ENDS or (word.kind is Kind.WORD and place - comma > 6):
            return False
    return False


def _clause_start(tokens: Sequence[Token], at: int) -> int:
    for place in range(at - 1, max(-1, at - 1 - _REACH), -1):
        if tokens[place].word.norm in _ENDS or tokens[place].word.norm == ",":
            return place + 1
    return max(0, at - _REACH)
