"""A gate report as JSON in chunks, because it may name a million items.

The bytes are the same as if the whole report were encoded at once and indented by two spaces.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

import msgspec

from affidavit.decision.report import Report

NAMES_PER_CHUNK: Final = 5_000
"""How many names are encoded at once."""
_MIN_CHUNK_BYTES: Final = 1 << 16

_Encoder = Callable[[Any, bytes], Iterator[bytes]]


def gate_report_chunks(report: Report) -> Iterator[bytes]:
    """Yield the report as JSON: the same bytes in a file and on standard output."""
    gathered = bytearray()
    for piece in _encode_report(report, b"\n"):
        gathered += piece
        if len(gathered) >= _MIN_CHUNK_BYTES:
            yield bytes(gathered)
            gathered.clear()
    yield bytes(gathered) + b"\n"


def _encode_report(report: Report, newline: bytes) -> Iterator[bytes]:
    ways: Mapping[str, _Encoder] = {"items": _encode_groups, "parts": _encode_parts}
    return _encode_object(dict(report.members()), newline, ways)


def _encode_parts(parts: Mapping[str, object], newline: bytes) -> Iterator[bytes]:
    return _encode_object(parts, newline, dict.fromkeys(parts, _encode_report))


def _encode_groups(groups: Sequence[Mapping[str, object]], newline: bytes) -> Iterator[bytes]:
    inner = newline + b"  "
    return _in_brackets(b"[]", (_encode_group(group, inner) for group in groups), newline)


def _encode_group(group: Mapping[str, object], newline: bytes) -> Iterator[bytes]:
    return _encode_object(group, newline, {"qids": _encode_names})


def _encode_names(names: Sequence[str], newline: bytes) -> Iterator[bytes]:
    starts = range(0, len(names), NAMES_PER_CHUNK)
    # The brackets of each chunk, and the white space inside them, are cut off.
    pieces = (_encode_value(names[start : start + NAMES_PER_CHUNK], newline) for start in starts)
    shell = len(newline) + 1
    inner = ((b"".join(piece)[shell + 2 : -shell],) for piece in pieces)
    return _in_brackets(b"[]", inner, newline)


def _encode_object(
    value: Mapping[str, object], newline: bytes, ways: Mapping[str, _Encoder]
) -> Iterator[bytes]:
    inner = newline + b"  "
    fields = (
        chain((msgspec.json.encode(name), b": "), ways.get(name, _encode_value)(each, inner))
        for name, each in value.items()
    )
    return _in_brackets(b"{}", fields, newline)


def _in_brackets(
    brackets: bytes, entries: Iterable[Iterable[bytes]], newline: bytes
) -> Iterator[bytes]:
    yield brackets[:1]
    count = 0
    for count, entry in enumerate(entries, 1):
        yield (b"," if count > 1 else b"") + newline + b"  "
        yield from entry
    yield newline * bool(count) + brackets[1:]


def _encode_value(value: object, newline: bytes) -> Iterator[bytes]:
    # A line feed within a text is escaped, so every line feed is between values.
    yield msgspec.json.format(msgspec.json.encode(value), indent=2).replace(b"\n", newline)
