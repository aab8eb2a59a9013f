"""Reports that were stored, read back and written in other forms: nothing is measured again."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from affidavit.app.gating.history import History
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import reports as faults
from affidavit.base.files import read_bounded
from affidavit.base.json_limits import JsonLimits
from affidavit.base.strict_json import decode
from affidavit.formats.gate_report import html, junit, markdown, sarif
from affidavit.formats.gate_report.wire import report_of

MAX_REPORT_BYTES: Final = 512 * 1024 * 1024
"""A report names every item, so one of a million items has some tens of megabytes."""
_LIMITS: Final = JsonLimits(max_bytes=MAX_REPORT_BYTES)

FORMS: Final[Mapping[str, Callable[[Mapping[str, object]], str]]] = MappingProxyType(
    {"junit": junit.render, "sarif": sarif.render, "markdown": markdown.render}
)


def read_report(path: Path) -> dict[str, Any]:
    """Return a stored report, held to its shape."""
    raw = read_bounded(path, MAX_REPORT_BYTES)
    try:
        value = decode(raw, _LIMITS)
    except AffidavitError as error:
        raise error.at(file=str(path)) from None
    if not isinstance(value, dict):
        problem = "it is not a JSON object"
        raise AffidavitError(faults.REPORT_MALFORMED, Where(str(path)), problem=problem)
    report_of(value, str(path))
    return value


def in_form(name: str, wire: Mapping[str, object], history: History) -> bytes:
    """Return a report in one of its forms: html, junit, sarif or markdown."""
    text = html.render(wire, history.runs) if name == "html" else FORMS[name](wire)
    # A lone surrogate (a file name that is no text) has no UTF-8.
    return text.encode("utf-8", "backslashreplace")
