"""What gates can measure: the closed tables of metrics, one for each kind of gate."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Kind(StrEnum):
    """What kind of number a metric is."""

    SHARE = "share"
    """So many of so many, from 0 to 1."""
    COUNT = "count"
    AMOUNT = "amount"
    """Milliseconds, a ratio: any number from 0 on."""
    COEFFICIENT = "coefficient"
    """From -1 to 1."""


RANGES: Final[Mapping[Kind, str]] = MappingProxyType(
    {
        Kind.SHARE: "a share from 0 to 1",
        Kind.COUNT: "a whole number from 0 on",
        Kind.AMOUNT: "a number from 0 on",
        Kind.COEFFICIENT: "a number from -1 to 1",
    }
)


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: which way is better, and what is missing when nothing was measured."""

    name: str
    kind: Kind
    more_is_better: bool
    empty: str
    aliases: tuple[str, ...] = ()

    @property
    def operator(self) -> str:
        """The operator that `=` stands for."""
        return ">=" if self.more_is_better else "<="


Metrics = Mapping[str, Metric]


def _table(*metrics: Metric) -> Metrics:
    return MappingProxyType({metric.name: metric for metric in metrics})


_ANSWERABLE: Final = "no answerable gold item could be measured"

RAG: Final[Metrics] = _table(
    Metric("precision", Kind.SHARE, True, "no shipped answer could be judged"),
    Metric("chr", Kind.SHARE, True, "no shipped answer's citations could be judged"),
    Metric("under_refusal", Kind.SHARE, False, "no unanswerable gold item has a run", ("under",)),
    Metric("over_refusal", Kind.SHARE, False, "no answerable gold item has a run", ("over",)),
    Metric("scu", Kind.SHARE, True, "no shipped answer has constraints to keep"),
    Metric("scu_violations", Kind.COUNT, False, "no shipped answer has constraints to keep"),
    Metric("recall_at_k", Kind.SHARE, True, _ANSWERABLE, ("recall", "recall@k")),
    Metric("chr_at_k", Kind.SHARE, True, _ANSWERABLE, ("chr@k",)),
    Metric("containment", Kind.SHARE, True, "no shipped answer has a gold text to hold", ("c",)),
)

LATENCY: Final[Metrics] = _table(
    Metric("p50_ms", Kind.AMOUNT, False, "no latency was measured", ("p50",)),
    Metric("p90_ms", Kind.AMOUNT, False, "no latency was measured", ("p90",)),
    Metric("p95_ms", Kind.AMOUNT, False, "no latency was measured", ("p95",)),
    Metric("p99_ms", Kind.AMOUNT, False, "no latency was measured", ("p99",)),
    Metric("tail_amplification", Kind.AMOUNT, False, "there is no median above 0", ("tail",)),
)

AGREEMENT: Final[Metrics] = _table(
    Metric("percent_agreement", Kind.SHARE, True, "there are no pairs of labels", ("pa",)),
    Metric("kappa", Kind.COEFFICIENT, True, "one label is the only one used, or there are none"),
    Metric("abstain_rate", Kind.SHARE, False, "there are no pairs of labels", ("abstain",)),
)

STABILITY: Final[Metrics] = _table(
    Metric("stable", Kind.SHARE, True, "no gold item has runs that could be judged"),
)

RESEARCH: Final[Metrics] = _table(
    Metric("evidence_coverage_rate", Kind.SHARE, True, "no run has a verified claim"),
    Metric("golden_recall", Kind.SHARE, True, "no run answers a query with required evidence"),
    Metric("abstention_accuracy", Kind.SHARE, True, "no run answers a query without evidence"),
    Metric("manifest_integrity", Kind.SHARE, True, "no run has a recorded step"),
)

BY_KIND: Final[Mapping[str, Metrics]] = MappingProxyType(
    {
        "rag": RAG,
        "latency": LATENCY,
        "agreement": AGREEMENT,
        "stability": STABILITY,
        "research": RESEARCH,
    }
)
