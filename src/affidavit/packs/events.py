"""An event of a bundle as lint sees it: little is read of it until a rule asks for more.

A line has been verified before it comes here, so it is strict JSON of the event's shape.
"""

from typing import Any, Final

import msgspec

from affidavit.packs.pointers import ABSENT, Pointer

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


decode_head: Final = msgspec.json.Decoder(EventHead).decode
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
    """Finds one field in many events, and tells most of those that lack it from their bytes."""

    __slots__ = ("_in_data", "_mark", "_never", "_pointer", "text")

    def __init__(self, pointer: Pointer) -> None:
        self.text = pointer.text
        first = pointer.steps[0] if pointer.steps else None
        self._never = first is not None and first not in ENVELOPE
        self._in_data = first == "data"
        self._pointer = Pointer(pointer.text, pointer.steps[1:]) if self._in_data else pointer
        self._mark = None if self._pointer.steps == () else self._pointer.mark

    def find(self, event: Event) -> Any:
        """Return what the event has there, or ABSENT."""
        if self._never:
            return ABSENT
        raw = event.raw
        # A key that is spelled with escapes has no mark, so such a line is decoded.
        if self._mark is not None and self._mark not in raw and b"\\" not in raw:
            return ABSENT
        return self._pointer.find(event.data if self._in_data else event.envelope)
