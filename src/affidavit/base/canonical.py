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
    iterate_levels,
    unwritable_error,
)
from affidavit.base.strict_json import decode, decode_and_write
from affidavit.base.text import excerpt, line_and_column, to_nfd

# Proves, for less than it costs to look at every member, that a value holds no floats.
#
# JSON's writers agree on everything but floats, so a value without them can be left to the fastest.
# The proof packs the value as MessagePack, in which a float is the byte 0xCB and eight more, and a
# UUID, which orjson would write as if it were a text, is 0xC4, 0x10 and more. Where neither starts
# a token there is neither. Most often none occurs at all; else it is part of an integer or a
# length.

_FLOAT: Final = b"\xcb"
_UUID: Final = b"\xc4\x10"
# How many bytes a token has by its first byte, if it is not a long text.
_TOKEN_LENGTH: Final = bytes(
    {0xCC: 2, 0xCD: 3, 0xCE: 5, 0xCF: 9, 0xD0: 2, 0xD1: 3, 0xD2: 5, 0xD3: 9}.get(first)
    or {0xCB: 9, 0xC4: 18, 0xDC: 3, 0xDD: 5, 0xDE: 3, 0xDF: 5}.get(first)
    or (1 + first - 0xA0 if 0xA0 <= first < 0xC0 else 1)
    for first in range(256)
)
# How many bytes hold the length of a long text.
_LENGTH_BYTES: Final = {0xD9: 1, 0xDA: 2, 0xDB: 4}
_LOOK_BACK: Final = 64
# The dots are greedy: it is the last such place that is found.
_find_sure_start: Final = re.compile(rb".*[\x00-\x7f]{8}(?=[\x80-\xff])", re.DOTALL).match
# A buffer per thread that was packing at the same time as others, most often one: fresh memory for
# a large document costs as much as packing it. Each is used by one call at a time.
_spare: Final[list[bytearray]] = []
_LARGEST_SPARE: Final = 1024 * 1024
_pack_into: Final = msgspec.msgpack.Encoder(uuid_format="bytes").encode_into


def is_float_free(value: object, is_ascii: bool) -> bool:
    """Say whether a value surely holds no float and no UUID; False means that it may.

    orjson has written the value, and in ASCII only or not.
    """
    try:
        packed = _spare.pop()
    except IndexError:
        packed = bytearray()
    try:
        _pack_into(value, packed)
    except (TypeError, RecursionError):
        return False
    is_free = (0xCB not in packed or (is_ascii and _starts_none(packed, 0xCB, _FLOAT))) and (
        0xC4 not in packed or (is_ascii and _starts_none(packed, 0xC4, _UUID))
    )
    if len(packed) <= _LARGEST_SPARE:
        _spare.append(packed)
    return is_free


def _starts_none(packed: bytearray, first: int, start: bytes) -> bool:
    """Say whether no token starts with these bytes, in what holds texts in ASCII only."""
    at = packed.find(first)
    while at >= 0:
        if packed.startswith(start, at) and _may_start_token(packed, at):
            return False
        at = packed.find(first, at + 1)
    return True


def _may_start_token(packed: bytearray, target: int) -> bool:
    """Say whether a token may start at a byte above 0x7F.

    Such a byte starts a token, or follows in one that starts with such a byte at most eight before
    it. So one that stands behind eight bytes up to 0x7F starts a token, and so does the very first.
    The tokens are read from the nearest such byte on. Without one nearby, anything may be. (Only
    UUIDs are longer; up to the first of them all this holds, so the first is found.)
    """
    earliest = max(0, target - _LOOK_BACK)
    if sure := _find_sure_start(packed, earliest, target + 1):
        at = sure.end()
    elif earliest == 0:
        at = 0
    else:
        return True
    while at < target:
        first = packed[at]
        width = _LENGTH_BYTES.get(first, 0)
        at += int.from_bytes(packed[at + 1 : at + 1 + width]) + width + _TOKEN_LENGTH[first]
    return at == target


# Writes values with orjson, says which floats it wrote, and mends what RFC 8785 writes otherwise.
#
# orjson's text of a float is Python's except for 0 < |x| < 1e-4 (it has 0.00001 and 1e-6 where
# Python has 1e-05 and 1e-06), and ECMAScript's for floats with a fraction from 1e-5 on. Both were
# tried on four million floats of all magnitudes and around the borders; the tests try thousands
# each time.

