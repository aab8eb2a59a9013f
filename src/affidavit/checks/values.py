"""JSON values of tool results as operators see them: numbers, texts, paths."""

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Final, TypeAlias

import msgspec

from affidavit.base.json_values import JsonValue
from affidavit.base.text import excerpt

# JSON values as the operators see them: what is a number, what is a text, how one is shown.
#
# The N rules of docs/checks.md. A number is the decimal that stands for it in JSON, never the
# binary double behind it, so that 0.1 is one tenth and comparisons have no surprises.

ExactNumber: TypeAlias = int | Decimal

# Longer digits are no measurement, and comparing them would cost a caller's chosen time.
MAX_NUMERAL: Final = 1_000
_NUMERAL: Final = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_KEYS_NAMED: Final = 20

_KINDS: Final[dict[type, str]] = {
    type(None): "null",
    bool: "a truth value",
    int: "a number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "an object",
}


def kind_of(value: JsonValue) -> str:
    """Return what kind of JSON value this is, with its article."""
    return _KINDS[type(value)]


def is_scalar(value: JsonValue) -> bool:
    """Say whether a value is neither a list nor an object."""
    return type(value) is not list and type(value) is not dict


def is_number(value: JsonValue) -> bool:
    """Say whether a value is a JSON number; true and false are none, though Python thinks so."""
    return type(value) is int or type(value) is float


def find_number(value: JsonValue) -> ExactNumber | None:
    """Return the exact number that a value stands for, or None.

    A JSON number counts as the shortest decimal that reads back as the same double. A text counts
    if all of it is `-?digits(.digits)?`: no sign +, no exponent, no white space.
    """
    if type(value) is int:
        return value
    if type(value) is float:
        return Decimal(repr(value))
    if type(value) is str and len(value) <= MAX_NUMERAL and _NUMERAL.fullmatch(value):
        return Decimal(value)
    return None


def scalar_text(value: JsonValue) -> str:
    """Return a single value as text: a text is itself, anything else is its JSON text."""
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)


def exact_json(value: JsonValue) -> bytes:
    """Return bytes that are the same for the same JSON only: 1, 1.0 and true are three things.

    For comparing within one process. It is no canonical form: what is hashed goes through base.
    """
    return msgspec.json.encode(value, order="sorted")


def display_value(value: JsonValue) -> str:
    """Return a value as a message shows it: short, and never with a line break in it."""
    if isinstance(value, str):
        return msgspec.json.encode(excerpt(value)).decode()
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return f"an object with {list_keys(value)}"
    return scalar_text(value)


def list_keys(keys: Iterable[str]) -> str:
    """Return keys in words, sorted, because an object in JSON has no order."""
    names = sorted(keys)
    if not names:
        return "no keys"
    more = f" and {len(names) - _KEYS_NAMED} more" if len(names) > _KEYS_NAMED else ""
    listed = ", ".join(map(display_value, names[:_KEYS_NAMED]))
    return f"the {'keys' if len(names) > 1 else 'key'} {listed}{more}"


# Paths into a raw tool result: keys and non-negative indices, joined by dots.
#
# The P rules of docs/checks.md; answer-eval.md, section 1. Not covered: a key that holds a dot
# cannot be addressed, which is said where it matters.

MAX_PATH_DEPTH: Final = 8
MAX_PATH_CHARACTERS: Final = 512
_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,8}")


class PathLookup(msgspec.Struct, frozen=True):
    """What was seen at a place of the evidence; `why` says what is there instead."""

    found: bool
    value: Any = None
    why: str = ""
    dotted: bool = False
    """The key stands there, but holds a dot, so that neither present nor absent is true."""


def find_path_problem(path: str) -> str | None:
    """Return why a text is no path, or None if it is one."""
    steps = path.split(".")
    if len(path) > MAX_PATH_CHARACTERS:
        return f"the path has {len(path)} letters, and {MAX_PATH_CHARACTERS} are allowed"
    if not all(steps):
        return f"{path!r} has an empty step; omit `path` to mean the primary value"
    if len(steps) > MAX_PATH_DEPTH:
        return f"the path has {len(steps)} steps, and {MAX_PATH_DEPTH} are allowed"
    if "*" in steps:
        return "there are no wildcards; name each place with a check of its own"
    return None


def look_up_path(raw: JsonValue, path: str | None) -> PathLookup:
    """Return what stands at a path of the raw result; no path is the result itself."""
    value = raw
    if path is None:
        return PathLookup(True, value)
    steps = path.split(".")
    for number, step in enumerate(steps):
        if isinstance(value, dict):
            if step not in value:
                return _missing_key(value, steps, number)
            value = value[step]
        elif isinstance(value, list):
            if not _INDEX.fullmatch(step) or int(step) >= len(value):
                return PathLookup(False, why=_missing_element(value, steps, number))
            value = value[int(step)]
        else:
            place = _path_prefix(steps, number)
            return PathLookup(
                False, why=f"{place} is {kind_of(value)} ({display_value(value)}), not an object"
            )
    return PathLookup(True, value)


def _missing_key(holder: dict[str, JsonValue], steps: list[str], number: int) -> PathLookup:
    rest = steps[number:]
    joined = {".".join(rest[:end]) for end in range(2, len(rest) + 1)}
    missing = display_value(steps[number])
    why = f"{_path_prefix(steps, number)} has no key {missing}, but {list_keys(holder)}"
    if found := sorted(joined & holder.keys()):
        return PathLookup(
            False,
            why=f"{why}; {display_value(found[0])} holds a dot,"
            " and a path cannot address such a key",
            dotted=True,
        )
    if any("." in key for key in holder):
        why += "; a key that holds a dot cannot be addressed"
    return PathLookup(False, why=why)


def _missing_element(holder: list[JsonValue], steps: list[str], number: int) -> str:
    there = f"{_path_prefix(steps, number)} is a list of {len(holder)}"
    if _INDEX.fullmatch(steps[number]):
        return f"{there}, so it has no element {steps[number]}"
    return f"{there}, and {display_value(steps[number])} is no index (0, 1, 2 and so on)"


def _path_prefix(steps: list[str], number: int) -> str:
    return excerpt(".".join(steps[:number])) if number else "the result"
