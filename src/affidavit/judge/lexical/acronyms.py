"""Acronyms that a text itself explains: "service level agreement (SLA)", "SLA (service ...)"."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Final

from affidavit.judge.lexical.lexicon import Kind, Lexeme
from affidavit.judge.lexical.tokens import Token, tokens_of

_IN_BRACKETS: Final = re.compile(r"\(([A-Z][A-Za-z]{1,7})s?\)")
_BEFORE_BRACKETS: Final = re.compile(r"\b([A-Z]{2,8}) \(([^()]{4,80})\)")
_REACH: Final = 90  # Characters that an explanation may take.
_SMALL_WORDS: Final = frozenset({"of", "and", "the", "for", "in", "on", "to", "a"})
_MOST_TRIED: Final = 1_000  # Brackets that are looked into, so that a hostile text costs little.
_MOST: Final = 200  # Acronyms of one text; a text with more is a word list.


@dataclass(frozen=True, slots=True)
class Acronyms:
    """For each acronym, in lower case, the stems of the words that it stands for."""

    words: Mapping[str, tuple[str, ...]]

    def add_keys(self, words: Sequence[Lexeme], keys: dict[int, set[str | int]]) -> None:
        """Let an acronym be found by its words, and the words by their acronym."""
        if not self.words:
            return
        stems = [word.stem for word in words]
        for at, word in enumerate(words):
            if word.norm in self.words:
                keys.setdefault(at, set()).update(self.words[word.norm])
        for name, parts in self.words.items():
            for at in _runs(stems, parts):
                keys.setdefault(at, set()).add(name)


_NONE: Final = Acronyms(MappingProxyType({}))


def _runs(stems: list[str], parts: tuple[str, ...]) -> list[int]:
    width = len(parts)
    return [
        at
        for at, first in enumerate(stems)
        if first == parts[0] and tuple(stems[at : at + width]) == parts
    ]


def find_acronyms(text: str) -> Acronyms:
    """Return the acronyms that `text` explains."""
    found: dict[str, tuple[str, ...]] = {}
    for match in islice(_IN_BRACKETS.finditer(text), _MOST_TRIED):
        if sum(char.isupper() for char in match[1]) >= 2:
            words = tokens_of(text, max(0, match.start() - _REACH), match.start())
            _keep(found, match[1], _explained(match[1], words))
    for match in islice(_BEFORE_BRACKETS.finditer(text), _MOST_TRIED):
        _keep(found, match[1], _explained(match[1], tokens_of(match[2])))
    return Acronyms(MappingProxyType(found)) if found else _NONE


def _keep(found: dict[str, tuple[str, ...]], name: str, words: tuple[str, ...]) -> None:
    if words and len(found) < _MOST:
        found.setdefault(name.lower(), words)


def _explained(name: str, tokens: Sequence[Token]) -> tuple[str, ...]:
    """Return the stems of the last words whose initials spell the name; empty if they do not."""
    letters = [char for char in name.lower() if char.isalpha()]
    stems: list[str] = []
    for token in reversed(tokens):
        if not letters:
            break
        if token.word.kind is not Kind.WORD:
            continue
        if token.word.norm[0] == letters[-1]:
            letters.pop()
        elif token.word.norm not in _SMALL_WORDS or not stems:
            return ()
        stems.append(token.word.stem)
    return tuple(reversed(stems)) if not letters and len(stems) > 1 else ()
