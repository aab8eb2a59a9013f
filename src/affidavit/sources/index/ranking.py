"""Which of the passages that share words with a claim come first.

BM25 counts words wherever they stand. A passage that speaks of the claim has most of the claim's
words, and has them close together; so these two are counted too: the share of the claim's words
that the passage has, and the largest share that stands within some 25 words of each other. Each
word weighs what it tells (its rarity), a synonym less than the word itself. The weights and the
width are those that do best in benchmarks/retrieval.py; nearby values differ by a question or two.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum
from typing import Final

from affidavit.sources.index.terms import Term

_WORD_SCORE: Final = 0.4
_COVERAGE: Final = 0.3
_NEARNESS: Final = 0.3
_WIDTH: Final = 25
_TELLING: Final = 0.15


class ClaimWords:
    """A claim's words with their weights, to be held against one passage after another."""

    def __init__(self, terms: Mapping[str, Term], rarity: Callable[[str], float]) -> None:
        own = {
            term.word: rarity(stem) * term.strength for stem, term in terms.items() if term.is_own
        }
        self._total = sum(own.values()) or 1.0
        self._weights = {
            stem: (term.word, own[term.word] if term.is_own else own[term.word] * term.strength)
            for stem, term in terms.items()
        }
        # Small words stand near everything; they only count for coverage.
        least = _TELLING * max(own.values(), default=0.0)
        self._telling = {stem: found for stem, found in self._weights.items() if found[1] >= least}

    def score(self, stems: Sequence[str], share_of_best: float) -> float:
        """Return how well a passage fits; `share_of_best` is its BM25 score over the best one."""
        weights, telling = self._weights, self._telling
        covered = _weight(weights[stem] for stem in weights.keys() & set(stems))
        places = [(at, telling[stem]) for at, stem in enumerate(stems) if stem in telling]
        near = _largest_within(places, _WIDTH)
        return _WORD_SCORE * share_of_best + (_COVERAGE * covered + _NEARNESS * near) / self._total


def _weight(found: Iterable[tuple[int, float]]) -> float:
    """Return what the words of the claim weigh together, each once, as well as it is said."""
    best: dict[int, float] = {}
    for word, weight in found:
        if weight > best.get(word, 0.0):
            best[word] = weight
    return fsum(best.values())


def _largest_within(places: Sequence[tuple[int, tuple[int, float]]], width: int) -> float:
    """Return the most that the claim's words weigh within a stretch of `width` words."""
    inside: deque[tuple[int, tuple[int, float]]] = deque()
    largest = 0.0
    for at, found in places:
        inside.append((at, found))
        while inside[0][0] < at - width:
            inside.popleft()
        largest = max(largest, _weight(found for _, found in inside))
    return largest
