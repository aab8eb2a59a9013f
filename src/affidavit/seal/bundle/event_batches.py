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
from functools import lru_cache
from typing import Final

import msgspec

from affidavit.base.canonical import jcs
from affidavit.base.canonical_batches import are_canonical
from affidavit.base.json_limits import JsonLimits
from affidavit.seal.bundle.event import EventV1, Moment
from affidavit.seal.bundle.merkle import LEAF, marked

_sha256 = hashlib.sha256
_as_decimal = b"%d".__mod__
FLAGS: Final = (b"false", b"true")


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
# A column of values, one for each line; or one value that all lines have.
_Column = Sequence[bytes] | bytes


@dataclass(frozen=True, slots=True)
class Pattern:
    """What the events of a run have in common, as the pieces of a canonical line.

    Between the pieces stand: content hash, two flags, number, data, number, subject, time, type.
    """

    pieces: tuple[bytes, ...]
    hashed: bytes

    @classmethod
    def of(
        cls, run_id: str, source: str, producer: str, version: str, git: str, content_type: str
    ) -> "Pattern":
        """Return the pattern of a run, from what its events have in common."""
        run, kind = jcs(run_id), jcs(content_type)
        pieces = (
            b'{"assaycontenthash":"sha256:',
            b'","assaygit":%b,"assaypii":' % jcs(git),
            b',"assayproducer":%b,"assayproducerversion":%b,"assayrunid":%b,"assaysecrets":'
            % (jcs(producer), jcs(version), run),
            b',"assayseq":',
            b',"data":',
            b',"datacontenttype":%b,"id":%b:' % (kind, run[:-1]),
            b'","source":%b,"specversion":"1.0"' % jcs(source),
            b',"time":"',
            b'","type":',
            b"}",
        )
        return cls(pieces, b',"datacontenttype":%b,"specversion":"1.0"' % kind)

    def form(self) -> bytes:
        """Return a line with `%b` wherever a value stands."""
        return b"%b".join(map(_literal, self.pieces))

    def leaves(self, *columns: _Column) -> list[bytes]:
        """Return the lines that have these values between the pieces, each marked as a leaf."""
        form = LEAF + _literal(self.pieces[0])
        varying = []
        for column, piece in zip(columns, self.pieces[1:], strict=True):
            if isinstance(column, bytes):
                form += _literal(column + piece)
            else:
                form += b"%b" + _literal(piece)
                varying.append(column)
        return list(map(form.__mod__, zip(*varying, strict=True)))


def _literal(text: bytes) -> bytes:
    return text.replace(b"%", b"%%")


@dataclass(frozen=True, slots=True)
class Proven:
    """Lines that are proved: the content hash of each, in hexadecimal digits, and their leaves."""

    hashes: list[bytes]
    leaves: list[bytes]


def pattern_of(event: EventV1) -> Pattern | None:
    """Return the pattern of the events that follow one; None if it has members that have none."""
    rare = (event.traceparent, event.tracestate, event.assaypolicyid)
    if any(rare) or event.assaysemanticdigest or event.assaydigestprofile:
        return None
    return Pattern.of(
        event.assayrunid,
        event.source,
        event.assayproducer,
        event.assayproducerversion,
        event.assaygit,
        event.datacontenttype,
    )


def prove(text: bytes, first: int, pattern: Pattern, limits: JsonLimits) -> Proven | None:
    """Return what the whole lines of a text come to, if all of it is proved.

    `first` is the number that the first event has to have. None says that nothing is proved.
    """
    try:
        events = _decode_lines(text)
        times = [event.time for event in events]
        msgspec.convert(times, _moments)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    data = [bytes(event.data) for event in events]
    if not are_canonical(data, limits):
        return None
    subjects = _subjects([event.subject for event in events])
    types = [event.type for event in events]
    written = {name: written_name(name) for name in set(types)}
    hashes = _content_hashes(data, pattern.hashed, subjects, types, written)
    numbers = list(map(_as_decimal, range(first, first + len(events))))
    leaves = pattern.leaves(
        hashes,
        _flags([event.assaypii for event in events]),
        _flags([event.assaysecrets for event in events]),
        numbers,
        data,
        numbers,
        subjects,
        list(map(str.encode, times)),
        [written[name] for name in types],
    )
    return Proven(hashes, leaves) if b"\n".join(leaves) == marked(text) else None


def _content_hashes(
    data: Sequence[bytes],
    hashed: bytes,
    subjects: _Column,
    types: Sequence[str],
    written: dict[str, bytes],
) -> list[bytes]:
    """Return the hashes of what the content hash covers: its members in canonical order."""
    if isinstance(subjects, bytes):
        ends = {name: b'%b%b,"type":%b}' % (hashed, subjects, written[name]) for name in written}
        made = [b'{"data":' + each + ends[name] for each, name in zip(data, types, strict=True)]
    else:
        made = [
            b'{"data":%b%b%b,"type":%b}' % (each, hashed, subject, written[name])
            for each, subject, name in zip(data, subjects, types, strict=True)
        ]
    return [_sha256(each).hexdigest().encode() for each in made]


# Runs have few types of events, and meet them again in every portion.
@lru_cache(1024)
def written_name(name: str) -> bytes:
    """Return the JSON of a type's name."""
    return jcs(name)


def _flags(flags: Sequence[bool]) -> _Column:
    if len(set(flags)) == 1:
        return FLAGS[flags[0]]
    return [FLAGS[flag] for flag in flags]


def _subjects(subjects: Sequence[str | None]) -> _Column:
    if len(set(subjects)) == 1:
        return written_subject(subjects[0])
    return [written_subject(subject) for subject in subjects]


def written_subject(subject: str | None) -> bytes:
    """Return the member that an event's subject is, or nothing."""
    return b"" if subject is None else b',"subject":%b' % jcs(subject)
