"""Antonyms between a claim and its source, with their negations taken into account."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from affidavit.judge.lexical.claims import Part
from affidavit.judge.lexical.lexicon import are_opposites, has_opposite, opposites_of
from affidavit.judge.lexical.links import Link
from affidavit.judge.lexical.passages import Sentence
from affidavit.judge.lexical.polarity import denied_places
from affidavit.judge.lexical.slots import Slot


class Opposition(NamedTuple):
    """A word of the claim and its opposite in the source, as token places; `agrees` if a negation
    on one side makes both say the same ("not permitted", "prohibited")."""

    claim_at: int
    evidence_at: int
    agrees: bool
    in_place: bool = True
    """The opposite stands where the claim has its word, not somewhere else in the sentence."""


_TOO_COMMON: Final = frozenset({"on", "off", "up", "down"})
_BACK: Final = 4


def oppositions(
    part: Part, sentence: Sentence, links: Sequence[Link], slots: Sequence[Slot]
) -> tuple[Opposition, ...]:
    """Return the antonyms: in a slot, elsewhere in the sentence, or in front of a shared word."""
    used = {link.evidence for link in links}
    found: list[Opposition] = []
    for slot in slots:
        opposed = opposites_of(part.sentence.words[slot.claim_at].stem)
        places = sorted(
            at for key in opposed for at in sentence.spots.get(key, ()) if at not in used
        )
        if places:
            at = next((at for at in slot.fillers if at in places), places[0])
            opposition = _opposition(part.sentence, slot.claim_at, sentence, at)
            found.append(opposition._replace(in_place=at in slot.fillers))
    return (*found, *_small_words(part, sentence, links))


def _opposition(claim: Sentence, at: int, sentence: Sentence, place: int) -> Opposition:
    one_denied = (at in denied_places(claim)) != (place in denied_places(sentence))
    return Opposition(at, place, agrees=one_denied)


def _small_words(part: Part, sentence: Sentence, links: Sequence[Link]) -> tuple[Opposition, ...]:
    """Compare "before X" with "after X", "with X" with "without X", "more X" with "less X"."""
    found = []
    for link in links:
        mine = _small_before(part.sentence, link.claim)
        other = _small_before(sentence, link.evidence)
        if mine is not None and other is not None:
            one = part.sentence.tokens[mine].word.stem
            if are_opposites(one, sentence.tokens[other].word.stem):
                found.append(Opposition(mine, other, agrees=False))
    return tuple(found)


def _small_before(sentence: Sentence, at: int) -> int | None:
    for place in range(at - 1, max(-1, at - 1 - _BACK), -1):
        word = sentence.tokens[place].word
        if word.weight == 0 and has_opposite(word.stem) and word.norm not in _TOO_COMMON:
            return place
        if word.weight > 0 or not word.norm.isalpha():
            return None
    return None
