"""What the rules found in a passage about a part of a claim, each in one plain sentence.

A finding names the token that decided. Conflicts make a contradiction once the sentence shares
enough of the claim's other words; gaps make full support impossible.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from affidavit.judge.lexical.amounts import Relation
from affidavit.judge.lexical.examine import PartExamination
from affidavit.judge.lexical.factcheck import FactFinding
from affidavit.judge.lexical.names import name_around
from affidavit.judge.lexical.passages import Passage, Sentence
from affidavit.judge.lexical.segments import find_unmet_segment


class Kind(StrEnum):
    """The rule that speaks."""

    FACT = "fact"
    DENIAL = "negation"
    OPPOSITE = "antonym"
    RENAMED = "name"
    SWAPPED = "role"
    QUANTIFIER = "quantifier"
    MODE = "modality"
    CONDITION = "condition"
    REPLACED = "word"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: a conflict or a gap, how much else agrees, where, and what was found."""

    kind: Kind
    is_conflict: bool
    strength: float
    sentence: int
    note: str


# How much of the claim's other words the sentence must share before a conflict contradicts. Set on
# rule-made edits of running text against human-labelled supported claims; see docs/judge.md.
_GATES: Final = {
    Kind.FACT: 0.5,
    Kind.DENIAL: 0.6,
    Kind.OPPOSITE: 0.65,
    Kind.RENAMED: 0.75,
    Kind.SWAPPED: 0.7,
    Kind.QUANTIFIER: 0.6,
}
_RESTS_ON: Final = 0.5
_NEAR_VERBATIM: Final = 0.7


def contradicts(finding: Finding) -> bool:
    """Say whether a finding is a contradiction: a conflict about what is surely the same matter."""
    return finding.is_conflict and finding.strength >= _GATES[finding.kind]


def findings_of(found: PartExamination, passage: Passage) -> tuple[Finding, ...]:
    """Return what the rules found, conflicts first, the strongest first."""
    every = (*_facts(found, passage), *_conflicts(found, passage), *_gaps(found, passage))
    return tuple(
        sorted(every, key=lambda finding: (not finding.is_conflict, -round(finding.strength, 6)))
    )


def _facts(found: PartExamination, passage: Passage) -> Iterator[Finding]:
    for check in found.facts:
        is_weak = check.claimed.is_weak
        ours = _said(found.part.sentence, check)
        if check.relation is Relation.UNKNOWN and not is_weak:
            note = f'"{ours}" is not in the source'
            yield Finding(Kind.FACT, False, 1.0, found.number, note)
        elif check.found and check.relation in (Relation.CONFLICT, Relation.LOOSE):
            theirs = _said(passage.sentences[check.sentence], check, of_source=True)
            is_conflict = check.relation is Relation.CONFLICT
            note = (
                f'"{ours}" in the claim, "{theirs}" in the source'
                if ours != theirs
                else f'"{ours}" stands in the source, but apart from the rest of the claim'
            )
            yield Finding(Kind.FACT, is_conflict, check.context, check.sentence, note)


def _said(sentence: Sentence, check: FactFinding, of_source: bool = False) -> str:
    fact = check.found if of_source and check.found else check.claimed
    first = fact.said_first if 0 <= fact.said_first < fact.first else fact.first
    return sentence.quote(first, fact.end)


def _conflicts(found: PartExamination, passage: Passage) -> Iterator[Finding]:
    reading, claim = found.reading, found.part.sentence
    source = passage.sentences[found.number]
    if reading.denial:
        gap = reading.denial
        if gap.evidence_cue is not None:
            note = (
                f'"{_with_next(source, gap.evidence_cue)}" in the source, not denied in the claim'
            )
        else:
            cue = gap.claim_cue or 0
            note = f'"{_with_next(claim, cue)}" in the claim, not denied in the source'
        yield Finding(Kind.DENIAL, True, reading.recall, found.number, note)
    if reading.opposition:
        opposed = reading.opposition
        note = _both(claim.tokens[opposed.claim_at].text, source.tokens[opposed.evidence_at].text)
        strength = _rest(found, {opposed.claim_at})
        yield Finding(Kind.OPPOSITE, True, strength, found.number, note)
    if reading.renamed:
        slot = reading.renamed
        name = name_around(found.part.names, slot.claim_at)
        note = _both(_name(claim, name), _name(source, set(slot.fillers)))
        yield Finding(Kind.RENAMED, True, _rest(found, name), found.number, note)
    if reading.swap:
        first, second = (_name(claim, name_around(found.part.names, at)) for at in reading.swap)
        note = f'"{first}" and "{second}" have changed places'
        yield Finding(Kind.SWAPPED, True, reading.recall, found.number, note)


