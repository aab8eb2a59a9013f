"""Proves, for less than it costs to look at every member, that a value holds no floats.

JSON's writers agree on everything but floats, so a value without them can be left to the fastest.
The proof packs the value as MessagePack, in which a float is the byte 0xCB and eight more, and a
UUID, which orjson would write as if it were a text, is 0xC4, 0x10 and more. Where neither starts a
token there is neither. Most often none occurs at all; else it is part of an integer or a length.
"""

import re
from typing import Final

import msgspec

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
