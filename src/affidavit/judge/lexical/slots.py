"""Words of a claim that the source does not have, and what stands in their place there.

Between two words that claim and source share, the claim's stranger and the source's stranger fill
the same slot: "signed by [Acme]" and "signed by [Globex]".
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from affidavit.judge.lexical.claims import Part
from affidavit.judge.lexical.facts import facts_of
from affidavit.judge.lexical.lexicon import Kind
from affidavit.judge.lexical.links import Link
from affidavit.judge.lexical.passages import Sentence

_SLACK: Final = 2  # Tokens by which the source's slot may be wider than the claim's.


class Slot(NamedTuple):
    """A word of the claim that is not met, and the source's words in its place, as token places."""

    claim_at: int
    fillers: tuple[int, ...]


def slots_of(part: Part, sentence: Sentence, links: Sequence[Link]) -> tuple[Slot, ...]:
    """Return the claim's words that the sentence does not meet, each with what fills its place."""
    met = {link.claim: link.evidence for link in links}
    used = {link.evidence for link in links}
    taken = {at for fact in facts_of(sentence) for at in range(fact.first, fact.end)}
    free = [
        at
        for at, token in enumerate(sentence.tokens)
        if token.word.weight > 0 and token.word.kind is Kind.WORD
        and at not in used and at not in taken
    ]  # fmt: skip
    found = []
    for at in part.words:
        if at not in met:
            low, high = _gap(at, met)
            found.append(Slot(at, tuple(place for place in free if low < place < high)))
    return tuple(found)


def _gap(at: int, met: dict[int, int]) -> tuple[int, int]:
    """Return the open range of the source's tokens where the claim's word at `at` should stand.

    Between two shared words it is what lies between them there; at the edge, or where the shared
    words lie apart, it reaches as far from the shared word as in the claim, and a little further.
    """
    left = max((place for place in met if place < at), default=None)
    right = min((place for place in met if place > at), default=None)
    if (
        left is not None
        and right is not None
        and 0 < met[right] - met[left] <= right - left + _SLACK
    ):
        return met[left], met[right]
    if left is not None and (right is None or at - left <= right - at):
        return met[left], met[left] + (at - left) + _SLACK + 1
    if right is not None:
        return met[right] - (right - at) - _SLACK - 1, met[right]
    return 0, 0