_UNSORTED: Final = (
    orjson.OPT_STRICT_INTEGER
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)
_SORTED: Final = _UNSORTED | orjson.OPT_SORT_KEYS


def write_sorted(value: object) -> bytes:
    """Return the value as compact JSON in UTF-8, keys by code point; refuse by code what has none.

    NaN, infinities, UUIDs and orjson's fragments are not refused here, but where floats are sought.
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
    """Return a value that was written before with ECMAScript's floats.

    Keys are sorted by UTF-16 where asked for, else by code point.
    """
    root: list[Any] = [value]
    pending: list[Any] = [root]
    while pending:
        holder = pending.pop()
        for place, member in holder.items() if isinstance(holder, dict) else enumerate(holder):
            if type(member) is str:
                continue
            mended = holder[place] = _rfc8785_value(enum_value(member), by_utf16=by_utf16)
            if isinstance(mended, dict | list):
                pending.append(mended)
    return orjson.dumps(root[0], option=_UNSORTED if by_utf16 else _SORTED)


def _rfc8785_value(member: object, *, by_utf16: bool) -> object:
    """Return what to write for a member; what a list or object holds is mended after it."""
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
    import rfc8785  # 30 ms, and few documents hold such a number.

    return orjson.Fragment(rfc8785.dumps(number))


def _utf16_units(key: str) -> bytes:
    return key.encode("utf-16-be")


# Keys that look the same: equal in NFC, and so one key to a reader that normalises.


def refuse_colliding_keys(keys: Iterable[str]) -> None:
    """Raise if two of the keys of one object look the same."""
    first_of: dict[str, str] = {}
    for key in keys:
        first = first_of.setdefault(to_nfd(key), key)
        if first != key:
            raise AffidavitError(UNICODE_COLLISION, first=excerpt(first), second=excerpt(key))


# The two canonical forms: one value, one sequence of bytes.
#
# `json-sorted-compact` is what `json.dumps(value, sort_keys=True, separators=(",", ":"))` gives;
# the receipts of answer-eval are signed over it. RFC 8785 (JCS) is for bundles and attestations.
#
# orjson writes ten times faster than json and sixty times faster than rfc8785. It differs from both
# in some floats (see json_writing); from the sorted compact form in what is not ASCII; from JCS in
# the order of keys where U+E000 to U+FFFF meets characters beyond U+FFFF. So its text is taken
# where none of these occurs.

_DELETE_CHARACTER: Final = 0x7F
# One of these stands in orjson's text of every float between 0 and 1e-4: 0.00001, 1e-6.
_SMALL_IN_FULL: Final = b"0.0000"
_SMALL_BY_EXPONENT: Final = re.compile(rb"e-(?<=[0-9]e-)")
# First bytes in UTF-8 of U+E000 to U+FFFF, and of all beyond.
_LAST_OF_BASIC_PLANE: Final = (0xEE, 0xEF)
_BEYOND_BASIC_PLANE: Final = (0xF0, 0xF1, 0xF2, 0xF3, 0xF4)


def sorted_compact(value: object) -> bytes:
    """Return the bytes of `json.dumps(value, sort_keys=True, separators=(",", ":"))`.

    Refused by code, though json.dumps writes them: NaN and the infinities, integers beyond
    2^53 - 1, lone surrogates, keys that are not texts, subclasses of the builtin types other than
    Enums. So what is written can be read back.
    """
    text = write_sorted(value)
    if (
        text.isascii()
        and _DELETE_CHARACTER not in text
        and (is_float_free(value, True) or all(map(is_python_text, floats_in(value))))
    ):
        return text
    return _written_by_json(value)


def sorted_compact_decoded(value: JsonValue) -> bytes:
    """Return the same bytes, at a third of the cost, for a value that `decode` has returned.

    Another value may hold NaN, which would be written as null.
    """
    text = write_sorted(value)
    return text if _is_sorted_compact(text) else sorted_compact(value)


def decode_sorted_compact(raw: bytes) -> tuple[JsonValue, bytes]:
    """Return the one value that strict JSON means, and its sorted compact form."""
    value, text = decode_and_write(raw)
    return value, text if _is_sorted_compact(text) else sorted_compact(value)


def _is_sorted_compact(text: bytes) -> bool:
    """Say whether orjson's sorted text of a decoded value surely is the sorted compact form.

    Such a value holds nothing that is refused, so besides what is not ASCII only the text of small
    floats is in question: orjson writes each of them with one of two marks.
    """
    return (
        text.isascii()
        and _DELETE_CHARACTER not in text
        and _SMALL_IN_FULL not in text
        and not _SMALL_BY_EXPONENT.search(text)
    )


def jcs(value: object) -> bytes:
    """Return the canonical form of RFC 8785; the same is refused as for `sorted_compact`.

    A whole float from 2^53 to 1e21 is written as an integer, as the RFC says, and so is not read
    back by `decode`: such a number has no canonical form that every reader keeps.
    """
    text = write_sorted(value)
    is_ascii = text.isascii()
    by_utf16 = not is_ascii and _may_order_differ(text)
    if (
        is_float_free(value, is_ascii) or all(map(is_ecmascript_text, floats_in(value)))
    ) and not by_utf16:
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

    One rule is ours: no object may have two keys that are equal in NFC. To RFC 8785 they are two; a
    reader that normalises, or a person, takes them for one.
    """
    value = decode(raw, limits)
    if not raw.isascii() or b"\\" in raw:
        _refuse_colliding_keys_within(value)
    canonical = jcs(value)
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
    except (TypeError, ValueError):
        raise unwritable_error(value) from None
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
    for level in iterate_levels(value):
        for member in level:
            if isinstance(member, dict) and len(member) > 1:
                refuse_colliding_keys(member)


