"""Small words that were exchanged, added or left out in an otherwise faithful sentence.

Where a claim repeats its source nearly word for word, every difference is there for a reason. A
"not", a "before" for "after", an "all" for "many" changes the meaning without changing a content
word, so they are looked for one by one.
"""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from affidavit.judge.lexical.facts import facts_of
from affidavit.judge.lexical.lexicon import Lexeme, are_opposites
from affidavit.judge.lexical.links import Link
from affidavit.judge.lexical.passages import Sentence
from affidavit.judge.lexical.quantifiers import RANKS
from affidavit.judge.lexical.tables import cues


class Exchange(NamedTuple):
    """What the claim has and what the source has in its place; either may be empty."""

    claim: range
    evidence: range
    is_conflict: bool


_NEGATION: Final = cues("negation") - {"except", "excluding", "unable", "zero"}
_ADDED: Final = cues("exchanged")
TELLING: Final = _NEGATION | _ADDED | frozenset(RANKS)
"""Words that this rule looks for, and that are no part of what a claim repeats."""
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
    settled = {link.claim for link in links} | _in_facts(claim)
    others = {link.evidence for link in links} | _in_facts(evidence)
    for ours, other in _differences(claim.words, theirs):
        there = range(other.start + start, other.stop + start)
        if settled.isdisjoint(ours) and others.isdisjoint(there):
            mine, said = [claim.words[at] for at in ours], [evidence.words[at] for at in there]
            conflict = _conflict(mine, said)
            if conflict or _says_more(mine, said):
                return Exchange(ours, there, conflict)
    return None


def _in_facts(sentence: Sentence) -> set[int]:
    """Return the tokens of numbers and dates with their bounds, which are compared by value."""
    return {
        at
        for fact in facts_of(sentence)
        for at in range(fact.said_first if fact.said_first >= 0 else fact.first, fact.end)
    }


def _differences(ours: Sequence[Lexeme], theirs: Sequence[Lexeme]) -> Iterator[tuple[range, range]]:
    matcher = SequenceMatcher(
        None, [word.norm for word in ours], [word.norm for word in theirs], autojunk=False
    )
    for kind, first, last, begin, stop in matcher.get_opcodes():
        small = last - first <= _SMALL and stop - begin <= _SMALL
        # What the source has before and behind the claim was not left out: it was not asked for.
        inside = kind != "insert" or 0 < first < len(ours)
        if kind != "equal" and small and inside:
            yield range(first, last), range(begin, stop)


def _conflict(mine: Sequence[Lexeme], there: Sequence[Lexeme]) -> bool:
    if any(are_opposites(one.stem, other.stem) for one in mine for other in there):
        return True
    ours, theirs = _rank(mine), _rank(there)
    if {ours, theirs} in ({0, 2}, {0, 3}, {0, 4}):
        return True  # "Few" against "many", "most", "all".
    return any(map(_denies, mine)) != any(map(_denies, there))


def _denies(word: Lexeme) -> bool:
    return word.norm in _NEGATION or word.norm.endswith("n't")


def _says_more(mine: Sequence[Lexeme], there: Sequence[Lexeme]) -> bool:
    """Say whether a word of the claim says more than the source: "all", "exactly"."""
    said = {word.norm for word in there}
    if any(word.norm in _ADDED and word.norm not in said for word in mine):
        return True
    return _rank(mine) > _rank(there) and bool(there)


def _rank(words: Sequence[Lexeme]) -> int:
    return max((RANKS[word.norm] for word in words if word.norm in RANKS), default=-1)
