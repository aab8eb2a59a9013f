"""Paths into a raw tool result: keys and non-negative indices, joined by dots.

The P rules of docs/checks.md; answer-eval.md, section 1. Not covered: a key that holds a dot
cannot be addressed, which is said where it matters.
"""

import re
from typing import Any, Final

import msgspec

from affidavit.base.json_limits import JsonValue
from affidavit.base.places import excerpt
from affidavit.checks.values import kind_of, named_keys, shown

MAX_DEPTH: Final = 8
MAX_LETTERS: Final = 512
_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,8}")


class Look(msgspec.Struct, frozen=True):
    """What was seen at a place of the evidence; `why` says what is there instead."""

    found: bool
    value: Any = None
    why: str = ""
    dotted: bool = False
    """The key stands there, but holds a dot, so that neither present nor absent is true."""


def find_path_problem(path: str) -> str | None:
    """Return why a text is no path, or None if it is one."""
    steps = path.split(".")
    if len(path) > MAX_LETTERS:
        return f"the path has {len(path)} letters, and {MAX_LETTERS} are allowed"
    if not all(steps):
        return f"{path!r} has an empty step; omit `path` to mean the primary value"
    if len(steps) > MAX_DEPTH:
        return f"the path has {len(steps)} steps, and {MAX_DEPTH} are allowed"
    if "*" in steps:
        return "there are no wildcards; name each place with a check of its own"
    return None


def look_at(raw: JsonValue, path: str | None) -> Look:
    """Return what stands at a path of the raw result; no path is the result itself."""
    value = raw
    if path is None:
        return Look(True, value)
    steps = path.split(".")
    for number, step in enumerate(steps):
        if isinstance(value, dict):
            if step not in value:
                return _no_key(value, steps, number)
            value = value[step]
        elif isinstance(value, list):
            if not _INDEX.fullmatch(step) or int(step) >= len(value):
                return Look(False, why=_no_element(value, steps, number))
            value = value[int(step)]
        else:
            place = _place(steps, number)
            return Look(False, why=f"{place} is {kind_of(value)} ({shown(value)}), not an object")
    return Look(True, value)


def _no_key(holder: dict[str, JsonValue], steps: list[str], number: int) -> Look:
    rest = steps[number:]
    joined = {".".join(rest[:end]) for end in range(2, len(rest) + 1)}
    why = f"{_place(steps, number)} has no key {shown(steps[number])}, but {named_keys(holder)}"
    if found := sorted(joined & holder.keys()):
        return Look(
            False,
            why=f"{why}; {shown(found[0])} holds a dot, and a path cannot address such a key",
            dotted=True,
        )
    if any("." in key for key in holder):
        why += "; a key that holds a dot cannot be addressed"
    return Look(False, why=why)


def _no_element(holder: list[JsonValue], steps: list[str], number: int) -> str:
    there = f"{_place(steps, number)} is a list of {len(holder)}"
    if _INDEX.fullmatch(steps[number]):
        return f"{there}, so it has no element {steps[number]}"
    return f"{there}, and {shown(steps[number])} is no index (0, 1, 2 and so on)"


def _place(steps: list[str], number: int) -> str:
    return excerpt(".".join(steps[:number])) if number else "the result"
