"""A judge with the thresholds of the user instead of its own."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct, structs

from affidavit.judge.protocol import Judge
from affidavit.ledger.model import Chunk, JudgeIdentity, Reading, SupportLevel, Verdict
from affidavit.ledger.rules import DEFAULT_RULES, JudgeThresholds

_LEVELS: Final = {
    Verdict.SUPPORTED: SupportLevel.FULL,
    Verdict.WEAK: SupportLevel.PARTIAL,
    Verdict.CONTRADICTED: SupportLevel.NONE,
    Verdict.NOT_FOUND: SupportLevel.NONE,
}
_MIN_ABOVE: Final = 0.001
CONFIDENCE: Final = "confidence"
"""The score of a judge whose probabilities were measured: how likely its verdict is right."""


class ThresholdedJudge(Struct, frozen=True):
    """Decides each reading again from its two probabilities.

    The identity of the judge stays the same: the thresholds are part of the rules, and the ledger
    has their digest.
    """

    inner: Judge
    thresholds: JudgeThresholds

    @property
    def identity(self) -> JudgeIdentity:
        """The identity of the judge that reads."""
        return self.inner.identity

    @property
    def reads_english_only(self) -> bool:
        """As the judge that reads."""
        return self.inner.reads_english_only

    def read(self, claim: str, chunks: Sequence[Chunk]) -> tuple[Reading, ...]:
        """Return one reading per chunk, in the order of the chunks."""
        read = self.inner.read(claim, chunks)
        return tuple(apply_thresholds(reading, self.thresholds) for reading in read)


def with_thresholds(judge: Judge, thresholds: JudgeThresholds | None) -> Judge:
    """Return the judge with these thresholds, or unchanged without any."""
    return judge if thresholds is None else ThresholdedJudge(judge, thresholds)


def apply_thresholds(reading: Reading, thresholds: JudgeThresholds) -> Reading:
    """Return a reading whose level, contradiction and similarity follow the thresholds."""
    scores = dict(reading.scores)
    support = scores.get("support", reading.similarity)
    verdict = thresholds.verdict(support, reading.contradiction)
    if CONFIDENCE in scores:
        is_against = verdict is Verdict.CONTRADICTED
        scores[CONFIDENCE] = reading.contradiction if is_against else thresholds.shifted(support)
    return structs.replace(
        reading,
        scores=tuple(sorted(scores.items())),
        support_level=_LEVELS[verdict],
        contradicts=verdict is Verdict.CONTRADICTED,
        similarity=similarity_of(thresholds.shifted(support), thresholds.supported_from),
    )


def similarity_of(support: float, supported_from: float) -> float:
    """Return a probability on the ledger's scale, where full support lies above 0.85.

    Two straight lines meet at the threshold, so the order of readings is preserved. The scale is
    that of the ledger's default rules (evidence-ledger.md, section 4.2).
    """
    bound = DEFAULT_RULES.verdict.supported_above
    if support < supported_from:
        return round(bound * support / supported_from, 4)
    room = 1 - supported_from
    above = (support - supported_from) / room if room else 1.0
    return round(bound + _MIN_ABOVE + (1 - bound - _MIN_ABOVE) * above, 4)


def support_from_similarity(similarity: float) -> float:
    """Return a similarity as a probability, with the bound of full support at 0.5.

    The inverse of `similarity_of`, for a judge whose own threshold is not known.
    """
    bound = DEFAULT_RULES.verdict.supported_above
    if similarity <= bound:
        return 0.5 * similarity / bound
    return 0.5 + 0.5 * (similarity - bound) / (1 - bound)
