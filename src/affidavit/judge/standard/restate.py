"""Writes the amounts of a claim as a passage writes them: "2 weeks" as "14 calendar days".

The rules know that both are the same; the encoder would compare other words.
"""

from collections.abc import Sequence
from functools import lru_cache

from affidavit.judge.lexical.amounts import Relation
from affidavit.judge.lexical.claims import claim_of
from affidavit.judge.lexical.examine import examine_part
from affidavit.judge.lexical.factcheck import FactFinding
from affidavit.judge.lexical.facts import Fact
from affidavit.judge.lexical.passages import Passage, Sentence, passage_of
from affidavit.judge.lexical.quantities import Quantity


@lru_cache(maxsize=64)
def restated(claim: str, passage: str) -> str:
    """Return the claim with every amount that the passage has in another unit in that unit."""
    known = passage_of(passage)
    for part in claim_of(claim).parts:
        if not any(isinstance(fact, Quantity) for fact in part.facts):
            continue
        examined = examine_part(part, known, frozenset())
        for ours, theirs in _other_units(part.sentence, known, examined.facts if examined else ()):
            if claim.count(ours) == 1:
                claim = claim.replace(ours, theirs)
    return claim


def _other_units(
    sentence: Sentence, passage: Passage, findings: Sequence[FactFinding]
) -> list[tuple[str, str]]:
    return [
        (_spelled(sentence, ours), _spelled(passage.sentences[each.sentence], theirs))
        for each in findings
        for ours, theirs in ((each.claimed, each.found),)
        if isinstance(ours, Quantity) and isinstance(theirs, Quantity)
        if each.relation is Relation.SAME and ours.written != theirs.written
        # A bound is met by many amounts: "over 5 days" is true of 14 and is not written so.
        if ours.amount.low == ours.amount.high == theirs.amount.low
    ]


def _spelled(sentence: Sentence, fact: Fact) -> str:
    tokens = sentence.tokens
    opens = tokens[fact.first].start - sentence.start
    return sentence.text[opens : tokens[fact.end - 1].end - sentence.start]
