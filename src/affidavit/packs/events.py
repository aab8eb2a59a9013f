"""Events of a bundle as lint reads them: decoded lazily, with field probes over raw bytes.

The lines were verified before, so they are strict JSON with the shape of an event.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType
from msgspec.structs import astuple

from affidavit.packs.pointers import ABSENT, JsonPointer

FieldMask = tuple[bool, ...]  # For each path of a probe: whether it is present.


def can_probe(key: str) -> bool:
    """Return whether a key can be the name of a struct's field and a part of a path.

    Digits are excluded because they may also be the index of a list.
    """
    is_plain = key.isprintable() and not any(letter in key for letter in '"\\/')
    return bool(key) and is_plain and not key.isdigit()


@lru_cache(maxsize=1000)
def field_probe(paths: frozenset[str], keys: frozenset[str] = frozenset()) -> "FieldProbe":
    """Return the probe of some paths: packs and signals ask for few, for every bundle again."""
    return FieldProbe(paths, keys=keys)


class FieldProbe:
    """Tells which paths, one or two keys deep, the payloads of one event type have.

    The bytes are decoded into a struct that has only these fields, each as raw bytes. Runs have few
    different masks, so callers work out what follows from a mask only once.
    """

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
        self._exact: dict[FieldMask, Callable[[bytes], object]] = {}
        self._decode: Final = msgspec.json.Decoder(struct).decode

    def mask(self, raw: bytes) -> FieldMask | None:
        """Return which paths are present; None if the payload has another shape."""
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

    def all_have(self, mask: FieldMask, lines: bytes) -> bool:
        """Return whether every payload, one a line, has this mask."""
        decode = self._exact.get(mask)
        if decode is None:
            decode = self._exact[mask] = msgspec.json.Decoder(self._shape(mask)).decode_lines
        try:
            decode(lines)
        except msgspec.MsgspecError:
            return False
        return True

    def has_all(self, lines: bytes) -> bool:
        """Return whether every payload, one a line, has every path."""
        inner = sum(size for _, size in self._inner)
        return self.all_have((True,) * (len(self._names) + inner), lines)

    def has_none(self, lines: bytes) -> bool:
        """Return whether no payload, one a line, has any of the paths."""
        inner = sum(size for _, size in self._inner)
        return self.all_have((False,) * (len(self._names) + inner), lines)

    def _shape(self, mask: FieldMask) -> type[msgspec.Struct]:
        """Return a struct that only payloads with this mask decode into."""
        inner_mask = iter(mask[len(self._names) :])
        fields: list[tuple[str, Any]] = []
        for (key, inner), is_present in zip(self._names, mask, strict=False):
            kind: Any = _PRESENT
            if inner:
                kind = _struct(
                    [(each, _PRESENT if next(inner_mask) else IMPOSSIBLE) for each in inner]
                )
            fields.append((key, kind if is_present else IMPOSSIBLE))
        return _struct(fields)


_PRESENT: Final = Raw
# No number is at least 1 and at most 0, so a field of this type has to be absent.
IMPOSSIBLE: Final[Any] = Annotated[int, Meta(ge=1, le=0)] | UnsetType


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


# The members of EventV1 (tests/packs hold the two together). Other members of an envelope are
# covered by no content hash, so anybody could satisfy a rule with one.
ENVELOPE: Final = frozenset(
    [
        "specversion",
        "type",
        "source",
        "id",
        "time",
        "datacontenttype",
        "subject",
        "data",
        "traceparent",
        "tracestate",
        "assayrunid",
        "assayseq",
        "assayproducer",
        "assayproducerversion",
        "assaygit",
        "assaypii",
        "assaysecrets",
        "assaycontenthash",
        "assaypolicyid",
        "assaysemanticdigest",
        "assaydigestprofile",
    ]
)


class EventHead(msgspec.Struct):
    """The part of EventV1 that every rule may need: only this is decoded from every line."""

    type: str
    time: str
    assayrunid: str
    assayseq: int
    data: msgspec.Raw
    subject: str | None = None
    assaypii: bool = False
    assaysecrets: bool = False


_heads: Final = msgspec.json.Decoder(EventHead)
decode_head: Final = _heads.decode
decode_heads: Final = _heads.decode_lines
_decode: Final = msgspec.json.decode
_UNREAD: Final = object()


class Event:
    """One event: its line number, its head, and the rest when it is asked for."""

    __slots__ = ("_data", "_envelope", "head", "line", "raw")

    def __init__(self, line: int, raw: bytes, head: EventHead) -> None:
        self.line = line
        self.raw = raw
        self.head = head
        self._data: Any = _UNREAD
        self._envelope: Any = _UNREAD

    @property
    def is_decoded(self) -> bool:
        """Whether the payload is already decoded."""
        return self._data is not _UNREAD

    @property
    def data(self) -> Any:
        """The decoded payload."""
        if self._data is _UNREAD:
            self._data = _decode(self.head.data)
        return self._data

    @property
    def envelope(self) -> Any:
        """The whole event, decoded."""
        if self._envelope is _UNREAD:
            self._envelope = _decode(self.raw)
        return self._envelope


class FieldFinder:
    """Finds one field in many events, and recognises most events without it from their bytes.

    Every event with the field contains `required_bytes`, unless an escape spells them differently:
    in its payload if `in_data`, otherwise in its line. None if there are no such bytes. `never`
    means that no event has the field. `key` is set if the field is a member of the payload.
    """

    __slots__ = ("_pointer", "in_data", "key", "never", "required_bytes", "text")

    def __init__(self, pointer: JsonPointer) -> None:
        self.text = pointer.text
        first = pointer.steps[0] if pointer.steps else None
        self.never = first is not None and first not in ENVELOPE
        self.in_data = first == "data"
        self._pointer = JsonPointer(pointer.text, pointer.steps[1:]) if self.in_data else pointer
        self.required_bytes = self._pointer.required_bytes
        steps = self._pointer.steps
        is_member = self.in_data and len(steps) == 1 and can_probe(steps[0])
        self.key = steps[0] if is_member else None

    def find(self, event: Event) -> Any:
        """Return the value of the field, or ABSENT."""
        if self.never or (not event.is_decoded and self._is_surely_absent(event.raw)):
            return ABSENT
        return self._pointer.find(event.data if self.in_data else event.envelope)

    def _is_surely_absent(self, raw: bytes) -> bool:
        # `find` takes a third of the time of `in` for bytes.
        wanted = self.required_bytes
        return wanted is not None and raw.find(wanted) < 0 and raw.find(b"\\") < 0
