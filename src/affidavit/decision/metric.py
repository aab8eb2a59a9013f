"""Metrics: what kind of number each one is, and which direction is better."""

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

    A direction of None is that of the operator in the gate: scores of other tools may be better
    either way. A metric is `selective` if an item may be measured only because of how it came out,
    such as an answer without citations, which counts only if its text is wrong. Where such a metric
    has items that were not measured, its value would be biased, and it has only bounds.

    With `may_be_empty` it is about a class of items that an input need not have. Where there is no
    such item, a gate on it has nothing to measure and leaves the decision to the other gates.
    """

    name: str
    kind: MetricKind
    more_is_better: bool | None
    empty: str = ""
    aliases: tuple[str, ...] = ()
    may_be_empty: bool = False
    selective: bool = False
    has_interval: bool = False
    """Whether a figure that is not a share has an interval, so that a gate can ask for it."""

    @property
    def operator(self) -> Literal[">=", "<="]:
        """The operator that `=` stands for."""
        return "<=" if self.more_is_better is False else ">="


MetricTable = Mapping[str, Metric]


def metric_table(metrics: Iterable[Metric]) -> MetricTable:
    """Return the metrics by name."""
    return MappingProxyType({metric.name: metric for metric in metrics})
