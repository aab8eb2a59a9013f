"""RFC 3339 timestamps in UTC, the accepted clock skew, and the clock protocol."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

# Time as an argument: what has to wait or to keep a rate is given one of these.


class Clock(Protocol):
    """Time that passes; a test has its own."""

    def monotonic(self) -> float:
        """Return seconds since some moment."""
        ...

    def sleep(self, seconds: float, /) -> None:
        """Wait."""
        ...


# Moments as documents write them: RFC 3339 in UTC with `Z`, and nothing else.

# How far two honest clocks may differ; the same as for facts from the future in answer-eval.
MAX_CLOCK_SKEW: Final = timedelta(seconds=5)

_TIMESTAMP: Final = re.compile(r"(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(\.\d{1,9})?Z", re.ASCII)


def find_timestamp(text: object) -> datetime | None:
    """Return the moment that a text means; None if it is not written as it must be."""
    match = _TIMESTAMP.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return None
    fraction = (match[2] or "")[:7]  # A datetime knows microseconds; the rest is cut off.
    try:
        return datetime.fromisoformat(f"{match[1]}{fraction}+00:00")
    except ValueError:
        return None


def timestamp_text(moment: datetime) -> str:
    """Return a moment as documents write it, with as much of a second as it has."""
    plain = moment.astimezone(UTC).replace(tzinfo=None)
    return f"{plain.isoformat()}Z"
