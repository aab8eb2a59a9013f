"""What several sources together are worth: agreement, freshness, conflict, and fact-conf/1.

Everything here is computed from what the fact itself records, so that anyone can compute it again.
The F rules of docs/checks.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any, Final

import msgspec

from affidavit.base.json_limits import JsonValue
from affidavit.checks import amounts
from affidavit.checks.equality import find_equal
from affidavit.checks.moments import FUTURE_ALLOWED_S, NANOSECONDS, find_moment, seconds_text
from affidavit.checks.outcomes import Held
from affidavit.checks.tools import Tolerance
from affidavit.checks.values import exact_text, find_exact, shown

FACT_RULE: Final = "fact-conf/1"

# In hundredths, so that their sum is exact.
_SIGNED: Final = 20
_SOURCE_PRESENT: Final = 30
_FRESH: Final = 30
_CORROBORATED: Final = 15
_CONFLICT_CAP: Final = 40
_STALE_CAP: Final = 50


class SourceStatus(StrEnum):
    """What came of asking a source."""

    OK = "ok"
    NO_VALUE = "no_value"
    UNAVAILABLE = "unavailable"


class SourceV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One source of a fact, as the fact records it. `agrees` and `fresh` are derived."""

    name: str
    origin: str
    kind: str
    url: str | None
    licence: str | None
    status: SourceStatus
    reason: str | None
    value: Any
    observed_at: str | None
    raw_sha256: str | None
    agrees: bool | None
    fresh: bool | None


@dataclass(frozen=True, slots=True)
class Standard:
    """What sources are held to: the tool's freshness and tolerance, and the moment."""

    at: int
    max_age_s: int | float | None
    tolerance: Tolerance | None


@dataclass(frozen=True, slots=True)
class Signals:
    """The five signals of fact-conf/1."""

    signed: bool
    source_present: bool
    fresh: bool
    corroborated: bool
    conflict: bool

    @property
    def confidence(self) -> float:
        """The confidence by fact-conf/1: at most 0.95, never certainty."""
        total = (
            _SIGNED * self.signed
            + _SOURCE_PRESENT * self.source_present
            + _FRESH * self.fresh
            + _CORROBORATED * self.corroborated
        )
        if not self.fresh:
            total = min(total, _STALE_CAP)
        return (min(total, _CONFLICT_CAP) if self.conflict else total) / 100

    @property
    def verified(self) -> bool:
        """Two or more independent sources agree, all are fresh, none is in conflict."""
        return self.corroborated and self.fresh and not self.conflict


def primary_of(sources: Sequence[SourceV1]) -> SourceV1 | None:
    """Return the source whose value the fact states: the first with a value, else with a result."""
    for status in (SourceStatus.OK, SourceStatus.NO_VALUE):
        for source in sources:
            if source.status is status:
                return source
    return None


def agrees(value: JsonValue, primary: JsonValue, tolerance: Tolerance | None) -> bool:
    """Say whether a value agrees with the primary one: equal as by `eq`, or within the tolerance.

    Lists and objects agree if they are the same JSON.
    """
    same = find_equal(value, primary)
    if same is None:
        return exact_text(value) == exact_text(primary)
    if same or tolerance is None or find_exact(primary) is None:
        return same
    within = amounts.pct_within if tolerance.is_percentage else amounts.abs_within
    return within(value, primary, tolerance.size).held is Held.HELD


def find_staleness(observed_at: str | None, standard: Standard) -> str | None:
    """Return why a source is not fresh, or None if it is."""
    moment = find_moment(observed_at)
    if moment is None:
        return "states no time of observation"
    age = standard.at - moment
    if age < -FUTURE_ALLOWED_S * NANOSECONDS:
        return f"is dated {seconds_text(age)} s in the future"
    if standard.max_age_s is None:
        return "is of a tool that declares no age up to which it is fresh"
    if age > Fraction(repr(standard.max_age_s)) * NANOSECONDS:
        return f"is {seconds_text(age)} s old, and {standard.max_age_s} s are allowed"
    return None


def assessed(sources: Sequence[SourceV1], standard: Standard) -> tuple[SourceV1, ...]:
    """Return the sources with what is derived: whether each agrees, and whether it is fresh."""
    primary = primary_of(sources)
    return tuple(_assessed(source, primary, standard) for source in sources)


def _assessed(source: SourceV1, primary: SourceV1 | None, standard: Standard) -> SourceV1:
    has_value = source.status is SourceStatus.OK
    return msgspec.structs.replace(
        source,
        agrees=agrees(source.value, primary.value, standard.tolerance)
        if primary is not None and has_value
        else None,
        fresh=find_staleness(source.observed_at, standard) is None
        if source.status is not SourceStatus.UNAVAILABLE
        else None,
    )


def signals_of(sources: Sequence[SourceV1], signed: bool) -> Signals:
    """Return the signals of assessed sources. Sources of one origin count as one."""
    answered = [source for source in sources if source.status is not SourceStatus.UNAVAILABLE]
    agreeing = {source.origin for source in answered if source.agrees}
    return Signals(
        signed=signed,
        source_present=bool(answered),
        fresh=bool(answered) and all(source.fresh for source in answered),
        corroborated=len(agreeing) > 1,
        conflict=any(source.agrees is False for source in answered),
    )


def note_of(sources: Sequence[SourceV1], standard: Standard) -> str:
    """Return in words what keeps the fact from being verified, or that nothing does."""
    answered = [source for source in sources if source.status is not SourceStatus.UNAVAILABLE]
    stale = [
        f"{source.name} {why}"
        for source in answered
        if (why := find_staleness(source.observed_at, standard))
    ]
    apart = [
        f"{source.name} disagrees and says {shown(source.value)}"
        for source in answered
        if source.agrees is False
    ]
    lost = [
        f"{source.name} has no value: {source.reason}"
        for source in sources
        if source.status is not SourceStatus.OK
    ]
    alone = len({source.origin for source in answered if source.agrees}) < 2
    few = ["no second independent source agrees"] if alone else []
    return (
        "; ".join((*apart, *stale, *few, *lost)) or "independent sources agree, and all are fresh"
    )
