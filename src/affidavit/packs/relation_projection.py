"""What relations read of many events at once: each combination of the few fields that matter."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from affidavit.packs.events import IMPOSSIBLE, can_probe
from affidavit.packs.pointers import ABSENT, JsonPointer
from affidavit.packs.relations import Condition, FieldOperator, Lookup, tests_in

Row = tuple[bytes | bool, ...]


def projection_of(
    conditions: Sequence[Condition], keys: Sequence[JsonPointer] = ()
) -> "Projection":
    """Return the projection to what conditions and keys read; equal ones are shared by rules."""
    valued, tested = list(keys), list[JsonPointer]()
    for test in tests_in(conditions):
        (tested if test.operator is FieldOperator.EXISTS else valued).append(test.pointer)
        valued += [test.value] if isinstance(test.value, JsonPointer) else []
    return _shared_projection(tuple(dict.fromkeys(valued)), tuple(dict.fromkeys(tested)))


@lru_cache(maxsize=1000)
def _shared_projection(
    valued: tuple[JsonPointer, ...], tested: tuple[JsonPointer, ...]
) -> "Projection":
    return Projection(valued, tested)


def _decode_nothing(payloads: bytes) -> list[Any]:
    raise msgspec.DecodeError


class Projection:
    """Decodes the few fields of payloads that a form reads. Fields that are only tested for
    existence are not compared.
    """

    def __init__(self, valued: tuple[JsonPointer, ...], tested: tuple[JsonPointer, ...]) -> None:
        self._pointers = tuple(dict.fromkeys((*valued, *tested)))
        self._is_valued = tuple(pointer in valued for pointer in self._pointers)
        self._is_possible = all(map(_is_member, self._pointers))
        # The rules of a type read the same payloads one after the other.
        self._last: tuple[bytes, list[tuple[Lookup, int]] | None] = b"", None
        nothing: dict[JsonPointer, Any] = {}
        self._only: tuple[Lookup, Callable[[bytes], list[Any]]] = (
            nothing.__getitem__,
            _decode_nothing,
        )
        if self._is_possible:
            fields = [
                (f"f{at}", Raw | UnsetType, msgspec.field(default=UNSET, name=pointer.steps[1]))
                for at, pointer in enumerate(self._pointers)
            ]
            struct = msgspec.defstruct("Projected", fields)
            self._decode = msgspec.json.Decoder(struct).decode_lines

    def rows(self, payloads: bytes) -> list[tuple[Lookup, int]] | None:
        """Return each combination of fields in payloads, one a line, and how often it occurs.

        None if a field is not a member of the payload, or a payload is no object.
        """
        if not self._is_possible:
            return None
        last, rows = self._last
        if last is not payloads:
            rows = self._rows(payloads)
            self._last = payloads, rows
        return rows

    def _rows(self, payloads: bytes) -> list[tuple[Lookup, int]] | None:
        only, decode = self._only
        try:
            # Most payloads of a type are alike, which the decoder can tell by itself.
            return [(only, len(decode(payloads)))]
        except msgspec.MsgspecError:
            pass
        try:
            found = self._decode(payloads)
        except msgspec.MsgspecError:
            return None
        counted = Counter(map(self._row, found))
        rows = [(self._lookup(row), number) for row, number in counted.items()]
        if len(rows) == 1:
            self._only = rows[0][0], self._exact_decoder(rows[0][0])
        return rows

    def _exact_decoder(self, lookup: Lookup) -> Callable[[bytes], list[Any]]:
        """Return a decoder of payloads that all have these fields, and nothing else in them."""
        fields: list[Any] = []
        for at, (pointer, is_valued) in enumerate(
            zip(self._pointers, self._is_valued, strict=True)
        ):
            value, name = lookup(pointer), pointer.steps[1]
            if value is ABSENT:
                field = msgspec.field(default=UNSET, name=name)
                fields.append((f"f{at}", IMPOSSIBLE, field))
            elif not is_valued or isinstance(value, str):
                kind: Any = Literal[value] if is_valued else Raw
                fields.append((f"f{at}", kind, msgspec.field(name=name)))
            else:
                return _decode_nothing
        return msgspec.json.Decoder(msgspec.defstruct("Same", fields, kw_only=True)).decode_lines

    def _row(self, found: Struct) -> Row:
        pairs = zip(msgspec.structs.astuple(found), self._is_valued, strict=True)
        return tuple(
            [
                bytes(value) if is_valued and value is not UNSET else value is not UNSET
                for value, is_valued in pairs
            ]
        )

    def _lookup(self, row: Row) -> Lookup:
        values = {
            pointer: msgspec.json.decode(value)
            if isinstance(value, bytes)
            else (True if value else ABSENT)
            for pointer, value in zip(self._pointers, row, strict=True)
        }
        return values.__getitem__


def _is_member(pointer: JsonPointer) -> bool:
    steps = pointer.steps
    return len(steps) == 2 and steps[0] == "data" and can_probe(steps[1])
