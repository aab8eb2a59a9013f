"""What is known of a word by itself: stem, weight, family, synonyms, antonyms.

Everything that depends on the word alone is found once per spelling and remembered.
"""

import unicodedata
from collections.abc import Iterator, Mapping
from enum import IntEnum
from functools import lru_cache
from itertools import product
from types import MappingProxyType
from typing import Final, NamedTuple

from affidavit.judge.lexical.stemming import stem
from affidavit.judge.lexical.tables import STOP_WORDS, cues, lines_of


class Kind(IntEnum):
    """What a token is made of."""

    WORD = 0
    NUMBER = 1
    MARK = 2


class Lexeme(NamedTuple):
    """A spelling and all that holds of it wherever it stands.

    `weight` is the background idf, 0 for words that carry grammar only. `families` and `groups`
    are ids; two words that share one are forms of one root, or may say the same.
    """

    norm: str
    stem: str
    weight: float
    families: frozenset[int]
    groups: frozenset[int]
    kind: Kind
    keys: tuple[str | int, ...]
    """What this word can be looked up by in an index of evidence."""


class Phrase(NamedTuple):
    """Several words that belong to a synonym group together."""

    rest: tuple[str, ...]
    group: int


_NONE: Final[frozenset[int]] = frozenset()
_CODE_WEIGHT: Final = 8.0  # An identifier is as telling as a rare name.


def _stems(phrase: str) -> tuple[str, ...]:
    return tuple(stem(word) for word in phrase.lower().replace("-", " ").split())


def _idf() -> Mapping[str, float]:
    rows = (line.split() for line in lines_of("idf.txt"))
    return MappingProxyType({word: float(value) for value, *words in rows for word in words})


def _families() -> Mapping[str, frozenset[int]]:
    members: dict[str, set[int]] = {}
    # Negative ids: a family and a synonym group are never mistaken for one another.
    for number, line in enumerate(lines_of("families.txt"), start=1):
        for word in line.split(","):
            members.setdefault(stem(word.strip().lower()), set()).add(-number)
    return MappingProxyType({word: frozenset(ids) for word, ids in members.items()})


def _groups() -> tuple[Mapping[str, frozenset[int]], Mapping[str, tuple[Phrase, ...]]]:
    singles: dict[str, set[int]] = {}
    phrases: dict[str, set[Phrase]] = {}
    for number, line in enumerate(lines_of("synonyms.txt"), start=1):
        for member in line.split(","):
            first, *rest = _stems(member)
            if rest:
                phrases.setdefault(first, set()).add(Phrase(tuple(rest), number))
            else:
                singles.setdefault(first, set()).add(number)
    return (
        MappingProxyType({word: frozenset(ids) for word, ids in singles.items()}),
        MappingProxyType({word: tuple(sorted(found)) for word, found in phrases.items()}),
    )


def _antonym_pairs() -> Iterator[tuple[str, str]]:
    for line in lines_of("antonyms.txt"):
        left, right = (side.split("/") for side in line.split(" ", 1))
        for one, other in product(left, right):
            a, b = stem(one.replace("-", "")), stem(other.replace("-", ""))
            if a != b:
                yield a, b
                yield b, a


def _antonyms() -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for word, opposite in _antonym_pairs():
        found.setdefault(word, set()).add(opposite)
    return MappingProxyType({word: frozenset(opposites) for word, opposites in found.items()})


IDF: Final = _idf()
NAMES: Final = frozenset(word for line in lines_of("names.txt") for word in line.split())
UNSEEN_WEIGHT: Final = max(IDF.values(), default=10.0)
_FAMILIES: Final = _families()
_SINGLES, PHRASES = _groups()
_ANTONYMS: Final = _antonyms()
_SHORTEST_NEGATED: Final = 3
_NEGATIVE_PREFIXES: Final = ("un", "non", "in", "im", "ir", "il", "dis")


@lru_cache(maxsize=1 << 16)
def lexeme(spelling: str) -> Lexeme:
    """Return what is known of a spelling."""
    norm = _normal(spelling)
    first = norm[0]
    if first.isdecimal():
        return Lexeme(norm, norm, 0.0, _NONE, _NONE, Kind.NUMBER, (norm,))
    if not first.isalpha():
        return Lexeme(norm, norm, 0.0, _NONE, _NONE, Kind.MARK, ())
    root = stem(norm)
    families, groups = _FAMILIES.get(root, _NONE), _SINGLES.get(root, _NONE)
    keys: tuple[str | int, ...] = (root, *sorted(families), *sorted(groups))
    return Lexeme(norm, root, _weight(norm, root), families, groups, Kind.WORD, keys)


# Two pronouns would else swallow two countries.
_NAMES_LIKE_PRONOUNS: Final = {"US": "usa", "U.S.": "usa", "U.S.A.": "usa", "IT": "it-dept"}


def _normal(spelling: str) -> str:
    if spelling in _NAMES_LIKE_PRONOUNS:
        return _NAMES_LIKE_PRONOUNS[spelling]
    norm = spelling.lower().replace("\u2019", "'")
    if norm[-1] == "." and len(norm) > 1:
        norm = norm.replace(".", "")
    norm = norm.replace("non-", "non")
    if not norm.isascii():
        plain = unicodedata.normalize("NFKD", norm)
        norm = "".join(char for char in plain if not unicodedata.combining(char)) or norm
    # A possessive names the same thing: "Acme's" is Acme.
    return norm[:-2] if norm.endswith("'s") and len(norm) > 2 else norm


def _weight(norm: str, root: str) -> float:
    if norm in STOP_WORDS or norm.endswith("n't"):
        return 0.0
    if any(char.isdecimal() for char in norm):
        return _CODE_WEIGHT
    return IDF.get(root, UNSEEN_WEIGHT)


@lru_cache(maxsize=1 << 14)
def opposites_of(root: str) -> frozenset[str]:
    """Return the stems that stand for the opposite: by the table, or by a negative prefix."""
    return _ANTONYMS.get(root, frozenset()) | frozenset(_by_prefix(root))


def _by_prefix(root: str) -> Iterator[str]:
    # Both must be words of the language: "art" and "inart" are no pair.
    if len(root) <= _SHORTEST_NEGATED or root not in IDF or root in _NOT_NEGATIVE:
        return
    for prefix in _NEGATIVE_PREFIXES:
        longer, shorter = prefix + root, root.removeprefix(prefix)
        if longer in IDF and longer not in _NOT_NEGATIVE:
            yield longer
        if shorter != root and len(shorter) > _SHORTEST_NEGATED and shorter in IDF:
            yield shorter


def are_opposites(one: str, other: str) -> bool:
    """Say whether two stems stand for opposites."""
    return other in opposites_of(one)


def has_opposite(root: str) -> bool:
    """Say whether the table knows an opposite of the stem."""
    return root in _ANTONYMS


_NOT_NEGATIVE: Final = frozenset(stem(word) for word in cues("not-negative"))
