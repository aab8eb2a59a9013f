"""How the ledger's values are said to people, in one place for the terminal, HTML and PDF."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from affidavit.ledger.gates import Decision, Gate, GateStatus, Metric
from affidavit.ledger.model import Verdict
from affidavit.ledger.record import Exhibit

# Section 8.1 of evidence-ledger.md shows these symbols; a contradiction has none there.
SYMBOLS: Final[Mapping[Verdict, str]] = MappingProxyType(
    {
        Verdict.SUPPORTED: "✓",
        Verdict.WEAK: "?",
        Verdict.CONTRADICTED: "✗",
        Verdict.NOT_FOUND: "○",
    }
)
DECISIONS: Final[Mapping[Decision, str]] = MappingProxyType(
    {
        Decision.SHIP: "Ship",
        Decision.NO_SHIP: "Do not ship",
        Decision.INCONCLUSIVE: "Could not tell",
    }
)
STATUSES: Final[Mapping[GateStatus, str]] = MappingProxyType(
    {
        GateStatus.PASSED: "Pass",
        GateStatus.FAILED: "Fail",
        GateStatus.NOT_MEASURED: "Not measured",
    }
)
METRICS: Final[Mapping[Metric, str]] = MappingProxyType(
    {
        Metric.COVERAGE: "Material claims with evidence",
        Metric.UNSUPPORTED: "Material claims without evidence",
        Metric.CRITICAL_UNSUPPORTED: "Critical claims without evidence",
        Metric.CONTRADICTIONS: "Contradicted claims",
        Metric.SUPPORTED: "Material claims fully supported",
        Metric.UNRESOLVED_CITATIONS: "Citations that lead nowhere",
    }
)
RATES: Final = frozenset({Metric.COVERAGE, Metric.UNSUPPORTED, Metric.SUPPORTED})


def title_case(value: str) -> str:
    """Return `not_found` as `Not Found`, as the seed's tables write it."""
    return value.replace("_", " ").title()


def percent(share: float | None) -> str:
    """Return a share in whole percent, or a dash where there was nothing to measure.

    A share short of one never reads 100%, and one above zero never 0%.
    """
    if share is None:
        return "–"
    whole = round(share * 100)
    if whole == 100 and share < 1:
        return "99%"
    if whole == 0 and share > 0:
        return "1%"
    return f"{whole}%"


def figure(metric: Metric, value: float | None) -> str:
    """Return a gate's figure: a share in percent, a count as it is."""
    if value is None:
        return "not measured"
    return percent(value) if metric in RATES else f"{value:g}"


def wanted(gate: Gate) -> str:
    """Return what a gate asks for: `>= 85%`, `<= 0`."""
    return f"{gate.operator} {figure(gate.metric, gate.threshold)}"


def citation(exhibit: Exhibit) -> str:
    """Return where an exhibit stands, with the anchor that an answer can carry."""
    return f"{source_long(exhibit)} [cite:{exhibit.chunk_hash}]"


def quotation(exhibit: Exhibit) -> str:
    """Return the quote with its source, as somebody pastes it into a document."""
    return f'"{exhibit.reading.snippet}" ({source_long(exhibit)}) [cite:{exhibit.chunk_hash}]'


def source_short(exhibit: Exhibit) -> str:
    """Return where an exhibit stands as the table shows it: `HR_Policy.pdf, p.12`."""
    if exhibit.page_number is not None:
        return f"{exhibit.filename}, p.{exhibit.page_number}"
    section = section_number(exhibit.heading_path)
    if section is not None:
        return f"{exhibit.filename}, §{section}"
    return (
        f"{exhibit.filename}, {exhibit.heading_path[-1]}"
        if exhibit.heading_path
        else exhibit.filename
    )


def source_long(exhibit: Exhibit) -> str:
    """Return where an exhibit stands in words: `HR_Policy.pdf, Page 15, Section 4.2`."""
    parts = [exhibit.filename]
    if exhibit.page_number is not None:
        parts.append(f"Page {exhibit.page_number}")
    if exhibit.heading_path:
        section = section_number(exhibit.heading_path)
        parts.append(f"Section {section}" if section else exhibit.heading_path[-1])
    return ", ".join(parts)


def section_number(heading_path: tuple[str, ...]) -> str | None:
    """Return the number that the nearest heading begins with, `4.2` of `4.2 Carry-over`."""
    if not heading_path:
        return None
    first = heading_path[-1].split(maxsplit=1)[0].removeprefix("§").rstrip(".")
    parts = first.split(".")
    # Four digits are a year.
    return first if all(part.isdecimal() and len(part) < 4 for part in parts) else None
