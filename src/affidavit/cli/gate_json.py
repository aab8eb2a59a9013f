"""A gate's report as JSON, in pieces: it may name a million items, and is written as it is made.

The bytes are those of the whole report, encoded at once and indented by two spaces.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

import msgspec

PIECE: Final = 5_000
"""How many names are encoded at once."""
_WORTH_WRITING: Final = 1 << 16

_Write = Callable[[Any, bytes], Iterator[bytes]]


def report_pieces(wire: Mapping[str, object]) -> Iterator[bytes]:
    """Yield the report as JSON: the same bytes in a file and on standard output."""
    gathered = bytearray()
    for piece in _report(wire, b"\n"):
        gathered += piece
        if len(gathered) >= _WORTH_WRITING:
            yield bytes(gathered)
            gathered.clear()
    yield bytes(gathered) + b"\n"


def _report(wire: Mapping[str, object], newline: bytes) -> Iterator[bytes]:
    return _fields(wire, newline, {"items": _groups, "parts": _parts})


def _parts(parts: Mapping[str, object], newline: bytes) -> Iterator[bytes]:
    return _fields(parts, newline, dict.fromkeys(parts, _report))


def _groups(groups: Sequence[Mapping[str, object]], newline: bytes) -> Iterator[bytes]:
    inner = newline + b"  "
    return _within(b"[]", (_group(group, inner) for group in groups), newline)


def _group(group: Mapping[str, object], newline: bytes) -> Iterator[bytes]:
    return _fields(group, newline, {"qids": _names})


def _names(names: Sequence[str], newline: bytes) -> Iterator[bytes]:
    starts = range(0, len(names), PIECE)
    # Without the brackets of each piece, and what stands between them and the first and last name.
    pieces = (_whole(names[start : start + PIECE], newline) for start in starts)
    shell = len(newline) + 1
    inner = ((b"".join(piece)[shell + 2 : -shell],) for piece in pieces)
    return _within(b"[]", inner, newline)


def _fields(
    value: Mapping[str, object], newline: bytes, ways: Mapping[str, _Write]
) -> Iterator[bytes]:
    inner = newline + b"  "
    fields = (
        chain((msgspec.json.encode(name), b": "), ways.get(name, _whole)(each, inner))
        for name, each in value.items()
    )
    return _within(b"{}", fields, newline)


def _within(brackets: bytes, entries: Iterable[Iterable[bytes]], newline: bytes) -> Iterator[bytes]:
    yield brackets[:1]
    count = 0
    for count, entry in enumerate(entries, 1):
        yield (b"," if count > 1 else b"") + newline + b"  "
        yield from entry
    yield newline * bool(count) + brackets[1:]


def _whole(value: object, newline: bytes) -> Iterator[bytes]:
    # A line feed within a text is an escape, so these are all between values.
    yield msgspec.json.format(msgspec.json.encode(value), indent=2).replace(b"\n", newline)
