"""An event of a bundle as lint sees it: little is read of it until a rule asks for more.

A line has been verified before it comes here, so it is strict JSON of the event's shape.
"""

from typing import Any, Final

import msgspec

from affidavit.packs.pointers import ABSENT, Pointer
from affidavit.packs.probing import can_probe

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

    def __init__(self, pointer: Pointer) -> None:
        self.text = pointer.text
        first = pointer.steps[0] if pointer.steps else None
        self.never = first is not None and first not in ENVELOPE
        self.in_data = first == "data"
        self._pointer = Pointer(pointer.text, pointer.steps[1:]) if self.in_data else pointer
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
