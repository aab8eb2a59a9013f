"""How the ledger's values are said to people, in one place for the terminal, HTML and PDF."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from affidavit.decision.decision import Decision, GateStatus
from affidavit.ledger import labels
from affidavit.ledger.gates import Gate, Metric
from affidavit.ledger.labels import full_place
from affidavit.ledger.record import Exhibit

LEDGER_DECISION_NAMES: Final[Mapping[Decision, str]] = MappingProxyType(
    {
        Decision.SHIP: "Ship",
        Decision.NO_SHIP: "Do not ship",
        Decision.INCONCLUSIVE: "Could not tell",
    }
)
LEDGER_STATUS_NAMES: Final[Mapping[GateStatus, str]] = MappingProxyType(
    {
        GateStatus.PASSED: "Pass",
        GateStatus.FAILED: "Fail",
        GateStatus.OPEN: "Not measured",
    }
)
LEDGER_METRIC_DESCRIPTIONS: Final[Mapping[Metric, str]] = MappingProxyType(
    {
        Metric.COVERAGE: "Material claims backed by evidence",
        Metric.UNSUPPORTED: "Material claims not backed by evidence",
        Metric.CRITICAL_UNSUPPORTED: "Critical claims not backed by evidence",
        Metric.CONTRADICTIONS: "Contradicted claims",
        Metric.SUPPORTED: "Material claims fully supported",
        Metric.UNRESOLVED_CITATIONS: "Citations that lead nowhere",
    }
)
SHARE_METRICS: Final = frozenset({Metric.COVERAGE, Metric.UNSUPPORTED, Metric.SUPPORTED})


def title_case(value: str) -> str:
    """Return `not_found` as `Not Found`, as the seed's tables write it."""
    return value.replace("_", " ").title()


def format_percent(share: float | None) -> str:
    """Return a share in whole percent, or a dash where there was nothing to measure."""
    return "–" if share is None else labels.percent_rounded_down(share)


def format_measure(metric: Metric, value: float | None) -> str:
    """Return a gate's figure: a share in percent, a count as it is."""
    if value is None:
        return "not measured"
    return format_percent(value) if metric in SHARE_METRICS else f"{value:g}"


def format_gate_threshold(gate: Gate) -> str:
    """Return what a gate asks for: `>= 85%`, `<= 0`."""
    return f"{gate.operator} {format_measure(gate.metric, gate.threshold)}"


def format_citation(exhibit: Exhibit) -> str:
    """Return where an exhibit stands, with the anchor that an answer can carry."""
    return f"{full_place(exhibit)} [cite:{exhibit.chunk_hash}]"


def format_quotation(exhibit: Exhibit) -> str:
    """Return the quote with its source, as somebody pastes it into a document."""
    return f'"{exhibit.reading.snippet}" ({full_place(exhibit)}) [cite:{exhibit.chunk_hash}]'
