"""Proves of many JSON texts at once that each is strict and in the form of RFC 8785.

It is the cheap half of `canonical.require_canonical`: True is a proof, False only says that one of
the texts is to be looked at by itself. All texts are read and written again as one list. Where that
gives the same bytes there are no duplicate keys, no other order of keys, no other spelling of a
text, no white space and no integer beyond 53 bits. Floats are compared as they are read, since
orjson writes some of them otherwise than RFC 8785.
"""

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec
import orjson

from affidavit.base.json_limits import JsonLimits

_OPTIONS: Final = orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER
# An object of one key more has at least so many bytes more: two quotes, a colon, a value, a comma.
_BYTES_PER_KEY: Final = 5
_LIST, _OBJECT = b"[{"
# A text that stands before a colon and holds a letter beyond ASCII. As a key it may have a twin,
# and a place that orjson and RFC 8785 do not agree on.
_LETTERED_KEY: Final = re.compile(rb'[\x80-\xff][^"\x80-\xff]*":')


def _float_of(text: str) -> float:
    """Return a float in whose text Python, ECMAScript and orjson agree; refuse any other."""
    number = float(text)
    if not 1e-4 <= abs(number) < 1e15 or number.is_integer() or repr(number) != text:
        raise ValueError(text)
    return number


_decode: Final = msgspec.json.Decoder(list[Any], float_hook=_float_of).decode


def are_canonical(texts: Sequence[bytes], limits: JsonLimits) -> bool:
    """Say whether each text is surely one JSON value within the limits and in canonical form.

    The texts have to be JSON values, as far as msgspec can tell by looking for their ends.
    """
    whole = b"[%b]" % b",".join(texts)
    try:
        values = _decode(whole)
        written = orjson.dumps(values, option=_OPTIONS)
    except (msgspec.MsgspecError, ValueError, TypeError, RecursionError):
        return False
    return (
        written == whole
        and len(values) == len(texts)
        and _are_small(texts, limits)
        and (whole.isascii() or not _LETTERED_KEY.search(whole))
    )


def _are_small(texts: Sequence[bytes], limits: JsonLimits) -> bool:
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
