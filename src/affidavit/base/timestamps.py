"""RFC 3339 timestamps in UTC with `Z`, the accepted clock skew, and the clock protocol.

Receipts and keys compare times as `datetime`. Ages of facts are compared in whole nanoseconds, so
that they are exact. Both read the same format. Not covered: the leap second :60.
"""

import re
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from functools import lru_cache
from typing import Final, Protocol

from affidavit.base.errors import AffidavitError
from affidavit.base.faults.evidence import TIME_SYNTAX
from affidavit.base.text import excerpt

NANOSECONDS: Final = 1_000_000_000
# Another clock may be slightly ahead of ours. More than this is a wrong clock or a made-up time.
MAX_CLOCK_SKEW_S: Final = 5
MAX_CLOCK_SKEW: Final = timedelta(seconds=MAX_CLOCK_SKEW_S)

_TIMESTAMP: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?Z"
)
_MAX_CHARACTERS: Final = len("2026-01-31T14:30:00.123456789Z")
_EPOCH: Final = date(1970, 1, 1).toordinal()


class Clock(Protocol):
    """A clock. Code that waits or keeps a rate takes one as an argument."""

    def monotonic(self) -> float:
        """Return seconds since an arbitrary start."""
        ...

    def sleep(self, seconds: float, /) -> None:
        """Wait."""
        ...


def find_timestamp(value: object) -> datetime | None:
    """Return a timestamp as an aware datetime, cut to microseconds; None if it is malformed."""
    parts = _split(value)
    if parts is None:
        return None
    microsecond = int(parts[1][:6].ljust(6, "0"))
    return parts[0].replace(microsecond=microsecond, tzinfo=UTC)


def timestamp_text(time: datetime) -> str:
    """Return a datetime as a timestamp, with the fraction of a second that it has."""
    plain = time.astimezone(UTC).replace(tzinfo=None)
    return f"{plain.isoformat()}Z"


def find_nanoseconds(value: object) -> int | None:
    """Return a timestamp in nanoseconds since 1970; None if it is malformed."""
    if not isinstance(value, str) or len(value) > _MAX_CHARACTERS:
        return None
    return _nanoseconds_of(value)


# Every fact of an answer repeats the time of the answer.
@lru_cache(maxsize=256)
def _nanoseconds_of(text: str) -> int | None:
    parts = _split_text(text)
    if parts is None:
        return None
    time, fraction = parts
    days = time.toordinal() - _EPOCH
    seconds = (days * 24 + time.hour) * 3600 + time.minute * 60 + time.second
    return seconds * NANOSECONDS + int(fraction.ljust(9, "0"))


_OFFSET: Final = re.compile(r"([^+]+)([+-])([01][0-9]|2[0-3]):([0-5][0-9])", re.DOTALL)


def find_offset_nanoseconds(value: object) -> int | None:
    """Return a timestamp in nanoseconds since 1970; it may have an offset such as +00:00."""
    offset = _OFFSET.fullmatch(value) if isinstance(value, str) else None
    if offset is None:
        return find_nanoseconds(value)
    local = find_nanoseconds(f"{offset[1]}Z")
    if local is None:
        return None
    seconds = (int(offset[3]) * 60 + int(offset[4])) * 60
    return local - (seconds if offset[2] == "+" else -seconds) * NANOSECONDS


def parse_nanoseconds(text: str) -> int:
    """Return a timestamp in nanoseconds since 1970, or raise."""
    nanoseconds = find_nanoseconds(text)
    if nanoseconds is None:
        raise AffidavitError(TIME_SYNTAX, value=excerpt(text))
    return nanoseconds


def _split(value: object) -> tuple[datetime, str] | None:
    if not isinstance(value, str) or len(value) > _MAX_CHARACTERS:
        return None
    return _split_text(value)


def _split_text(text: str) -> tuple[datetime, str] | None:
    """Return the whole seconds and the digits of the fraction."""
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return None
    try:
        return datetime.fromisoformat(match[1]), match[2] or ""
    except ValueError:
        return None


def is_older(age: int, seconds: int | float) -> bool:
    """Return whether an age in nanoseconds is more than some seconds, exactly."""
    if isinstance(seconds, int):
        return age > seconds * NANOSECONDS
    return age > Fraction(repr(seconds)) * NANOSECONDS


def seconds_text(nanoseconds: int) -> str:
    """Return a duration in seconds, exactly, without trailing zeros."""
    whole, rest = divmod(abs(nanoseconds), NANOSECONDS)
    decimals = f".{rest:09}".rstrip("0") if rest else ""
    return f"{whole}{decimals}"
