"""Metrics: what kind of number each one is, which direction is better, and tables of them."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Literal

from msgspec import Struct


class MetricKind(StrEnum):
    """What kind of number a metric is."""

    SHARE = "share"
    """A number of items out of a number of items, from 0 to 1; it has a confidence interval."""
    SCORE = "score"
    """From 0 to 1, but not a share of counted items."""
    COUNT = "count"
    AMOUNT = "amount"
    """Any number from 0, such as milliseconds or a ratio."""
    COEFFICIENT = "coefficient"
    """From -1 to 1."""


RANGE_DESCRIPTIONS: Final[Mapping[MetricKind, str]] = MappingProxyType(
    {
        MetricKind.SHARE: "a share from 0 to 1",
        MetricKind.SCORE: "a number from 0 to 1",
        MetricKind.COUNT: "a whole number from 0 on",
        MetricKind.AMOUNT: "a number from 0 on",
        MetricKind.COEFFICIENT: "a number from -1 to 1",
    }
)


class Metric(Struct, frozen=True):
    """A metric: which direction is better, and why it can lack a value (`empty`).

    With `may_be_empty` it is about a class of items that an input need not have. Where there is no
    such item, a gate on it has nothing to measure and leaves the decision to the other gates.
    """

    name: str
    kind: MetricKind
    more_is_better: bool
    empty: str = ""
    aliases: tuple[str, ...] = ()
    may_be_empty: bool = False

    @property
    def operator(self) -> Literal[">=", "<="]:
        """The operator that `=` stands for."""
        return ">=" if self.more_is_better else "<="


MetricTable = Mapping[str, Metric]


def metric_table(metrics: Iterable[Metric]) -> MetricTable:
    """Return the metrics by name."""
    return MappingProxyType({metric.name: metric for metric in metrics})


_ANSWERABLE: Final = "no answerable gold item could be measured"

RAG_METRICS: Final[MetricTable] = metric_table(
    [
        Metric("precision", MetricKind.SHARE, True, "no shipped answer could be judged"),
        Metric("chr", MetricKind.SHARE, True, "no shipped answer's citations could be judged"),
        Metric(
            "under_refusal",
            MetricKind.SHARE,
            False,
            "no unanswerable gold item has a run",
            ("under",),
        ),
        Metric(
            "over_refusal", MetricKind.SHARE, False, "no answerable gold item has a run", ("over",)
        ),
        Metric("scu", MetricKind.SHARE, True, "no shipped answer has constraints to keep"),
        Metric(
            "scu_violations", MetricKind.COUNT, False, "no shipped answer has constraints to keep"
        ),
        Metric("recall_at_k", MetricKind.SHARE, True, _ANSWERABLE, ("recall", "recall@k")),
        Metric("chr_at_k", MetricKind.SHARE, True, _ANSWERABLE, ("chr@k",)),
        Metric(
            "containment",
            MetricKind.SHARE,
            True,
            "no shipped answer has a gold text to hold",
            ("c",),
        ),
    ]
)

LATENCY_METRICS: Final[MetricTable] = metric_table(
    [
        Metric("p50_ms", MetricKind.AMOUNT, False, "no latency was measured", ("p50",)),
        Metric("p90_ms", MetricKind.AMOUNT, False, "no latency was measured", ("p90",)),
        Metric("p95_ms", MetricKind.AMOUNT, False, "no latency was measured", ("p95",)),
        Metric("p99_ms", MetricKind.AMOUNT, False, "no latency was measured", ("p99",)),
        Metric(
            "tail_amplification", MetricKind.AMOUNT, False, "there is no median above 0", ("tail",)
        ),
    ]
)

AGREEMENT_METRICS: Final[MetricTable] = metric_table(
    [
        Metric(
            "percent_agreement", MetricKind.SHARE, True, "there are no pairs of labels", ("pa",)
        ),
        Metric(
            "kappa",
            MetricKind.COEFFICIENT,
            True,
            "one label is the only one used, or there are none",
        ),
        Metric(
            "abstain_rate", MetricKind.SHARE, False, "there are no pairs of labels", ("abstain",)
        ),
    ]
)

STABILITY_METRICS: Final[MetricTable] = metric_table(
    [
        Metric("stable", MetricKind.SHARE, True, "no gold item has runs that could be judged"),
    ]
)

RESEARCH_METRICS: Final[MetricTable] = metric_table(
    [
        Metric("evidence_coverage_rate", MetricKind.SHARE, True, "no run has a verified claim"),
        Metric(
            "golden_recall", MetricKind.SHARE, True, "no run answers a query with required evidence"
        ),
        Metric(
            "abstention_accuracy", MetricKind.SHARE, True, "no run answers a query without evidence"
        ),
        Metric("manifest_integrity", MetricKind.SHARE, True, "no run has a recorded step"),
    ]
)

METRICS_BY_KIND: Final[Mapping[str, MetricTable]] = MappingProxyType(
    {
        "rag": RAG_METRICS,
        "latency": LATENCY_METRICS,
        "agreement": AGREEMENT_METRICS,
        "stability": STABILITY_METRICS,
        "research": RESEARCH_METRICS,
    }
)
