"""Patterns of event types, with the meaning of Rust's globset.

`*` matches any text, also with dots; `?` one letter; `[ab]`, `[a-z]`, `[!a]` one of several
letters; `{a,b}` one of several texts, also nested; a backslash escapes the next letter.
Not covered: `**` between slashes, which event types do not have.
"""

from functools import lru_cache
from typing import Final

from msgspec import Struct

MAX_CHOICES: Final = 64  # Alternatives that the braces of a pattern may expand to.


class GlobError(ValueError):
    """A malformed pattern."""


class _AnyOne(Struct, frozen=True):
    """One letter: any if `ranges` is None, otherwise one inside (or outside) the ranges."""

    ranges: tuple[tuple[str, str], ...] | None
    negated: bool = False

    def matches(self, letter: str) -> bool:
        if self.ranges is None:
            return True
        return any(low <= letter <= high for low, high in self.ranges) is not self.negated


_Token = _AnyOne | None  # None is `*`.


class Glob(Struct, frozen=True):
    """A parsed pattern; `choices` are the alternatives of its braces."""

    text: str
    choices: tuple[tuple[_Token, ...], ...]

    def matches(self, text: str) -> bool:
        """Return whether the pattern matches the whole text."""
        return self.parts(text) is not None

    def parts(self, text: str) -> tuple[str, ...] | None:
        """Return the text that each `*` matches, or None if the pattern does not match."""
        if len(text) > _LONGEST_CACHED:
            return _parts_of_choices(self.choices, text)
        return _cached_parts(self.text, text)

    @property
    def stars(self) -> int:
        """The largest number of `*` in an alternative."""
        return max(tokens.count(None) for tokens in self.choices)


_LONGEST_CACHED: Final = 100  # Types are short; a hostile one must not fill the memory.


def _parts_of_choices(choices: tuple[tuple[_Token, ...], ...], text: str) -> tuple[str, ...] | None:
    found = (_parts(tokens, text) for tokens in choices)
    return next((parts for parts in found if parts is not None), None)


@lru_cache(maxsize=10_000)
def _cached_parts(pattern: str, text: str) -> tuple[str, ...] | None:
    # Every bundle of a folder has the same few types.
    return _parts_of_choices(glob_from(pattern).choices, text)


def glob_from(text: str) -> Glob:
    """Parse a pattern, or raise GlobError."""
    return Glob(text, tuple(_tokens(choice) for choice in _choices(text)))


def _choices(text: str) -> list[list[str]]:
    """Expand the braces into lists of letters; an escaped letter keeps its `\\`."""
    stack: list[list[list[list[str]]]] = [[[[]]]]
    for unit in _units(text):
        here = stack[-1]
        if unit == "{":
            stack.append([[[]]])
        elif unit == "," and len(stack) > 1:
            here.append([[]])
        elif unit == "}":
            if len(stack) == 1:
                raise GlobError("a } closes nothing")
            inner = [choice for part in stack.pop() for choice in part]
            above = stack[-1]
            above[-1] = [begun + choice for begun in above[-1] for choice in inner]
            if len(above[-1]) > MAX_CHOICES:
                raise GlobError(f"its braces stand for more than {MAX_CHOICES} texts")
        else:
            here[-1] = [[*begun, unit] for begun in here[-1]]
    if len(stack) > 1:
        raise GlobError("a { is not closed")
    return stack[0][0]


def _units(text: str) -> list[str]:
    """Split into letters, escaped letters and whole classes."""
    units, at = [], 0
    while at < len(text):
        end = at + 1
        if text[at] == "\\":
            end = at + 2
            if end > len(text):
                raise GlobError("a backslash stands at the end")
        elif text[at] == "[":
            end = _class_end(text, at)
        units.append(text[at:end])
        at = end
    return units


def _class_end(text: str, at: int) -> int:
    # A ] in the first position belongs to the class.
    first = at + 2 if text[at + 1 : at + 2] in ("!", "^") else at + 1
    end = text.find("]", first + 1)
    if end < 0:
        raise GlobError("a [ is not closed")
    return end + 1


def _tokens(units: list[str]) -> tuple[_Token, ...]:
    tokens: list[_Token] = []
    for unit in units:
        if unit != "*":
            tokens.append(_token(unit))
        elif not tokens or tokens[-1] is not None:  # `**` means the same as `*`.
            tokens.append(None)
    return tuple(tokens)


def _token(unit: str) -> _AnyOne:
    if unit == "?":
        return _AnyOne(None)
    if unit[0] != "[":
        return _AnyOne(((unit[-1], unit[-1]),))
    negated = unit[1] in "!^"
    letters = unit[2 if negated else 1 : -1]
    ranges, at = [], 0
    while at < len(letters):
        end = at + 2 if letters[at + 1 : at + 2] == "-" and at + 2 < len(letters) else at
        if letters[end] < letters[at]:
            raise GlobError(f"the range {letters[at : end + 1]} runs backwards")
        ranges.append((letters[at], letters[end]))
        at = end + 1
    return _AnyOne(tuple(ranges), negated)


def _parts(tokens: tuple[_Token, ...], text: str) -> tuple[str, ...] | None:
    """Match with backtracking to the last `*` only, so the cost is at most n times m."""
    stars: list[list[int]] = []  # Where the text of each `*` begins and ends.
    at, token, back = 0, 0, -1
    while at < len(text):
        one = tokens[token] if token < len(tokens) else _NOTHING
        if one is None:
            stars.append([at, at])
            back = token = token + 1
        elif one.matches(text[at]):
            at, token = at + 1, token + 1
        elif back >= 0:
            stars[-1][1] += 1
            at, token = stars[-1][1], back
        else:
            return None
    if token < len(tokens) and tokens[token] is None:
        stars.append([at, at])
        token += 1
    return None if token < len(tokens) else tuple(text[start:end] for start, end in stars)


_NOTHING: Final = _AnyOne(())
