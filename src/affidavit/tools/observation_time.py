"""When evidence was observed: only what the source itself says, never a guess.

The rule, in this order. `observed_at_path` is settled: what stands there, or nothing. Else the
setting `observed_at`, and if there is none, the default of the kind: a file's time of change;
`Last-Modified` of an HTTP answer, else its `Date`; for everything else nothing, and evidence
without a time is never fresh.
"""

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Final

import msgspec

from affidavit.base.json_values import JsonValue
from affidavit.checks.values import look_up_path

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MOMENT: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
# datetime keeps six digits; the ones after them are cut, which makes evidence no younger.
_MICROSECONDS: Final = re.compile(r"(\.[0-9]{6})[0-9]+")


class ObservedAt(StrEnum):
    """What time counts as the time of observation."""

    ASKED = "asked"
    """The source is live: what it says holds when it is asked. Only the user can know that."""
    MODIFIED = "modified"
    """A file's time of change, an HTTP answer's Last-Modified."""
    ANSWERED = "answered"
    """An HTTP answer's Date."""
    NONE = "none"


class TimeUnit(StrEnum):
    """How the time at `observed_at_path` is written."""

    RFC3339 = "rfc3339"
    SECONDS = "s"
    MILLISECONDS = "ms"


class ObservationTime(msgspec.Struct, frozen=True):
    """The settings of a source that say when its evidence was observed."""

    observed_at: ObservedAt | None = None
    observed_at_path: str | None = None
    observed_at_unit: TimeUnit = TimeUnit.RFC3339

    def moment(
        self,
        raw: JsonValue,
        asked_at: str,
        *,
        modified: str | None = None,
        answered: str | None = None,
    ) -> str | None:
        """Return the time of observation, or None if the source states none that can be read."""
        if self.observed_at_path is not None:
            return find_source_timestamp(
                look_up_path(raw, self.observed_at_path).value, self.observed_at_unit
            )
        if self.observed_at is None:
            return modified or answered
        times = {
            ObservedAt.ASKED: asked_at,
            ObservedAt.MODIFIED: modified,
            ObservedAt.ANSWERED: answered,
            ObservedAt.NONE: None,
        }
        return times[self.observed_at]


def find_source_timestamp(value: JsonValue, unit: TimeUnit) -> str | None:
    """Return a time that a source wrote as RFC 3339 in UTC with Z, or None if it is none."""
    if unit is not TimeUnit.RFC3339:
        divisor = 1000 if unit is TimeUnit.MILLISECONDS else 1
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return timestamp_from_seconds(value / divisor)
    if not isinstance(value, str) or not _MOMENT.fullmatch(value):
        return None
    try:
        moment = datetime.fromisoformat(_MICROSECONDS.sub(r"\1", value.upper()))
        return format_timestamp(moment.astimezone(UTC))
    except (ValueError, OverflowError):
        return None


def find_http_date(value: str | None) -> str | None:
    """Return the time of an HTTP header, or None if it has none."""
    if value is None:
        return None
    try:
        moment = parsedate_to_datetime(value)
        return format_timestamp(moment.astimezone(UTC)) if moment.tzinfo else None
    except (ValueError, TypeError, OverflowError):
        return None


def timestamp_from_seconds(seconds: float) -> str | None:
    """Return a time since 1970 as text, or None if no calendar has it."""
    try:
        return format_timestamp(_EPOCH + timedelta(seconds=seconds))
    except (OverflowError, ValueError):
        return None


def format_timestamp(moment: datetime) -> str:
    """Return a moment in UTC as RFC 3339 with Z, with decimals only if it has them."""
    return moment.replace(tzinfo=None).isoformat() + "Z"
