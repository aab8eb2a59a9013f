"""The two canonical forms of JSON: json-sorted-compact for receipts, RFC 8785 for bundles and
attestations.
"""

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
import orjson

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults.input import JSON_DEPTH, NOT_CANONICAL, UNICODE_COLLISION
from affidavit.base.json_values import (
    DOCUMENT_LIMITS,
    MAX_DEPTH,
    MAX_INTEGER,
    JsonLimits,
    JsonValue,
    enum_value,
    floats_in,
    iterate_containers,
    unwritable_error,
)
from affidavit.base.strict_json import decode, decode_and_write
from affidavit.base.text import excerpt, line_and_column, to_nfd

# orjson is ten times faster than json and sixty times faster than rfc8785. It writes floats as
# Python does except for 0 < |x| < 1e-4 (0.00001 and 1e-6 where Python has 1e-05 and 1e-06), and as
# ECMAScript does for floats with a fraction from 1e-5 on. Both were tried on four million floats of
# all magnitudes and around the limits; the tests try thousands each time. A plain walk over the
# value finds its floats. orjson's text is used only if every one of them is written alike;
# otherwise json or rfc8785 decides.

_UNSORTED: Final = (
    orjson.OPT_STRICT_INTEGER
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)
_SORTED: Final = _UNSORTED | orjson.OPT_SORT_KEYS


def write_sorted(value: object) -> bytes:
    """Return orjson's text of a value: compact, in UTF-8, keys sorted by code point.

    A value that JSON cannot express is refused by code, except NaN, infinities, UUIDs and orjson's
    fragments: `floats_in` refuses those.
    """
    try:
        return orjson.dumps(value, option=_SORTED)
    except TypeError:
        raise unwritable_error(value) from None


def is_python_text(number: float) -> bool:
    """Say whether orjson's text of a finite float is what `json.dumps` writes."""
    return number == 0 or abs(number) >= 1e-4


def is_ecmascript_text(number: float) -> bool:
    """Say whether orjson's text of a finite float is ECMAScript's (RFC 8785, section 3.2.2.3)."""
    return 1e-5 <= abs(number) <= MAX_INTEGER and not number.is_integer()


def write_rfc8785(value: object, *, by_utf16: bool) -> bytes:
    """Return the text of RFC 8785 of a value that `write_sorted` has accepted.

    Keys are sorted by UTF-16 if asked for, else by code point.
    """
    root: list[Any] = [value]
    pending: list[Any] = [root]
    while pending:
        holder = pending.pop()
        for place, member in holder.items() if isinstance(holder, dict) else enumerate(holder):
            if type(member) is str:
                continue
            written = holder[place] = _rfc8785_value(enum_value(member), by_utf16=by_utf16)
            if isinstance(written, dict | list):
                pending.append(written)
    return orjson.dumps(root[0], option=_UNSORTED if by_utf16 else _SORTED)


def _rfc8785_value(member: object, *, by_utf16: bool) -> object:
    """Return a member as it has to be passed to orjson; its own members are replaced later."""
    if isinstance(member, float):
        return _rfc8785_float(member)
    if isinstance(member, list | tuple):
        return list(member)
    if isinstance(member, dict):
        keys = sorted(member, key=_utf16_units) if by_utf16 else member
        return {key: member[key] for key in keys}
    return member


def _rfc8785_float(number: float) -> object:
    if is_ecmascript_text(number):
        return number
    if abs(number) <= MAX_INTEGER and number.is_integer():
        return int(number)
    import rfc8785  # Takes 30 ms, and few documents contain such a number.

    return orjson.Fragment(rfc8785.dumps(number))


def _utf16_units(key: str) -> bytes:
    return key.encode("utf-16-be")


# Keys that are equal in NFC are one key to a reader that normalises.


def refuse_colliding_keys(keys: Iterable[str]) -> None:
    """Raise if two keys of one object are equal in NFC."""
    first_of: dict[str, str] = {}
    for key in keys:
        first = first_of.setdefault(to_nfd(key), key)
        if first != key:
            raise AffidavitError(UNICODE_COLLISION, first=excerpt(first), second=excerpt(key))