def _gaps(found: PartExamination, passage: Passage) -> Iterator[Finding]:
    yield from _of_sentence(found, passage)
    part = found.part
    unmet = frozenset(found.unmet)
    piece = find_unmet_segment(part, unmet)
    if piece:
        text = part.sentence.quote(piece[0], piece[-1] + 1)
        yield Finding(
            Kind.MISSING, False, 1.0, found.number, f'the source says nothing on "{text}"'
        )
    for at in sorted(unmet & part.names):
        note = f'"{part.sentence.tokens[at].text}" is not in the source'
        yield Finding(Kind.MISSING, False, 1.0, found.number, note)


def _of_sentence(found: PartExamination, passage: Passage) -> Iterator[Finding]:
    """Yield the gaps of the deciding sentence; it decides only if the claim rests on it."""
    reading, claim = found.reading, found.part.sentence
    source = passage.sentences[found.number]
    if reading.recall < _RESTS_ON:
        return
    if reading.mode:
        ours, theirs = reading.mode.claim_at, reading.mode.evidence_at
        mine = f'"{claim.tokens[ours].text}"' if ours is not None else "stated outright"
        other = f'"{source.tokens[theirs].text}"' if theirs is not None else "stated outright"
        note = f"{mine} in the claim, {other} in the source"
        yield Finding(Kind.MODE, False, reading.recall, found.number, note)
    if reading.condition:
        said = source.quote(
            reading.condition.cue.start,
            max(reading.condition.body.stop, reading.condition.cue.stop),
        )
        note = f'the source adds a condition that the claim leaves out: "{said}"'
        yield Finding(Kind.CONDITION, False, reading.recall, found.number, note)
    if reading.quantifier:
        gap = reading.quantifier
        ours_text = claim.tokens[gap.claim_at].text
        note = (
            f'"{ours_text}" in the claim, not in the source'
            if gap.evidence_at is None
            else _both(ours_text, source.tokens[gap.evidence_at].text)
        )
        yield Finding(Kind.QUANTIFIER, gap.is_conflict, reading.recall, found.number, note)
    yield from _replaced(found, source)


def _replaced(found: PartExamination, source: Sentence) -> Iterator[Finding]:
    """Yield a word that was exchanged in an otherwise faithful sentence."""
    reading, part = found.reading, found.part
    if reading.recall < _NEAR_VERBATIM:
        return
    met = {link.claim: link.evidence for link in reading.links}
    for slot in reading.slots:
        at = part.words.index(slot.claim_at)
        if slot.claim_at not in found.unmet or not slot.fillers or not 0 < at < len(part.words) - 1:
            continue
        before, after = part.words[at - 1], part.words[at + 1]
        if before in met and after in met and 0 < met[after] - met[before] <= after - before + 1:
            note = _both(
                part.sentence.tokens[slot.claim_at].text, source.tokens[slot.fillers[0]].text
            )
            yield Finding(Kind.REPLACED, False, reading.recall, found.number, note)


def _both(ours: str, theirs: str) -> str:
    return f'"{ours}" in the claim, "{theirs}" in the source'


def _name(sentence: Sentence, places: set[int]) -> str:
    return sentence.quote(min(places), max(places) + 1)


def _with_next(sentence: Sentence, cue: int) -> str:
    """Return a negation with the first content word behind it."""
    for place in range(cue + 1, min(cue + 6, len(sentence.tokens))):
        if sentence.tokens[place].word.weight > 0:
            return sentence.quote(cue, place + 1)
    return sentence.tokens[cue].text


def _rest(found: PartExamination, without: set[int]) -> float:
    """Return how much of the claim's other words the deciding sentence shares."""
    part = found.part
    total = sum(part.weight(at) for at in part.words if at not in without)
    met = sum(
        part.weight(link.claim) * link.strength
        for link in found.reading.links
        if link.claim not in without
    )
    return met / total if total else 0.0
