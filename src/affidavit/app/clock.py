"""The only clock of the product. Everything below `app` takes the time as an argument."""

import os
import re
import time
from datetime import datetime
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults
from affidavit.base.timestamps import find_timestamp

_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def now() -> str:
    """Return the time as RFC 3339 UTC. SOURCE_DATE_EPOCH fixes it, so that runs are repeatable."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    seconds = int(fixed) if fixed.isdecimal() else None
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def precise_now() -> str:
    """Return the time in nanoseconds as RFC 3339 UTC. SOURCE_DATE_EPOCH fixes it, too."""
    if os.environ.get("SOURCE_DATE_EPOCH", "").isdecimal():
        return now()
    seconds, rest = divmod(time.time_ns(), 1_000_000_000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{rest:09}Z"


def now_ms() -> int:
    """Return the time in milliseconds, for leases and expiry. Nothing that is sealed has it."""
    return time.time_ns() // 1_000_000


def time_of(text: str | None) -> str:
    """Return the day or time that the user gave, in whole seconds UTC; by default now."""
    if text is None:
        return now()
    timestamp = f"{text}T00:00:00Z" if _DAY.fullmatch(text) else text
    if "." in timestamp or find_timestamp(timestamp) is None:
        raise AffidavitError(faults.TIME_SYNTAX, value=text)
    return timestamp


def datetime_of(text: str | None) -> datetime:
    """Return the day or time that the user gave; by default now."""
    return datetime.fromisoformat(time_of(text))
