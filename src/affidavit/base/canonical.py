"""The two canonical forms: one value, one sequence of bytes.

`json-sorted-compact` is what `json.dumps(value, sort_keys=True, separators=(",", ":"))` gives; the
receipts of answer-eval are signed over it. RFC 8785 (JCS) is for bundles and attestations.

orjson writes ten times faster than json and sixty times faster than rfc8785. It differs from both
in some floats (see json_writing); from the sorted compact form in what is not ASCII; from JCS in
the order of keys where U+E000 to U+FFFF meets characters beyond U+FFFF. So its text is taken where
none of these occurs.
"""

import json
import re
from bisect import bisect_left
from typing import Final

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults.input import JSON_DEPTH, NOT_CANONICAL
from affidavit.base.float_proof import is_float_free
from affidavit.base.json_limits import DEEPEST, DOCUMENT_LIMITS, JsonLimits, JsonValue
from affidavit.base.json_tree import explain_unwritable, floats_in, levels, unwrapped
from affidavit.base.json_writing import (
    is_ecmascript_text,
    is_python_text,
    write_mended,
    write_sorted,
)
from affidavit.base.places import line_and_column
from affidavit.base.strict_json import decode, decode_and_write
from affidavit.base.twin_keys import refuse_twin_keys

_DELETE: Final = 0x7F
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
        and _DELETE not in text
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
        and _DELETE not in text
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
    return write_mended(value, by_utf16=by_utf16)


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
        _refuse_twin_keys(value)
    canonical = jcs(value)
    if canonical != raw:
        line, column = line_and_column(raw, _first_difference(raw, canonical))
        raise AffidavitError(NOT_CANONICAL, Where(line=line), place=f"column {column}")
    return value


def _written_by_json(value: object) -> bytes:
    separators = (",", ":")
    try:
        text = json.dumps(
            value, sort_keys=True, separators=separators, allow_nan=False, default=unwrapped
        )
    except (TypeError, ValueError):
        raise explain_unwritable(value) from None
    except RecursionError:
        place = "and the stack is nearly full"
        raise AffidavitError(JSON_DEPTH, limit=DEEPEST, place=place) from None
    return text.encode()


def _may_order_differ(text: bytes) -> bool:
    """Say whether code points and UTF-16 may sort keys differently.

    Characters beyond U+FFFF are surrogates in UTF-16, which sort before U+E000.
    """
    return any(byte in text for byte in _LAST_OF_BASIC_PLANE) and any(
        byte in text for byte in _BEYOND_BASIC_PLANE
    )


def _refuse_twin_keys(value: JsonValue) -> None:
    for level in levels(value):
        for member in level:
            if isinstance(member, dict) and len(member) > 1:
                refuse_twin_keys(member)


def _first_difference(raw: bytes, canonical: bytes) -> int:
    def is_past(length: int) -> bool:
        return raw[:length] != canonical[:length]

    return bisect_left(range(max(len(raw), len(canonical))), True, key=is_past) - 1
