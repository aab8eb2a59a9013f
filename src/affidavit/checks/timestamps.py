"""Timestamps: RFC 3339 in UTC with `Z`, as whole nanoseconds, so that ages are exact."""

import re
from datetime import date, datetime
from fractions import Fraction
from functools import lru_cache
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.faults.evidence import TIME_SYNTAX
from affidavit.base.json_values import JsonValue
from affidavit.base.text import excerpt

NANOSECONDS: Final = 1_000_000_000
# Another clock may be slightly ahead of ours. More than this is a wrong clock or a made-up time.
MAX_CLOCK_SKEW_S: Final = 5

_TIMESTAMP: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?Z"
)
_MAX_CHARACTERS: Final = len("2026-01-31T14:30:00.123456789Z")
_EPOCH: Final = date(1970, 1, 1).toordinal()


def find_timestamp(value: JsonValue) -> int | None:
    """Return a timestamp in nanoseconds since 1970, or None if the format is not exactly met.

    Not covered: the leap second :60, which Python's clocks do not have.
    """
    return (
        _nanoseconds_of(value) if isinstance(value, str) and len(value) <= _MAX_CHARACTERS else None
    )


# Every fact of an answer repeats the time of the answer.
@lru_cache(maxsize=256)
def _nanoseconds_of(text: str) -> int | None:
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return None
    try:
        moment = datetime.fromisoformat(match[1])
    except ValueError:
        return None
    days = moment.toordinal() - _EPOCH
    seconds = (days * 24 + moment.hour) * 3600 + moment.minute * 60 + moment.second
    return seconds * NANOSECONDS + int((match[2] or "0").ljust(9, "0"))


def parse_timestamp(text: str) -> int:
    """Return a timestamp in nanoseconds since 1970, or raise."""
    moment = find_timestamp(text)
    if moment is None:
        raise AffidavitError(TIME_SYNTAX, value=excerpt(text))
    return moment


def is_older(age: int, seconds: int | float) -> bool:
    """Say whether an age in nanoseconds is more than some seconds, exactly."""
    if isinstance(seconds, int):
        return age > seconds * NANOSECONDS
    return age > Fraction(repr(seconds)) * NANOSECONDS


def seconds_text(nanoseconds: int) -> str:
    """Return a duration in seconds, exactly, without trailing zeros."""
    whole, rest = divmod(abs(nanoseconds), NANOSECONDS)
    decimals = f".{rest:09}".rstrip("0") if rest else ""
    return f"{whole}{decimals}"
