"""Agreement, freshness and conflict of several sources, and the confidence rule fact-conf/1.

Everything is computed from what the fact records, so that anyone can recompute it.
The F rules of docs/checks.md.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final

import msgspec

from affidavit.base.json_values import JsonValue
from affidavit.base.timestamps import (
    MAX_CLOCK_SKEW_S,
    NANOSECONDS,
    find_nanoseconds,
    is_older,
    seconds_text,
)
from affidavit.checks.expectations import ExpectationOutcome
from affidavit.checks.operators import abs_within, find_equal, pct_within
from affidavit.checks.tool import Tolerance
from affidavit.checks.values import display_value, exact_json, find_number

FACT_RULE: Final = "fact-conf/1"

# In hundredths, so that sums are exact.
_SIGNED: Final = 20
_SOURCE_PRESENT: Final = 30
_FRESH: Final = 30
_CORROBORATED: Final = 15
_CONFLICT_CAP: Final = 40
_STALE_CAP: Final = 50


class SourceStatus(StrEnum):
    """The result of querying a source."""

    OK = "ok"
    NO_VALUE = "no_value"
    UNAVAILABLE = "unavailable"


class SourceRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
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


class AgreementPolicy(msgspec.Struct, frozen=True):
    """The time of the assessment, and the maximum age and tolerance of the tool."""

    at: int
    max_age_s: int | float | None
    tolerance: Tolerance | None


class FactSignals(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The five signals of fact-conf/1."""

    signed: bool
    source_present: bool
    fresh: bool
    corroborated: bool
    conflict: bool

    @property
    def confidence(self) -> float:
        """The confidence by fact-conf/1, at most 0.95."""
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


def primary_source(sources: Sequence[SourceRecord]) -> SourceRecord | None:
    """Return the source of the fact's value: the first with a value, else with a result."""
    for status in (SourceStatus.OK, SourceStatus.NO_VALUE):
        for source in sources:
            if source.status is status:
                return source
    return None


def values_agree(value: JsonValue, primary: JsonValue, tolerance: Tolerance | None) -> bool:
    """Say whether a value agrees with the primary one: equal as by `eq`, or within the tolerance.

    Lists and objects agree if they are equal JSON.
    """
    same = find_equal(value, primary)
    if same is None:
        return exact_json(value) == exact_json(primary)
    if same or tolerance is None or find_number(primary) is None:
        return same
    if tolerance.pct is not None:
        result = pct_within(value, primary, tolerance.pct)
    else:
        result = abs_within(value, primary, tolerance.abs)
    return result.outcome is ExpectationOutcome.HELD


def find_staleness(observed_at: str | None, policy: AgreementPolicy) -> str | None:
    """Return why a source is not fresh, or None if it is."""
    moment = find_nanoseconds(observed_at)
    if moment is None:
        return "states no time of observation"
    age = policy.at - moment
    if age < -MAX_CLOCK_SKEW_S * NANOSECONDS:
        return f"is dated {seconds_text(age)} s in the future"
    if policy.max_age_s is None:
        return "is of a tool that declares no age up to which it is fresh"
    if is_older(age, policy.max_age_s):
        return f"is {seconds_text(age)} s old, and {policy.max_age_s} s are allowed"
    return None


class SourceAssessment(msgspec.Struct, frozen=True):
    """The assessed sources, their signals, and how many origins gave a value.

    `note` says what keeps the fact from being verified, or that nothing does.
    """

    sources: list[SourceRecord]
    signals: FactSignals
    independent: int
    note: str


def assess_sources(
    sources: Sequence[SourceRecord],
    primary: SourceRecord | None,
    policy: AgreementPolicy,
    *,
    signed: bool,
) -> SourceAssessment:
    """Return the assessment of the sources. Sources of one origin count as one."""
    assessed: list[SourceRecord] = []
    agreeing: set[str] = set()
    origins: set[str] = set()
    conflicting: list[str] = []
    stale: list[str] = []
    missing: list[str] = []
    answered = 0
    for source in sources:
        agreed = fresh = None
        if source.status is not SourceStatus.UNAVAILABLE:
            answered += 1
            reason = find_staleness(source.observed_at, policy)
            fresh = reason is None
            if reason is not None:
                stale.append(f"{source.name} {reason}")
        if source.status is SourceStatus.OK and primary is not None:
            origins.add(source.origin)
            agreed = source is primary or values_agree(
                source.value, primary.value, policy.tolerance
            )
            if agreed:
                agreeing.add(source.origin)
            else:
                conflicting.append(
                    f"{source.name} disagrees and says {display_value(source.value)}"
                )
        if source.status is not SourceStatus.OK:
            missing.append(f"{source.name} has no value: {source.reason}")
        assessed.append(msgspec.structs.replace(source, agrees=agreed, fresh=fresh))
    signals = FactSignals(
        signed=signed,
        source_present=answered > 0,
        fresh=answered > 0 and not stale,
        corroborated=len(agreeing) > 1,
        conflict=bool(conflicting),
    )
    few = [] if signals.corroborated else ["no second independent source agrees"]
    note = "; ".join((*conflicting, *stale, *few, *missing))
    return SourceAssessment(
        assessed, signals, len(origins), note or "independent sources agree, and all are fresh"
    )
