"""The named features of a claim and its evidence.

None of them counts words or sentences: length teaches a judge which data set it sees, not what is
so.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from typing import Final

from affidavit.judge.lexical.amounts import Relation
from affidavit.judge.lexical.claims import Part, claim_of
from affidavit.judge.lexical.examine import PartExamination, examine_part
from affidavit.judge.lexical.exclusion import Stance
from affidavit.judge.lexical.factcheck import FactFinding
from affidavit.judge.lexical.links import SAME_GROUP
from affidavit.judge.lexical.passages import Key, passage_of
from affidavit.judge.lexical.sentence_reading import SentenceReading

_RAREST: Final = 12.0
_FACT_WEIGHT: Final = 6.0  # A number weighs as much as a rather rare word.
_FACT_CREDIT: Final = {Relation.SAME: 1.0, Relation.LOOSE: 0.6}


@dataclass(frozen=True, slots=True)
class Features:
    """All in [0, 1]. Of the first group more is better, of the second less.

    Of a claim with several sentences the first group is a mean by weight, the second the worst.
    """

    settled: float = 0.0
    """The share of the claim's words and facts that is settled: the judge's main measure."""
    recall_sentence: float = 0.0
    recall_pair: float = 0.0
    recall_triple: float = 0.0
    recall_cover: float = 0.0
    """Weighted recall of the claim's words in the best one, two, three adjacent sentences, and in
    the covering window."""
    weakest_part: float = 0.0
    exact: float = 0.0
    """The share of words that stand in the deciding sentence letter for letter."""
    bigrams: float = 0.0
    names_met: float = 0.0
    names_here: float = 0.0
    """Names in the window; names in the deciding sentence."""
    facts_met: float = 0.0

    rarest_unmet: float = 1.0
    rarest_away: float = 1.0
    """The weight of the rarest word that is not in the window, and not in the deciding sentence."""
    replaced: float = 0.0
    facts_missing: float = 0.0
    facts_loose: float = 0.0
    facts_conflict: float = 0.0
    opposite: float = 0.0
    denial: float = 0.0
    renamed: float = 0.0
    swapped: float = 0.0
    mode_stronger: float = 0.0
    mode_weaker: float = 0.0
    quantifier: float = 0.0
    condition: float = 0.0
    exchanged: float = 0.0
    """Rules that spoke; each with the share of the claim's words that its sentence has."""

    def as_pairs(self) -> tuple[tuple[str, float], ...]:
        """Return the features sorted by name, rounded to 4 decimals."""
        return tuple((name, round(getattr(self, name), 4)) for name in FEATURE_NAMES)


FEATURE_NAMES: Final = tuple(sorted(field.name for field in fields(Features)))
_MEANS: Final = frozenset(
    {
        "settled", "recall_sentence", "recall_pair", "recall_triple", "recall_cover", "exact",
        "bigrams", "names_met", "names_here", "facts_met",
    }
)  # fmt: skip


WORD_FOR_WORD: Final = Features(
    **dict.fromkeys((*_MEANS, "weakest_part"), 1.0), rarest_unmet=0.0, rarest_away=0.0
)
"""Of a claim that is a sentence of the evidence: no rule is asked."""


def features(claim: str, evidence_text: str, heading: str = "") -> Features:
    """Return the features of `claim` against `evidence_text`, which stands under `heading`."""
    passage, ready = passage_of(evidence_text), claim_of(claim)
    if ready.spelling in passage.spelled and ready.spelling:
        return WORD_FOR_WORD
    keys = heading_keys(heading)
    return features_of([examine_part(part, passage, keys) for part in ready.parts])


def heading_keys(heading: str) -> frozenset[Key]:
    """Return what a heading path adds to the sentences below it."""
    return frozenset(key for sentence in passage_of(heading).sentences for key in sentence.keys)


def features_of(examined: Sequence[PartExamination | None]) -> Features:
    """Gather the features of all parts of a claim."""
    parts = [_part_features(found) if found else Features() for found in examined]
    if len(parts) < 2:
        return parts[0] if parts else Features()
    weights = [max(1.0, _weight(found.part)) if found else 1.0 for found in examined]
    total = sum(weights)
    values = {}
    for name in FEATURE_NAMES:
        column = [getattr(part, name) for part in parts]
        if name in _MEANS:
            values[name] = sum(value * w for value, w in zip(column, weights, strict=True)) / total
        else:
            values[name] = min(column) if name == "weakest_part" else max(column)
    return Features(**values)


