"""Selects what the encoder reads of a passage for a claim, and how much of the claim is there.

A passage is cut into pieces: sentences, list items, headings and table rows, none longer than 40
words. A window is the set of pieces that together cover most of the claim's words, weighted by
their background frequency, in the order of the passage. The training selects its windows with the
same functions, so the encoder meets at run time what it was trained on.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache, reduce
from operator import or_
from typing import Final, NamedTuple

from affidavit.judge.lexical.lexicon import IDF
from affidavit.judge.lexical.stemming import stem
from affidavit.judge.lexical.tables import STOP_WORDS

MAX_PIECE_WORDS: Final = 40
NARROW_WORDS: Final = 88
"""Of claim and window together: about 128 tokens."""
TIGHT_WORDS: Final = 40
"""Of the window alone: mostly one sentence, with a neighbour where there is room."""
WIDE_WORDS: Final = 185
"""Of claim and window together: about 256 tokens, the most that the encoder reads."""
_LEAST_NARROW: Final = 35
_LEAST_WIDE: Final = 80
_RUN_PIECES: Final = 3
_CANDIDATES: Final = 40
_LEAST_GAIN: Final = 0.04  # A piece that adds less than this share of the claim is noise.
_NUMBER_WEIGHT: Final = 6.0
_UNSEEN_WEIGHT: Final = 8.0
_LEAST_WEIGHT: Final = 0.5

_BREAK: Final = re.compile(
    r"(?<=[.!?\u3002\uff01\uff1f])[\"')\]\u201d\u2019]*\s+(?=[\"'(\[\u201c]?[A-Z0-9])"
    r"|\n+|\s+#{1,6}\s+|\s+[*\u2022]\s+|(?<=\w)\s*\|\s*"
)
_WORD: Final = re.compile(r"\w+")
_YES: Final = re.compile(r"\W*yes\b", re.IGNORECASE)


class Piece(NamedTuple):
    """A part of a passage with its place. `words` are the stems of its content words."""

    start: int
    end: int
    text: str
    words: frozenset[str]
    length: int


class EvidenceWindow(NamedTuple):
    """What the encoder reads of a passage, and the weighted share of the claim's words in it."""

    text: str
    recall: float
    pieces: tuple[Piece, ...] = ()


@lru_cache(maxsize=1024)
def pieces_of(text: str) -> tuple[Piece, ...]:
    """Return the pieces of a passage.

    A question asserts nothing and is left out, unless the sentence that follows says yes: then
    the two are one piece.
    """
    found: list[Piece] = []
    question: int | None = None
    for start, end in _sentences(text):
        if text[start:end].rstrip("\"')]\u201d").endswith("?"):
            question = start if question is None else question
            continue
        opens, question = question, None
        is_yes = opens is not None and _YES.match(text, start) is not None
        # A question with a long answer would be cut apart again: it is dropped instead.
        if opens is not None and is_yes and len(text[opens:end].split()) <= MAX_PIECE_WORDS:
            start = opens
        found.extend(_piece(text, *span) for span in _short_spans(text, start, end))
    return tuple(found)


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for found in _BREAK.finditer(text):
        if text[start : found.start()].strip():
            yield start, found.start()
        start = found.end()
    if text[start:].strip():
        yield start, len(text)


def _short_spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut a sentence of more than 40 words, behind the last comma of its second half if any."""
    words = [(m.start(), m.end()) for m in re.finditer(r"\S+", text[start:end])]
    words = [(start + left, start + right) for left, right in words]
    while words:
        cut = min(MAX_PIECE_WORDS, len(words))
        if cut < len(words):
            commas = (at for at in range(cut, cut // 2, -1) if text[words[at - 1][1] - 1] in ",;:")
            cut = next(commas, cut)
        yield words[0][0], words[cut - 1][1]
        words = words[cut:]


def _piece(text: str, start: int, end: int) -> Piece:
    words = text[start:end].split()
    return Piece(start, end, " ".join(words), frozenset(content_words(text[start:end])), len(words))


@lru_cache(maxsize=1 << 16)
def _stem_of(word: str) -> str:
    return stem(word.lower())


def content_words(text: str) -> list[str]:
    """Return the stems of the words that carry meaning, in their order."""
    return [_stem_of(word) for word in _WORD.findall(text) if word.lower() not in STOP_WORDS]


@lru_cache(maxsize=1 << 16)
def _weight(word: str) -> float:
    return _NUMBER_WEIGHT if word.isdigit() else max(_LEAST_WEIGHT, IDF.get(word, _UNSEEN_WEIGHT))


def _total(words: Iterable[str]) -> float:
    # In alphabetical order: a sum of floats depends on its order.
    return sum(map(_weight, sorted(words)))


def share_of(claim_words: frozenset[str], words: Iterable[str]) -> float:
    """Return the weighted share of the claim's words that stand among `words`."""
    whole = _total(claim_words)
    return _total(claim_words.intersection(words)) / whole if whole else 0.0


