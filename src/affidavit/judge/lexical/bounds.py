"""The words around a number that turn it into a bound: "at least", "or more", "must not exceed"."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from affidavit.judge.lexical.amounts import Bound
from affidavit.judge.lexical.tables import listed
from affidavit.judge.lexical.tokens import Token

_NAMES: Final = {
    "at-least": Bound.AT_LEAST, "at-most": Bound.AT_MOST, "within": Bound.WITHIN,
    "more": Bound.MORE, "less": Bound.LESS, "about": Bound.ABOUT, "exactly": Bound.EXACTLY,
}  # fmt: skip


def _phrases(place: str, names: Iterable[str]) -> Mapping[tuple[str, ...], Bound]:
    return MappingProxyType(
        {
            tuple(phrase.split()): _NAMES[name]
            for name in names
            for phrase in listed(f"{place}-{name}")
        }
    )


_BEFORE: Final = _phrases("bound", _NAMES)
_AFTER: Final = _phrases("after", ("at-least", "at-most", "about"))
_LONGEST: Final = max(len(phrase) for phrase in _BEFORE)
_NEGATED: Final = {Bound.MORE: Bound.AT_MOST, Bound.LESS: Bound.AT_LEAST}
_NOT: Final = frozenset({"not", "never", "cannot", "n't", "no"})
_FAR: Final = {
    "minimum": Bound.AT_LEAST, "min": Bound.AT_LEAST, "maximum": Bound.AT_MOST,
    "max": Bound.AT_MOST, "limit": Bound.AT_MOST, "cap": Bound.AT_MOST,
}  # fmt: skip
_FAR_REACH: Final = 10
_CLAUSE_ENDS: Final = frozenset({".", ";", ",", "and", "but", "(", "|"})


class BoundFound(NamedTuple):
    """A bound, and the tokens that number and bound take together, from `first` to before `end`."""

    bound: Bound
    first: int
    end: int


def bound_of(tokens: Sequence[Token], first: int, end: int) -> BoundFound:
    """Return the bound of the number that stands at tokens `first` up to before `end`."""
    return (
        _behind(tokens, first, end)
        or _ahead(tokens, first, end)
        or _far(tokens, first, end)
        or BoundFound(Bound.EXACT, first, end)
    )


def _ahead(tokens: Sequence[Token], first: int, end: int) -> BoundFound | None:
    stop = first
    # The article or currency between the phrase and its number: "at least a", "over the".
    while stop > 0 and tokens[stop - 1].word.norm in ("a", "an", "the", "us", "another", "be", "("):
        stop -= 1
    for width in range(min(_LONGEST, stop), 0, -1):
        words = tuple(token.word.norm for token in tokens[stop - width : stop])
        found = _BEFORE.get(words)
        if found:
            is_negated = any(
                token.word.norm in _NOT or token.word.norm.endswith("n't")
                for token in tokens[max(0, stop - width - 3) : stop - width]
            )
            bound = _NEGATED.get(found, found) if is_negated else found
            return BoundFound(bound, stop - width, end)
    return None


def _behind(tokens: Sequence[Token], first: int, end: int) -> BoundFound | None:
    for width in (2, 1):
        words = tuple(token.word.norm for token in tokens[end : end + width])
        if words in _AFTER:
            return BoundFound(_AFTER[words], first, end + len(words))
    return None


def _far(tokens: Sequence[Token], first: int, end: int) -> BoundFound | None:
    """Read "Minimum password length: 12" and "the limit is 5 days"."""
    for place in range(first - 1, max(first - 1 - _FAR_REACH, -1), -1):
        word = tokens[place].word.norm
        if word in _FAR:
            return BoundFound(_FAR[word], first, end)
        if word in _CLAUSE_ENDS or word[0].isdecimal():
            return None
    return None
