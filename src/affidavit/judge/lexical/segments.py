"""The pieces of a claim between its joints, to see whether one of them is met by nothing."""

from collections.abc import Iterator
from typing import Final

from affidavit.judge.lexical.claims import Part
from affidavit.judge.lexical.tables import cues

_MARKS: Final = cues("segment-marks")
_LEAST_WEIGHT: Final = 7.0  # Two common words; less is no statement.
_MET: Final = 0.2


def segments_of(part: Part) -> Iterator[tuple[int, ...]]:
    """Yield the content words of each piece of the claim, as token places."""
    words = frozenset(part.words)
    piece: list[int] = []
    for at, token in enumerate(part.sentence.tokens):
        if token.word.norm in _MARKS:
            if piece:
                yield tuple(piece)
            piece = []
        elif at in words:
            piece.append(at)
    if piece:
        yield tuple(piece)


def find_unmet_segment(part: Part, unmet: frozenset[int]) -> tuple[int, ...] | None:
    """Return the first piece of two or more words of which the evidence has next to nothing."""
    for piece in segments_of(part):
        weight = sum(part.weight(at) for at in piece)
        met = sum(part.weight(at) for at in piece if at not in unmet)
        if len(piece) > 1 and weight >= _LEAST_WEIGHT and met < _MET * weight:
            return piece
    return None
