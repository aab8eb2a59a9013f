"""Events of a bundle: their wire form and content hash, verified one by one or in batches.

Origin: Assay's Evidence Contract v1: CloudEvents 1.0 as flat JSON, with members that begin with
`assay`. Unknown members are kept and have no meaning here.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Annotated, Any, Final

import msgspec

from affidavit.base.canonical import are_all_canonical, jcs, require_canonical
from affidavit.base.digest import digest_of
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import bundles as faults
from affidavit.base.json_values import JsonLimits, JsonValue
from affidavit.base.text import excerpt
from affidavit.base.validation import problem_and_field
from affidavit.seal.bundle.container import EVENTS
from affidavit.seal.bundle.merkle import LEAF_PREFIX, leaf_prefixed

SPEC_VERSION: Final = "1.0"
# The first and the last event of a run.
RUN_STARTED: Final = "affidavit.run.started"
RUN_FINISHED: Final = "affidavit.run.finished"
CONTENT_TYPE: Final = "application/json"
# A salt in the line, but not in the content hash: it keeps a leaf of the Merkle tree, which a proof
# of a neighbour discloses, from being found by guessing the line.
LEAF_SALT: Final = "affidavitsalt"
LEAF_SALT_BYTES: Final = 16
HASHED_FIELDS: Final = ("data", "datacontenttype", "specversion", "subject", "type")
AwareDatetime = Annotated[datetime, msgspec.Meta(tz=True)]


class EventV1(msgspec.Struct, frozen=True):
    """An event on its line, with its members in canonical order."""

    assaycontenthash: str
    assaygit: str
    assaypii: bool
    assayproducer: str
    assayproducerversion: str
    assayrunid: str
    assaysecrets: bool
    assayseq: Annotated[int, msgspec.Meta(ge=0)]
    data: Any
    datacontenttype: str
    id: str
    source: str
    specversion: str
    time: str
    type: str
    subject: str | None = None
    traceparent: str | None = None
    tracestate: str | None = None
    assaypolicyid: str | None = None
    assaysemanticdigest: str | None = None
    assaydigestprofile: str | None = None
    affidavitsalt: str | None = None


class ExpectedPosition(msgspec.Struct, frozen=True):
    """What the next event must state. The first event determines the source."""

    run_id: str
    sequence: int
    source: str | None


def content_hash(value: Mapping[str, JsonValue]) -> str:
    """Return the content hash of an event, which does not cover id, time and source.

    As in Assay, a null subject counts as absent, but null data count as data.
    """
    hashed = {key: value[key] for key in HASHED_FIELDS if key in value}
    if value.get("subject") is None:
        hashed.pop("subject", None)
    return digest_of(jcs(hashed))


_OTHER_DIGEST: Final = re.compile(r"(?!sha256:)([A-Za-z0-9_-]+):")


def require_known_digest(what: str, said: str) -> None:
    """Raise if a digest that does not hold is one of another kind: then it proves nothing."""
    other = _OTHER_DIGEST.match(said)
    if other is not None:
        what = f"the algorithm of {what}"
        raise AffidavitError(
            faults.BUNDLE_VERSION, what=what, found=excerpt(other[1], 40), known="sha256"
        )


def event_from_line(
    line: bytes, number: int, place: ExpectedPosition, limits: JsonLimits
) -> EventV1:
    """Return the event of a line, or raise the first error.

    The order is Assay's: JSON, shape, version, content hash, sequence, run id, source, id.
    """
    try:
        if not line:
            raise _invalid("the line is blank")
        value = require_canonical(line, limits)
        if not isinstance(value, dict):
            raise _invalid("it is not a JSON object", assay_code=_ASSAY_SHAPE)
        event = _event_from_value(value)
        found = content_hash(value)
        if event.assaycontenthash != found:
            require_known_digest("assaycontenthash", event.assaycontenthash)
            said = excerpt(event.assaycontenthash, 80)
            raise AffidavitError(faults.BUNDLE_EVENT_HASH, said=said, found=found)
        _require_position(event, place)
        return event
    except AffidavitError as error:
        where = Where(EVENTS, number, error.where.field)
        raise AffidavitError(error.fault, where, **error.values) from None


def _event_from_value(value: JsonValue) -> EventV1:
    try:
        event = msgspec.convert(value, EventV1)
        msgspec.convert(event.time, AwareDatetime)
    except msgspec.ValidationError as error:
        problem, field = problem_and_field(error)
        if "RFC3339" in problem or "timezone" in problem:
            field, problem = "time", "it is not a time like 2026-01-31T14:30:00Z"
        # Assay reads an event without a hash, and then asks for the hash.
        is_unhashed = field == "assaycontenthash" and "missing" in problem
        code = _ASSAY_VERSION if is_unhashed else _ASSAY_SHAPE
        raise _invalid(problem, field, assay_code=code) from None
    if event.specversion != SPEC_VERSION:
        found = excerpt(repr(event.specversion))
        raise AffidavitError(
            faults.BUNDLE_VERSION, what="specversion", found=found, known=SPEC_VERSION
        )
    return event


def _require_position(event: EventV1, place: ExpectedPosition) -> None:
    if event.assayseq != place.sequence:
        code = _ASSAY_START if place.sequence == 0 else None
        raise AffidavitError(
            faults.BUNDLE_SEQUENCE,
            found=event.assayseq,
            wanted=place.sequence,
            assay_code=code,
        )
    if event.assayrunid != place.run_id:
        found, wanted = excerpt(event.assayrunid), excerpt(place.run_id)
        raise AffidavitError(faults.BUNDLE_RUN_ID, found=found, wanted=wanted)
    if place.source is not None and event.source != place.source:
        raise _invalid("its source is not that of the events before it", "source")
    if event.source.find(":") < 1:
        raise _invalid("it is not an address like urn:example:run", "source")
    if ":" in event.assayrunid:
        raise _invalid("it holds a colon", "assayrunid")
    if event.id != f"{place.run_id}:{place.sequence}":
        raise _invalid("it is not made of the run id and the number", "id")


# Assay has other codes for one fault of ours: a wrong shape, no content hash, a wrong first number.
_ASSAY_SHAPE: Final = "ContractInvalidJson"
_ASSAY_VERSION: Final = "ContractSchemaVersion"
_ASSAY_START: Final = "ContractSequenceStart"


def _invalid(
    problem: str, field: str | None = None, assay_code: str | None = None
) -> AffidavitError:
    where = Where(field=field)
    return AffidavitError(faults.BUNDLE_EVENT, where, problem=problem, assay_code=assay_code)


_sha256 = hashlib.sha256
_as_decimal = b"%d".__mod__
FLAGS: Final = (b"false", b"true")
_SALT_DIGITS: Final = 2 * LEAF_SALT_BYTES


class _Varying(msgspec.Struct, gc=False):
    """The members that differ between the events of one run."""

    assaypii: bool
    assaysecrets: bool
    data: msgspec.Raw
    time: str
    type: str
    subject: str | None = None
    affidavitsalt: str = ""


_decode_lines = msgspec.json.Decoder(_Varying).decode_lines
_DATETIMES = list[AwareDatetime]
# One value for each line, or a single value for all lines.
_Column = Sequence[bytes] | bytes


class LineTemplate(msgspec.Struct, frozen=True):
    """What the events of a run have in common, as the pieces of a canonical line.

    Between the pieces come content hash, two flags, number, data, number, subject, time and type;
    before all of them a salt, if the lines have one.
    """

    pieces: tuple[bytes, ...]
    hashed: bytes
    is_salted: bool

    @classmethod
    def of(
        cls,
        *,
        run_id: str,
        source: str,
        producer: str,
        version: str,
        git: str,
        content_type: str = CONTENT_TYPE,
        is_salted: bool = False,
    ) -> "LineTemplate":
        """Return the template of a run."""
        run, kind = jcs(run_id), jcs(content_type)
        start = (b'{"affidavitsalt":"', b'","') if is_salted else (b'{"',)
        pieces = (
            *start[:-1],
            start[-1] + b'assaycontenthash":"sha256:',
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
        return cls(pieces, b',"datacontenttype":%b,"specversion":"1.0"' % kind, is_salted)

    def form(self) -> bytes:
        """Return the line with `%b` in place of each value."""
        return b"%b".join(map(_escaped, self.pieces))

    def leaves(self, columns: Sequence[_Column]) -> list[bytes]:
        """Return the lines with these values between the pieces, each prefixed as a leaf."""
        form = LEAF_PREFIX + _escaped(self.pieces[0])
        varying = []
        for column, piece in zip(columns, self.pieces[1:], strict=True):
            if isinstance(column, bytes):
                form += _escaped(column + piece)
            else:
                form += b"%b" + _escaped(piece)
                varying.append(column)
        return list(map(form.__mod__, zip(*varying, strict=True)))


def _escaped(text: bytes) -> bytes:
    return text.replace(b"%", b"%%")


class VerifiedBatch(msgspec.Struct, frozen=True):
    """Verified lines: their content hashes in hexadecimal digits, their leaves and their types."""

    hashes: list[bytes]
    leaves: list[bytes]
    types: list[str]


def template_of(event: EventV1) -> LineTemplate | None:
    """Return the template for the events after this one; None if it has rare members."""
    rare = (event.traceparent, event.tracestate, event.assaypolicyid)
    if any(rare) or event.assaysemanticdigest or event.assaydigestprofile:
        return None
    return LineTemplate.of(
        run_id=event.assayrunid,
        source=event.source,
        producer=event.assayproducer,
        version=event.assayproducerversion,
        git=event.assaygit,
        content_type=event.datacontenttype,
        is_salted=event.affidavitsalt is not None,
    )


def verify_batch(
    text: bytes, first: int, template: LineTemplate, limits: JsonLimits
) -> VerifiedBatch | None:
    """Verify whole lines at once; None if that is not possible.

    Only data, time, type, subject and two flags are taken from each line. Hashes are computed,
    numbers and ids are counted, and the rest comes from the template. If this reproduces the bytes
    of the text, every line is canonical, its hash holds, and it belongs to its position in the run.
    So an event costs as much as its hashes. `first` is the expected number of the first event.
    """
    try:
        events = _decode_lines(text)
        times = [event.time for event in events]
        msgspec.convert(times, _DATETIMES)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    data = [bytes(event.data) for event in events]
    salts = [event.affidavitsalt.encode() for event in events] if template.is_salted else []
    if not are_all_canonical(data, limits) or any(len(salt) != _SALT_DIGITS for salt in salts):
        return None
    subjects = _encoded_subjects([event.subject for event in events])
    types = [event.type for event in events]
    written = {name: encoded_name(name) for name in set(types)}
    hashes = _content_hashes(data, template.hashed, subjects, types, written)
    numbers = list(map(_as_decimal, range(first, first + len(events))))
    leaves = template.leaves(
        (
            *((salts,) if template.is_salted else ()),
            hashes,
            _flag_column([event.assaypii for event in events]),
            _flag_column([event.assaysecrets for event in events]),
            numbers,
            data,
            numbers,
            subjects,
            list(map(str.encode, times)),
            [written[name] for name in types],
        )
    )
    if b"\n".join(leaves) != leaf_prefixed(text):
        return None
    return VerifiedBatch(hashes, leaves, types)


def _content_hashes(
    data: Sequence[bytes],
    hashed: bytes,
    subjects: _Column,
    types: Sequence[str],
    written: dict[str, bytes],
) -> list[bytes]:
    """Return the content hashes, over the covered members in canonical order."""
    if isinstance(subjects, bytes):
        ends = {name: b'%b%b,"type":%b}' % (hashed, subjects, written[name]) for name in written}
        made = [b'{"data":' + each + ends[name] for each, name in zip(data, types, strict=True)]
    else:
        made = [
            b'{"data":%b%b%b,"type":%b}' % (each, hashed, subject, written[name])
            for each, subject, name in zip(data, subjects, types, strict=True)
        ]
    return [_sha256(each).hexdigest().encode() for each in made]


# Runs have few event types, and they recur in every portion.
@lru_cache(1024)
def encoded_name(name: str) -> bytes:
    """Return the name of a type as JSON."""
    return jcs(name)


def _flag_column(flags: Sequence[bool]) -> _Column:
    if len(set(flags)) == 1:
        return FLAGS[flags[0]]
    return [FLAGS[flag] for flag in flags]


def _encoded_subjects(subjects: Sequence[str | None]) -> _Column:
    if len(set(subjects)) == 1:
        return encoded_subject(subjects[0])
    return [encoded_subject(subject) for subject in subjects]


def encoded_subject(subject: str | None) -> bytes:
    """Return the member `subject`, or nothing."""
    return b"" if subject is None else b',"subject":%b' % jcs(subject)
