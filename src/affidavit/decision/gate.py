"""Gates as users write them, in the spellings of the documents and of the command line.

`precision=0.80 chr=0.75`, `precision=0.80,under=0.05`, `precision>=0.80`, with confidence
`precision>=0.80@95`, at one load `p95_ms/5rps<=2500`, and `under_refusal=off`.
"""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NoReturn

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import gates as faults
from affidavit.base.text import excerpt
from affidavit.decision import metric as tables
from affidavit.decision.metric import RANGE_DESCRIPTIONS, Metric, MetricKind, MetricTable
from affidavit.decision.thresholds import meets_threshold, parse_number, threshold_text

# The name may end in "@k", as the documents write recall; a confidence follows the number. A part
# stands in the report: half a letter, which a command line may bring, has no place there.
_GATE: Final = re.compile(
    r"(?P<name>[a-z][a-z0-9_]*(?:@k)?)(?:/(?P<part>[^\s<>=@,/\ud800-\udfff]+))?"
    r"\s*(?P<operator>>=|<=|>|<|==|=)\s*(?P<number>[^\s@]+?)(?:@(?P<confidence>[^\s@%]+)%?)?",
)
_SPACED: Final = re.compile(r"\s*(>=|<=|==|=|>|<)\s*")
_LEAST_CONFIDENCE: Final = 50.0
_MOST_CONFIDENCE: Final = 99.9


@dataclass(frozen=True, slots=True)
class Gate:
    """A metric and the threshold that it must reach (`>=`, `>`) or keep (`<=`, `<`).

    `part` names a slice of the rows, the load of a latency; `confidence` asks that the bound of the
    Wilson interval holds too.
    """

    metric: Metric
    operator: str
    threshold: float
    part: str | None = None
    confidence: float | None = None

    def __str__(self) -> str:
        sure = (
            ""
            if self.confidence is None
            else f"@{threshold_text(rounded_percent(self.confidence))}"
        )
        return f"{self.key}{self.operator}{threshold_text(self.threshold)}{sure}"

    @property
    def key(self) -> str:
        """What the gate is on: the metric's name, with the part if there is one."""
        return self.metric.name if self.part is None else f"{self.metric.name}/{self.part}"

    def holds(self, value: float) -> bool:
        """Tell whether a value satisfies the gate; both are unrounded."""
        return meets_threshold(value, self.operator, self.threshold)


def rounded_percent(share: float) -> float:
    """Return a share as percent, without the noise of the multiplication."""
    return round(share * 100, 6)


def parse_default_gates(metrics: MetricTable, *texts: str) -> tuple[Gate, ...]:
    """Return gates that are written in the program."""
    return tuple(gate for _, gate in (parse_gate(text, metrics) for text in texts) if gate)


def override_gates(
    overrides: Iterable[str], defaults: Iterable[Gate], metrics: MetricTable
) -> tuple[Gate, ...]:
    """Return the default gates with some replaced, added, or off (`chr=off`).

    Each text may hold several gates, with commas or spaces between them. One metric has one gate:
    naming it twice is an error, not a matter of order.
    """
    changed: dict[str, Gate | None] = {}
    for text in _split_gates(overrides):
        key, gate = parse_gate(text, metrics)
        if key in changed:
            raise AffidavitError(faults.GATE_TWICE, metric=key)
        changed[key] = gate
    merged = {**{gate.key: gate for gate in defaults}, **changed}
    return tuple(gate for gate in merged.values() if gate is not None)


def _split_gates(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        # A long row of spaces would be tried from each of them.
        spaced = " ".join(text.split())
        yield from _SPACED.sub(r"\1", spaced).replace(",", " ").split()


def parse_gate(text: str, metrics: MetricTable) -> tuple[str, Gate | None]:
    """Return what one gate is on, and the gate; `chr=off` has none."""
    found = _GATE.fullmatch(text.strip())
    if found is None:
        raise AffidavitError(faults.GATE_SYNTAX, text=excerpt(text))
    metric = _metric_named(found["name"], metrics)
    if found["part"] is not None and metric.kind is not MetricKind.AMOUNT:
        _refuse_metric(f"{metric.name}/{found['part']}", metrics)
    if found["operator"] == "=" and found["number"] == "off" and found["confidence"] is None:
        return Gate(metric, "=", 0, found["part"]).key, None
    operator = metric.operator if found["operator"].strip("=") == "" else found["operator"]
    if operator[0] != metric.operator[0]:
        raise AffidavitError(
            faults.GATE_DIRECTION,
            text=excerpt(text),
            metric=metric.name,
            operator=metric.operator,
        )
    threshold = _parse_threshold(metric, found["number"], text)
    confidence = _parse_confidence(metric, found["confidence"], text)
    gate = Gate(metric, operator, threshold, found["part"], confidence)
    return gate.key, gate


def _metric_named(name: str, metrics: MetricTable) -> Metric:
    for metric in metrics.values():
        if name == metric.name or name in metric.aliases:
            return metric
    _refuse_metric(name, metrics)


def _refuse_metric(name: str, metrics: MetricTable) -> NoReturn:
    raise AffidavitError(faults.GATE_METRIC, metric=excerpt(name), known=", ".join(metrics))


def _parse_threshold(metric: Metric, number: str, text: str) -> float:
    value = parse_number(number)
    if value is None:
        raise AffidavitError(faults.GATE_SYNTAX, text=excerpt(text))
    low = -1 if metric.kind is MetricKind.COEFFICIENT else 0
    high = 1 if metric.kind in (MetricKind.SHARE, MetricKind.COEFFICIENT) else math.inf
    is_whole = metric.kind is not MetricKind.COUNT or value % 1 == 0
    if not math.isfinite(value) or not low <= value <= high or not is_whole:
        raise AffidavitError(
            faults.GATE_RANGE,
            text=excerpt(text),
            metric=metric.name,
            range=RANGE_DESCRIPTIONS[metric.kind],
        )
    return value + 0.0  # "-0" is 0.


def _parse_confidence(metric: Metric, percent: str | None, text: str) -> float | None:
    if percent is None:
        return None
    value = parse_number(percent)
    if metric.kind is not MetricKind.SHARE:
        problem = f"{metric.name} is not a share"
    elif value is None or not _LEAST_CONFIDENCE <= value <= _MOST_CONFIDENCE:
        problem = f"{excerpt(percent)} is not a percentage from 50 to 99.9"
    else:
        return value / 100
    raise AffidavitError(faults.GATE_CONFIDENCE, text=excerpt(text), problem=problem)


RAG_GATES: Final = parse_default_gates(
    tables.RAG_METRICS, "precision=0.80", "chr=0.75", "under_refusal=0.05", "over_refusal=0.10"
)
"""Origin: the RAG document, section 2, "Ship gates (default)"."""
SCU_GATE: Final = parse_default_gates(tables.RAG_METRICS, "scu_violations=0")
"""Added if SCU is used."""
LATENCY_GATES: Final = parse_default_gates(tables.LATENCY_METRICS, "p95_ms=2000")
AGREEMENT_GATES: Final = parse_default_gates(
    tables.AGREEMENT_METRICS, "percent_agreement=0.90", "kappa=0.75", "abstain_rate=0.02"
)
STABILITY_GATES: Final = parse_default_gates(tables.STABILITY_METRICS, "stable=1")
RESEARCH_GATES: Final = parse_default_gates(
    tables.RESEARCH_METRICS,
    "evidence_coverage_rate=0.95",
    "golden_recall=0.80",
    "abstention_accuracy=0.90",
    "manifest_integrity=1.00",
)
"""Origin: the research document, "Pass/fail gates"."""
