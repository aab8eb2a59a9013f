"""Reports that were stored, read again: baselines, accuracies, both sides of a comparison."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.files import read_bounded
from affidavit.base.json_limits import DOCUMENT_LIMITS, JsonValue
from affidavit.base.strict_json import decode
from affidavit.gates.comparison import outcomes_of_report

MAX_REPORT_BYTES: Final = 1024 * 1024 * 1024
"""A report of ten million items has some hundred megabytes."""
_LIMITS: Final = replace(DOCUMENT_LIMITS, max_bytes=MAX_REPORT_BYTES)


def stored_value(path: Path) -> JsonValue:
    """Return the JSON of a stored report."""
    raw = read_bounded(path, MAX_REPORT_BYTES)
    try:
        return decode(raw, _LIMITS)
    except AffidavitError as error:
        raise error.at(file=str(path)) from None


def outcomes_before(path: Path | None, kind: str) -> dict[str, bool | None] | None:
    """Return how the items of a baseline came out; no baseline, no items."""
    return None if path is None else outcomes_of_report(stored_value(path), kind, str(path))
