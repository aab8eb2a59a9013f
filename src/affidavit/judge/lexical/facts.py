"""The structured facts of a sentence: its quantities, dates and times, and what each is about."""

from functools import lru_cache
from typing import Final

from affidavit.judge.lexical.amounts import Relation
from affidavit.judge.lexical.dates import MOMENT_WORDS, find_moments
from affidavit.judge.lexical.lexicon import Kind, Lexeme
from affidavit.judge.lexical.measures import compare_quantities
from affidavit.judge.lexical.moments import Moment, compare_moments
from affidavit.judge.lexical.numerals import NUMBER_WORDS
from affidavit.judge.lexical.passages import Sentence
from affidavit.judge.lexical.quantities import Quantity, find_quantities

Fact = Quantity | Moment
_STARTS: Final = NUMBER_WORDS | MOMENT_WORDS | {"hour", "day", "week", "month", "year", "minute"}
_MOST_IN_SENTENCE: Final = 40  # A row of more numbers is data, not a sentence.
_HEAD_WORDS: Final = 3
_HEAD_REACH: Final = 7


@lru_cache(maxsize=4096)
def facts_of(sentence: Sentence) -> tuple[Fact, ...]:
    """Return the facts of a sentence in the order of its words."""
    if not any(may_start_fact(word) for word in sentence.words):
        return ()
    moments = find_moments(sentence.tokens)
    taken = frozenset(place for moment in moments for place in range(moment.first, moment.end))
    found: list[Fact] = [*moments, *find_quantities(sentence.tokens, taken)]
    return tuple(sorted(found, key=lambda fact: fact.first)[:_MOST_IN_SENTENCE])


def may_start_fact(word: Lexeme) -> bool:
    """Say whether a number or date could begin with this word: most sentences have none."""
    return (
        word.kind is Kind.NUMBER
        or word.norm in _STARTS
        or word.norm[:2] in ("q1", "q2", "q3", "q4", "fy")
    )


def compare_facts(claim: Fact, evidence: Fact) -> Relation:
    """Return what a fact of the evidence says of a claimed one, were both of the same thing."""
    if isinstance(claim, Moment) and isinstance(evidence, Moment):
        same_kind = claim.dimension == evidence.dimension
        return compare_moments(claim, evidence) if same_kind else Relation.UNKNOWN
    if isinstance(claim, Quantity) and isinstance(evidence, Quantity):
        return compare_quantities(claim, evidence)
    return Relation.UNKNOWN


@lru_cache(maxsize=4096)
def head_of(sentence: Sentence, fact: Fact) -> tuple[int, ...]:
    """Return the content words that say what a fact counts: "annual leave" behind "15 days of".

    Behind the number as far as its phrase goes; where nothing follows ("The price is $50",
    "Annual leave: 15 days"), the words before it.
    """
    if isinstance(fact, Quantity):
        behind = _behind(sentence, fact)
        if behind:
            return behind
    return _before(sentence, fact)


def counted_noun(sentence: Sentence, fact: Fact) -> frozenset[int] | None:
    """Return the words behind a number that name what is counted, None if there are none."""
    words = _behind(sentence, fact)
    return frozenset(words) if words else None


def _behind(sentence: Sentence, fact: Fact) -> tuple[int, ...]:
    found: list[int] = []
    through = ("of", "the", "a", "an", "-")
    for place in range(fact.end, min(fact.end + _HEAD_REACH, len(sentence.tokens))):
        word = sentence.tokens[place].word
        if word.weight > 0 and word.kind is Kind.WORD:
            found.append(place)
        elif word.norm not in through:
            break
        if len(found) == _HEAD_WORDS:
            break
    return tuple(found)


def _before(sentence: Sentence, fact: Fact) -> tuple[int, ...]:
    found: list[int] = []
    for place in range(fact.first - 1, max(-1, fact.first - 1 - 2 * _HEAD_REACH), -1):
        word = sentence.tokens[place].word
        if word.kind is Kind.NUMBER or word.norm in (".", ";"):
            break
        if word.weight > 0:
            found.append(place)
        if len(found) == _HEAD_WORDS:
            break
    return tuple(reversed(found))
