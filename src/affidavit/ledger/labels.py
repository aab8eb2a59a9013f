"""How verdicts and places are written for people: sections 8.1, 8.2 and 9.1 of the seed."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from affidavit.ledger.model import Verdict, section_of
from affidavit.ledger.record import LocatedReading

VERDICT_NAMES: Final[Mapping[Verdict, str]] = MappingProxyType(
    {
        Verdict.SUPPORTED: "Supported",
        Verdict.WEAK: "Weak",
        Verdict.CONTRADICTED: "Contradicted",
        Verdict.NOT_FOUND: "Not Found",
    }
)
VERDICT_SYMBOLS: Final[Mapping[Verdict, str]] = MappingProxyType(
    {
        Verdict.SUPPORTED: "\u2713",
        Verdict.WEAK: "?",
        Verdict.CONTRADICTED: "\u2717",
        Verdict.NOT_FOUND: "\u25cb",
    }
)


def verdict_label(verdict: Verdict) -> str:
    """Return a verdict with its symbol: "✓ Supported"."""
    return f"{VERDICT_SYMBOLS[verdict]} {VERDICT_NAMES[verdict]}"


def short_place(reading: LocatedReading) -> str:
    """Return a source as the table has it: "HR_Policy.pdf, p.12", "Guide.pdf, §3.2"."""
    section = section_of(reading.heading_path)
    if reading.page_number is not None:
        return f"{reading.filename}, p.{reading.page_number}"
    if section is not None:
        return f"{reading.filename}, \u00a7{section}"
    return _named(reading)


def long_place(reading: LocatedReading) -> str:
    """Return a source as the exports have it: "HR_Policy.pdf, Page 12", "Guide.md, Section 3.2"."""
    section = section_of(reading.heading_path)
    if reading.page_number is not None:
        return f"{reading.filename}, Page {reading.page_number}"
    if section is not None:
        return f"{reading.filename}, Section {section}"
    return _named(reading)


def full_place(reading: LocatedReading) -> str:
    """Return a source with both its page and its section: "HR_Policy.pdf, Page 15, Section 4.2"."""
    section = section_of(reading.heading_path)
    if reading.page_number is None or section is None:
        return long_place(reading)
    return f"{long_place(reading)}, Section {section}"


def _named(reading: LocatedReading) -> str:
    if reading.heading_path:
        return f"{reading.filename}, \u201c{reading.heading_path[-1]}\u201d"
    return reading.filename


def count_with_noun(count: int, noun: str = "claim") -> str:
    """Return a number with its noun: "1 claim", "2 claims"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def percent_rounded_down(share: float) -> str:
    """Return a share in whole percent, rounded down: 84.9% must not look like a passed 85%."""
    return f"{int(share * 100 + 1e-9)}%"


def percent_rounded_up(share: float) -> str:
    """Return a share in whole percent, rounded up: 10.4% must not look like an allowed 10%."""
    return f"{math.ceil(share * 100 - 1e-9)}%"
