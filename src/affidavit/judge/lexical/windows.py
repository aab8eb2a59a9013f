"""Finds the sentences of a text that bear on a claim, by the background weight of shared words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from affidavit.judge.lexical.claims import Part, claim_of
from affidavit.judge.lexical.lexicon import Kind
from affidavit.judge.lexical.links import keys_by_strength
from affidavit.judge.lexical.passages import Passage, passage_of
from affidavit.ledger.model import Span

MOST_SENTENCES: Final = 6
MOST_WORDS: Final = 80
_NUMBER_WEIGHT: Final = 6.0
_CANDIDATES: Final = 40
_LEAST_GAIN: Final = 0.04  # A sentence that adds less than this share of the claim is noise.


@dataclass(frozen=True, slots=True)
class Window:
    """The sentences that together cover the most of a claim: at most 6, at most 80 words.

    `sentences` are their numbers in the text, in order; `spans` their places; `text` is what a
    reader, or a model, gets to see. `recall` is the weighted share of the claim's words in it.
    """

    sentences: tuple[int, ...]
    spans: tuple[Span, ...]
    text: str
    recall: float


@dataclass(frozen=True, slots=True)
class Coverage:
    """How each sentence of a passage meets the words of a claim.

    `weights` has one entry per word, 0 in `outside_facts` for the words of numbers and dates, which
    are compared by value. `met` maps a sentence's number to the words that it meets and how
    closely; sentences that meet nothing are left out.
    """

    weights: tuple[float, ...]
    outside_facts: tuple[float, ...]
    met: Mapping[int, Mapping[int, float]]

    def recall(self, sentences: Sequence[int]) -> float:
        """Return the weighted share of the claim's words that the sentences meet together."""
        return _recall(self.weights, self._best(sentences))

    def word_recall(self, sentences: Sequence[int]) -> float:
        """Return the same without the words of facts."""
        return _recall(self.outside_facts, self._best(sentences))

    def _best(self, sentences: Sequence[int]) -> Mapping[int, float]:
        best: dict[int, float] = {}
        for number in sentences:
            for word, strength in self.met.get(number, _NOTHING).items():
                if strength > best.get(word, 0.0):
                    best[word] = strength
        return best


_NOTHING: Final[Mapping[int, float]] = {}


def _recall(weights: tuple[float, ...], met: Mapping[int, float]) -> float:
    total = sum(weights)
    # In the order of the words: a sum of floats depends on its order.
    covered = sum([weights[word] * met[word] for word in sorted(met)])
    return covered / total if total else 1.0


def select_window(claim: str, text: str) -> Window:
    """Return the window of `text` for `claim`: greedy set cover of the claim's weighted words.

    The trained judge reads the same windows in training and at run time.
    """
    passage = passage_of(text)
    coverage = coverage_of(claim_of(claim).parts, passage)
    return window_of(passage, coverage)


def window_of(passage: Passage, coverage: Coverage) -> Window:
    """Return the set-cover window from a coverage that is already known."""
    chosen = tuple(sorted(cover(passage, coverage, ranked(coverage))))
    spans = tuple(
        Span(passage.sentences[number].start, passage.sentences[number].end) for number in chosen
    )
    text = " ".join(passage.sentences[number].text for number in chosen)
    return Window(chosen, spans, text, coverage.recall(chosen))


def coverage_of(parts: Sequence[Part], passage: Passage) -> Coverage:
    """Return which sentence meets which words of the claim's parts."""
    weights: list[float] = []
    outside: list[float] = []
    met: dict[int, dict[int, float]] = {}
    for part in parts:
        words = frozenset(part.words)
        for at in _telling(part):
            token = part.sentence.tokens[at]
            more = part.sentence.more_keys.get(at, frozenset())
            for strength, keys in keys_by_strength(token, more):
                for key in keys:
                    for number in passage.places.get(key, ()):
                        met.setdefault(number, {}).setdefault(len(weights), strength)
            weights.append(token.word.weight or _NUMBER_WEIGHT)
            outside.append(token.word.weight if at in words else 0.0)
    return Coverage(tuple(weights), tuple(outside), met)


def _telling(part: Part) -> list[int]:
    tokens = part.sentence.tokens
    return [
        at
        for at, token in enumerate(tokens)
        if token.word.weight > 0 or token.word.kind is Kind.NUMBER
    ]


def ranked(coverage: Coverage) -> tuple[int, ...]:
    """Return the sentences that meet anything, best first, the earlier one on a tie."""
    score = {number: round(_gain(coverage, _NOTHING, number), 9) for number in coverage.met}
    return tuple(sorted(score, key=lambda number: (-score[number], number)))


def best_run(coverage: Coverage, width: int, ranking: Sequence[int]) -> tuple[int, ...]:
    """Return the best run of `width` adjacent sentences around the leading ones."""
    runs = [
        tuple(range(start, start + width))
        for number in ranking[:8]
        for start in range(max(0, number - width + 1), number + 1)
    ]
    return max(runs, key=lambda run: (round(coverage.recall(run), 9), -run[0]), default=())


def cover(passage: Passage, coverage: Coverage, ranking: Sequence[int]) -> tuple[int, ...]:
    """Return the sentences of the greedy set cover, in the order in which they were taken."""
    chosen: list[int] = []
    best: dict[int, float] = {}
    words = 0
    least = _LEAST_GAIN * sum(coverage.weights)
    candidates = list(ranking[:_CANDIDATES])
    while candidates and len(chosen) < MOST_SENTENCES:
        gains = [
            (round(_gain(coverage, best, number), 9), -number)
            for number in candidates
            if not chosen or words + _length(passage, number) <= MOST_WORDS
        ]
        gain, taken = max(gains, default=(0.0, 0))
        if gain < least:
            break
        chosen.append(-taken)
        words += _length(passage, -taken)
        candidates.remove(-taken)
        for word, strength in coverage.met[-taken].items():
            best[word] = max(strength, best.get(word, 0.0))
    return tuple(chosen)


def _gain(coverage: Coverage, best: Mapping[int, float], number: int) -> float:
    return sum(
        [
            coverage.weights[word] * (strength - best.get(word, 0.0))
            for word, strength in coverage.met[number].items()
            if strength > best.get(word, 0.0)
        ]
    )


def _length(passage: Passage, number: int) -> int:
    return sum([word.kind is not Kind.MARK for word in passage.sentences[number].words])