def narrow_window(claim: str, passage: str, heading: str = "") -> EvidenceWindow:
    """Return the window of about 128 tokens. It opens with the heading of the passage, if any."""
    budget = max(_LEAST_NARROW, NARROW_WORDS - len(claim.split()))
    return _window(claim, passage, heading, budget)


def tight_window(claim: str, passage: str, heading: str = "") -> EvidenceWindow:
    """Return the window of one or two sentences. It opens with the heading of the passage."""
    return _window(claim, passage, heading, TIGHT_WORDS)


def wide_window(claim: str, passage: str, heading: str = "") -> EvidenceWindow:
    """Return the window of about 256 tokens. It opens with the heading of the passage, if any."""
    budget = max(_LEAST_WIDE, WIDE_WORDS - len(claim.split()))
    return _window(claim, passage, heading, budget)


def run_recall(claim: str, passage: str, heading: str = "") -> float:
    """Return the best share of the claim in the heading and three adjacent pieces."""
    met = _meeting_of(claim, passage)
    above = met.words.met_by(content_words(heading))
    runs = (
        reduce(or_, met.by_piece[at : at + _RUN_PIECES], above)
        for at in range(max(1, len(met.by_piece) - _RUN_PIECES + 1))
    )
    return max(map(met.words.share, runs), default=0.0)


class _ClaimWords:
    """The words of a claim as the bits of a number, so that what several pieces meet is their OR.

    Sums are in alphabetical order, because a sum of floats depends on its order, and each is made
    once: three windows of a passage ask for the same ones.
    """

    def __init__(self, claim: str) -> None:
        words = sorted(set(content_words(claim)))
        self._bits = {word: 1 << at for at, word in enumerate(words)}
        self._weights = [(1 << at, _weight(word)) for at, word in enumerate(words)]
        self._totals: dict[int, float] = {}

    def met_by(self, words: Iterable[str]) -> int:
        """Return which words of the claim are among `words`."""
        return sum(self._bits[word] for word in self._bits.keys() & words)

    def total(self, met: int) -> float:
        """Return the weight of some words."""
        if met not in self._totals:
            self._totals[met] = sum([weight for bit, weight in self._weights if met & bit])
        return self._totals[met]

    def share(self, met: int) -> float:
        """Return the weighted share of some words in the claim."""
        whole = self.total(-1)
        return self.total(met) / whole if whole else 0.0


class _Meeting(NamedTuple):
    """Which words of a claim each piece of a passage has, and the pieces that have most of them."""

    words: _ClaimWords
    pieces: tuple[Piece, ...]
    by_piece: list[int]
    candidates: list[int]


@lru_cache(maxsize=64)
def _meeting_of(claim: str, passage: str) -> _Meeting:
    words, pieces = _ClaimWords(claim), pieces_of(passage)
    by_piece = [words.met_by(piece.words) for piece in pieces]
    ranked = sorted(range(len(pieces)), key=lambda at: (-words.total(by_piece[at]), at))
    return _Meeting(words, pieces, by_piece, ranked[:_CANDIDATES])


def _window(claim: str, passage: str, heading: str, budget: int) -> EvidenceWindow:
    met = _meeting_of(claim, passage)
    room = max(1, budget - len(heading.split()))
    places = _cover(met, room)
    if not places:
        return EvidenceWindow("", 0.0)
    chosen = tuple(met.pieces[at] for at in places)
    parts = ([heading.rstrip(".:") + "."] if heading else []) + [piece.text for piece in chosen]
    there = reduce(
        or_, (met.by_piece[at] for at in places), met.words.met_by(content_words(heading))
    )
    return EvidenceWindow(" ".join(parts), met.words.share(there), chosen)


def _cover(met: _Meeting, budget: int) -> list[int]:
    """Return the places of the pieces that cover the claim: a greedy set cover within `budget`.

    The neighbours of the best piece are added while there is room: they say what "it" means.
    """
    words, pieces, by_piece = met.words, met.pieces, met.by_piece
    candidates = [*met.candidates]
    least = _LEAST_GAIN * (words.total(-1) or 1.0)
    chosen: list[int] = []
    covered = used = 0
    while True:
        fits = [at for at in candidates if not chosen or used + pieces[at].length <= budget]
        gains = {at: words.total(by_piece[at] & ~covered) for at in fits}
        best = max(fits, key=lambda at: (round(gains[at], 9), -at), default=None)
        if best is None or gains[best] < least:
            break
        chosen.append(best)
        candidates.remove(best)
        covered |= by_piece[best]
        used += pieces[best].length
    for near in (chosen[0] - 1, chosen[0] + 1) if chosen else ():
        is_new = 0 <= near < len(pieces) and near not in chosen
        if is_new and used + pieces[near].length <= budget:
            chosen.append(near)
            used += pieces[near].length
    return sorted(chosen)
