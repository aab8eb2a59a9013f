"""Gates on a lint result: how complete and how replayable a bundle is, and how many findings."""

from collections.abc import Iterable, Mapping
from typing import Final

from affidavit.base.statistics.rates import Rate
from affidavit.decision.evaluation import DecisionSummary, Measure, decide, summarise_decision
from affidavit.decision.gate import Gate
from affidavit.decision.metric import Metric, MetricKind, MetricTable, metric_table
from affidavit.packs.lint import LintResult
from affidavit.packs.model import Severity
from affidavit.packs.signals import REGISTRY, TOTAL_WEIGHT

COMPLETENESS: Final = Metric(
    "completeness", MetricKind.SHARE, True, empty="the packs require no signal"
)
CLOSURE: Final = Metric("closure", MetricKind.SCORE, True, aliases=("closure_score",))
FINDINGS: Final = Metric("findings", MetricKind.COUNT, False)
FINDINGS_BY_SEVERITY: Final[Mapping[Severity, Metric]] = {
    severity: Metric(f"{severity.value}s", MetricKind.COUNT, False) for severity in Severity
}
LINT_METRICS: Final[MetricTable] = metric_table(
    [COMPLETENESS, CLOSURE, FINDINGS, *FINDINGS_BY_SEVERITY.values()]
)


def lint_measures(result: LintResult) -> Mapping[str, Measure]:
    """Return the measures of a bundle. A redacted signal counts as complete, as in the report."""
    rate = Rate(result.completeness.held, len(result.completeness.required))
    captured_weight = sum(REGISTRY[name].weight for name in result.closure.captured)
    counts = {FINDINGS: result.summary.total} | {
        metric: result.summary.count(severity) for severity, metric in FINDINGS_BY_SEVERITY.items()
    }
    measures = (
        Measure(metric=COMPLETENESS, value=rate.value, rate=rate),
        Measure(metric=CLOSURE, value=captured_weight / TOTAL_WEIGHT),
        *(Measure(metric=metric, value=count) for metric, count in counts.items()),
    )
    return {measure.metric.name: measure for measure in measures}


def decide_lint(gates: Iterable[Gate], result: LintResult) -> DecisionSummary:
    """Return the decision of the gates on one bundle."""
    return summarise_decision(decide(gates, lint_measures(result)))