# The two canonical forms: one value, one sequence of bytes.
# `json-sorted-compact` is `json.dumps(value, sort_keys=True, separators=(",", ":"))`; the receipts
# of answer-eval are signed over it. RFC 8785 (JCS) is for bundles and attestations. Besides floats,
# orjson differs from the sorted compact form in non-ASCII text, and from JCS in the order of keys
# where U+E000 to U+FFFF meets characters beyond U+FFFF.

_DELETE_CHARACTER: Final = 0x7F
# orjson's text of every float between 0 and 1e-4 contains one of these: 0.00001, 1e-6.
_SMALL_IN_FULL: Final = b"0.0000"
_SMALL_BY_EXPONENT: Final = re.compile(rb"e-(?<=[0-9]e-)")
# First bytes in UTF-8 of U+E000 to U+FFFF, and of all beyond.
_LAST_OF_BASIC_PLANE: Final = (0xEE, 0xEF)
_BEYOND_BASIC_PLANE: Final = (0xF0, 0xF1, 0xF2, 0xF3, 0xF4)


def sorted_compact(value: object) -> bytes:
    """Return the bytes of `json.dumps(value, sort_keys=True, separators=(",", ":"))`.

    json.dumps also writes NaN, infinities, integers beyond 2^53 - 1, lone surrogates, keys that are
    not strings, and subclasses of the builtin types. All but Enums are refused by code here, so
    everything that is written can be read back.
    """
    text = write_sorted(value)
    floats = floats_in(value)
    if text.isascii() and _DELETE_CHARACTER not in text and all(map(is_python_text, floats)):
        return text
    return _written_by_json(value)


def sorted_compact_decoded(value: JsonValue) -> bytes:
    """Return the same bytes, at lower cost, for a value that `decode` has returned.

    Any other value may contain NaN, which this function would write as null.
    """
    text = write_sorted(value)
    return text if _is_sorted_compact(text) else sorted_compact(value)


def decode_sorted_compact(
    raw: bytes, limits: JsonLimits = DOCUMENT_LIMITS
) -> tuple[JsonValue, bytes]:
    """Return the value of a strict JSON text, and its sorted compact form."""
    value, text = decode_and_write(raw, limits)
    return value, text if _is_sorted_compact(text) else sorted_compact(value)


def _is_sorted_compact(text: bytes) -> bool:
    """Say whether orjson's sorted text of a decoded value is certainly the sorted compact form.

    A decoded value contains nothing that has to be refused. So besides non-ASCII text only small
    floats can differ, and orjson writes each of them with one of two patterns.
    """
    return (
        text.isascii()
        and _DELETE_CHARACTER not in text
        and _SMALL_IN_FULL not in text
        and not _SMALL_BY_EXPONENT.search(text)
    )


def jcs(value: object) -> bytes:
    """Return the canonical form of RFC 8785; it refuses the same values as `sorted_compact`.

    The RFC writes a whole float from 2^53 to 1e21 as an integer, which `decode` refuses: not every
    reader keeps such a number.
    """
    text = write_sorted(value)
    by_utf16 = not text.isascii() and _may_order_differ(text)
    if all(map(is_ecmascript_text, floats_in(value))) and not by_utf16:
        return text
    return write_rfc8785(value, by_utf16=by_utf16)


def is_canonical(raw: bytes, limits: JsonLimits = DOCUMENT_LIMITS) -> bool:
    """Say whether the bytes are strict JSON in the form of RFC 8785."""
    try:
        return jcs(decode(raw, limits)) == raw
    except AffidavitError:
        return False


