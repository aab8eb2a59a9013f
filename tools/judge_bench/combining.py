"""Combiners made by a fit, and what they make of signals: the judge without its slow part."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from affidavit.judge.layered.combiner import (
    NOT_SAID,
    SCHEMA,
    CascadeV1,
    Combiner,
    CombinerV1,
    LimitV1,
    Weighed,
)
from affidavit.judge.layered.language import FOREIGN_SCORE, TOO_MANY
from affidavit.judge.layered.weighing import (
    GAP_SCORE,
    LITTLE_SCORE,
    OWN_THRESHOLDS,
    Weighing,
    settled,
)
from affidavit.ledger.model import Reading, Span, SupportLevel, Verdict
from tools.judge_bench.fitting import fit_contradiction, fit_support
from tools.judge_bench.rows import FITTED
from tools.judge_bench.signals import Seen, Signals

_NO_READING: Final = Reading(
    chunk_id="",
    support_level=SupportLevel.NONE,
    contradicts=False,
    similarity=0.0,
    contradiction=0.0,
    directness=0.5,
    snippet="",
    snippet_span=Span(0, 0),
    notes="",
)
CASCADE: Final = CascadeV1(unsure_from=0.45, unsure_to=0.6, near=0.9, most_passages=2)
# A rule that found another value, a negation or an exchanged name in a sentence that says most of
# the claim; a stronger mode or quantity, or a condition left out; a number that a close sentence
# does not have; a language that the rules do not know. What else a rule found in a close sentence,
# and too little of the claim, the encoder may overrule; of a sentence that has nearly all of the
# claim it is the better reader, and sets a limit of its own.
LIMITS: Final = (
    *(LimitV1(name, 0.6, 0.2) for name in ("facts_conflict", "opposite", "denial")),
    *(LimitV1(name, 0.6, 0.2) for name in ("renamed", "swapped")),
    *(LimitV1(name, 0.6, 0.4) for name in ("mode_stronger", "quantifier", "condition")),
    LimitV1("facts_missing", 0.01, 0.45, near=0.8),
    LimitV1("facts_loose", 0.01, 0.45, near=0.8),
    LimitV1(FOREIGN_SCORE, TOO_MANY, 0.45),
    LimitV1(GAP_SCORE, 0.5, 0.45, near=0.8, unless=0.7),
    LimitV1(NOT_SAID, 0.8, 0.4, near=0.9),
    LimitV1(LITTLE_SCORE, 0.5, 0.24, unless=0.5),
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The truth of a row beside what the judge makes of it."""

    group: str
    target: int
    weighed: Weighed
    verdict: Verdict
    was_read: bool

    @property
    def is_supported(self) -> bool:
        """Say whether the judge calls the claim supported."""
        return self.verdict is Verdict.SUPPORTED


def fit_combiner(signals: Iterable[Signals], without: str = "") -> Combiner:
    """Fit a combiner on labelled sets and on edits, leaving out one set."""
    kept = [row for row in signals if row.group != without]
    sets = [row for row in kept if row.group in FITTED]
    edits = [row for row in kept if row.group not in FITTED]
    counts = {name: sum(row.group == name for row in sets) for name in FITTED}
    table = CombinerV1(
        SCHEMA,
        {**{name: count for name, count in counts.items() if count}, "edits": len(edits)},
        CASCADE,
        LIMITS,
        fit_support(sets),
        fit_contradiction([*sets, *edits]),
    )
    return Combiner(table, "")


def judge_signals(combiner: Combiner, signals: Sequence[Signals]) -> list[Judgement]:
    """Decide rows as the judge does: the encoder's reading counts only where it is asked."""
    decided = []
    for row in signals:
        found = [_weigh(combiner, seen) for seen in row.sentences]
        _, weighed = settled(found)
        verdict = OWN_THRESHOLDS.verdict(weighed.support, weighed.contradiction)
        was_read = any(each.read for each in found)
        decided.append(Judgement(row.group, row.target, weighed, verdict, was_read))
    return decided


def _weigh(combiner: Combiner, seen: Seen) -> Weighing:
    asked = seen.read if combiner.is_unsure(seen.scores) else None
    return Weighing("", _NO_READING, seen.scores, combiner.weigh(seen.scores, asked), asked)