def _first_difference(raw: bytes, canonical: bytes) -> int:
    def is_past(length: int) -> bool:
        return raw[:length] != canonical[:length]

    return bisect_left(range(max(len(raw), len(canonical))), True, key=is_past) - 1


# Proves of many JSON texts at once that each is strict and in the form of RFC 8785.
#
# It is the cheap half of `canonical.require_canonical`: True is a proof, False only says that one
# of the texts is to be looked at by itself. All texts are read and written again as one list. Where
# that gives the same bytes there are no duplicate keys, no other order of keys, no other spelling
# of a text, no white space and no integer beyond 53 bits. Floats are compared as they are read,
# since orjson writes some of them otherwise than RFC 8785.

_OPTIONS: Final = orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER
# An object of one key more has at least so many bytes more: two quotes, a colon, a value, a comma.
_BYTES_PER_KEY: Final = 5
_LIST, _OBJECT = b"[{"
# A text that stands before a colon and holds a letter beyond ASCII. As a key it may have a twin,
# and a place that orjson and RFC 8785 do not agree on.
_LETTERED_KEY: Final = re.compile(rb'[\x80-\xff][^"\x80-\xff]*":')


def _strict_float(text: str) -> float:
    """Return a float in whose text Python, ECMAScript and orjson agree; refuse any other."""
    number = float(text)
    if not 1e-4 <= abs(number) < 1e15 or number.is_integer() or repr(number) != text:
        raise ValueError(text)
    return number


_decode_batch: Final = msgspec.json.Decoder(list[Any], float_hook=_strict_float).decode


def are_all_canonical(texts: Sequence[bytes], limits: JsonLimits) -> bool:
    """Say whether each text is surely one JSON value within the limits and in canonical form.

    The texts have to be JSON values, as far as msgspec can tell by looking for their ends.
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
        and (whole.isascii() or not _LETTERED_KEY.search(whole))
    )


def _are_within_limits(texts: Sequence[bytes], limits: JsonLimits) -> bool:
    longest = max(map(len, texts), default=0)
    if longest >= min(limits.max_bytes, limits.max_string, _BYTES_PER_KEY * limits.max_keys):
        return False
    # A text that is deeper has more brackets, and as many again to close them.
    deep = 2 * limits.max_depth
    return longest < deep or all(
        text.count(_OBJECT) + text.count(_LIST) <= limits.max_depth
        for text in texts
        if len(text) > deep
    )
