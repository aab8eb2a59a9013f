"""Writes the amounts of a claim as a passage writes them: "2 weeks" as "14 calendar days".

The rules know that both are the same; the encoder would compare other words. It does not calculate
either: it reads 3,600 as 1,200 if all other words fit, so figures are looked for letter by letter.
"""

import re
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Final

from affidavit.judge.lexical.amounts import Relation
from affidavit.judge.lexical.claims import claim_of
from affidavit.judge.lexical.examine import examine_part
from affidavit.judge.lexical.factcheck import FactFinding
from affidavit.judge.lexical.facts import Fact
from affidavit.judge.lexical.passages import Passage, Sentence, passage_of
from affidavit.judge.lexical.quantities import Quantity

_FIGURE: Final = re.compile(r"(?<![\w.])(\d[\d,]{0,30}(?:\.\d{1,30})?)(?:\s?(%|per ?cent\b))?")


def lacks_figure(claim: str, passage: str) -> bool:
    """Say whether a figure of the claim, restated, is not in the passage.

    7.5% and 7.5 percent are 0.075, too.
    """
    there = frozenset(_plain(figure) for figure, _ in _FIGURE.findall(passage))
    return any(
        _plain(figure) not in there and not (percent and _plain(figure, 2) in there)
        for figure, percent in _FIGURE.findall(restated(claim, passage))
    )


def _plain(figure: str, places: int = 0) -> str:
    """Return a figure in one form, its point moved to the left."""
    return format(Decimal(figure.replace(",", "")).scaleb(-places).normalize(), "f")


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
