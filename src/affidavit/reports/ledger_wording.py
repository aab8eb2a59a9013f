"""The values of a ledger in words, for the terminal, HTML and PDF."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from affidavit.decision.decision import Decision, GateStatus
from affidavit.decision.metric import Metric, MetricKind
from affidavit.ledger import labels
from affidavit.ledger.gates import stored_gate
from affidavit.ledger.labels import full_place
from affidavit.ledger.record import Ledger, LocatedReading

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
LEDGER_METRIC_DESCRIPTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "coverage": "Material claims backed by evidence",
        "unsupported": "Material claims not backed by evidence",
        "critical_unsupported": "Critical claims not backed by evidence",
        "contradictions": "Contradicted claims",
        "supported": "Material claims fully supported",
        "unresolved_citations": "Citations that lead nowhere",
    }
)


def title_case(value: str) -> str:
    """Return `not_found` as `Not Found`, as the seed's tables write it."""
    return value.replace("_", " ").title()


def format_percent(share: float | None) -> str:
    """Return a share in whole percent, or a dash where there was nothing to measure."""
    return "–" if share is None else labels.percent_rounded_down(share)


def format_measure(metric: Metric, value: float | None) -> str:
    """Return the value of a metric: a share as a percentage, a count as a number."""
    if value is None:
        return "not measured"
    return format_percent(value) if metric.kind is MetricKind.SHARE else f"{value:g}"


class GateRow(NamedTuple):
    """One gate of a ledger in words, for its row in every rendering."""

    description: str
    wanted: str
    measured: str
    status: GateStatus


def gate_rows(ledger: Ledger) -> Iterator[GateRow]:
    """Yield the gates of a ledger with their results: `>= 85%`, `>= 85% @95`, `<= 0`."""
    for result in ledger.gates.results:
        gate = stored_gate(result.gate)
        wanted = f"{gate.operator} {format_measure(gate.metric, gate.threshold)}"
        confidence = "" if gate.percent is None else f" @{gate.percent:g}"
        yield GateRow(
            LEDGER_METRIC_DESCRIPTIONS[gate.metric.name],
            wanted + confidence,
            format_measure(gate.metric, result.value),
            result.status,
        )


def format_citation(reading: LocatedReading) -> str:
    """Return the place of a reading, with the anchor for an answer."""
    return f"{full_place(reading)} [cite:{reading.chunk_hash}]"


def format_quotation(reading: LocatedReading) -> str:
    """Return the quote with its source, to be pasted into a document."""
    return f'"{reading.snippet}" ({full_place(reading)}) [cite:{reading.chunk_hash}]'
