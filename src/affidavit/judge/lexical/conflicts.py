"""Findings that both cannot hold: facts, negation, antonyms, names, roles, exchanged words."""

from collections.abc import Iterator
from typing import Final

from affidavit.judge.lexical.amounts import Relation
from affidavit.judge.lexical.denial import DenialGap
from affidavit.judge.lexical.examine import PartExamination
from affidavit.judge.lexical.exchange import Exchange
from affidavit.judge.lexical.exclusion import Stance
from affidavit.judge.lexical.factcheck import FactFinding
from affidavit.judge.lexical.findings import (
    Finding,
    FindingRule,
    both,
    name_text,
    shared_rest,
    unmet_note,
)
from affidavit.judge.lexical.names import name_around
from affidavit.judge.lexical.passages import Passage, Sentence

_APART: Final = 0.8  # An opposite that stands elsewhere in the sentence may speak of another thing.


def fact_findings(found: PartExamination, passage: Passage) -> Iterator[Finding]:
    """Yield what was found of each claimed fact that the evidence does not plainly bear out."""
    for check in found.facts:
        is_weak = check.claimed.is_weak
        ours = _said(found.part.sentence, check)
        if check.relation is Relation.UNKNOWN and not is_weak:
            note = unmet_note(ours, passage)
            yield Finding(FindingRule.FACT, False, 1.0, found.number, note)
        elif check.found and check.relation in (Relation.CONFLICT, Relation.LOOSE):
            theirs = _said(passage.sentences[check.sentence], check, of_source=True)
            is_conflict = check.relation is Relation.CONFLICT
            note = (
                f'"{ours}" in the claim, "{theirs}" in the source'
                if ours != theirs
                else f'"{ours}" stands in the source, but apart from the rest of the claim'
            )
            yield Finding(FindingRule.FACT, is_conflict, check.context, check.sentence, note)


def _said(sentence: Sentence, check: FactFinding, of_source: bool = False) -> str:
    fact = check.found if of_source and check.found else check.claimed
    first = fact.said_first if 0 <= fact.said_first < fact.first else fact.first
    return sentence.quote(first, fact.end)


def conflicts(found: PartExamination, passage: Passage) -> Iterator[Finding]:
    """Yield the conflicts between a part of a claim and its deciding sentence."""
    reading, claim = found.reading, found.part.sentence
    source = passage.sentences[found.number]
    if reading.denial:
        note = _denied(claim, source, reading.denial)
        yield Finding(FindingRule.DENIAL, True, reading.recall, found.number, note)
    if reading.opposition:
        opposed = reading.opposition
        note = both(claim.tokens[opposed.claim_at].text, source.tokens[opposed.evidence_at].text)
        strength = shared_rest(found, {opposed.claim_at}) * (1 if opposed.in_place else _APART)
        yield Finding(FindingRule.OPPOSITE, True, strength, found.number, note)
    if reading.renamed:
        slot = reading.renamed
        name = name_around(found.part.names, slot.claim_at)
        note = both(name_text(claim, name), name_text(source, set(slot.fillers)))
        yield Finding(FindingRule.RENAMED, True, shared_rest(found, name), found.number, note)
    if reading.exchange and not reading.denial and not reading.opposition:
        note = _exchanged(claim, source, reading.exchange)
        conflict = reading.exchange.is_conflict
        yield Finding(FindingRule.EXCHANGE, conflict, reading.recall, found.number, note)
    yield from _misplaced(found, source)


def _misplaced(found: PartExamination, source: Sentence) -> Iterator[Finding]:
    """Yield what the source says, but of somebody or something else."""
    reading, claim = found.reading, found.part.sentence
    if reading.exclusion and reading.exclusion.stance is Stance.GRANTS:
        said = reading.exclusion.said
        others = set(reading.exclusion.others)
        note = f'the claim has it of others, the source of "{source.quote(said.start, said.stop)}"'
        yield Finding(FindingRule.QUANTIFIER, True, shared_rest(found, others), found.number, note)
    if reading.mixture:
        one, other = (claim.tokens[at].text for at in reading.mixture)
        note = f'"{one}" and "{other}" belong to two statements of the source'
        yield Finding(FindingRule.SWAPPED, True, reading.recall, found.number, note)
    if reading.swap:
        first, second = (name_text(claim, name_around(found.part.names, at)) for at in reading.swap)
        note = f'"{first}" and "{second}" have changed places'
        yield Finding(FindingRule.SWAPPED, True, reading.recall, found.number, note)


def _denied(claim: Sentence, source: Sentence, gap: DenialGap) -> str:
    if gap.evidence_cue is not None:
        return f'"{_with_next(source, gap.evidence_cue)}" in the source, not denied in the claim'
    return f'"{_with_next(claim, gap.claim_cue or 0)}" in the claim, not denied in the source'


def _exchanged(claim: Sentence, source: Sentence, exchange: Exchange) -> str:
    ours, theirs = exchange.claim, exchange.evidence
    if ours and theirs:
        return both(claim.quote(ours.start, ours.stop), source.quote(theirs.start, theirs.stop))
    if ours:
        said = claim.quote(ours.start, ours.stop)
        return f'"{said}" in the claim, nothing in its place in the source'
    said = source.quote(theirs.start, theirs.stop)
    return f'"{said}" in the source, nothing in its place in the claim'


def _with_next(sentence: Sentence, cue: int) -> str:
    """Return a negation with the first content word behind it."""
    for place in range(cue + 1, min(cue + 6, len(sentence.tokens))):
        if sentence.tokens[place].word.weight > 0:
            return sentence.quote(cue, place + 1)
    return sentence.tokens[cue].text
