"""Two statements in one sentence, and a claim that takes its words from both.

"Lopez is the founder; Chen is the chief" does not say that Chen is the founder, though every word
of it is there. A claim mixes two statements where each of them has something else in the place of
what the claim took from the other.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Final, NamedTuple

from affidavit.judge.lexical.claims import Part
from affidavit.judge.lexical.links import Link, links_between
from affidavit.judge.lexical.names import names_of
from affidavit.judge.lexical.passages import Sentence, passage_of
from affidavit.judge.lexical.roles import RoleSwap, find_role_swap
from affidavit.judge.lexical.slots import slots_of
from affidavit.judge.lexical.tables import cues


class Mixture(NamedTuple):
    """A word from one statement and a word from the other, as token places of the claim."""

    first: int
    second: int


class _Displaced(NamedTuple):
    """A word of the claim whose place is taken; `is_alike` if by a name for a name, say."""

    at: int
    is_alike: bool


_BREAKS: Final = cues("statement-breaks")
_JOINTS: Final = _BREAKS | {"and", ",", "or"}
_MOST_STATEMENTS: Final = 5
_SLACK: Final = 2  # Words by which a statement may be longer than the claim that mixes it.
_MADE_OF: Final = 0.9


def find_mixture(part: Part, sentence: Sentence, links: Sequence[Link]) -> Mixture | None:
    """Return a word of each statement, if the claim is made of two that the source keeps apart."""
    if not _is_made_of(part, links) or not _is_single(part.sentence):
        return None
    longest = len(part.words) + _SLACK
    statements = [
        statement
        for statement in statements_of(sentence)
        if sum(word.weight > 0 for word in statement.words) <= longest
    ]
    for one, other in combinations(statements[:_MOST_STATEMENTS], 2):
        taken, given = _only_in(part, one, other), _only_in(part, other, one)
        if taken and given:
            first, second = _displaced(part, taken, other), _displaced(part, given, one)
            if first and second and (first.is_alike or second.is_alike):
                return Mixture(first.at, second.at)
    return None


def find_swap_inside(part: Part, sentence: Sentence, links: Sequence[Link]) -> RoleSwap | None:
    """Return two words that changed places within the one statement that has all of the claim."""
    words = {link.claim for link in links}
    for statement in statements_of(sentence)[:_MOST_STATEMENTS]:
        inside = links_between(part.sentence, part.words, statement)
        if {link.claim for link in inside} == words:
            return find_role_swap(part, statement, inside)
    return find_role_swap(part, sentence, links)


def _is_single(claim: Sentence) -> bool:
    """A claim that has two statements of its own may take them from two."""
    return not any(word.norm in _JOINTS for word in claim.words)


def _is_made_of(part: Part, links: Sequence[Link]) -> bool:
    """Say whether next to nothing of the claim comes from elsewhere."""
    met = sum(part.weight(link.claim) for link in links)
    return len(links) > 1 and met >= _MADE_OF * sum(part.weight(at) for at in part.words)


@lru_cache(maxsize=4096)
def statements_of(sentence: Sentence) -> tuple[Sentence, ...]:
    """Return the statements of a sentence, cut at marks and words that set one against another."""
    if not any(word.norm in _BREAKS for word in sentence.words):
        return (sentence,)
    return tuple(_cut(sentence))


def _cut(sentence: Sentence) -> Iterator[Sentence]:
    start = 0
    for at in (*range(len(sentence.words)), len(sentence.words)):
        if at == len(sentence.words) or sentence.words[at].norm in _BREAKS:
            if at > start:
                yield from passage_of(sentence.quote(start, at)).sentences[:1]
            start = at + 1


def _only_in(part: Part, here: Sentence, there: Sentence) -> list[int]:
    """Return the claim's words that one statement has and the other has not."""
    met = {link.claim for link in links_between(part.sentence, part.words, there)}
    ours = links_between(part.sentence, part.words, here)
    return [link.claim for link in ours if link.claim not in met]


def _displaced(part: Part, words: Sequence[int], statement: Sentence) -> _Displaced | None:
    """Return the first of these words in whose place the statement has another."""
    links = links_between(part.sentence, part.words, statement)
    names = names_of(statement)
    for slot in slots_of(part, statement, links):
        if slot.claim_at in words and slot.fillers:
            is_name = slot.claim_at in part.names
            alike = any((at in names) == is_name for at in slot.fillers)
            return _Displaced(slot.claim_at, alike)
    return None
