"""The gates of a ledger: its metrics and its default gates.

Rules G1 to G11 of docs/ledger.md. The gate language and its evaluation are in `affidavit.decision`.
"""

from collections.abc import Iterable
from typing import Final

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence as faults
from affidavit.decision.gate import Gate, override_gates, parse_default_gates, parse_gate
from affidavit.decision.metric import Metric, MetricKind, MetricTable, metric_table

COVERAGE: Final = Metric("coverage", MetricKind.SHARE, True, aliases=("evidence_coverage",))
UNSUPPORTED: Final = Metric("unsupported", MetricKind.SHARE, False, aliases=("unsupported_rate",))
MINOR_UNSUPPORTED: Final = Metric(
    "minor_unsupported",
    MetricKind.SHARE,
    False,
    "the answer has no minor claim",
    may_be_empty=True,
)
WEAK: Final = Metric("weak", MetricKind.SHARE, False)
CRITICAL_UNSUPPORTED: Final = Metric(
    "critical_unsupported", MetricKind.COUNT, False, aliases=("critical",)
)
CONTRADICTIONS: Final = Metric("contradictions", MetricKind.COUNT, False)
SUPPORTED: Final = Metric("supported", MetricKind.SHARE, True)
UNRESOLVED_CITATIONS: Final = Metric("unresolved_citations", MetricKind.COUNT, False)
LEDGER_METRICS: Final[MetricTable] = metric_table(
    [
        COVERAGE,
        UNSUPPORTED,
        MINOR_UNSUPPORTED,
        WEAK,
        CRITICAL_UNSUPPORTED,
        CONTRADICTIONS,
        SUPPORTED,
        UNRESOLVED_CITATIONS,
    ]
)
DEFAULT_GATES: Final = parse_default_gates(
    LEDGER_METRICS,
    "coverage>=0.85 unsupported<=0 minor_unsupported<=0.1 weak<=0.35 critical_unsupported<=0 "
    "contradictions<=0",
)
"""Origin: decisions.md, "Default gates", made stricter by docs/adr/0020.

The bound on `weak`, which counts claims that are weak or worse: a weak claim has a confidence of
0.5 to 0.8 (section 4.1 of the seed), so about 0.35 of weak claims are wrong, and at most 0.05 of
supported ones are. With a share `w` of weak claims, 0.35 w + 0.05 (1 - w) of an answer is expected
to be wrong. The gate on coverage tolerates 0.15, so `w` is at most a third; 0.35 is the next round
bound that lets one claim of three be weak.
"""
DEFAULT_GATES_1: Final = parse_default_gates(
    LEDGER_METRICS, "coverage>=0.85 unsupported<=0.05 critical_unsupported<=0 contradictions<=0"
)
"""The default gates of ledgers with the schema affidavit.ledger/1."""


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
