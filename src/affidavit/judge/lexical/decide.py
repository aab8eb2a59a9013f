"""From findings to a decision: support level, contradiction, scores, the deciding sentence."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from affidavit.judge.lexical.conflicts import conflicts, fact_findings
from affidavit.judge.lexical.examine import PartExamination
from affidavit.judge.lexical.features import settled_share
from affidavit.judge.lexical.findings import Finding, contradicts, is_in
from affidavit.judge.lexical.gaps import gaps
from affidavit.judge.lexical.passages import Passage
from affidavit.ledger.model import SupportLevel

FULL: Final = 0.68  # From this support on, with no gap, a claim is supported in full.
PARTIAL: Final = 0.45
SUPPORTED_ABOVE: Final = 0.85  # The ledger's bound (evidence-ledger.md, 4.2) for full support.
_ORDER_SHARE: Final = 0.05
_LEAST_ABOVE: Final = 0.001


@dataclass(frozen=True, slots=True)
class PassageDecision:
    """What one passage says of one claim."""

    level: SupportLevel
    contradicts: bool
    support: float
    """Raw: the share of the claim that is settled, with a little for its word order."""
    similarity: float
    contradiction: float
    directness: float
    sentence: int | None
    note: str
    closeness: float = 0.0
    """How much of the claim's words the deciding sentence has; the closest statement wins."""


NOTHING_SHARED: Final = PassageDecision(
    SupportLevel.NONE, False, 0.0, 0.0, 0.0, 0.5, None, "no word of the claim is in the source"
)


def decide(examined: Sequence[PartExamination | None], passage: Passage) -> PassageDecision:
    """Return the decision for a claim: every part must hold, and one false part makes it false."""
    parts = [_decide_part(found, passage) if found else NOTHING_SHARED for found in examined]
    against = [part for part in parts if part.contradicts]
    if against:
        return max(against, key=lambda part: round(part.contradiction, 6))
    weakest = min(parts, key=lambda part: (_RANK[part.level], round(part.support, 6)))
    if weakest.level is SupportLevel.NONE and len(parts) > 1:
        best = max(parts, key=lambda part: (_RANK[part.level], round(part.support, 6)))
        if best.level is not SupportLevel.NONE:
            # One part of several is met: that is support in part.
            return _partial_of(best, weakest)
    return weakest


_RANK: Final = {SupportLevel.NONE: 0, SupportLevel.PARTIAL: 1, SupportLevel.FULL: 2}


def _partial_of(best: PassageDecision, weakest: PassageDecision) -> PassageDecision:
    support = min(best.support, FULL)
    return PassageDecision(
        SupportLevel.PARTIAL, False, support, _similarity(SupportLevel.PARTIAL, support),
        max(best.contradiction, weakest.contradiction), best.directness, best.sentence,
        f"one part of the claim is in the source, another is not: {weakest.note}", best.closeness,
    )  # fmt: skip


def findings_of(found: PartExamination, passage: Passage) -> tuple[Finding, ...]:
    """Return what the rules found, conflicts first, the strongest first."""
    every = (*fact_findings(found, passage), *conflicts(found, passage), *gaps(found, passage))
    return tuple(
        sorted(every, key=lambda finding: (not finding.is_conflict, -round(finding.strength, 6)))
    )


def _decide_part(found: PartExamination, passage: Passage) -> PassageDecision:
    findings = findings_of(found, passage)
    support = (1 - _ORDER_SHARE) * settled_share(found) + _ORDER_SHARE * found.reading.bigrams
    decided = next((finding for finding in findings if contradicts(finding)), None)
    if decided:
        return _contradicted(found, decided, support)
    level = _level(support, findings)
    conflict = max((f.strength for f in findings if f.is_conflict), default=0.0)
    return PassageDecision(
        level, False, support, _similarity(level, support), round(conflict / 2, 4),
        _directness(found), found.number, _note(found, level, findings, passage),
        found.reading.recall,
    )  # fmt: skip


def _contradicted(found: PartExamination, decided: Finding, support: float) -> PassageDecision:
    level = SupportLevel.NONE
    return PassageDecision(
        level, True, support, _similarity(level, support), 0.5 + decided.strength / 2,
        _directness(found), decided.sentence, decided.note, found.reading.recall,
    )  # fmt: skip


def _level(support: float, findings: Sequence[Finding]) -> SupportLevel:
    if support < PARTIAL:
        return SupportLevel.NONE
    return SupportLevel.FULL if support >= FULL and not findings else SupportLevel.PARTIAL


def _similarity(level: SupportLevel, support: float) -> float:
    """Return the support on the ledger's scale, where above 0.85 means full support."""
    if level is SupportLevel.FULL:
        above = (support - FULL) / (1 - FULL)
        return min(1.0, SUPPORTED_ABOVE + _LEAST_ABOVE + (0.149 * above))
    return min(SUPPORTED_ABOVE, SUPPORTED_ABOVE * support / FULL)


def _directness(found: PartExamination) -> float:
    """Return 1 for a claim that stands word for word in one sentence, down to 0.5 for inference."""
    part, links = found.part, found.reading.links
    total = sum(part.weight(at) for at in part.words)
    exact = sum(part.weight(link.claim) for link in links if link.strength >= 1.0)
    share = exact / total if total else 1.0
    return 0.5 + 0.5 * share * found.reading.bigrams


def _note(
    found: PartExamination, level: SupportLevel, findings: Sequence[Finding], passage: Passage
) -> str:
    if level is not SupportLevel.FULL and findings:
        return findings[0].note
    part = found.part
    missing = [part.sentence.tokens[at].text for at in found.unmet]
    if level is SupportLevel.FULL:
        if not missing and found.reading.recall > 0.999 and found.reading.bigrams > 0.999:
            return "every word of the claim stands in the source, in its order"
        facts = [part.sentence.quote(fact.first, fact.end) for fact in part.facts]
        words = [part.sentence.tokens[at].text for at in part.words if at not in found.unmet]
        agreed = ", ".join(f'"{text}"' for text in (*facts, *words)[:6])
        return f"claim and source agree on {agreed}"
    absent = [text for text in missing if not is_in(text, passage)]
    shown = ", ".join(f'"{text}"' for text in absent[:6])
    return f"not in the source: {shown}" if absent else "the words are there, but not together"
