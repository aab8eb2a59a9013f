"""What the evidence says of each claimed fact: the best bound one decides, not the equal one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from affidavit.judge.lexical.amounts import STRICT, Relation
from affidavit.judge.lexical.binding import Binding, bind
from affidavit.judge.lexical.claims import Part
from affidavit.judge.lexical.facts import Fact, compare_facts, counted_noun, facts_of
from affidavit.judge.lexical.links import links_between
from affidavit.judge.lexical.moments import Moment
from affidavit.judge.lexical.passages import Key, Sentence

_ENOUGH_CONTEXT: Final = 0.35
_ENOUGH_HEAD: Final = 0.4
_CONFLICT_CONTEXT: Final = 0.5
_CONFLICT_HEAD: Final = 0.62
_REPEATED: Final = 0.9
_SURE: Final = 0.75
_BESIDE: Final = 4  # Tokens.
_FULL_BONUS: Final = 0.15
# So much worse bound may an agreeing fact be than a conflicting one: a little; more where the
# conflicting one is what another fact of the claim speaks of, or the fact is too exact for chance.
_MARGIN: Final = 0.06
_MARGIN_EXPLAINED: Final = 0.2
_MARGIN_EXACT: Final = 0.3

Place = tuple[int, Sentence, frozenset[Key]]
"""A sentence's number, the sentence, and what its heading and neighbour add."""


@dataclass(frozen=True, slots=True)
class FactFinding:
    """The fact of the evidence that speaks of a claimed one, if any, and what it says."""

    claimed: Fact
    relation: Relation
    found: Fact | None = None
    sentence: int = -1
    context: float = 0.0


@dataclass(frozen=True, slots=True)
class _Candidate:
    found: Fact
    sentence: int
    relation: Relation
    binding: Binding
    is_explained: bool
    is_anchored: bool
    """A word next to the claimed fact stands in the sentence too."""
    is_equal: bool
    """Not only entailed ("more than 5" by 7), but the same."""

    @property
    def score(self) -> float:
        return 0.5 * (self.binding.context + self.binding.head)


def check_fact(part: Part, fact: Fact, places: Sequence[Place]) -> FactFinding:
    """Return what the sentences at `places` say of the claimed fact."""
    candidates = list(_candidates(part, fact, places))
    agreeing = _best([c for c in candidates if c.relation > Relation.CONFLICT and _is_bound(c)])
    against = _best(
        [c for c in candidates if c.relation is Relation.CONFLICT and _opposes(fact, c)]
    )
    if agreeing and (not against or agreeing.score >= against.score - _margin(fact, against)):
        return _finding(fact, agreeing)
    if against:
        return _finding(fact, against)
    unbound = _best([c for c in candidates if c.relation is Relation.SAME])
    if unbound and _is_exact(fact):
        return _finding(fact, replace(unbound, relation=Relation.LOOSE))
    return FactFinding(fact, Relation.UNKNOWN)


def _candidates(part: Part, fact: Fact, places: Sequence[Place]) -> Iterator[_Candidate]:
    for number, sentence, nearby in places:
        for found in facts_of(sentence):
            relation = compare_facts(fact, found)
            if relation is Relation.CONFLICT and not _same_thing(part, fact, sentence, found):
                continue
            if relation is not Relation.UNKNOWN:
                binding = bind(part, fact, sentence, found, nearby)
                if binding.context >= _REPEATED and _has_moved(fact, found):
                    relation = Relation.CONFLICT
                explained = relation is Relation.CONFLICT and any(
                    other is not fact and compare_facts(other, found) is Relation.SAME
                    for other in part.facts
                )
                equal = relation is Relation.SAME and _is_equal(fact, found)
                anchored = _is_anchored(part, fact, sentence)
                yield _Candidate(found, number, relation, binding, explained, anchored, equal)


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


def _margin(fact: Fact, against: _Candidate) -> float:
    if against.is_explained:
        return _MARGIN_EXPLAINED
    return _MARGIN_EXACT if _is_exact(fact) else _MARGIN


def _is_exact(fact: Fact) -> bool:
    """A full date, or a number of three digits or more, is hardly met by chance."""
    if isinstance(fact, Moment):
        return any(parts.years and parts.month for parts in fact.readings)
    return len(str(fact.written.numerator).rstrip("0")) >= 3


def _best(candidates: Sequence[_Candidate]) -> _Candidate | None:
    return max(
        candidates,
        key=lambda c: (
            round(c.score + _FULL_BONUS * c.is_equal, 6),
            -c.sentence,
        ),
        default=None,
    )


def _is_bound(candidate: _Candidate) -> bool:
    binding = candidate.binding
    return binding.context >= _ENOUGH_CONTEXT and binding.head >= _ENOUGH_HEAD


def _opposes(fact: Fact, candidate: _Candidate) -> bool:
    binding = candidate.binding
    if fact.is_weak:
        return binding.context >= _SURE and binding.head >= 0.9
    is_sure = isinstance(fact, Moment) or fact.dimension == "label" or not candidate.is_anchored
    needed = _SURE if is_sure else _CONFLICT_CONTEXT
    return binding.context >= needed and binding.head >= _CONFLICT_HEAD


def _finding(fact: Fact, chosen: _Candidate) -> FactFinding:
    return FactFinding(fact, chosen.relation, chosen.found, chosen.sentence, chosen.binding.context)
