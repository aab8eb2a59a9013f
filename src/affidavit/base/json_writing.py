"""Writes values with orjson, says which floats it wrote, and mends what RFC 8785 writes otherwise.

orjson's text of a float is Python's except for 0 < |x| < 1e-4 (it has 0.00001 and 1e-6 where Python
has 1e-05 and 1e-06), and ECMAScript's for floats with a fraction from 1e-5 on. Both were tried on
four million floats of all magnitudes and around the borders; the tests try thousands each time.
"""

from typing import Any, Final

import orjson

from affidavit.base.json_limits import MAX_INTEGER
from affidavit.base.json_tree import explain_unwritable, unwrapped

_AS_GIVEN: Final = (
    orjson.OPT_STRICT_INTEGER
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)
_SORTED: Final = _AS_GIVEN | orjson.OPT_SORT_KEYS


def write_sorted(value: object) -> bytes:
    """Return the value as compact JSON in UTF-8, keys by code point; refuse by code what has none.

    NaN, infinities, UUIDs and orjson's fragments are not refused here, but where floats are sought.
    """
    try:
        return orjson.dumps(value, option=_SORTED)
    except TypeError:
        raise explain_unwritable(value) from None


def is_python_text(number: float) -> bool:
    """Say whether orjson's text of a finite float is what `json.dumps` writes."""
    return number == 0 or abs(number) >= 1e-4


def is_ecmascript_text(number: float) -> bool:
    """Say whether orjson's text of a finite float is ECMAScript's (RFC 8785, section 3.2.2.3)."""
    return 1e-5 <= abs(number) <= MAX_INTEGER and not number.is_integer()


def write_mended(value: object, *, by_utf16: bool) -> bytes:
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
            mended = holder[place] = _mended(unwrapped(member), by_utf16=by_utf16)
            if isinstance(mended, dict | list):
                pending.append(mended)
    return orjson.dumps(root[0], option=_AS_GIVEN if by_utf16 else _SORTED)


def _mended(member: object, *, by_utf16: bool) -> object:
    """Return what to write for a member; what a list or object holds is mended after it."""
    if isinstance(member, float):
        return _mended_float(member)
    if isinstance(member, list | tuple):
        return list(member)
    if isinstance(member, dict):
        keys = sorted(member, key=_utf16_units) if by_utf16 else member
        return {key: member[key] for key in keys}
    return member


def _mended_float(number: float) -> object:
    if is_ecmascript_text(number):
        return number
    if abs(number) <= MAX_INTEGER and number.is_integer():
        return int(number)
    import rfc8785  # 30 ms, and few documents hold such a number.

    return orjson.Fragment(rfc8785.dumps(number))


def _utf16_units(key: str) -> bytes:
    return key.encode("utf-16-be")
