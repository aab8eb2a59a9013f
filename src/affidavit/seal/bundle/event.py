"""One event of a bundle, read exactly: its shape, its content hash and its place in the run.

Origin: Assay's Evidence Contract v1: CloudEvents 1.0 as flat JSON, with what identifies the run in
members that begin with `assay`. Keys that are not known are kept and mean nothing here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final

import msgspec

from affidavit.base.canonical import jcs, require_canonical
from affidavit.base.digest import digest_of
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import bundles as faults
from affidavit.base.json_limits import JsonLimits, JsonValue
from affidavit.base.places import excerpt
from affidavit.seal.bundle.archive import EVENTS
from affidavit.seal.bundle.wire_places import place_and_problem

SPEC_VERSION: Final = "1.0"
CONTENT_TYPE: Final = "application/json"
HASHED: Final = ("data", "datacontenttype", "specversion", "subject", "type")
Moment = Annotated[datetime, msgspec.Meta(tz=True)]


class EventV1(msgspec.Struct, frozen=True):
    """An event as it stands in a line, its members in canonical order."""

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


@dataclass(frozen=True, slots=True)
class Place:
    """What the next event has to say of itself. The first one says what its source is."""

    run_id: str
    sequence: int
    source: str | None


def content_hash(value: Mapping[str, JsonValue]) -> str:
    """Return what an event's content hash has to be; id, time and source are not part of it.

    A subject that is null is none, as Assay reads it; data that are null are data.
    """
    hashed = {key: value[key] for key in HASHED if key in value}
    if value.get("subject") is None:
        hashed.pop("subject", None)
    return digest_of(jcs(hashed))


def event_from_line(line: bytes, number: int, place: Place, limits: JsonLimits) -> EventV1:
    """Return the event of a line, or raise the first thing that is wrong with it.

    The order is Assay's: JSON, shape, version, content hash, sequence, run id, source, id.
    """
    try:
        if not line:
            raise _invalid("the line is blank")
        value = require_canonical(line, limits)
        if not isinstance(value, dict):
            raise _invalid("it is not a JSON object")
        event = _shaped(value)
        found = content_hash(value)
        if event.assaycontenthash != found:
            said = excerpt(event.assaycontenthash, 80)
            raise AffidavitError(faults.BUNDLE_EVENT_HASH, said=said, found=found)
        _require_place(event, place)
        return event
    except AffidavitError as error:
        where = Where(EVENTS, number, error.where.field)
        raise AffidavitError(error.fault, where, **error.values) from None


def _shaped(value: JsonValue) -> EventV1:
    try:
        event = msgspec.convert(value, EventV1)
        msgspec.convert(event.time, Moment)
    except msgspec.ValidationError as error:
        field, problem = place_and_problem(error)
        if "RFC3339" in problem or "timezone" in problem:
            field, problem = "time", "it is not a time like 2026-01-31T14:30:00Z"
        raise _invalid(problem, field) from None
    if event.specversion != SPEC_VERSION:
        found = excerpt(repr(event.specversion))
        raise AffidavitError(
            faults.BUNDLE_VERSION, what="specversion", found=found, known=SPEC_VERSION
        )
    return event


def _require_place(event: EventV1, place: Place) -> None:
    if event.assayseq != place.sequence:
        raise AffidavitError(faults.BUNDLE_SEQUENCE, found=event.assayseq, wanted=place.sequence)
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


def _invalid(problem: str, field: str | None = None) -> AffidavitError:
    return AffidavitError(faults.BUNDLE_EVENT, Where(field=field), problem=problem)
