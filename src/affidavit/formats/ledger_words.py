"""How the ledger's values are said to people, in one place for the terminal, HTML and PDF."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from affidavit.base.decision import Decision, GateStatus
from affidavit.ledger import places
from affidavit.ledger.gates import Gate, Metric
from affidavit.ledger.places import full_place
from affidavit.ledger.record import Exhibit

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
        GateStatus.OPEN: "Not measured",
    }
)
METRICS: Final[Mapping[Metric, str]] = MappingProxyType(
    {
        Metric.COVERAGE: "Material claims backed by evidence",
        Metric.UNSUPPORTED: "Material claims not backed by evidence",
        Metric.CRITICAL_UNSUPPORTED: "Critical claims not backed by evidence",
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
    """Return a share in whole percent, or a dash where there was nothing to measure."""
    return "–" if share is None else places.percent(share)


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
    return f"{full_place(exhibit)} [cite:{exhibit.chunk_hash}]"


def quotation(exhibit: Exhibit) -> str:
    """Return the quote with its source, as somebody pastes it into a document."""
    return f'"{exhibit.reading.snippet}" ({full_place(exhibit)}) [cite:{exhibit.chunk_hash}]'
