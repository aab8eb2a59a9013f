"""The values of a ledger in words, for the terminal, HTML and PDF."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from affidavit.decision.decision import Decision, GateStatus, status_words
from affidavit.decision.gate import Gate
from affidavit.decision.metric import Metric, MetricKind
from affidavit.ledger import labels
from affidavit.ledger.adjudication import gate_measures
from affidavit.ledger.gates import MINOR_UNSUPPORTED, UNSUPPORTED, stored_gate
from affidavit.ledger.labels import full_place
from affidavit.ledger.record import Ledger, LocatedReading
from affidavit.ledger.review import HumanDecision

LEDGER_DECISION_NAMES: Final[Mapping[Decision, str]] = MappingProxyType(
    {
        Decision.SHIP: "Ship",
        Decision.NO_SHIP: "Do not ship",
        Decision.INCONCLUSIVE: "Could not tell",
    }
)
LEDGER_METRIC_DESCRIPTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "coverage": "Critical and material claims backed by evidence",
        "unsupported": "Critical and material claims unsupported",
        "minor_unsupported": "Minor claims unsupported",
        "weak": "Claims that are weak or worse, of any importance",
        "critical_unsupported": "Critical claims unsupported",
        "contradictions": "Contradicted claims, of any importance",
        "supported": "Critical and material claims fully supported",
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
    """Return the value of a metric: a share as a percentage, a count as a number.

    A share is rounded to the worse side, so that no failing value looks like its threshold.
    """
    if value is None:
        return "not measured"
    if metric.kind is not MetricKind.SHARE:
        return f"{value:g}"
    rounded = labels.percent_rounded_down if metric.more_is_better else labels.percent_rounded_up
    return rounded(value)


def _format_threshold(gate: Gate) -> str:
    is_share = gate.metric.kind is MetricKind.SHARE
    return f"{gate.threshold * 100:g}%" if is_share else f"{gate.threshold:g}"


class UnsupportedShares(NamedTuple):
    """The unsupported shares of a ledger in words; a dash where there is no such claim."""

    material: str
    """Among critical and material claims."""
    minor: str


def unsupported_shares(ledger: Ledger) -> UnsupportedShares:
    """Return what the gates measure, whatever an older ledger calls `unsupported_rate`."""
    measures = gate_measures(ledger.entries, ledger.findings)
    values = ((each, measures[each.name].value) for each in (UNSUPPORTED, MINOR_UNSUPPORTED))
    shares = ("–" if value is None else format_measure(each, value) for each, value in values)
    return UnsupportedShares(*shares)


class GateRow(NamedTuple):
    """One gate of a ledger in words, for its row in every rendering."""

    description: str
    wanted: str
    measured: str
    status: GateStatus
    result: str


def gate_rows(ledger: Ledger) -> Iterator[GateRow]:
    """Yield the gates of a ledger with their results: `>= 85%`, `>= 85% @95`, `<= 0`."""
    for result in ledger.gates.results:
        gate = stored_gate(result.gate)
        wanted = f"{gate.operator} {_format_threshold(gate)}"
        confidence = "" if gate.percent is None else f" @{gate.percent:g}"
        yield GateRow(
            LEDGER_METRIC_DESCRIPTIONS[gate.metric.name],
            wanted + confidence,
            "–" if result.status is GateStatus.EMPTY else format_measure(gate.metric, result.value),
            result.status,
            status_words(result.status, result.value).capitalize(),
        )


def decision_words(decision: HumanDecision, numbers: Mapping[str, int]) -> str:
    """Return what a person decided: "approved the answer", "changed the verdict of claim 3 ..."."""
    if decision.claim_id is None:
        return f"{decision.to_value} the answer"
    claim, to = f"claim {numbers[decision.claim_id]}", title_case(decision.to_value)
    field = title_case(decision.field).lower()
    if decision.from_value == decision.to_value:
        return f"confirmed the {field} of {claim}: {to}"
    return f"changed the {field} of {claim} from {title_case(decision.from_value)} to {to}"


class ConfidenceBadge(NamedTuple):
    """How a confidence is shown: section 6.2 of the seed. `name` is a class of the pages."""

    least: float
    name: str
    words: str


CONFIDENCE_BADGES: Final = (
    ConfidenceBadge(0.85, "high", "High confidence"),
    ConfidenceBadge(0.7, "good", "Good confidence"),
    ConfidenceBadge(0.5, "moderate", "Moderate confidence"),
    ConfidenceBadge(0.3, "low", "Low confidence"),
    ConfidenceBadge(0.0, "very-low", "Very low confidence"),
)


def confidence_badge(score: float) -> ConfidenceBadge:
    """Return the badge of a confidence."""
    return next(badge for badge in CONFIDENCE_BADGES if score >= badge.least)


def format_citation(reading: LocatedReading) -> str:
    """Return the place of a reading, with the anchor for an answer."""
    return f"{full_place(reading)} [cite:{reading.chunk_hash}]"


def format_quotation(reading: LocatedReading) -> str:
    """Return the quote with its source, to be pasted into a document."""
    return f'"{reading.snippet}" ({full_place(reading)}) [cite:{reading.chunk_hash}]'
