"""JSON values as the operators see them: numbers, texts, and paths into a tool result.

A number is the decimal that is written in JSON, not the binary double behind it, so that 0.1 is one
tenth and comparisons are exact. The N and P rules of docs/checks.md; answer-eval.md, section 1.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, TypeAlias, cast

import msgspec

from affidavit.base.json_values import JsonValue
from affidavit.base.text import excerpt

ExactNumber: TypeAlias = int | Decimal

# A longer numeral is no measurement, and the time to compare it would be up to the caller.
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
    """Return the kind of a JSON value, with its article."""
    return _KINDS[type(value)]


def is_scalar(value: JsonValue) -> bool:
    """Say whether a value is neither a list nor an object."""
    return type(value) is not list and type(value) is not dict


def is_number(value: JsonValue) -> bool:
    """Say whether a value is a JSON number. Unlike in Python, true and false are not."""
    return type(value) is int or type(value) is float


TYPES: Final[Mapping[str, Callable[[JsonValue], bool]]] = MappingProxyType(
    {
        "null": lambda value: value is None,
        "boolean": lambda value: isinstance(value, bool),
        "integer": lambda value: is_number(value) and value == int(cast(float, value)),
        "number": is_number,
        "string": lambda value: isinstance(value, str),
        "array": lambda value: isinstance(value, list),
        "object": lambda value: isinstance(value, dict),
    }
)
"""The types of JSON Schema. A whole number is an integer, also if it is written as 1.0."""


def find_number(value: JsonValue) -> ExactNumber | None:
    """Return the exact number that a value represents, or None.

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
    """Return bytes that are equal only for equal JSON: 1, 1.0 and true are all different.

    This is for comparisons within one process. Digests use the canonical forms of `base`.
    """
    return msgspec.json.encode(value, order="sorted")


def display_value(value: JsonValue) -> str:
    """Return a value for a message: short, and without line breaks."""
    if isinstance(value, str):
        return msgspec.json.encode(excerpt(value)).decode()
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return f"an object with {list_keys(value)}"
    return scalar_text(value)


def list_keys(keys: Iterable[str]) -> str:
    """Return a sorted list of keys in words."""
    names = sorted(keys)
    if not names:
        return "no keys"
    more = f" and {len(names) - _KEYS_NAMED} more" if len(names) > _KEYS_NAMED else ""
    listed = ", ".join(map(display_value, names[:_KEYS_NAMED]))
    return f"the {'keys' if len(names) > 1 else 'key'} {listed}{more}"


MAX_PATH_DEPTH: Final = 8
MAX_PATH_CHARACTERS: Final = 512
_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,8}")
_SIGNED_INDEX: Final = re.compile(r"[-+\u2212]\d+")
# Not in a key: the brackets, slashes and operators of other path languages. A key has a letter, a
# digit or an underscore, so the bare `$`, `@`, `#` and `-` of those languages are no keys.
_KEY: Final = re.compile(r"(?=.*\w)[^\[\]{}()<>*?/\\|=\"'`,;~^]+")


class PathLookup(msgspec.Struct, frozen=True):
    """The value at a path of the evidence, or the `reason` reason there is none."""

    found: bool
    value: Any = None
    reason: str = ""
    dotted: bool = False
    """The key exists but contains a dot, so no path can address it."""
    unfit: bool = False
    """The step is no index of a list, so the path says nothing about its elements."""


@lru_cache(maxsize=1024)
def find_path_problem(path: str) -> str | None:
    """Return what is wrong with a path, or None.

    Origin: answer-eval.md, section 1: keys and non-negative integer indices only. A path of another
    language (JSONPath, JSON Pointer, an index in brackets or from the end) leads nowhere, so
    `not_exists` would hold for whatever the evidence says.
    """
    steps = path.split(".")
    if len(path) > MAX_PATH_CHARACTERS:
        return f"the path has {len(path)} letters, and {MAX_PATH_CHARACTERS} are allowed"
    if not all(steps):
        return f"{path!r} has an empty step; omit `path` to mean the primary value"
    if len(steps) > MAX_PATH_DEPTH:
        return f"the path has {len(steps)} steps, and {MAX_PATH_DEPTH} are allowed"
    if any("*" in step for step in steps):
        return "there are no wildcards; name each place with a check of its own"
    for step in steps:
        if _SIGNED_INDEX.fullmatch(step):
            return f"the index {step} has a sign; an index is 0, 1, 2 and so on, from the start"
        if not step.isprintable() or step != step.strip() or not _KEY.fullmatch(step):
            return f"{step!r} is neither a key nor an index; brackets and slashes are no path"
    return None


def look_up_path(raw: JsonValue, path: str | None) -> PathLookup:
    """Return the value at a path of the raw result. No path means the result itself.

    A path is keys and non-negative indices, joined by dots.
    """
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
            is_index = _INDEX.fullmatch(step) is not None
            if not is_index or int(step) >= len(value):
                reason = _missing_element(value, steps, number)
                return PathLookup(False, reason=reason, unfit=not is_index)
            value = value[int(step)]
        else:
            place = _path_prefix(steps, number)
            return PathLookup(
                False, reason=f"{place} is {kind_of(value)} ({display_value(value)}), not an object"
            )
    return PathLookup(True, value)


def _missing_key(holder: dict[str, JsonValue], steps: list[str], number: int) -> PathLookup:
    rest = steps[number:]
    joined = {".".join(rest[:end]) for end in range(2, len(rest) + 1)}
    missing = display_value(steps[number])
    reason = f"{_path_prefix(steps, number)} has no key {missing}, but {list_keys(holder)}"
    if found := sorted(joined & holder.keys()):
        return PathLookup(
            False,
            reason=f"{reason}; {display_value(found[0])} holds a dot,"
            " and a path cannot address such a key",
            dotted=True,
        )
    if any("." in key for key in holder):
        reason += "; a key that holds a dot cannot be addressed"
    return PathLookup(False, reason=reason)


def _missing_element(holder: list[JsonValue], steps: list[str], number: int) -> str:
    there = f"{_path_prefix(steps, number)} is a list of {len(holder)}"
    if _INDEX.fullmatch(steps[number]):
        return f"{there}, so it has no element {steps[number]}"
    return f"{there}, and {display_value(steps[number])} is no index (0, 1, 2 and so on)"


def _path_prefix(steps: list[str], number: int) -> str:
    return excerpt(".".join(steps[:number])) if number else "the result"
