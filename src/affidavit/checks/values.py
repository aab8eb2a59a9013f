"""JSON values as the operators see them: what is a number, what is a text, how one is shown.

The N rules of docs/checks.md. A number is the decimal that stands for it in JSON, never the
binary double behind it, so that 0.1 is one tenth and comparisons have no surprises.
"""

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Final, TypeAlias

import msgspec

from affidavit.base.json_limits import JsonValue
from affidavit.base.places import excerpt

Exact: TypeAlias = int | Decimal

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


def is_single(value: JsonValue) -> bool:
    """Say whether a value is neither a list nor an object."""
    return type(value) is not list and type(value) is not dict


def is_number(value: JsonValue) -> bool:
    """Say whether a value is a JSON number; true and false are none, though Python thinks so."""
    return type(value) is int or type(value) is float


def find_exact(value: JsonValue) -> Exact | None:
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


def text_of(value: JsonValue) -> str:
    """Return a single value as text: a text is itself, anything else is its JSON text."""
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)


def exact_text(value: JsonValue) -> bytes:
    """Return bytes that are the same for the same JSON only: 1, 1.0 and true are three things.

    For comparing within one process. It is no canonical form: what is hashed goes through base.
    """
    return msgspec.json.encode(value, order="sorted")


def shown(value: JsonValue) -> str:
    """Return a value as a message shows it: short, and never with a line break in it."""
    if isinstance(value, str):
        return msgspec.json.encode(excerpt(value)).decode()
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return f"an object with {named_keys(value)}"
    return text_of(value)


def named_keys(keys: Iterable[str]) -> str:
    """Return keys in words, sorted, because an object in JSON has no order."""
    names = sorted(keys)
    if not names:
        return "no keys"
    more = f" and {len(names) - _KEYS_NAMED} more" if len(names) > _KEYS_NAMED else ""
    listed = ", ".join(map(shown, names[:_KEYS_NAMED]))
    return f"the {'keys' if len(names) > 1 else 'key'} {listed}{more}"
