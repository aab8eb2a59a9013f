"""The facts of the evidence that could speak of a claimed one, each with what speaks for it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from affidavit.judge.lexical.amounts import STRICT, Relation
from affidavit.judge.lexical.binding import Binding, bind, is_part_of
from affidavit.judge.lexical.claims import Part
from affidavit.judge.lexical.facts import Fact, compare_facts, counted_noun, facts_of
from affidavit.judge.lexical.links import links_between
from affidavit.judge.lexical.moments import Moment
from affidavit.judge.lexical.passages import Key, Sentence
from affidavit.judge.lexical.tokens import norm_at

REPEATED: Final = 0.92
"""With so much of the claim's words a sentence repeats it but for the fact."""
_BESIDE: Final = 4  # Tokens.
_NEIGHBOURS: Final = 2  # On either side.

Place = tuple[int, Sentence, frozenset[Key]]
"""A sentence's number, the sentence, and what its heading and neighbour add."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A fact of the evidence, what it says of the claimed one, and how it stands to it."""

    found: Fact
    sentence: int
    relation: Relation
    binding: Binding
    is_explained: bool
    is_anchored: bool
    """A word next to the claimed fact stands in the sentence too."""
    is_equal: bool
    """Not only entailed ("more than 5" by 7), but the same."""
    verbatim: int
    """How many of the nearest words on either side are the same."""

    in_row: bool
    """In the row of a table, which speaks for itself."""

    @property
    def takes_place(self) -> bool:
        """Whether it stands between the same words as the claimed fact: there it was changed."""
        return self.verbatim == 2 * _NEIGHBOURS

    @property
    def score(self) -> float:
        """How well it is bound to what the claimed fact is about."""
        return 0.5 * (self.binding.context + self.binding.head)


def candidates_for(part: Part, fact: Fact, places: Sequence[Place]) -> Iterator[Candidate]:
    """Yield the facts at `places` that bear on the claimed one, were they about the same thing."""
    for number, sentence, nearby in places:
        for found in facts_of(sentence):
            relation = compare_facts(fact, found)
            verbatim = _verbatim(part.sentence, fact, sentence, found)
            is_other = verbatim < 2 * _NEIGHBOURS and not _same_thing(part, fact, sentence, found)
            if relation is Relation.CONFLICT and is_other:
                continue
            if relation is not Relation.UNKNOWN:
                binding = bind(part, fact, sentence, found, nearby)
                if binding.context >= REPEATED and _has_moved(fact, found):
                    relation = Relation.CONFLICT
                if relation is Relation.SAME and _speaks_of_part(part, sentence, found):
                    relation = Relation.LOOSE
                explained = relation is Relation.CONFLICT and any(
                    other is not fact and compare_facts(other, found) is Relation.SAME
                    for other in part.facts
                )
                equal = relation is Relation.SAME and _is_equal(fact, found)
                anchored = _is_anchored(part, fact, sentence)
                in_row = any(word.norm == "|" for word in sentence.words)
                yield Candidate(
                    found, number, relation, binding, explained, anchored, equal, verbatim, in_row
                )


def _verbatim(ours: Sentence, fact: Fact, theirs: Sentence, found: Fact) -> int:
    """Return how many of the two tokens on either side are the same, from the fact outward."""
    same = 0
    starts = [f.said_first if 0 <= f.said_first < f.first else f.first for f in (fact, found)]
    for step, start, begin in ((-1, *starts), (1, fact.end - 1, found.end - 1)):
        for distance in range(1, _NEIGHBOURS + 1):
            mine, other = start + step * distance, begin + step * distance
            if norm_at(ours.tokens, mine) != norm_at(theirs.tokens, other):
                break
            same += 1
    return same


def _is_equal(fact: Fact, found: Fact) -> bool:
    if isinstance(fact, Moment) or isinstance(found, Moment):
        return True
    return fact.amount.is_point or fact.amount.bound is found.amount.bound


def _has_moved(fact: Fact, found: Fact) -> bool:
    """Tell "orders over 30 euros ship free" from the same with 50: the limit is the rule.

    Elsewhere "over 30" is borne out by "over 50".
    """
    if isinstance(fact, Moment) or isinstance(found, Moment):
        return False
    ours, theirs = fact.amount, found.amount
    return ours.bound is theirs.bound and ours.bound in STRICT and ours.low != theirs.low


def _speaks_of_part(part: Part, sentence: Sentence, found: Fact) -> bool:
    """Say whether the source says of a part what the claim says of all: "six of 33 failed"."""
    parts = [
        o for o in facts_of(sentence) if o.first < found.first and is_part_of(sentence, o, found)
    ]
    if not parts or any(compare_facts(f, parts[-1]) is Relation.SAME for f in part.facts):
        return False
    counted = min(counted_noun(sentence, found) or (found.end,))
    links = links_between(part.sentence, part.words, sentence)
    return any(link.evidence > counted for link in links)


def _same_thing(part: Part, fact: Fact, sentence: Sentence, found: Fact) -> bool:
    """Bare numbers and ordinals conflict only where they count the same noun.

    Where no noun follows ("Rogers, 22, said"), the word before must be the same.
    """
    if fact.dimension not in ("count", "ordinal"):
        return True
    ours, theirs = counted_noun(part.sentence, fact), counted_noun(sentence, found)
    if (ours is None) != (theirs is None):
        return False
    if ours is None or theirs is None:
        ours, theirs = _word_before(part.sentence, fact), _word_before(sentence, found)
        if ours is None or theirs is None:
            return False
    links = links_between(part.sentence, part.words, sentence)
    return any(
        link.claim in ours
        and link.evidence in theirs
        and (link.claim == min(ours) or link.evidence == min(theirs))
        and (fact.dimension == "count" or (link.claim, link.evidence) == (min(ours), min(theirs)))
        for link in links
    )


def _is_anchored(part: Part, fact: Fact, sentence: Sentence) -> bool:
    met = {link.claim for link in links_between(part.sentence, part.words, sentence)}
    words = part.sentence.words
    before = [at for at in range(max(0, fact.first - _BESIDE), fact.first) if words[at].weight > 0]
    behind = [
        at for at in range(fact.end, min(fact.end + _BESIDE, len(words))) if words[at].weight > 0
    ]
    anchors = (*before[-1:], *behind[:1])
    return not anchors or any(at in met for at in anchors)


def _word_before(sentence: Sentence, fact: Fact) -> frozenset[int] | None:
    for place in range(fact.first - 1, max(-1, fact.first - 4), -1):
        if sentence.tokens[place].word.weight > 0:
            return frozenset({place})
    return None
