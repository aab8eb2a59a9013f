"""Small words that were exchanged, added or left out in an otherwise faithful sentence.

Where a claim repeats its source nearly word for word, every difference is there for a reason. A
"not", a "before" for "after", an "all" for "many" changes the meaning without changing a content
word, so they are looked for one by one.
"""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from affidavit.judge.lexical.lexicon import Lexeme, are_opposites
from affidavit.judge.lexical.links import Link
from affidavit.judge.lexical.passages import Sentence
from affidavit.judge.lexical.tables import cues


class Exchange(NamedTuple):
    """What the claim has and what the source has in its place; either may be empty."""

    claim: range
    evidence: range
    is_conflict: bool


_NEGATION: Final = cues("negation") - {"except", "excluding", "unable", "zero"}
_TELLING: Final = cues(
    "quantity-all", "quantity-most", "quantity-many", "quantity-some", "quantity-few", "exchanged"
)
_MOST_TOKENS: Final = 80
_AROUND: Final = 8
_SMALL: Final = 3  # Tokens; a longer difference is a clause of its own.


def find_exchange(claim: Sentence, evidence: Sentence, links: Sequence[Link]) -> Exchange | None:
    """Return the first telling exchange between a claim and the sentence that it repeats."""
    if not links or len(claim.words) > _MOST_TOKENS:
        return None
    start = max(0, min(link.evidence for link in links) - _AROUND)
    end = max(link.evidence for link in links) + _AROUND
    theirs = evidence.words[start:end]
    if len(theirs) > 2 * _MOST_TOKENS:
        return None
    for ours, other in _differences(claim.words, theirs):
        mine = claim.words[ours.start : ours.stop]
        there = theirs[other.start : other.stop]
        conflict = _conflict(mine, there)
        if conflict or _is_telling(mine, there):
            shifted = range(other.start + start, other.stop + start)
            return Exchange(ours, shifted, conflict)
    return None


def _differences(ours: Sequence[Lexeme], theirs: Sequence[Lexeme]) -> Iterator[tuple[range, range]]:
    matcher = SequenceMatcher(
        None, [word.norm for word in ours], [word.norm for word in theirs], autojunk=False
    )
    for kind, first, last, begin, stop in matcher.get_opcodes():
        small = last - first <= _SMALL and stop - begin <= _SMALL
        # What the source has before and behind the claim is not left out, but not asked for.
        inside = kind == "replace" or (first > 0 and first < len(ours)) or kind == "delete"
        if kind != "equal" and small and inside:
            yield range(first, last), range(begin, stop)


def _conflict(mine: Sequence[Lexeme], there: Sequence[Lexeme]) -> bool:
    if any(are_opposites(one.stem, other.stem) for one in mine for other in there):
        return True
    return any(map(_denies, mine)) != any(map(_denies, there))


def _denies(word: Lexeme) -> bool:
    return word.norm in _NEGATION or word.norm.endswith("n't")


def _is_telling(mine: Sequence[Lexeme], there: Sequence[Lexeme]) -> bool:
    """Say whether a telling small word stands on both sides, or was added by the claim."""
    ours = {word.norm for word in mine} & _TELLING
    theirs = {word.norm for word in there} & _TELLING
    return bool(ours) and ours != theirs
