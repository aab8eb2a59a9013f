"""Text made ready to be read: sentences, their words, and an index of which stands where."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Final

from affidavit.judge.lexical.acronyms import Acronyms, find_acronyms
from affidavit.judge.lexical.lexicon import PHRASES, Kind, Lexeme
from affidavit.judge.lexical.tokens import Token, tokens_of, words_of
from affidavit.ledger.sentences import sentence_spans

Key = str | int
"""A stem, or the id of a word family (negative) or synonym group (positive)."""

_KEY_VALUE: Final = re.compile(r"[^\S\n]*[^\s:|][^:|\n]{0,60}:[ \t]+\S")
# "outdated.The total": text taken from pages often loses the space between two sentences.
_GLUED: Final = re.compile(r"[a-z\d][.!?](?=[A-Z][a-z])")
_NOTHING: Final[Mapping[int, frozenset[Key]]] = MappingProxyType({})
_LONGEST_SENTENCE: Final = 2_000  # Characters; beyond it (tables as text, code) lines are cut.


@dataclass(frozen=True, eq=False)
class Sentence:
    """A sentence: its place in the text, its words, and the keys by which it can be found.

    `more_keys` holds what single words stand for beyond themselves: a phrase ("carried over"), an
    acronym's words. Sentences are compared by identity, so that readings of one can be remembered.
    Most sentences are only looked up by their keys: tokens are made when one is read.
    """

    text: str
    start: int
    words: tuple[Lexeme, ...]
    more_keys: Mapping[int, frozenset[Key]]
    keys: frozenset[Key]

    @property
    def end(self) -> int:
        """Where the sentence ends in the text that it was taken from."""
        return self.start + len(self.text)

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """The words with their spelling and place."""
        at = self.start
        return tuple(
            Token(text, word, start + at, end + at)
            for text, word, start, end in tokens_of(self.text)
        )

    @cached_property
    def spots(self) -> Mapping[Key, tuple[int, ...]]:
        """For every key, the tokens that carry it."""
        spots: dict[Key, list[int]] = {}
        for at, word in enumerate(self.words):
            for key in (*word.keys, *sorted(self.more_keys.get(at, ()), key=str)):
                spots.setdefault(key, []).append(at)
        return MappingProxyType({key: tuple(dict.fromkeys(at)) for key, at in spots.items()})

    def quote(self, first: int, end: int) -> str:
        """Return the words from token `first` up to before token `end`, as they were written."""
        at = self.start
        return self.text[self.tokens[first].start - at : self.tokens[end - 1].end - at]


@dataclass(frozen=True, eq=False)
class Passage:
    """A text as sentences, and for every key the sentences that hold it, in order."""

    text: str
    sentences: tuple[Sentence, ...]
    places: Mapping[Key, tuple[int, ...]]

    @cached_property
    def spelled(self) -> Mapping[tuple[str, ...], int]:
        """For every sentence as a row of words, the first that reads so."""
        rows = [(spelling_of(s.words), number) for number, s in enumerate(self.sentences)]
        return MappingProxyType(dict(reversed(rows)))


def spelling_of(words: tuple[Lexeme, ...]) -> tuple[str, ...]:
    """Return the words in lower case, without the marks that close a sentence."""
    end = len(words)
    while end and words[end - 1].kind is Kind.MARK:
        end -= 1
    return tuple([word.norm for word in words[:end]])


def passage_of(text: str) -> Passage:
    """Return the text made ready; short texts are remembered, since many claims ask for them."""
    return _remembered(text) if len(text) <= _REMEMBERED_CHARACTERS else _passage(text)


_REMEMBERED_CHARACTERS: Final = 50_000


@lru_cache(maxsize=512)
def _remembered(text: str) -> Passage:
    return _passage(text)


def _passage(text: str) -> Passage:
    acronyms = find_acronyms(text)
    sentences = tuple(_sentence(text, start, end, acronyms) for start, end in _spans(text))
    places: dict[Key, list[int]] = {}
    for number, sentence in enumerate(sentences):
        if _asserts_nothing(sentences, number):
            continue
        for key in sentence.keys:
            places.setdefault(key, []).append(number)
    frozen = {key: tuple(numbers) for key, numbers in places.items()}
    return Passage(text, sentences, MappingProxyType(frozen))


def _asserts_nothing(sentences: Sequence[Sentence], number: int) -> bool:
    """Say whether a sentence is a question that the next sentence does not affirm."""
    if not sentences[number].text.rstrip(_CLOSING).endswith("?"):
        return False
    answer = sentences[number + 1].text if number + 1 < len(sentences) else ""
    return not _YES.match(answer)


_CLOSING: Final = "\"')]\u201d\u2019 "
_YES: Final = re.compile(r"yes\b", re.IGNORECASE)


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the sentences; "Key: value" lines and over-long sentences are cut at line ends."""
    for span in sentence_spans(text):
        start = span.start
        for line_end in _line_ends(text, span.start, span.end):
            after = line_end + 1
            if _is_cut(text, start, after):
                yield from _pieces(text, start, line_end)
                start = after
        yield from _pieces(text, start, span.end)


def _line_ends(text: str, start: int, end: int) -> Iterator[int]:
    at = text.find("\n", start, end)
    while at >= 0:
        yield at
        at = text.find("\n", at + 1, end)


def _is_cut(text: str, start: int, after: int) -> bool:
    if after - start > _LONGEST_SENTENCE:
        return True
    return bool(_KEY_VALUE.match(text, start) and _KEY_VALUE.match(text, after))


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for glued in _GLUED.finditer(text, start, end):
        yield start, glued.end()
        start = glued.end()
    while end - start > 2 * _LONGEST_SENTENCE:
        yield start, start + _LONGEST_SENTENCE
        start += _LONGEST_SENTENCE
    if start < end:
        yield start, end


def _sentence(text: str, start: int, end: int, acronyms: Acronyms) -> Sentence:
    words = words_of(text, start, end)
    more = _phrase_keys(words)
    acronyms.add_keys(words, more)
    keys: set[Key] = set()
    for word in words:
        keys.update(word.keys)
    for extra in more.values():
        keys |= extra
    frozen = MappingProxyType({at: frozenset(extra) for at, extra in more.items()})
    return Sentence(text[start:end], start, words, frozen if more else _NOTHING, frozenset(keys))


def _phrase_keys(words: tuple[Lexeme, ...]) -> dict[int, set[Key]]:
    """Give every word of a known phrase the phrase's group: both words of "carried over"."""
    found: dict[int, set[Key]] = {}
    for at, word in enumerate(words):
        for phrase in PHRASES.get(word.stem, ()):
            for place in _matched(words, at, phrase.rest):
                found.setdefault(place, set()).add(phrase.group)
    return found


def _matched(words: tuple[Lexeme, ...], at: int, rest: tuple[str, ...]) -> tuple[int, ...]:
    places = [at]
    for wanted in rest:
        place = places[-1] + 1
        if place < len(words) and words[place].norm == "-":
            place += 1
        if place >= len(words) or words[place].stem != wanted:
            return ()
        places.append(place)
    return tuple(places)
