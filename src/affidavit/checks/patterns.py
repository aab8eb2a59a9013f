"""Patterns of a route: literal words, and slots between them. No regular expressions of anyone's.

Words are compared case-folded, white space is collapsed, and marks at the end of the text are left
out. A pattern covers the whole text; a slot takes one word or more, as few as the rest allows.
Matching is one walk over the words, whatever the pattern. The T rules of docs/checks.md.
"""

import re
from dataclasses import dataclass
from typing import Final

from affidavit.base.json_limits import JsonValue

MAX_QUESTION_LETTERS: Final = 1_000
_SLOT: Final = re.compile(r"\{([a-z][a-z0-9_]{0,31})\}")
_END_MARKS: Final = "?!."


@dataclass(frozen=True, slots=True)
class Pattern:
    """Literals and slots in turn, a literal first and last; those two may be empty."""

    text: str
    literals: tuple[tuple[str, ...], ...]
    slots: tuple[str, ...]


def pattern_of(text: str) -> Pattern | str:
    """Return the pattern that a text is, or what is wrong with it."""
    literals: list[tuple[str, ...]] = []
    slots: list[str] = []
    words: list[str] = []
    for word in words_of(text):
        slot = _SLOT.fullmatch(word)
        if slot is None:
            if "{" in word or "}" in word:
                return f"has {word!r}, which is neither a word nor a slot"
            words.append(word.casefold())
            continue
        if slots and not words:
            return "has two slots with no word between them"
        if slot[1] in slots:
            return f"has the slot {word} twice"
        literals.append(tuple(words))
        slots.append(slot[1])
        words = []
    literals.append(tuple(words))
    if not any(literals):
        return "has no literal word, so it would match anything"
    return Pattern(text, tuple(literals), tuple(slots))


def find_slot_name(given: JsonValue) -> str | None:
    """Return the slot that an argument of a route stands for, or None if it is a constant."""
    if isinstance(given, str) and given.startswith("{") and given.endswith("}"):
        return given[1:-1]
    return None


def words_of(text: str) -> list[str]:
    """Return the words of a text, without the marks at its end; marks alone are no words."""
    words = text.rstrip().rstrip(_END_MARKS).split()
    return words if any(word.strip(_END_MARKS) for word in words) else []


def is_interrogative(text: str) -> bool:
    """Say whether a text is a question by its mark; it then asserts nothing."""
    return "?" in text.rstrip()[len(text.rstrip().rstrip(_END_MARKS)) :]


def find_slots(pattern: Pattern, words: list[str]) -> dict[str, str] | None:
    """Return what each slot takes, as it was written, or None if the text does not match.

    Taking each literal where it first occurs finds a match if there is one: what is left over can
    only grow, and the last literal is held against the end.
    """
    folded = [word.casefold() for word in words]
    first, *rest = pattern.literals
    if tuple(folded[: len(first)]) != first:
        return None
    if not rest:
        return {} if len(folded) == len(first) else None
    taken: dict[str, str] = {}
    start = len(first)
    for slot, literal in zip(pattern.slots, rest, strict=True):
        is_last = slot == pattern.slots[-1]
        end = _find(folded, literal, start + 1, is_last=is_last)
        if end is None:
            return None
        taken[slot] = " ".join(words[start:end])
        start = end + len(literal)
    return taken


def _find(words: list[str], literal: tuple[str, ...], start: int, *, is_last: bool) -> int | None:
    """Return where a literal stands from `start` on; the last one must end the text."""
    size = len(literal)
    last = len(words) - size
    for place in range(max(start, last) if is_last else start, last + 1):
        if tuple(words[place : place + size]) == literal:
            return place
    return None
