"""The date that a document states about itself, as YYYY-MM-DD.

The first of these that is found:
1. a date with a label in the first 4,000 characters ("Effective 1 January 2026", "Version 2.1,
   2025-11-30", "Last updated: ..."); of several the latest, because a history lists all versions;
2. the metadata of the file: the last change, or else the creation;
3. a date without a label in the first 600 characters, (almost) alone on its line, as under a title;
   a date in the middle of a sentence is part of the content.

A month without a day counts as its first day. 03/04/2026 is ignored, because the order of day
and month is unknown; 25/04/2026 is unambiguous. The day on which a review is due or a rule ends is
not the date of the document.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Final

_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june", "july", "august"),
    *("september", "october", "november", "december"),
)
_MONTH: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DATE: Final = re.compile(
    r"\b(?P<y1>(?:19|20)\d\d)[-/.](?P<m1>\d{1,2})[-/.](?P<d1>\d{1,2})(?!\d)"
    rf"|\b(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<n2>{_MONTH}),?\s+(?P<y2>(?:19|20)\d\d)\b"
    rf"|\b(?P<n3>{_MONTH})\s+(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<y3>(?:19|20)\d\d)\b"
    r"|\b(?P<a4>\d{1,2})(?P<s4>[./-])(?P<b4>\d{1,2})(?P=s4)(?P<y4>(?:19|20)\d\d)\b"
    rf"|\b(?P<n5>{_MONTH}),?\s+(?P<y5>(?:19|20)\d\d)\b",
    re.I,
)
_LABEL: Final = re.compile(
    r"\b(?:effective|in force|last (?:updated|modified|changed|revised|reviewed|edited)"
    r"|updated|revised|revision|issued|published|approved|adopted|dated|date|as (?:of|at)"
    r"|version|release[d]?|edition|valid from|applies from)\b",
    re.I,
)
_NOT_ITS_DATE: Final = re.compile(
    r"\b(?:next|due|until|expir\w+|ends?|before|replaces|supersedes|superseded|previous\w*)\b", re.I
)
_BETWEEN: Final = 60
_LABELLED_WITHIN: Final = 4_000
_BARE_WITHIN: Final = 600
_WORDS_BESIDE: Final = 3  # "Zurich, 5 May 2021"; "Memo of 5 May 2021".
_PDF_DATE: Final = re.compile(r"D?:?((?:19|20)\d\d)(\d\d)?(\d\d)?")


def document_date(text: str, stated: Sequence[str]) -> str | None:
    """Return the document's own date, or None if it has none."""
    labelled = max(_labelled_dates(text[:_LABELLED_WITHIN]), default=None)
    if labelled is not None:
        return labelled
    for value in stated:
        found = stated_date(value)
        if found is not None:
            return found
    return next(_dates_on_own_line(text[:_BARE_WITHIN]), None)


def _dates_on_own_line(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if _NOT_ITS_DATE.search(line):
            continue
        for match in _DATE.finditer(line):
            beside = (line[: match.start()] + line[match.end() :]).split()
            day = _day_of(match)
            if day is not None and len(beside) <= _WORDS_BESIDE:
                yield day


def stated_date(value: str) -> str | None:
    """Return the day of a metadata date: ISO 8601, PDF (D:20260131...), or words."""
    value = value.strip()[:200]
    compact = _PDF_DATE.match(value)
    if compact and (value.startswith("D:") or value[:8].isdecimal()):
        return _day(compact[1], compact[2] or "1", compact[3] or "1")
    return next(_dates(value), (0, None))[1]


def _labelled_dates(text: str) -> Iterator[str]:
    for start, day in _dates(text):
        before = re.split(r"[\n!?]|(?<=[a-z]{3})\. ", text[max(0, start - _BETWEEN) : start])[-1]
        if _LABEL.search(before) and not _NOT_ITS_DATE.search(before):
            yield day


def _dates(text: str) -> Iterator[tuple[int, str]]:
    for match in _DATE.finditer(text):
        day = _day_of(match)
        if day is not None:
            yield match.start(), day


def _day_of(match: re.Match[str]) -> str | None:
    part = match.groupdict()
    if part["y1"]:
        return _day(part["y1"], part["m1"], part["d1"])
    if part["y2"]:
        return _day(part["y2"], _month(part["n2"]), part["d2"])
    if part["y3"]:
        return _day(part["y3"], _month(part["n3"]), part["d3"])
    if part["y5"]:
        return _day(part["y5"], _month(part["n5"]), "1")
    return _day_from_two(part["y4"], part["a4"], part["b4"], part["s4"])


def _day_from_two(year: str, first: str, second: str, separator: str) -> str | None:
    """Return 31.12.2025 and 31/12/2025 day first, 12/31/2025 as American, 03/04/2026 not at all."""
    if separator == "." or int(first) > 12 or first == second:
        return _day(year, second, first)
    return _day(year, first, second) if int(second) > 12 else None


def _month(name: str) -> str:
    start = name.lower()[:3]
    return str(1 + next(at for at, month in enumerate(_MONTHS) if month.startswith(start)))


def _day(year: str, month: str, day: str) -> str | None:
    try:
        return date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return None
