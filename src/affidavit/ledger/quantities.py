"""Quantities in a claim: amounts, counts, money, shares, durations. Rule T1 of docs/ledger.md.

A number is no quantity when it is a date, a year, a time of day, an ordinal, a reference
("Section 3.2") or part of a name ("COVID-19").
"""

import re
from typing import Final

from affidavit.ledger.model import Span

_MONTHS: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_NOT_A_QUANTITY: Final = re.compile(
    rf"\b{_MONTHS} \d{{1,2}}(?:st|nd|rd|th)?\b(?:,? \d{{4}}\b)?"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTHS}(?!\w)(?:,? \d{{4}}\b)?"
    rf"|\b{_MONTHS},? \d{{4}}\b"
    r"|\b\d{4}(?:-\d{2}){1,2}\b|\b\d{4} ?[-\u2013]+ ?(?:\d{4}|\d{2})\b"
    r"|\b\d{1,2}[/.]\d{1,2}[/.]\d{2,4}\b"
    r"|\b\d{1,2}:\d{2}(?::\d{2})?\b|\b\d{1,2} ?[ap]\.?m\b"
    r"|\b\d+(?:st|nd|rd|th)\b"
    r"|\b(?:sections?|articles?|clauses?|paragraphs?|pages?|pp?\.|chapters?|parts?|steps?|versions?"
    r"|appendix|annex|figures?|tables?|forms?|rules?|phases?|levels?|tiers?|grades?|class(?:es)?"
    r"|schedules?|items?|numbers?|no\.|iso|rfc|iec|en|rooms?|python|windows|release)"
    r" [#\u00a7]?\d[\d.\-\u2013]*(?:(?:,| and| or| to) \d[\d.]*)*"
    r"|[\u00a7#][ ]?\d[\d.]*",
    re.IGNORECASE,
)
_UNITS: Final = (
    r"%|percent|per cent|points?|days?|weeks?|months?|years?|hours?|minutes?|seconds?|quarters?"
    r"|times|dollars?|euros?|pounds?|cents?|km|kilometers?|kilometres?|miles?|metres?|meters?|cm|mm"
    r"|feet|foot|inch(?:es)?|kg|grams?|tons?|tonnes?|lit(?:er|re)s?|degrees?|pages?|people|persons?"
    r"|employees?|users?|copies|hundred|thousand|million|billion|trillion|dozen"
)
_NUMBER: Final = re.compile(
    r"(?<![\w.])(?<![^\W\d_]-)(?P<money>[$\u20ac\u00a3\u00a5]\s?)?"
    r"(?P<digits>\d+(?:[,.]\d+)*)"
    r"(?P<suffix>%|\u2030|\u00b0[CF]?|(?:k|m|bn|x|kg|g|mg|km|cm|mm|ml|l|kb|mb|gb|tb|ms|s|h|w|kw|v|hz"
    r"|khz|mhz|ghz)\b)?(?![^\W\d_]|_)",
    re.IGNORECASE,
)
_COUNTED: Final = re.compile(rf"[ -](?:{_UNITS}|[^\W\d_]+s)(?!\w)", re.IGNORECASE)
_WORDS: Final = (
    r"two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen"
    r"|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundreds?"
    r"|thousands?|millions?|billions?|dozens?|half|twice|zero"
)
_NUMBER_WORD: Final = re.compile(
    r"(?<!\bthe )(?<!\bthese )(?<!\bthose )(?<!\bboth )(?<!\bits )(?<!\btheir )(?<!\bour )"
    rf"\b(?:{_WORDS}|one(?=[ -](?:{_UNITS})\b))\b(?! of\b)",
    re.IGNORECASE,
)
_NAME_BEFORE: Final = re.compile(r"\w [A-Z][a-z]+ $")
_PROPER: Final = re.compile(r"[A-Z]\w+ [A-Z]")
"""A number word in a name: "Six Sigma"."""
_FIRST_YEAR, _LAST_YEAR = 1500, 2100


def quantities(text: str) -> tuple[Span, ...]:
    """Return where the quantities of a claim begin and end, in order."""
    # What is no quantity is blanked out, letter by letter, so that places stay the same.
    plain = _NOT_A_QUANTITY.sub(lambda found: " " * len(found[0]), text)
    digits = (
        Span(found.start(), found.end())
        for found in _NUMBER.finditer(plain)
        if not _is_year(plain, found) and not _is_named(plain, found)
    )
    spelled = (
        Span(found.start(), found.end())
        for found in _NUMBER_WORD.finditer(plain)
        if _PROPER.match(plain, found.start()) is None
    )
    return tuple(sorted((*digits, *spelled), key=lambda span: span.start))


def _is_named(text: str, found: re.Match[str]) -> bool:
    """Tell whether a number belongs to the name before it: "the Hot 100", "Highway 91"."""
    if found["money"] or found["suffix"] or _COUNTED.match(text, found.end()):
        return False
    return _NAME_BEFORE.search(text, 0, found.start()) is not None


def _is_year(text: str, found: re.Match[str]) -> bool:
    digits = found["digits"]
    if found["money"] or found["suffix"] or len(digits) != len("1999") or not digits.isdigit():
        return False
    return _FIRST_YEAR <= int(digits) <= _LAST_YEAR and _COUNTED.match(text, found.end()) is None
