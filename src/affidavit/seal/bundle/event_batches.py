"""Verifies many events at once, by writing them again from what may differ between them.

From each line only its data, time, type, subject and two flags are taken. The content hash is
computed, number and id are counted, and the rest is what the event before had. If the lines that
all this makes are the bytes that are there, then every line is canonical, its hash holds, it stands
at its place, and it belongs to the run. One comparison decides; what it does not prove is looked
at line by line in `event`. So the cost of an event is that of its hashes, not of its checks.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from affidavit.base.canonical import jcs
from affidavit.base.canonical_batches import are_canonical
from affidavit.base.json_limits import JsonLimits
from affidavit.seal.bundle.event import EventV1, Moment

_sha256 = hashlib.sha256
_hexdigest = type(_sha256()).hexdigest
_FLAGS = (b"false", b"true")
_as_decimal = b"%d".__mod__


class _Varying(msgspec.Struct, gc=False):
    """What differs between the events of one run."""

    assaypii: bool
    assaysecrets: bool
    data: msgspec.Raw
    time: str
    type: str
    subject: str | None = None


_decode_lines = msgspec.json.Decoder(_Varying).decode_lines
_moments = list[Moment]


@dataclass(frozen=True, slots=True)
class Pattern:
    """What the events of a run have in common, as the pieces of a canonical line.

    Between the pieces stand: content hash, two flags, number, data, number, subject, time, type.
    """

    pieces: tuple[bytes, ...]
    hashed: bytes

    def lines(self, *varying: Sequence[bytes]) -> bytes:
        """Return the lines that have these values between the pieces."""
        count = len(varying[0])
        width = 2 * len(varying)
        parts: list[bytes] = []
        for piece in self.pieces[:-1]:
            parts += (piece, b"")
        parts *= count
        for place, values in enumerate(varying):
            parts[2 * place + 1 :: width] = values
        parts.append(self.pieces[-1])
        # Where a line ends the next begins.
        begin = self.pieces[0]
        parts[width::width] = [self.pieces[-1] + begin] * (count - 1) + [self.pieces[-1]]
        return b"".join(parts)


def pattern_of(event: EventV1) -> Pattern | None:
    """Return the pattern of the events that follow one; None if it has members that have none."""
    rare = (event.traceparent, event.tracestate, event.assaypolicyid)
    if any(rare) or event.assaysemanticdigest or event.assaydigestprofile:
        return None
    run = jcs(event.assayrunid)
    kind = jcs(event.datacontenttype)
    hashed = b',"datacontenttype":%b,"specversion":"1.0"' % kind
    pieces = (
        b'{"assaycontenthash":"sha256:',
        b'","assaygit":%b,"assaypii":' % jcs(event.assaygit),
        b',"assayproducer":%b,"assayproducerversion":%b,"assayrunid":%b,"assaysecrets":'
        % (jcs(event.assayproducer), jcs(event.assayproducerversion), run),
        b',"assayseq":',
        b',"data":',
        b',"datacontenttype":%b,"id":%b:' % (kind, run[:-1]),
        b'","source":%b,"specversion":"1.0"' % jcs(event.source),
        b',"time":"',
        b'","type":',
        b"}\n",
    )
    return Pattern(pieces, hashed)


def proven_hashes(
    text: bytes, first: int, pattern: Pattern, limits: JsonLimits
) -> list[bytes] | None:
    """Return the content hashes of whole lines, in hexadecimal digits, if all of it is proved.

    `first` is the number that the first event has to have. None says that nothing is proved.
    """
    try:
        events = _decode_lines(text)
        times = [event.time for event in events]
        msgspec.convert(times, _moments)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    data = [event.data for event in events]
    if not are_canonical(data, limits):
        return None
    types = [event.type for event in events]
    written = {name: jcs(name) for name in set(types)}
    kinds = [written[name] for name in types]
    subjects = [_subject(event.subject) for event in events]
    hashed = pattern.hashed
    hashes = [
        _sha256(b'{"data":%b%b%b,"type":%b}' % (each, hashed, subject, kind))
        for each, subject, kind in zip(data, subjects, kinds, strict=True)
    ]
    digits = [each.encode() for each in map(_hexdigest, hashes)]
    numbers = list(map(_as_decimal, range(first, first + len(events))))
    again = pattern.lines(
        digits,
        [_FLAGS[event.assaypii] for event in events],
        [_FLAGS[event.assaysecrets] for event in events],
        numbers,
        data,
        numbers,
        subjects,
        list(map(str.encode, times)),
        kinds,
    )
    return digits if again == text else None


def _subject(subject: str | None) -> bytes:
    return b"" if subject is None else b',"subject":%b' % jcs(subject)
