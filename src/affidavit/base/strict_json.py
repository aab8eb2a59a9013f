"""Strict JSON: one text has one meaning, or it is refused by code.

Refused: duplicate keys (also when spelled by escapes), NaN and infinities, numbers that overflow,
integers beyond 2^53 - 1, lone surrogates, invalid UTF-8, a byte order mark, UTF-16 and UTF-32,
anything after the value, and whatever is beyond the limits. Origin: RFC 8259 with the advice of
RFC 7493 (I-JSON) as rules. A float too small for a double is read as zero, as every reader does.

orjson decides what is JSON, but keeps the last of two equal keys and turns large integers into
floats without a word. So `decode` proves from counts of single bytes that neither has happened;
that costs about as much as the decoding. Only what is refused is read by `json_diagnosis`.
"""

import re
from typing import Final

from orjson import OPT_SORT_KEYS, OPT_STRICT_INTEGER, dumps, loads

from affidavit.base.json_diagnosis import explain_refusal
from affidavit.base.json_limits import DOCUMENT_LIMITS, JsonLimits, JsonValue
from affidavit.base.json_tree import levels

_COLON, _PLUS, _BACKSLASH, _BRACKET, _BRACE = b":+\\[{"

_ESCAPED_COLON: Final = re.compile(rb"\\u003[aA]")
# Escapes are read from the left, so that the second backslash of a pair never starts one.
_ESCAPE: Final = re.compile(rb"\\(?:(u003[aA])|.)", re.DOTALL)
_LONG_DIGITS: Final = re.compile(rb"[0-9]{19}")
# Texts and numbers, each consumed whole, so that digits inside a text are never taken for a number.
_TOKEN: Final = re.compile(
    rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|-?([0-9]{19,}+)(?![.eE])|[-+.eE0-9]++', re.DOTALL
)


def decode(raw: bytes, limits: JsonLimits = DOCUMENT_LIMITS, first_line: int = 1) -> JsonValue:
    """Return the one value that `raw` means, or raise a coded error that says where it is wrong.

    `first_line` is the number of the line on which `raw` starts; it only serves the error.
    """
    return _decoded(raw, limits, first_line, OPT_STRICT_INTEGER)[0]


def decode_and_write(raw: bytes, limits: JsonLimits = DOCUMENT_LIMITS) -> tuple[JsonValue, bytes]:
    """Return the same, and the value as orjson writes it with sorted keys.

    The proof needs the value written once; who wants it sorted need not write it again.
    """
    return _decoded(raw, limits, 1, OPT_STRICT_INTEGER | OPT_SORT_KEYS)


def _decoded(
    raw: bytes, limits: JsonLimits, first_line: int, writing: int
) -> tuple[JsonValue, bytes]:
    size = len(raw)
    if size > limits.max_bytes:
        raise explain_refusal(raw, limits, first_line)
    try:
        value: JsonValue = loads(raw)
        written = dumps(value, option=writing)
    except (ValueError, TypeError):
        # Not JSON; or (TypeError) an integer beyond 53 bits, or more levels than can be written.
        raise explain_refusal(raw, limits, first_line) from None
    # Every member of an object has its colon, and a colon within a text stands for itself, in
    # `raw` as in `written`; one that is escaped in `raw` is counted apart. A member that orjson
    # dropped for a later one with the same key took at least its own colon with it. So the counts
    # are equal exactly when nothing was dropped.
    colons = raw.count(_COLON)
    if _BACKSLASH in raw and _ESCAPED_COLON.search(raw):
        colons += sum(map(bool, _ESCAPE.findall(raw)))
    if (
        colons == written.count(_COLON)
        # An integer beyond 64 bits has become a float of 2^63 or more, and orjson writes every
        # float from 1e16 on with "e+".
        and not (_PLUS in written and b"e+" in written and _has_long_integer(raw))
        # What the whole document has few enough of, each of its parts has few enough of.
        and (
            raw.count(_BRACKET) + raw.count(_BRACE) <= limits.max_depth
            or not _is_deeper(value, limits.max_depth)
        )
        and (
            (colons <= limits.max_keys and size <= limits.max_string)
            or not _is_larger(value, limits)
        )
    ):
        return value, written
    raise explain_refusal(raw, limits, first_line)


def _has_long_integer(raw: bytes) -> bool:
    return _LONG_DIGITS.search(raw) is not None and any(_TOKEN.findall(raw))


def _is_deeper(value: JsonValue, max_depth: int) -> bool:
    for depth, level in enumerate(levels(value)):
        if depth == max_depth:
            return any(isinstance(member, dict | list) for member in level)
    return False


def _is_larger(value: JsonValue, limits: JsonLimits) -> bool:
    for level in levels(value):
        objects = [member for member in level if isinstance(member, dict)]
        texts = [member for member in level if isinstance(member, str)]
        texts.extend(key for members in objects for key in members)
        if max(map(len, objects), default=0) > limits.max_keys:
            return True
        if max(map(len, texts), default=0) > limits.max_string:
            return True
    return False
