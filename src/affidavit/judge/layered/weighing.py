"""One sentence of a claim against one passage: what was seen, and what it is worth."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from affidavit.judge.encoder.entailment import Entailment
from affidavit.judge.layered.combiner import Weighed
from affidavit.judge.layered.language import FOREIGN_SCORE, TOO_MANY, repeats, unknown_words
from affidavit.judge.layered.language import NOTE as FOREIGN_NOTE
from affidavit.ledger.model import Reading, SupportLevel
from affidavit.ledger.rules import JudgeThresholds

OWN_THRESHOLDS: Final = JudgeThresholds()
RULE_SCORE: Final = "rule_contradiction"
"""What the rules make of a contradiction: the lexical judge's own score, before it is weighed."""
WORDS_SCORE: Final = "words"
"""The share of the claim that is settled, in its order: the lexical judge's support."""
GAP_SCORE: Final = "rule_gap"
"""1 where most of the claim is there, and a rule found something that keeps it from support."""
LITTLE_SCORE: Final = "rule_little"
"""1 where the rules find too little of the claim, or something against it."""
_MOST: Final = 0.68
_SAYS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Weighing:
    """What the words say of a passage, what the encoder says if it was asked, and the sum."""

    sentence: str
    reading: Reading
    scores: Mapping[str, float]
    weighed: Weighed
    read: Entailment | None = None

    @property
    def contradicts(self) -> bool:
        """Say whether the passage says otherwise."""
        return self.weighed.contradiction >= OWN_THRESHOLDS.contradicted_from

    @property
    def supports(self) -> bool:
        """Say whether the passage says so."""
        return self.weighed.support >= OWN_THRESHOLDS.supported_from and not self.contradicts

    @property
    def note(self) -> str:
        """Name what decided: the rule or the words, and what the encoder made of the passage."""
        notes = [self.reading.notes]
        if self.read:
            notes.append(_said(self.read))
        if self.scores.get(FOREIGN_SCORE, 0.0) >= TOO_MANY:
            notes.append(FOREIGN_NOTE)
        return "; ".join(notes)


def _said(read: Entailment) -> str:
    if read.entails >= _SAYS:
        return f"the encoder reads the passage as saying so ({read.entails:.2f})"
    if read.contradicts >= _SAYS:
        return f"the encoder reads the passage as saying otherwise ({read.contradicts:.2f})"
    return f"the encoder finds the claim left open ({read.neutral:.2f})"


def scores_of(reading: Reading, sentence: str) -> dict[str, float]:
    """Return what the combiner weighs of a reading by words: its features, and what rules found."""
    scores = dict(reading.scores)
    words = scores.pop("support")
    kept_back = reading.support_level is not SupportLevel.FULL and words >= _MOST
    scores[WORDS_SCORE] = words
    scores[RULE_SCORE] = reading.contradiction if reading.contradicts else 0.0
    scores[GAP_SCORE] = float(kept_back)
    scores[LITTLE_SCORE] = float(reading.support_level is SupportLevel.NONE)
    said = repeats(sentence, reading.snippet)
    scores[FOREIGN_SCORE] = 0.0 if said else unknown_words(sentence)
    return scores


def settled(found: list[Weighing]) -> tuple[Weighing, Weighed]:
    """Return the sentence that decides on a claim, and what the claim is worth.

    A claim is as good as its weakest sentence, and false if one sentence is. Where one sentence is
    supported and another is not, the claim is supported in part.
    """
    worst = max(found, key=lambda each: each.weighed.contradiction)
    weakest = min(found, key=lambda each: each.weighed.support)
    decides = worst if worst.contradicts else weakest
    support = weakest.weighed.support
    if any(each.supports for each in found):
        support = max(support, OWN_THRESHOLDS.weak_from)
    return decides, Weighed(support, worst.weighed.contradiction)
