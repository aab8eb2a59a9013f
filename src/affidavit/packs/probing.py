"""Which fields a payload has, without decoding what stands in them.

A probe reads the bytes of one type of event into a struct that has only the fields in question,
each as raw bytes. What is left is a mask: a tuple that says of each path whether it is there. Runs
have few different masks, so what follows from one is worked out once.
"""

from collections.abc import Callable, Iterable
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType
from msgspec.structs import astuple

Mask = tuple[bool, ...]


def can_probe(key: str) -> bool:
    """Say whether a key can be the name of a struct's field and a part of a path.

    A number may be the index of a list as well, and so is not only a key.
    """
    is_spelled = key.isprintable() and not any(letter in key for letter in '"\\/')
    return bool(key) and is_spelled and not key.isdigit()


class Probe:
    """Looks for some paths, one or two keys deep, in the payloads of one type of event."""

    __slots__ = ("_decode", "_exact", "_inner", "_names")

    def __init__(self, paths: Iterable[str] = (), *, keys: Iterable[str] = ()) -> None:
        below: dict[str, list[str]] = {key: [] for key in sorted(keys)}
        for path in sorted(paths):
            key, _, inner = path.partition("/")
            below.setdefault(key, []).extend([inner] if inner else [])
        self._names: Final = tuple(below.items())
        struct = _struct([(key, _type_of(inner)) for key, inner in self._names])
        self._inner: Final = tuple(
            (at, len(inner)) for at, (_, inner) in enumerate(self._names) if inner
        )
        self._exact: dict[Mask, Callable[[bytes], object]] = {}
        self._decode: Final = msgspec.json.Decoder(struct).decode

    def mask(self, raw: bytes) -> Mask | None:
        """Return which paths are there; None if the payload has another shape."""
        try:
            found = self._decode(raw)
        except msgspec.MsgspecError:
            return None
        values = astuple(found)
        mask = [value is not UNSET for value in values]
        for at, size in self._inner:
            inner = astuple(values[at]) if mask[at] else (UNSET,) * size
            mask += [value is not UNSET for value in inner]
        return tuple(mask)

    def all_have(self, mask: Mask, lines: bytes) -> bool:
        """Say whether every payload, one a line, has this mask: one call for all of them."""
        decode = self._exact.get(mask)
        if decode is None:
            decode = self._exact[mask] = msgspec.json.Decoder(self._shape(mask)).decode_lines
        try:
            decode(lines)
        except msgspec.MsgspecError:
            return False
        return True

    def has_all(self, lines: bytes) -> bool:
        """Say whether every payload, one a line, has every path."""
        inner = sum(size for _, size in self._inner)
        return self.all_have((True,) * (len(self._names) + inner), lines)

    def has_none(self, lines: bytes) -> bool:
        """Say whether no payload, one a line, has any of the paths."""
        inner = sum(size for _, size in self._inner)
        return self.all_have((False,) * (len(self._names) + inner), lines)

    def _shape(self, mask: Mask) -> type[msgspec.Struct]:
        """Return a struct that only payloads with this mask have the form of."""
        told = iter(mask[len(self._names) :])
        fields: list[tuple[str, Any]] = []
        for (key, inner), is_there in zip(self._names, mask, strict=False):
            kind: Any = _PRESENT
            if inner:
                kind = _struct([(each, _PRESENT if next(told) else _ABSENT) for each in inner])
            fields.append((key, kind if is_there else _ABSENT))
        return _struct(fields)


_PRESENT: Final = Raw
# No number is above 1 and below 0, so a field of this kind has to be left out.
_ABSENT: Final[Any] = Annotated[int, Meta(ge=1, le=0)] | UnsetType


def _struct(fields: list[tuple[str, Any]]) -> type[msgspec.Struct]:
    made = [
        (f"f{at}", kind, msgspec.field(name=key))
        if kind is _PRESENT or isinstance(kind, type)
        else (f"f{at}", kind, msgspec.field(default=UNSET, name=key))
        for at, (key, kind) in enumerate(fields)
    ]
    return msgspec.defstruct("Probed", made, kw_only=True)


def _type_of(inner: list[str]) -> Any:
    if not inner:
        return Raw | UnsetType
    return _struct([(key, Raw | UnsetType) for key in inner]) | UnsetType
