"""What the rules found in a passage about a part of a claim, each in one plain sentence.

A finding names the token that decided. Conflicts make a contradiction once the sentence shares
enough of the claim's other words; gaps make full support impossible.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from affidavit.judge.lexical.examine import PartExamination
from affidavit.judge.lexical.passages import Passage, Sentence


class FindingRule(StrEnum):
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
    EXCHANGE = "small word"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: a conflict or a gap, how much else agrees, where, and what was found."""

    kind: FindingRule
    is_conflict: bool
    strength: float
    sentence: int
    note: str


# How much of the claim's other words the sentence must share before a conflict contradicts. Set on
# rule-made edits of running text against human-labelled supported claims; see docs/judge.md.
_GATES: Final = {
    FindingRule.FACT: 0.5,
    FindingRule.DENIAL: 0.7,
    FindingRule.OPPOSITE: 0.65,
    FindingRule.RENAMED: 0.75,
    FindingRule.SWAPPED: 0.7,
    FindingRule.QUANTIFIER: 0.6,
    FindingRule.EXCHANGE: 0.9,
}


def contradicts(finding: Finding) -> bool:
    """Say whether a finding is a contradiction: a conflict about what is surely the same matter."""
    return finding.is_conflict and finding.strength >= _GATES[finding.kind]


def both(ours: str, theirs: str) -> str:
    """Return the note that sets the words of claim and source side by side."""
    return f'"{ours}" in the claim, "{theirs}" in the source'


def is_in(text: str, passage: Passage) -> bool:
    """Say whether a passage has a text letter for letter, whatever its case."""
    return text.casefold() in passage.text.casefold()


def unmet_note(text: str, passage: Passage) -> str:
    """Return the note on a text of the claim that the rules do not find.

    "Not in the source" is said only after a literal search.
    """
    if is_in(text, passage):
        return f'"{text}" is in the source, but apart from the rest of the claim'
    return f'"{text}" is not in the source'


def name_text(sentence: Sentence, places: set[int]) -> str:
    """Return a name as it was written, from its first to its last word."""
    return sentence.quote(min(places), max(places) + 1)


def shared_rest(found: PartExamination, without: set[int]) -> float:
    """Return how much of the claim's other words the deciding sentence shares."""
    part = found.part
    total = sum(part.weight(at) for at in part.words if at not in without)
    met = sum(
        part.weight(link.claim) * link.strength
        for link in found.reading.links
        if link.claim not in without
    )
    return met / total if total else 0.0
