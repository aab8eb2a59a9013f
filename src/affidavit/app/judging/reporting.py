"""The figures of a set in the order in which every report lists them."""

from typing import Any, Final

import msgspec

from affidavit.app.judging.evaluating import SetReport
from affidavit.app.judging.labels import MEANINGS
from affidavit.base.statistics import BinaryEvaluation, Estimate, estimated, rounded
from affidavit.ledger.model import Verdict

FIGURES: Final = (
    ("balanced_accuracy", "Balanced accuracy", "Wilson of both recalls, joined by MOVER"),
    ("precision", "Precision", "Wilson"),
    ("recall", "Recall", "Wilson"),
    ("specificity", "Specificity", "Wilson"),
    ("f1", "F1", "Wilson of tp / (tp + fp + fn)"),
    ("auroc", "AUROC", "DeLong, on the logit scale"),
    ("ece", "ECE", "bootstrap, 500 resamples"),
    ("ece_at_base_rate", "ECE, prior = base rate", "bootstrap, 500 resamples"),
    ("brier", "Brier score", "bootstrap, 500 resamples"),
    ("base_rate", "Base rate", "Wilson"),
)
"""Name for machines, name for people, and how the interval is made."""


def figure(evaluation: BinaryEvaluation, name: str) -> Estimate:
    """Return one figure of an evaluation by its name."""
    match name:
        case "base_rate":
            return estimated(evaluation.base_rate)
        case "auroc" | "ece" | "ece_at_base_rate" | "brier":
            found: Estimate = getattr(evaluation, name)
        case _:
            found = getattr(evaluation.counts, name)
    return found


def figures_of(report: SetReport) -> tuple[tuple[str, Estimate, Estimate, str], ...]:
    """Return each figure of support and of contradiction, by its name for people."""
    return tuple(
        (said, figure(report.support, name), figure(report.contradiction, name), method)
        for name, said, method in FIGURES
    )


def confusion_rows(report: SetReport) -> tuple[tuple[Any, ...], ...]:
    """Return a row per label that occurs: its name, and how often it got each verdict."""
    return tuple(
        (meaning.name, *counts)
        for meaning in MEANINGS
        if any(counts := [report.confusion.get((meaning.name, each), 0) for each in Verdict])
    )


def report_as_wire(report: SetReport) -> dict[str, Any]:
    """Return a report as machines get it."""
    return {
        "name": report.name,
        "rows": report.count,
        "not_measured": [error.as_wire() for error in report.not_measured],
        "supported": _evaluation_as_wire(report.support),
        "contradicted": _evaluation_as_wire(report.contradiction),
        "confusion": {
            name: dict(zip((each.value for each in Verdict), counts, strict=True))
            for name, *counts in confusion_rows(report)
        },
    }


def _evaluation_as_wire(evaluation: BinaryEvaluation) -> dict[str, Any]:
    figures = {
        name: {**_estimate_as_wire(figure(evaluation, name)), "interval_by": method}
        for name, _, method in FIGURES
    }
    return {
        "n": evaluation.count,
        "counts": msgspec.to_builtins(evaluation.counts),
        "figures": figures,
        "bins": msgspec.to_builtins(evaluation.bins),
        "bins_at_base_rate": msgspec.to_builtins(evaluation.bins_at_base_rate),
    }


def _estimate_as_wire(estimate: Estimate) -> dict[str, float | None]:
    interval = estimate.interval
    return {
        "value": rounded(estimate.value),
        "low": None if interval is None else rounded(interval.low),
        "high": None if interval is None else rounded(interval.high),
    }
