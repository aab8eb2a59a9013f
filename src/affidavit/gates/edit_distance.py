"""How far two texts are apart, letter by letter."""

import re
import string
from functools import lru_cache
from typing import Final

_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)
_WHITE_SPACE: Final = re.compile(r"\s+")


@lru_cache(4096)  # The runs of a question mostly say the same, and gold texts come back each time.
def plain(text: str) -> str:
    """Return a text as runs are compared: lower case, no ASCII punctuation, single spaces.

    Origin: `canon` of the stability page.
    """
    return _WHITE_SPACE.sub(" ", text.lower().strip().translate(_PUNCTUATION)).strip()


def edit_distance(first: str, second: str) -> int:
    """Return the least number of letters to insert, delete or replace.

    Origin: Levenshtein (1966), by the bit vectors of Myers (1999) in the form of Hyyrö (2003): one
    integer holds a whole column, so a text of any length takes one step for each letter. What both
    begin and end with costs nothing.
    """
    first, second = _where_they_differ(first, second)
    if not first:
        return len(second)
    places: dict[str, int] = {}
    for at, letter in enumerate(first):
        places[letter] = places.get(letter, 0) | 1 << at
    everything = (1 << len(first)) - 1
    last = 1 << len(first) - 1
    more, less, distance = everything, 0, len(first)
    for letter in second:
        match = places.get(letter, 0) | less
        same = (((match & more) + more) ^ more) | match
        up = less | ~(same | more) & everything
        down = more & same
        distance += bool(up & last) - bool(down & last)
        up = up << 1 | 1
        more = (down << 1 | ~(same | up)) & everything
        less = up & same
    return distance


def _where_they_differ(first: str, second: str) -> tuple[str, str]:
    start = _alike(first, second)
    first, second = first[start:], second[start:]
    end = _alike(first[::-1], second[::-1])
    return first[: len(first) - end], second[: len(second) - end]


def _alike(first: str, second: str) -> int:
    """Return how many letters both begin with."""
    pairs = zip(first, second, strict=False)
    shorter = min(len(first), len(second))
    return next((at for at, (one, other) in enumerate(pairs) if one != other), shorter)


def normalised_distance(first: str, second: str) -> float:
    """Return the distance over the length of the longer text: 0 for equal, 1 for nothing alike."""
    if first == second:
        return 0.0
    return edit_distance(first, second) / max(len(first), len(second))
