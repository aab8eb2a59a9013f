"""The figures of the judge, each with its number of rows, its interval and its target."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from affidavit.base.label_statistics import (
    ReliabilityBin,
    ScoredLabel,
    binary_counts,
    evaluate_labels,
)
from affidavit.base.statistics import Rate, wilson
from affidavit.ledger.model import Verdict
from tools.judge_bench.fitting import (
    Judgement,
    dividing_support,
    fit_combiner,
    judge_signals,
)
from tools.judge_bench.rows import EVALUATION_ONLY, FITTED
from tools.judge_bench.signals import Signals

TARGETS: Final = {
    "wice_dev": 0.76,
    "attributionbench_id": 0.80,
    "lfqa_verification": 0.78,
    "expertqa": 0.62,
    "frank": 0.75,
    "summedits": 0.70,
    "bump": 0.70,
    "cg2c_doc": None,
    "qags": None,
}
STILL_SUPPORTED: Final = {
    "edit_number": 0.05,
    "edit_date": 0.05,
    "edit_unit": 0.05,
    "edit_negation": 0.05,
    "edit_opposite": 0.12,
    "edit_modality": 0.12,
    "edit_quantifier": 0.12,
    "edit_entity": 0.25,
    "edit_roles": 0.25,
    "edit_removed": 0.04,
    "edit_amount": None,
    "edit_partial": None,
    "edit_predicate": None,
}
CONTRADICTIONS: Final = ("edit_number", "edit_date", "edit_unit", "edit_negation")
CALIBRATION_TARGET: Final = 0.06
RESAMPLES: Final = 200


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table; `better` says which way is up."""

    set: str
    n: int
    figure: str
    value: float
    low: float | None
    high: float | None
    target: float | None
    better: str = "higher"

    @property
    def is_met(self) -> bool | None:
        """Say whether the target is met; None where there is none."""
        if self.target is None:
            return None
        return self.value >= self.target if self.better == "higher" else self.value <= self.target


@dataclass(frozen=True, slots=True)
class SetResult:
    """The figures of a set and its reliability curve."""

    figures: tuple[Figure, ...]
    bins: tuple[ReliabilityBin, ...]


def measure_set(name: str, fitting: Sequence[Signals], rows: Sequence[Signals]) -> SetResult:
    """Measure a set with a combiner that has not seen it.

    Sets label long sentences by rules of their own, so a set is divided twice: at the support that
    divides the other sets best, and where the product says "supported".
    """
    combiner = fit_combiner(fitting, without=name)
    others = [row for row in fitting if row.group in FITTED and row.group != name]
    bound = dividing_support(judge_signals(combiner, others))
    judged = judge_signals(combiner, rows)
    labels = [
        ScoredLabel(j.target == 0, j.weighed.support >= bound, j.weighed.support) for j in judged
    ]
    found = evaluate_labels(labels, resamples=RESAMPLES)
    balanced, area, error = found.counts.balanced_accuracy, found.auroc, found.ece_at_base_rate
    said = binary_counts((j.target == 0, j.verdict is Verdict.SUPPORTED) for j in judged)
    figures = []
    for figure, estimate, target, better in (
        ("balanced accuracy", balanced, TARGETS[name], "higher"),
        ("balanced accuracy of Supported", said.balanced_accuracy, None, "higher"),
        ("AUROC", area, None, "higher"),
        ("calibration error at the base rate", error, CALIBRATION_TARGET, "lower"),
    ):
        if estimate.value is not None:
            interval = estimate.interval
            low, high = (interval.low, interval.high) if interval else (None, None)
            figures.append(
                Figure(name, len(judged), figure, estimate.value, low, high, target, better)
            )
    return SetResult(tuple(figures), found.bins_at_base_rate)


def measure_edits(judged: Sequence[Judgement]) -> tuple[Figure, ...]:
    """Measure what becomes of edited claims, and of claims that were left as they are."""
    figures = [
        _share(group, _of(judged, group), "still supported", Verdict.SUPPORTED, target, "lower")
        for group, target in STILL_SUPPORTED.items()
    ]
    originals = _of(judged, "originals")
    figures.append(_share("originals", originals, "supported", Verdict.SUPPORTED, 0.95, "higher"))
    restated = _of(judged, "restated")
    figures.append(_share("restated", restated, "supported", Verdict.SUPPORTED, None, "higher"))
    against = [each for group in CONTRADICTIONS for each in _of(judged, group)]
    name = "number, date, unit, negation"
    figures.append(_share(name, against, "contradicted", Verdict.CONTRADICTED, 0.85, "higher"))
    return tuple(figures)


def _of(judged: Sequence[Judgement], group: str) -> list[Judgement]:
    return [each for each in judged if each.group == group]


def _share(
    name: str,
    rows: list[Judgement],
    figure: str,
    verdict: Verdict,
    target: float | None,
    better: str,
) -> Figure:
    rate = Rate(sum(row.verdict is verdict for row in rows), len(rows))
    interval = wilson(rate)
    low, high = (interval.low, interval.high) if interval else (None, None)
    return Figure(name, len(rows), figure, rate.value or 0.0, low, high, target, better)


def measured_sets() -> tuple[str, ...]:
    """Return the sets with labels of both kinds, in the order of the table."""
    return tuple(name for name in TARGETS if name in FITTED or name in EVALUATION_ONLY)