def require_canonical(raw: bytes, limits: JsonLimits = DOCUMENT_LIMITS) -> JsonValue:
    """Return the value of bytes in the form of RFC 8785, or raise why they are not.

    One rule is our own: no object may have two keys that are equal in NFC. RFC 8785 allows them,
    but a person or a reader that normalises takes them for one.
    """
    value = decode(raw, limits)
    canonical = jcs(value)
    # It has no escapes but those of control characters, and ASCII keys never collide.
    if not canonical.isascii():
        _refuse_colliding_keys_within(value)
    if canonical != raw:
        line, column = line_and_column(raw, _first_difference(raw, canonical))
        raise AffidavitError(NOT_CANONICAL, Where(line=line), place=f"column {column}")
    return value


def _written_by_json(value: object) -> bytes:
    separators = (",", ":")
    try:
        text = json.dumps(
            value, sort_keys=True, separators=separators, allow_nan=False, default=enum_value
        )
    except RecursionError:
        place = "and the stack is nearly full"
        raise AffidavitError(JSON_DEPTH, limit=MAX_DEPTH, place=place) from None
    return text.encode()


def _may_order_differ(text: bytes) -> bool:
    """Say whether code points and UTF-16 may sort keys differently.

    Characters beyond U+FFFF are surrogates in UTF-16, which sort before U+E000.
    """
    return any(byte in text for byte in _LAST_OF_BASIC_PLANE) and any(
        byte in text for byte in _BEYOND_BASIC_PLANE
    )


def _refuse_colliding_keys_within(value: JsonValue) -> None:
    for container in iterate_containers(value):
        if isinstance(container, dict) and len(container) > 1:
            refuse_colliding_keys(container)


def _first_difference(raw: bytes, canonical: bytes) -> int:
    def is_past(length: int) -> bool:
        return raw[:length] != canonical[:length]

    return bisect_left(range(max(len(raw), len(canonical))), True, key=is_past) - 1


# `are_all_canonical` is the cheap half of `require_canonical`: True is a proof, False means that
# each text has to be examined by itself. All texts are decoded and written again as one list. If
# the bytes are the same, there are no duplicate keys, unsorted keys, other spellings of a string,
# white space or integers beyond 53 bits. Floats are compared while they are decoded, since orjson
# writes some of them differently from RFC 8785.

_OPTIONS: Final = orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER
# Each key adds at least so many bytes to an object: two quotes, a colon, a value, a comma.
_BYTES_PER_KEY: Final = 5
_LIST, _OBJECT = b"[{"
# A string before a colon with a non-ASCII letter. As a key it may be equal to another in NFC, and
# orjson and RFC 8785 may sort it differently.
_NON_ASCII_KEY: Final = re.compile(rb'[\x80-\xff][^"\x80-\xff]*":')


def _strict_float(text: str) -> float:
    """Return a float that Python, ECMAScript and orjson write alike; refuse any other."""
    number = float(text)
    if not 1e-4 <= abs(number) < 1e15 or number.is_integer() or repr(number) != text:
        raise ValueError(text)
    return number


_decode_batch: Final = msgspec.json.Decoder(list[Any], float_hook=_strict_float).decode


def are_all_canonical(texts: Sequence[bytes], limits: JsonLimits) -> bool:
    """Say whether each text is certainly one JSON value, within the limits and canonical.

    The caller has split the texts where msgspec found the ends of values.
    """
    whole = b"[%b]" % b",".join(texts)
    try:
        values = _decode_batch(whole)
        written = orjson.dumps(values, option=_OPTIONS)
    except (msgspec.MsgspecError, ValueError, TypeError, RecursionError):
        return False
    return (
        written == whole
        and len(values) == len(texts)
        and _are_within_limits(texts, limits)
        and (whole.isascii() or not _NON_ASCII_KEY.search(whole))
    )


def _are_within_limits(texts: Sequence[bytes], limits: JsonLimits) -> bool:
    longest = max(map(len, texts), default=0)
    if longest >= min(limits.max_bytes, limits.max_string, _BYTES_PER_KEY * limits.max_keys):
        return False
    # A text of depth n has at least n opening and n closing brackets.
    deep = 2 * limits.max_depth
    return longest < deep or all(
        text.count(_OBJECT) + text.count(_LIST) <= limits.max_depth
        for text in texts
        if len(text) > deep
    )
