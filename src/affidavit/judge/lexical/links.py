"""Which word of a claim is met by which word of a sentence."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from affidavit.judge.lexical.passages import Key, Sentence
from affidavit.judge.lexical.tokens import Token

SAME_WORD: Final = 1.0
SAME_STEM: Final = 0.98
SAME_FAMILY: Final = 0.95
SAME_GROUP: Final = 0.85
_SHORTEST_NAME: Final = 3


class Link(NamedTuple):
    """A word of the claim and the word of the sentence that meets it, as token places."""

    claim: int
    evidence: int
    strength: float


def keys_by_strength(
    token: Token, more: frozenset[Key]
) -> tuple[tuple[float, tuple[Key, ...]], ...]:
    """Return the keys by which a claim's word may be met, the closest first."""
    word = token.word
    further = tuple(sorted(more, key=str))
    return (
        (SAME_WORD, (word.stem,)),
        (SAME_FAMILY, tuple(sorted(word.families))),
        (SAME_GROUP, (*sorted(word.groups), *further)),
    )


@lru_cache(maxsize=8192)
def links_between(claim: Sentence, places: tuple[int, ...], sentence: Sentence) -> tuple[Link, ...]:
    """Link the claim's tokens at `places` to tokens of the sentence, none of them twice.

    Where a word stands more than once, the place that keeps the claim's word order wins.
    """
    spots = sentence.spots
    used: set[int] = set()
    links: list[Link] = []
    shift = 0
    for at in places:
        token = claim.tokens[at]
        link = _best(
            token, claim.more_keys.get(at, frozenset()), spots, used, at + shift
        ) or _short_name(token, sentence, used)
        if link:
            exact = sentence.tokens[link[0]].word.norm == token.word.norm
            strength = SAME_WORD if exact else min(link[1], SAME_STEM)
            links.append(Link(at, link[0], strength))
            used.add(link[0])
            shift = link[0] - at
    return tuple(links)


def _best(
    token: Token,
    more: frozenset[Key],
    spots: Mapping[Key, Sequence[int]],
    used: set[int],
    expected: int,
) -> tuple[int, float] | None:
    for strength, keys in keys_by_strength(token, more):
        free = [place for key in keys for place in spots.get(key, ()) if place not in used]
        if free:
            return _nearest(free, expected), strength
    return None


def _short_name(token: Token, sentence: Sentence, used: set[int]) -> tuple[int, float] | None:
    """Meet "Rob" with "Robert": one name begins the other."""
    name = token.word.norm
    if not token.text[0].isupper() or len(name) < _SHORTEST_NAME:
        return None
    for place, other in enumerate(sentence.tokens):
        norm = other.word.norm
        if (
            other.text[0].isupper()
            and place not in used
            and len(norm) >= _SHORTEST_NAME
            and (norm.startswith(name) or name.startswith(norm))
        ):
            return place, SAME_GROUP
    return None


def _nearest(places: Iterable[int], expected: int) -> int:
    return min(places, key=lambda place: (abs(place - expected), place))
