"""The gates of a ledger: its metrics and its default gates.

Rules G1 to G6 of docs/ledger.md. The gate language and its evaluation are in `affidavit.decision`.
"""

from collections.abc import Iterable
from typing import Final

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence as faults
from affidavit.decision.gate import Gate, override_gates, parse_default_gates, parse_gate
from affidavit.decision.metric import Metric, MetricKind, MetricTable, metric_table

COVERAGE: Final = Metric("coverage", MetricKind.SHARE, True, aliases=("evidence_coverage",))
UNSUPPORTED: Final = Metric("unsupported", MetricKind.SHARE, False, aliases=("unsupported_rate",))
CRITICAL_UNSUPPORTED: Final = Metric(
    "critical_unsupported", MetricKind.COUNT, False, aliases=("critical",)
)
CONTRADICTIONS: Final = Metric("contradictions", MetricKind.COUNT, False)
SUPPORTED: Final = Metric("supported", MetricKind.SHARE, True)
UNRESOLVED_CITATIONS: Final = Metric("unresolved_citations", MetricKind.COUNT, False)
LEDGER_METRICS: Final[MetricTable] = metric_table(
    [COVERAGE, UNSUPPORTED, CRITICAL_UNSUPPORTED, CONTRADICTIONS, SUPPORTED, UNRESOLVED_CITATIONS]
)
DEFAULT_GATES: Final = parse_default_gates(
    LEDGER_METRICS,
    "coverage>=0.85",
    "unsupported<=0.05",
    "critical_unsupported<=0",
    "contradictions<=0",
)
"""Origin: decisions.md, "Default gates"."""


def override_ledger_gates(
    overrides: Iterable[str], gates: Iterable[Gate] = DEFAULT_GATES
) -> tuple[Gate, ...]:
    """Return `gates` with some replaced, added (`supported>=0.5`) or removed (`coverage=off`)."""
    return override_gates(overrides, gates, LEDGER_METRICS)


def stored_gate(text: str) -> Gate:
    """Return the gate of a stored result."""
    gate = parse_gate(text, LEDGER_METRICS)[1]
    if gate is None:
        problem = "a gate that is off has a result"
        raise AffidavitError(faults.LEDGER_MALFORMED, Where(field="gates.results"), problem=problem)
    return gate
