"""The one clock. Everything below takes the time as an argument."""

import os
import re
import time
from datetime import datetime
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults

_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIME: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z")


def now() -> str:
    """Return the time as RFC 3339 UTC. SOURCE_DATE_EPOCH fixes it: then a run can be repeated."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    seconds = int(fixed) if fixed.isdecimal() else None
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def time_of(text: str | None) -> str:
    """Return the time that the user gave as RFC 3339 UTC, or now if none was given."""
    if text is None:
        return now()
    moment = f"{text}T00:00:00Z" if _DAY.fullmatch(text) else text
    try:
        if _TIME.fullmatch(moment):
            datetime.fromisoformat(moment)
            return moment
    except ValueError:
        pass
    raise AffidavitError(faults.TIME_SYNTAX, value=text)


def datetime_of(text: str | None) -> datetime:
    """Return the time that the user gave, or now if none was given."""
    return datetime.fromisoformat(time_of(text))
