"""Which fact of a sentence speaks of what a claimed fact speaks of.

"Staff get 15 days of annual leave and 10 days of sick leave": of "10 days of annual leave" the
first number speaks, not the second, though the second is equal. Each fact of a kind has its own
territory in the sentence, up to the joint before the next one; a claim's words count in full
inside of it, and less outside.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from affidavit.judge.lexical.amounts import Relation
from affidavit.judge.lexical.claims import Part
from affidavit.judge.lexical.clauses import JOINTS
from affidavit.judge.lexical.facts import Fact, compare_facts, facts_of, head_of
from affidavit.judge.lexical.links import links_between
from affidavit.judge.lexical.passages import Key, Sentence

_INSIDE: Final = 1.0
_SHARED: Final = 0.85  # Words before the first fact of the kind hold for all of them.
_OWN_VERB: Final = 0.55  # Unless a later fact has a verb of its own; then only the subject does.
_OUTSIDE: Final = 0.4
_NEARBY: Final = 0.5  # In the heading or the sentence before.
_FACT_WEIGHT: Final = 5.0
_HEAD_BONUS: Final = 1.5
_NEAR: Final = 6  # Tokens.
_PART_REACH: Final = 5
_POSSESSIVE: Final = ("'s", "\u2019s", "s'", "s\u2019")


@dataclass(frozen=True, slots=True)
class Binding:
    """How well a fact of the evidence is bound to what a claimed fact is about, each in [0, 1]."""

    context: float
    head: float


@lru_cache(maxsize=4096)
def territory_of(sentence: Sentence, fact: Fact) -> range:
    """Return the tokens that belong to `fact` rather than to another fact of its kind."""
    rivals = [
        other
        for other in facts_of(sentence)
        if other.dimension == fact.dimension and not is_part_of(sentence, fact, other)
    ]
    before = [other for other in rivals if other.first < fact.first]
    after = [other for other in rivals if other.first > fact.first]
    start = _border(sentence, before[-1], fact) if before else 0
    end = _border(sentence, fact, after[0]) if after else len(sentence.tokens)
    return range(start, end)


def is_part_of(sentence: Sentence, one: Fact, other: Fact) -> bool:
    """Say whether one number is part of the other, as in "two of the 35 fasteners"."""
    between = sentence.tokens[min(one.end, other.end) : max(one.first, other.first)]
    if not 0 < len(between) <= _PART_REACH or between[0].word.norm != "of":
        return False
    # "Six of the rocket's 33 engines": whose they are may be said.
    return between[-1].text.endswith(_POSSESSIVE) or not any(t.word.weight for t in between)


def _border(sentence: Sentence, left: Fact, right: Fact) -> int:
    """Return where the territory of `left` ends: at the last joint before `right`.

    In a table row it is the first bar, since there the name stands before its number.
    """
    joints = [
        place for place in range(left.end, right.first)
        if sentence.tokens[place].word.norm in JOINTS
    ]  # fmt: skip
    if not joints:
        return (left.end + right.first) // 2
    is_row = sentence.tokens[joints[0]].text == "|"
    return joints[0] if is_row else joints[-1]


def bind(
    part: Part, fact: Fact, sentence: Sentence, found: Fact, nearby: frozenset[Key]
) -> Binding:
    """Return how well `found`, in `sentence`, is bound to what the claim's `fact` is about."""
    ours = territory_of(sentence, found)
    first_rival = min(
        other.first for other in facts_of(sentence) if other.dimension == found.dimension
    )
    shared = _OWN_VERB if _has_own_words(sentence, ours, found) else _SHARED
    linked = {link.claim: link for link in links_between(part.sentence, part.words, sentence)}
    head = frozenset(head_of(part.sentence, fact))
    total = gained = head_total = head_gained = 0.0
    for at in part.words:
        weight = part.weight(at) * (_HEAD_BONUS if at in head else _nearness(fact, at))
        credit = 0.0
        if at in linked:
            credit = _credit(linked[at].evidence, ours, first_rival, shared) * linked[at].strength
        elif not nearby.isdisjoint(part.sentence.tokens[at].word.keys):
            credit = _NEARBY
        total += weight
        gained += weight * credit
        if at in head:
            head_total += weight
            head_gained += weight * credit
    for other in part.facts:
        # A fact of the same kind has a territory of its own, and says nothing of this one.
        if other.dimension != fact.dimension and not other.is_weak:
            total += _FACT_WEIGHT
            gained += _FACT_WEIGHT * _companion(other, sentence, ours)
    context = gained / total if total else 1.0
    return Binding(context, head_gained / head_total if head_total else context)


def _nearness(fact: Fact, at: int) -> float:
    """Return how much a word counts by its distance: a long claim holds more than one matter."""
    distance = fact.first - at if at < fact.first else at - fact.end + 1
    return 1.0 if distance <= _NEAR else _NEAR / distance


def _has_own_words(sentence: Sentence, ours: range, found: Fact) -> bool:
    """Say whether a fact has words of its own before it: "and resigned in 2011"."""
    return any(sentence.tokens[at].word.weight > 0 for at in range(ours.start, found.first))


def _credit(place: int, ours: range, first_rival: int, shared: float) -> float:
    if place in ours:
        return _INSIDE
    return shared if place < first_rival else _OUTSIDE


def _companion(fact: Fact, sentence: Sentence, ours: range) -> float:
    """Return how well another fact of the claim stands by: a price and its year, say."""
    credit = 0.0
    for found in facts_of(sentence):
        if compare_facts(fact, found) >= Relation.LOOSE:
            credit = max(credit, _INSIDE if found.first in ours else _OUTSIDE)
    return credit
