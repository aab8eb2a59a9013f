"""Which fields a payload has, without decoding what stands in them.

A probe reads the bytes of one type of event into a struct that has only the fields in question,
each as raw bytes. What is left is a mask: a tuple that says of each path whether it is there. Runs
have few different masks, so what follows from one is worked out once.
"""

from collections.abc import Iterable
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import astuple

Mask = tuple[bool, ...]


class Probe:
    """Looks for some paths, one or two keys deep, in the payloads of one type of event."""

    __slots__ = ("_decode", "_inner")

    def __init__(self, paths: Iterable[str]) -> None:
        below: dict[str, list[str]] = {}
        for path in sorted(paths):
            key, _, inner = path.partition("/")
            below.setdefault(key, []).extend([inner] if inner else [])
        names = {f"f{at}": (key, inner) for at, (key, inner) in enumerate(below.items())}
        struct = msgspec.defstruct(
            "Probed",
            [(name, _type_of(inner), _field(key)) for name, (key, inner) in names.items()],
        )
        self._inner: Final = tuple(
            (at, len(inner)) for at, (_, inner) in enumerate(names.values()) if inner
        )
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


def _type_of(inner: list[str]) -> Any:
    if not inner:
        return Raw | UnsetType
    fields = [(f"g{at}", Raw | UnsetType, _field(key)) for at, key in enumerate(inner)]
    return msgspec.defstruct("Inner", fields) | UnsetType


def _field(key: str) -> Any:
    return msgspec.field(default=UNSET, name=key)
