"""Events of a bundle as lint sees them: decoded lazily, with field probes over raw bytes."""

from collections.abc import Callable, Iterable
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType
from msgspec.structs import astuple

from affidavit.packs.pointers import ABSENT, JsonPointer

# Which fields a payload has, without decoding what stands in them.
#
# A probe reads the bytes of one type of event into a struct that has only the fields in question,
# each as raw bytes. What is left is a mask: a tuple that says of each path whether it is there.
# Runs have few different masks, so what follows from one is worked out once.

FieldMask = tuple[bool, ...]


def can_probe(key: str) -> bool:
    """Say whether a key can be the name of a struct's field and a part of a path.

    A number may be the index of a list as well, and so is not only a key.
    """
    is_spelled = key.isprintable() and not any(letter in key for letter in '"\\/')
    return bool(key) and is_spelled and not key.isdigit()


class FieldProbe:
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
        self._exact: dict[FieldMask, Callable[[bytes], object]] = {}
        self._decode: Final = msgspec.json.Decoder(struct).decode

    def mask(self, raw: bytes) -> FieldMask | None:
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

    def all_have(self, mask: FieldMask, lines: bytes) -> bool:
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

    def _shape(self, mask: FieldMask) -> type[msgspec.Struct]:
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


# An event of a bundle as lint sees it: little is read of it until a rule asks for more.
#
# A line has been verified before it comes here, so it is strict JSON of the event's shape.

# What an event says on the wire. Other keys of an envelope are covered by no content hash, so a
# rule that one of them satisfied could be satisfied by anybody.
ENVELOPE: Final = frozenset(
    (
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
    )
)


class EventHead(msgspec.Struct):
    """What every rule may need, decoded from every line."""

    type: str
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
    """One event: where it stands, its head, and the rest when it is asked for."""

    __slots__ = ("_data", "_envelope", "head", "line", "raw")

    def __init__(self, line: int, raw: bytes, head: EventHead) -> None:
        self.line = line
        self.raw = raw
        self.head = head
        self._data: Any = _UNREAD
        self._envelope: Any = _UNREAD

    @property
    def is_decoded(self) -> bool:
        """Whether the payload is decoded, so that looking into it costs nothing more."""
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
    """Finds one field in many events, and tells most of those that lack it from their bytes.

    `mark` is in the bytes of every event that has the field, unless it is spelled with an escape:
    in its payload if `in_data`, else in its line. None: it may be anywhere, or `never` be there.
    `key` is the one key that leads to it in the payload, if it is one.
    """

    __slots__ = ("_pointer", "in_data", "key", "mark", "never", "text")

    def __init__(self, pointer: JsonPointer) -> None:
        self.text = pointer.text
        first = pointer.steps[0] if pointer.steps else None
        self.never = first is not None and first not in ENVELOPE
        self.in_data = first == "data"
        self._pointer = JsonPointer(pointer.text, pointer.steps[1:]) if self.in_data else pointer
        self.mark = self._pointer.mark
        # The key itself where the field is a member of the payload.
        steps = self._pointer.steps
        is_member = self.in_data and len(steps) == 1 and can_probe(steps[0])
        self.key = steps[0] if is_member else None

    def find(self, event: Event) -> Any:
        """Return what the event has there, or ABSENT."""
        if self.never or (not event.is_decoded and self._is_told_absent(event.raw)):
            return ABSENT
        return self._pointer.find(event.data if self.in_data else event.envelope)

    def _is_told_absent(self, raw: bytes) -> bool:
        # `find`, for `in` takes three times as long with bytes.
        return self.mark is not None and raw.find(self.mark) < 0 and raw.find(b"\\") < 0
