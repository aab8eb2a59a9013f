"""Reads a whole passage for a claim: finds the sentences, applies the rules, gathers features."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from affidavit.judge.lexical.amounts import Relation
from affidavit.judge.lexical.claims import Part
from affidavit.judge.lexical.factcheck import FactFinding, check_fact
from affidavit.judge.lexical.passages import Key, Passage
from affidavit.judge.lexical.sentence_reading import UNREAD, SentenceReading, read_sentence
from affidavit.judge.lexical.windows import Coverage, best_run, cover, coverage_of, ranked

_READ: Final = 3  # Sentences that are read closely for one part of a claim.
_FACT_SENTENCES: Final = 6
_CLOSE: Final = 0.05  # A sentence that shares so little less than the best one competes with it.
_MOST_FACTS: Final = 24
_LONGEST_LIST: Final = 12
_NOTHING: Final[frozenset[Key]] = frozenset()
_WORTH_READING: Final = 0.2  # Below this share of a claim no rule could save or break it.


@dataclass(frozen=True, slots=True)
class PartExamination:
    """What a passage says of one part of a claim; `number` is the deciding sentence."""

    part: Part
    number: int
    reading: SentenceReading
    facts: tuple[FactFinding, ...]
    window: tuple[int, ...]
    recalls: tuple[float, float, float, float]
    """Words only: best sentence, best two and three adjacent ones, the covering window."""
    unmet: tuple[int, ...]
    """Words of the claim that neither the window nor the heading has."""
    in_heading: tuple[int, ...] = ()
    """Words of the claim that the heading has and the window has not."""


def examine_part(part: Part, passage: Passage, heading: frozenset[Key]) -> PartExamination | None:
    """Return what the passage says of the part; None where it shares no word with it."""
    coverage = coverage_of((part,), passage)
    ranking = ranked(coverage)
    if not ranking:
        return None
    window = cover(passage, coverage, ranking)
    is_read = coverage.recall(window) >= _WORTH_READING
    number, reading = (
        _deciding(part, passage, coverage, ranking) if is_read else (ranking[0], UNREAD)
    )
    recalls = (
        coverage.word_recall((number,)),
        coverage.word_recall(best_run(coverage, 2, ranking)),
        coverage.word_recall(best_run(coverage, 3, ranking)),
        coverage.word_recall(window),
    )
    numbers = (number, *window, *ranking[:_FACT_SENTENCES]) if is_read else ()
    facts = _facts(part, passage, heading, numbers)
    away = _away(part, passage, window, number, reading)
    in_heading = tuple(at for at in away if not heading.isdisjoint(_keys(part, at)))
    unmet = tuple(at for at in away if at not in in_heading)
    return PartExamination(part, number, reading, facts, window, recalls, unmet, in_heading)


def _facts(
    part: Part, passage: Passage, heading: frozenset[Key], numbers: Sequence[int]
) -> tuple[FactFinding, ...]:
    # A claim of the ledger has at most 500 characters; what has more facts than this is no claim,
    # and the rest of them stay unknown, so that it cannot be supported in full.
    checked, rest = part.facts[:_MOST_FACTS], part.facts[_MOST_FACTS:]
    places = [
        (at, passage.sentences[at], _nearby(passage, at, heading)) for at in dict.fromkeys(numbers)
    ]
    return (
        *(check_fact(part, fact, places) for fact in checked),
        *(FactFinding(fact, Relation.UNKNOWN) for fact in rest),
    )


def _deciding(
    part: Part, passage: Passage, coverage: Coverage, ranking: Sequence[int]
) -> tuple[int, SentenceReading]:
    best = coverage.recall(ranking[:1])
    close = [at for at in ranking[:_READ] if coverage.recall((at,)) >= best - _CLOSE]
    readings = [(at, read_sentence(part, passage.sentences[at])) for at in close]
    return max(readings, key=lambda found: (round(found[1].agreement, 6), -found[0]))


def _nearby(passage: Passage, at: int, heading: frozenset[Key]) -> frozenset[Key]:
    """Return what a sentence may lean on: its heading, the one before, what opens its list."""
    if at == 0:
        return heading
    opening = next(
        (
            sentence.keys
            for sentence in reversed(passage.sentences[max(0, at - _LONGEST_LIST) : at])
            if sentence.text.endswith(":")
        ),
        _NOTHING,
    )
    return heading | passage.sentences[at - 1].keys | opening


def _away(
    part: Part, passage: Passage, window: Sequence[int], number: int, reading: SentenceReading
) -> tuple[int, ...]:
    """Return the words of the claim that the window does not have."""
    here = {link.claim for link in reading.links} | reading.turned
    elsewhere = [passage.sentences[at].keys for at in window if at != number]
    return tuple(
        at
        for at in part.words
        if at not in here and all(place.isdisjoint(_keys(part, at)) for place in elsewhere)
    )


def _keys(part: Part, at: int) -> set[Key]:
    return {*part.sentence.words[at].keys, *part.sentence.more_keys.get(at, ())}
