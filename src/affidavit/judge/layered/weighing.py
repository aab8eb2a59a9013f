"""The scores of one sentence of a claim against one passage, and the two probabilities."""

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
"""The lexical judge's own contradiction score, before it is weighted."""
WORDS_SCORE: Final = "words"
"""The share of the claim that is settled, in its order: the lexical judge's support."""
GAP_SCORE: Final = "rule_gap"
"""1 if most of the claim is in the passage, and a rule found a gap."""
LITTLE_SCORE: Final = "rule_little"
"""1 if the rules find too little of the claim, or a conflict."""
_MOST: Final = 0.68
_SAYS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Weighing:
    """The reading of the rules, that of the encoder if it was used, and the combined result."""

    sentence: str
    reading: Reading
    scores: Mapping[str, float]
    weighed: Weighed
    read: Entailment | None = None

    @property
    def contradicts(self) -> bool:
        """Say whether the passage contradicts the claim."""
        return self.weighed.contradiction >= OWN_THRESHOLDS.contradicted_from

    @property
    def supports(self) -> bool:
        """Say whether the passage supports the claim."""
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
