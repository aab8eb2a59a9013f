"""What the network reads of a source: the windows that the judge selects at run time.

A source is cut into pieces of at most 40 words. A window is a greedy cover of the claim's words,
weighted by their background frequency, with the neighbours of its best piece, in the order of the
source. A source that shares no word with the claim has no window; its opening stands in.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache

from affidavit.judge.lexical.lexicon import IDF
from affidavit.judge.lexical.stemming import stem
from affidavit.judge.lexical.tokens import tokens_of
from affidavit.ledger.sentences import sentence_spans

MAX_PIECE_WORDS = 40
SHORT_WORDS = 80
_CANDIDATES = 40
_LEAST_GAIN = 0.04  # A piece that adds less than this share of the claim is noise.
_NUMBER_WEIGHT, _UNSEEN_WEIGHT, _LEAST_WEIGHT = 6.0, 8.0, 0.5
_BREAK = re.compile(
    r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9])|\n+|\s+#{1,6}\s+|\s+\*\s+|(?<=\w)\s*\|\s*"
    r"|\(meta data\)\s*[A-Z ]+:"
)
_WORD = re.compile(r"\w+")
_STOP = frozenset({
    "a", "an", "the", "of", "to", "in", "on", "at", "by", "for", "with", "and", "or", "but",
    "is", "are", "was", "were", "be", "been", "being", "it", "its", "this", "that", "these",
    "those", "he", "she", "his", "her", "they", "their", "them", "as", "from", "has",
    "have", "had", "do", "does", "did", "not", "no", "which", "who", "whom", "will",
    "would", "can", "could", "may", "might", "also", "than", "then", "there",
})  # fmt: skip
_NUMBERS = r"\d+(?:\s*(?:,|and|&)\s*(?:passage\s+)?\d+)*"
_MARKS = re.compile(rf"\s*(?:\[{_NUMBERS}\]|\(\s*passages?\s+{_NUMBERS}\s*\))", re.IGNORECASE)
_LEAD_IN = re.compile(
    r"^\s*(?:\*|-|\d+\.)?\s*(?:based on|according to|as (?:stated|mentioned) in|in|from)\s+"
    r"(?:the\s+)?(?:provided |given |above )?(?:passages?|text|sources?|documents?|information)"
    rf"(?:\s+{_NUMBERS})?(?:\s+provided)?,?\s+",
    re.IGNORECASE,
)


def narrow(claim: str, text: str) -> str:
    """The window of about 128 tokens, claim included."""
    return _window(claim, text, max(35, 88 - len(claim.split()))) or _opening(text, SHORT_WORDS)


def wide(claim: str, text: str) -> str:
    """The window of about 256 tokens, claim included."""
    return _window(claim, text, max(80, 185 - len(claim.split()))) or _opening(text, 150)


def without_marks(claim: str) -> str:
    """The claim without citation marks ("[1]") and lead-ins ("According to passage 1, ...")."""
    plain = _LEAD_IN.sub("", _MARKS.sub("", claim))
    return plain[:1].upper() + plain[1:] if plain.strip() else claim


def is_short(text: str) -> bool:
    """Say whether a text is short enough to be read whole."""
    return len(text.split()) <= SHORT_WORDS


def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text, as the product splits it."""
    return tuple(text[span.start : span.end] for span in sentence_spans(text))


def content_words(text: str) -> frozenset[str]:
    """The stems that carry meaning; function words are left out."""
    return frozenset(token.word.stem for token in tokens_of(text) if token.word.weight > 0)


def _opening(text: str, length: int) -> str:
    return " ".join(text.split()[:length])


def _pieces(text: str) -> list[list[str]]:
    """The words of each piece; a longer sentence is cut behind a comma of its second half."""
    found = []
    for part in _BREAK.split(text):
        words = part.split()
        while len(words) > MAX_PIECE_WORDS:
            cuts = range(MAX_PIECE_WORDS, MAX_PIECE_WORDS // 2, -1)
            commas = (cut for cut in cuts if words[cut - 1].endswith((",", ";", ":")))
            cut = next(commas, MAX_PIECE_WORDS)
            found.append(words[:cut])
            words = words[cut:]
        if words:
            found.append(words)
    return found


@cache
def _stem_of(word: str) -> str:
    return stem(word.lower())


def _stems(text: str) -> frozenset[str]:
    return frozenset(_stem_of(w) for w in _WORD.findall(text) if w.lower() not in _STOP)


def _weight(word: str) -> float:
    return _NUMBER_WEIGHT if word.isdigit() else max(_LEAST_WEIGHT, IDF.get(word, _UNSEEN_WEIGHT))


def _total(words: Iterable[str]) -> float:
    # In alphabetical order: a sum of floats depends on its order.
    return sum(map(_weight, sorted(words)))


def _window(claim: str, text: str, budget: int) -> str:
    pieces = _pieces(text)
    chosen = _cover(_stems(claim), pieces, budget)
    return " ".join(word for place in sorted(chosen) for word in pieces[place])


def _cover(needed: frozenset[str], pieces: Sequence[Sequence[str]], budget: int) -> list[int]:
    """The places of the pieces that cover the claim within `budget` words, best first.

    The neighbours of the best piece follow while there is room: they say what "it" means.
    """
    met_by = [needed & _stems(" ".join(piece)) for piece in pieces]
    order = sorted(range(len(pieces)), key=lambda at: -_total(met_by[at]))[:_CANDIDATES]
    least = _LEAST_GAIN * (_total(needed) or 1.0)
    chosen: list[int] = []
    met: set[str] = set()
    left = budget
    while True:
        gains = {
            at: _total(met_by[at] - met)
            for at in order
            if at not in chosen and (not chosen or len(pieces[at]) <= left)
        }
        best = max(gains, key=lambda at: (gains[at], -at), default=None)
        if best is None or gains[best] < least:
            break
        chosen.append(best)
        met |= met_by[best]
        left -= len(pieces[best])
    for near in (chosen[0] - 1, chosen[0] + 1) if chosen else ():
        if 0 <= near < len(pieces) and near not in chosen and len(pieces[near]) <= left:
            chosen.append(near)
            left -= len(pieces[near])
    return chosen
