"""Who did what to whom: whether two words that claim and source share have changed places."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final, NamedTuple

from affidavit.judge.lexical.claims import Part
from affidavit.judge.lexical.links import SAME_STEM, Link
from affidavit.judge.lexical.names import name_around
from affidavit.judge.lexical.passages import Sentence
from affidavit.judge.lexical.stemming import stem
from affidavit.judge.lexical.tables import cues


class RoleSwap(NamedTuple):
    """Two words of the claim, each of which stands in the other's place in the source."""

    first: int
    second: int


# "A met B" says the same as "B met A".
_SYMMETRIC: Final = frozenset(stem(word) for word in cues("symmetric"))
_POSSESSIVE: Final = ("'s", "\u2019s")
_LISTED: Final = cues("listed")
# How much of the claim must keep its order: common words change places in any paraphrase.
_NAMES_FRAME: Final = 0.7
_WORDS_FRAME: Final = 0.9
_SLACK: Final = 4
_MOST_MOVED: Final = 8  # Where more words moved than this, the sentence was rebuilt, not swapped.


def find_role_swap(part: Part, sentence: Sentence, links: Sequence[Link]) -> RoleSwap | None:
    """Return two words that changed places: "A acquired B" against "B acquired A".

    What keeps its order is the frame. Two words, or whole names, are swapped when each stands in
    the gap of the frame that the claim gives to the other.
    """
    exact = [link for link in links if link.strength >= SAME_STEM]
    frame = _longest_rising(exact)
    moved = [link for link in exact if link not in frame]
    if not moved or len(moved) > _MOST_MOVED:
        return None
    for one in moved:
        for other in exact:
            if _are_swapped(part, sentence, exact, one, other):
                first, second = sorted((one.claim, other.claim))
                return RoleSwap(first, second)
    return None


def _longest_rising(links: Sequence[Link]) -> list[Link]:
    """Return the longest run of links that keeps the claim's order in the source."""
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = [-1] * len(links)
    for at, link in enumerate(links):
        slot = bisect_left(tails, link.evidence)
        before[at] = ends[slot - 1] if slot else -1
        if slot == len(tails):
            tails.append(link.evidence)
            ends.append(at)
        else:
            tails[slot] = link.evidence
            ends[slot] = at
    chosen: list[Link] = []
    at = ends[-1] if ends else -1
    while at >= 0:
        chosen.append(links[at])
        at = before[at]
    return chosen[::-1]


def _are_swapped(
    part: Part, sentence: Sentence, links: Sequence[Link], one: Link, other: Link
) -> bool:
    if (one.claim in part.names) != (other.claim in part.names):
        return False
    first, second = name_around(part.names, one.claim), name_around(part.names, other.claim)
    if other.claim in first or _is_list(part.sentence, one.claim, other.claim):
        return False
    frame = _longest_rising([link for link in links if link.claim not in first | second])
    if not (_stands_in(frame, one, other.claim) and _stands_in(frame, other, one.claim)):
        return False
    kept = {link.claim for link in frame} | first | second
    share = sum(part.weight(at) for at in kept) / sum(part.weight(at) for at in part.words)
    if share < (_NAMES_FRAME if one.claim in part.names else _WORDS_FRAME):
        return False
    low, high = sorted((one.claim, other.claim))
    shift = abs(abs(one.evidence - other.evidence) - (high - low))
    if one.claim not in part.names and shift > _SLACK // 2:
        return False
    is_far = abs(one.evidence - other.evidence) > high - low + _SLACK and share < _WORDS_FRAME
    if is_far or _is_owner(part, sentence, one, other):
        return False
    between = [link for link in frame if low < link.claim < high]
    if one.claim not in part.names and not between:
        return False
    return not any(_turns(part, sentence, link) for link in between)


def _stands_in(frame: Sequence[Link], moved: Link, claim_at: int) -> bool:
    """Say whether the source has `moved` in the gap that the claim has at `claim_at`."""
    low = max((link.evidence for link in frame if link.claim < claim_at), default=-1)
    high = min((link.evidence for link in frame if link.claim > claim_at), default=1 << 30)
    return low < moved.evidence < high


def _is_owner(part: Part, sentence: Sentence, one: Link, other: Link) -> bool:
    """Tell that "Catalonia's capital is B" is "B is the capital of Catalonia"."""
    return any(
        (_owns(part.sentence, link.claim) and _is_owned_by(sentence, link.evidence))
        or (_owns(sentence, link.evidence) and _is_owned_by(part.sentence, link.claim))
        for link in (one, other)
    )


def _owns(sentence: Sentence, at: int) -> bool:
    return sentence.tokens[at].text.endswith(_POSSESSIVE)


def _is_owned_by(sentence: Sentence, at: int) -> bool:
    return any(token.word.norm == "of" for token in sentence.tokens[max(0, at - 2) : at])


def _turns(part: Part, sentence: Sentence, verb: Link) -> bool:
    """Say whether the word between may turn its sides: a symmetric verb, or active for passive."""
    word = part.sentence.tokens[verb.claim].word
    passive = _is_passive(part.sentence, verb.claim) != _is_passive(sentence, verb.evidence)
    return passive or word.stem in _SYMMETRIC


def _is_passive(sentence: Sentence, at: int) -> bool:
    return any(token.word.norm == "by" for token in sentence.tokens[at + 1 : at + 3])


def _is_list(sentence: Sentence, one: int, other: int) -> bool:
    """Say whether only a list lies between: "A, B and C" is "C, B and A"."""
    low, high = sorted((one, other))
    between = sentence.tokens[low + 1 : high]
    return all(token.word.norm in _LISTED or token.text[0].isupper() for token in between)
