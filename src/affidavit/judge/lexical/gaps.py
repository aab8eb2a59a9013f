"""Findings that stand in the way of full support: what the claim says and the source does not."""

from collections.abc import Iterator
from typing import Final

from affidavit.judge.lexical.examine import PartExamination
from affidavit.judge.lexical.exclusion import Stance
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
from affidavit.judge.lexical.segments import find_unmet_segment

# A sentence is read for its gaps only if the claim rests on it, and for exchanged words and names
# only if it repeats the claim but for these.
_RESTS_ON: Final = 0.5
_NEAR_VERBATIM: Final = 0.7
_RESTS_ON_REST: Final = 0.8


def gaps(found: PartExamination, passage: Passage) -> Iterator[Finding]:
    """Yield what the claim says and the evidence does not, or not so."""
    yield from _of_sentence(found, passage)
    part = found.part
    unmet = frozenset(found.unmet)
    piece = find_unmet_segment(part, unmet)
    if piece:
        text = part.sentence.quote(piece[0], piece[-1] + 1)
        yield Finding(FindingRule.MISSING, False, 1.0, found.number, unmet_note(text, passage))
    yield from _elsewhere(found, passage.sentences[found.number])
    for at in sorted(unmet & part.names):
        note = unmet_note(part.sentence.tokens[at].text, passage)
        yield Finding(FindingRule.MISSING, False, 1.0, found.number, note)


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
        yield Finding(FindingRule.MODE, False, reading.recall, found.number, note)
    if reading.condition:
        said = source.quote(
            reading.condition.cue.start,
            max(reading.condition.body.stop, reading.condition.cue.stop),
        )
        note = f'the source adds a condition that the claim leaves out: "{said}"'
        yield Finding(FindingRule.CONDITION, False, reading.recall, found.number, note)
    if reading.exclusion and reading.exclusion.stance is Stance.APART:
        few = reading.exclusion.said
        note = f'the source says it of "{source.quote(few.start, few.stop)}"'
        yield Finding(FindingRule.QUANTIFIER, False, reading.recall, found.number, note)
    if reading.quantifier:
        gap = reading.quantifier
        ours_text = claim.tokens[gap.claim_at].text
        note = (
            f'"{ours_text}" in the claim, nothing in its place in the source'
            if gap.evidence_at is None
            else both(ours_text, source.tokens[gap.evidence_at].text)
        )
        yield Finding(FindingRule.QUANTIFIER, gap.is_conflict, reading.recall, found.number, note)
    yield from _replaced(found, source)


def _elsewhere(found: PartExamination, source: Sentence) -> Iterator[Finding]:
    """Yield a name that stands elsewhere in the window, while its own sentence has another word."""
    here = {link.claim for link in found.reading.links} | found.reading.turned
    for slot in found.reading.slots:
        name = name_around(found.part.names, slot.claim_at)
        is_away = slot.claim_at in found.part.names and not name & here and slot.fillers
        if is_away and not found.reading.renamed and shared_rest(found, name) >= _RESTS_ON_REST:
            note = both(name_text(found.part.sentence, name), source.tokens[slot.fillers[0]].text)
            yield Finding(FindingRule.RENAMED, False, found.reading.recall, found.number, note)


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
            note = both(
                part.sentence.tokens[slot.claim_at].text, source.tokens[slot.fillers[0]].text
            )
            yield Finding(FindingRule.REPLACED, False, reading.recall, found.number, note)
