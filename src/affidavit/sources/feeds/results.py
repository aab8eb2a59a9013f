"""What may go into a fact: JSON of a bounded size. Rows are `{"results": [row, ...]}`."""

from typing import Any

from affidavit.base.canonical import sorted_compact
from affidavit.base.errors import AffidavitError
from affidavit.base.json_limits import JsonValue
from affidavit.sources.feeds.feed import Silence, SilentError


def as_json(value: Any, max_bytes: int) -> JsonValue:
    """Return a value if it has a form in JSON of at most so many bytes, or raise the silence."""
    try:
        size = len(sorted_compact(value))
    except AffidavitError as error:
        raise SilentError(Silence.MALFORMED, error.message) from None
    except RecursionError:
        raise SilentError(Silence.MALFORMED, "the result is nested too deeply") from None
    if size > max_bytes:
        problem = f"the result has {size} bytes, and {max_bytes} are allowed"
        raise SilentError(Silence.TOO_LARGE, problem)
    checked: JsonValue = value
    return checked


def as_rows(rows: list[JsonValue]) -> JsonValue:
    """Return rows in the form in which every feed with rows gives them."""
    return {"results": rows}