def _part_features(found: PartExamination) -> Features:
    part, reading = found.part, found.reading
    names = [at for at in part.words if at in part.names]
    here = {link.claim for link in reading.links}
    facts = _fact_shares(found.facts)
    spoke = reading.recall
    mode = reading.mode
    return Features(
        settled=settled_share(found),
        recall_sentence=found.recalls[0],
        recall_pair=found.recalls[1],
        recall_triple=found.recalls[2],
        recall_cover=found.recalls[3],
        weakest_part=found.recalls[3],
        exact=_share(part, part.words, {k.claim for k in reading.links if k.strength >= 1.0}),
        bigrams=reading.bigrams,
        names_met=_share(part, names, set(names).difference(found.unmet)),
        names_here=_share(part, names, here),
        facts_met=facts[Relation.SAME],
        rarest_unmet=_rarest(part, found.unmet),
        rarest_away=_rarest(part, set(part.words) - here),
        replaced=_rarest(part, [slot.claim_at for slot in reading.slots if slot.fillers]),
        facts_missing=facts[Relation.UNKNOWN],
        facts_loose=facts[Relation.LOOSE],
        facts_conflict=_worst_conflict(found.facts),
        opposite=spoke if reading.opposition else 0.0,
        denial=spoke if reading.denial else 0.0,
        renamed=spoke if reading.renamed else 0.0,
        swapped=spoke if reading.swap or reading.mixture else 0.0,
        mode_stronger=spoke if mode and mode.is_stronger else 0.0,
        mode_weaker=spoke if mode and not mode.is_stronger else 0.0,
        quantifier=spoke if reading.quantifier or _is_shut_out(reading) else 0.0,
        condition=spoke if reading.condition else 0.0,
        exchanged=spoke if reading.exchange else 0.0,
    )


def _is_shut_out(reading: SentenceReading) -> bool:
    return reading.exclusion is not None and reading.exclusion.stance is not Stance.DENIES


def _weight(part: Part) -> float:
    return sum(part.weight(at) for at in part.words)


def _share(part: Part, places: Sequence[int], kept: Collection[int]) -> float:
    total = sum(part.weight(at) for at in places)
    return sum(part.weight(at) for at in places if at in kept) / total if total else 1.0


def _rarest(part: Part, places: Collection[int]) -> float:
    return min(1.0, max((part.weight(at) for at in places), default=0.0) / _RAREST)


def _counted(facts: Sequence[FactFinding]) -> list[FactFinding]:
    """Leave out figures of speech ("one of them") that the evidence does not repeat."""
    return [
        finding
        for finding in facts
        if finding.relation is not Relation.UNKNOWN or not finding.claimed.is_weak
    ]


def settled_share(found: PartExamination) -> float:
    """Return the share of a part that is settled: its words in the window, its facts by value.

    A word that only the heading has, or that a denied opposite says, counts like a synonym.
    """
    words = _weight(found.part)
    facts = _counted(found.facts)
    met = sum(_FACT_CREDIT.get(finding.relation, 0.0) for finding in facts)
    total = words + _FACT_WEIGHT * len(facts)
    others = SAME_GROUP * sum(
        found.part.weight(at) for at in (*found.reading.turned, *found.in_heading)
    )
    settled = min(words, words * found.recalls[3] + others) + _FACT_WEIGHT * met
    return settled / total if total else 1.0


def _fact_shares(facts: Sequence[FactFinding]) -> dict[Relation, float]:
    counted = _counted(facts)
    shares = dict.fromkeys(Relation, 0.0)
    for finding in counted:
        shares[finding.relation] += 1 / len(counted)
    if not counted:
        shares[Relation.SAME] = 1.0
    return shares


def _worst_conflict(facts: Sequence[FactFinding]) -> float:
    return max((fact.context for fact in facts if fact.relation is Relation.CONFLICT), default=0.0)
