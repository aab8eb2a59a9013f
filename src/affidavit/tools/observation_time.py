"""When evidence was observed: only what the source states, never a guess.

If `observed_at_path` is set, the value at that path counts, or nothing. Otherwise the setting
`observed_at` counts. Without both the default depends on the kind: the modification time of a file,
`Last-Modified` or else `Date` of an HTTP answer, and nothing for other kinds. Evidence without a
time is never fresh.
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
# datetime has six decimals. Cutting the others never makes evidence newer.
_MICROSECONDS: Final = re.compile(r"(\.[0-9]{6})[0-9]+")


class ObservedAt(StrEnum):
    """Which time is the time of observation."""

    ASKED = "asked"
    """The source is live, so the time of the request counts. Only the user can know that."""
    MODIFIED = "modified"
    """The modification time of a file, or Last-Modified of an HTTP answer."""
    ANSWERED = "answered"
    """The Date of an HTTP answer."""
    NONE = "none"


class TimeUnit(StrEnum):
    """The format of the time at `observed_at_path`."""

    RFC3339 = "rfc3339"
    SECONDS = "s"
    MILLISECONDS = "ms"


class ObservationTime(msgspec.Struct, frozen=True):
    """The settings of a source for the time of observation."""

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
        """Return the time of observation, or None if the source states no valid one."""
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
    """Return the time that a source states as RFC 3339 in UTC with Z, or None if invalid."""
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
    """Return the time of an HTTP header, or None if it is missing or invalid."""
    if value is None:
        return None
    try:
        moment = parsedate_to_datetime(value)
        return format_timestamp(moment.astimezone(UTC)) if moment.tzinfo else None
    except (ValueError, TypeError, OverflowError):
        return None


def timestamp_from_seconds(seconds: float) -> str | None:
    """Return seconds since 1970 as a timestamp, or None if they are out of range."""
    try:
        return format_timestamp(_EPOCH + timedelta(seconds=seconds))
    except (OverflowError, ValueError):
        return None


def format_timestamp(moment: datetime) -> str:
    """Return a time in UTC as RFC 3339 with Z, with decimals only if needed."""
    return moment.replace(tzinfo=None).isoformat() + "Z"
