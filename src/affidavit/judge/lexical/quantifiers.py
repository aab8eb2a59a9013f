"""All, most, some, only: whether a claim speaks of more than its source does."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from affidavit.judge.lexical.links import Link
from affidavit.judge.lexical.passages import Sentence
from affidavit.judge.lexical.tables import listed

RANKS: Final = {
    word: rank
    for rank, name in enumerate(("few", "some", "many", "most", "all"))
    for word in listed(f"quantity-{name}")
}
_ONLY: Final = frozenset({"only", "solely", "exclusively"})
_BACK: Final = 4


class QuantifierGap(NamedTuple):
    """The claim's quantifier, the source's (None if it has none), and whether both exclude."""

    claim_at: int
    evidence_at: int | None
    is_conflict: bool


def find_quantifier_gap(
    claim: Sentence, evidence: Sentence, links: Sequence[Link]
) -> QuantifierGap | None:
    """Return where the claim speaks of more than the source: "all" for "some", an added "only"."""
    for link in links:
        mine = _before(claim, link.claim)
        if mine is None:
            continue
        other = _before(evidence, link.evidence)
        if other is not None:
            high = RANKS[claim.tokens[mine].word.norm]
            low = RANKS[evidence.tokens[other].word.norm]
            if high > low:
                return QuantifierGap(mine, other, is_conflict=low == 0 and high >= 2)
            if high == 0 and low >= 2:
                return QuantifierGap(mine, other, is_conflict=True)
    return _added_only(claim, evidence, links)


def _before(sentence: Sentence, at: int) -> int | None:
    """Return the quantifier in front of a word: "most of the permanent employees"."""
    for place in range(at, max(-1, at - 1 - _BACK), -1):
        word = sentence.tokens[place].word
        if word.norm in RANKS:
            return None if _is_bound_phrase(sentence, place) else place
        if place != at and word.norm in (",", ".", ";", ":", "and", "or", "that", "which"):
            return None
    return None


def _is_bound_phrase(sentence: Sentence, place: int) -> bool:
    """Leave "at most 5" and "as many" to numbers and comparisons, "not all" to negation."""
    before = sentence.tokens[place - 1].word.norm if place else ""
    after = sentence.tokens[place + 1].word.norm if place + 1 < len(sentence.tokens) else ""
    return before in ("at", "not", "so", "how", "as") or after[:1].isdecimal()


def _added_only(claim: Sentence, evidence: Sentence, links: Sequence[Link]) -> QuantifierGap | None:
    mine = [at for at, token in enumerate(claim.tokens) if token.word.norm in _ONLY]
    if not mine or _has_only(evidence) or not links:
        return None
    at = mine[0]
    after = claim.tokens[at + 1].word.norm if at + 1 < len(claim.tokens) else ""
    before = claim.tokens[at - 1].word.norm if at else ""
    if before == "not" or after[:1].isdecimal():
        return None
    return QuantifierGap(at, None, is_conflict=False)


def _has_only(sentence: Sentence) -> bool:
    exclusive = _ONLY | {"sole", "except", "unless", "none", "no", "just", "alone", "exclusive"}
    return any(token.word.norm in exclusive for token in sentence.tokens)
