"""The evaluation and the calibration of a judge as text and JSON; the first as HTML too.

The page shows, per set, the figures, a reliability diagram (predicted against observed support), a
histogram of the scores and the verdicts by label. The drawings are inline SVG with a text
alternative, and every number of a drawing is in a table too.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct, structs

from affidavit.base.errors import AffidavitError
from affidavit.base.label_statistics import (
    Agreement,
    BinaryCounts,
    BinaryEvaluation,
    Estimate,
    ReliabilityBin,
    estimated,
)
from affidavit.base.statistics import Interval, Rate, rounded
from affidavit.ledger.model import JudgeIdentity, Verdict
from affidavit.ledger.rules import JudgeThresholds, LedgerRules, rules_digest
from affidavit.reports.pages import page_templates
from affidavit.reports.text_tables import TextPart, text_table

# The calibration of a judge as text, JSON, and a rules file.

FOLDS: Final = 5


class LabelAgreement(Struct, frozen=True):
    """How far verdicts agree with labels on "supported": the counts, and kappa."""

    counts: BinaryCounts
    agreement: Agreement
    kappa_interval: Interval | None


PPI_FORMULA: Final = "mean(f) over judged rows + mean(y - f) over labelled rows"


class CorrectedRate(Struct, frozen=True, kw_only=True):
    """The share of supported claims, from the labels of a few rows and the verdicts on many."""

    judged: Rate
    """What the judge says of the rows without a label."""
    labelled: Rate
    """What the labels say of their rows."""
    corrected: Estimate
    """Prediction-powered inference."""


class Calibration(Struct, frozen=True, kw_only=True):
    """Fitted thresholds. `before` measures the judge's own thresholds, `after` the fitted ones.

    `rate` is None if every row has a label.
    """

    thresholds: JudgeThresholds
    labels: tuple[tuple[str, int], ...]
    not_measured: tuple[AffidavitError, ...]
    before: LabelAgreement
    after: LabelAgreement
    rate: CorrectedRate | None = None

    @property
    def is_better(self) -> bool:
        """Whether the balanced accuracy rose on rows that were not fitted to."""
        before = self.before.counts.balanced_accuracy.value
        after = self.after.counts.balanced_accuracy.value
        return before is not None and after is not None and after > before


def calibration_text(fitted: Calibration) -> Iterator[TextPart]:
    """Yield the figures of the judge's own thresholds beside those of the fitted ones."""
    kinds = ", ".join(f"{count} {name}" for name, count in fitted.labels)
    yield f"{fitted.after.counts.count} labelled claims: {kinds}"
    if fitted.not_measured:
        yield f"{len(fitted.not_measured)} rows could not be read and were left out"
    columns = (fitted.before, fitted.after)
    rows = {
        "Balanced accuracy": [each.counts.balanced_accuracy for each in columns],
        "Kappa with the labels": [
            Estimate(each.agreement.kappa, each.kappa_interval) for each in columns
        ],
        "Agreement with the labels": [estimated(each.agreement.observed) for each in columns],
        "Base rate (always the commoner label)": [
            estimated(each.agreement.base_rate) for each in columns
        ],
    }
    yield text_table(
        ("Figure", "Judge's own", "95%", "Fitted (cross-validated)", "95%"),
        (
            (
                name,
                format_estimate(own),
                format_interval(own),
                format_estimate(new),
                format_interval(new),
            )
            for name, (own, new) in rows.items()
        ),
    )
    if fitted.rate is not None:
        yield from _rate_text(fitted.rate)


def _rate_text(rate: CorrectedRate) -> Iterator[TextPart]:
    yield (
        f"{rate.judged.denominator} rows have no label. The share of supported claims, by what it"
        " rests on:"
    )
    figures = {
        "The judge alone, uncorrected": estimated(rate.judged),
        "The labels alone": estimated(rate.labelled),
        f"Both, prediction-powered inference: {PPI_FORMULA}": rate.corrected,
    }
    yield text_table(
        ("Figure", "Share", "95%"),
        (
            (name, format_estimate(figure), format_interval(figure))
            for name, figure in figures.items()
        ),
    )


class RulesFile(Struct, frozen=True):
    """A table `[judge]` for `affidavit check --rules`, and the digest that a ledger shows of it."""

    text: str
    rules_digest: str


def rules_file(fitted: Calibration, judge: JudgeIdentity, labels_digest: str) -> RulesFile:
    """Return the rules file of a calibration."""
    digest = rules_digest(LedgerRules(judge=fitted.thresholds))
    lines = (*_comments(fitted, judge, labels_digest, digest), "[judge]", *_table(fitted))
    return RulesFile("\n".join(lines) + "\n", digest)


def _comments(
    fitted: Calibration, judge: JudgeIdentity, labels_digest: str, digest: str
) -> Iterator[str]:
    kinds = ", ".join(f"{count} {name}" for name, count in fitted.labels)
    yield "# Written by `affidavit judge calibrate`; read by `affidavit check --rules`."
    yield f"# judge: {judge.name} {judge.version} {judge.digest}"
    yield f"# labels: {labels_digest}"
    yield f"# labelled claims: {kinds}"
    yield f"# balanced accuracy, own thresholds: {_balanced(fitted.before)}"
    yield f"# balanced accuracy, these, cross-validated in {FOLDS} folds: {_balanced(fitted.after)}"
    yield f"# rules: {digest}"


def _table(fitted: Calibration) -> Iterator[str]:
    for name, value in msgspec.to_builtins(fitted.thresholds).items():
        yield f"{name} = {float(value)!r}"


def _balanced(agreed: LabelAgreement) -> str:
    return format_estimate(agreed.counts.balanced_accuracy)


def calibration_as_json(
    fitted: Calibration, file: RulesFile, judge: JudgeIdentity, labels_digest: str
) -> dict[str, Any]:
    """Return a calibration for machines."""
    return {
        "judge": msgspec.to_builtins(judge),
        "labels_digest": labels_digest,
        "labels": dict(fitted.labels),
        "not_measured": [error.as_wire() for error in fitted.not_measured],
        "thresholds": msgspec.to_builtins(fitted.thresholds),
        "rules_digest": file.rules_digest,
        "folds": FOLDS,
        "before": _agreement_as_json(fitted.before),
        "after": _agreement_as_json(fitted.after),
        "is_better": fitted.is_better,
        "supported_rate": None if fitted.rate is None else _rate_as_json(fitted.rate),
    }


def _rate_as_json(rate: CorrectedRate) -> dict[str, Any]:
    """Return the share of supported claims for machines, with the formula that corrects it."""
    figures = {
        "judge": estimated(rate.judged),
        "labels": estimated(rate.labelled),
        "corrected": rate.corrected,
    }
    return {
        "judged": rate.judged.denominator,
        "labelled": rate.labelled.denominator,
        "method": "prediction-powered inference",
        "formula": PPI_FORMULA,
        **{
            name: {"value": rounded(figure.value), **_interval_as_json(figure.interval)}
            for name, figure in figures.items()
        },
    }


def _agreement_as_json(agreed: LabelAgreement) -> dict[str, Any]:
    balanced = agreed.counts.balanced_accuracy
    return {
        "counts": msgspec.to_builtins(agreed.counts),
        "balanced_accuracy": {
            "value": rounded(balanced.value),
            **_interval_as_json(balanced.interval),
        },
        "kappa": {
            "value": rounded(agreed.agreement.kappa),
            **_interval_as_json(agreed.kappa_interval),
        },
        "agreement": rounded(agreed.agreement.observed.value),
        "base_rate": rounded(agreed.agreement.base_rate.value),
    }


def _interval_as_json(interval: Interval | None) -> dict[str, float | None]:
    if interval is None:
        return {"low": None, "high": None}
    return {"low": rounded(interval.low), "high": rounded(interval.high)}


NOT_MEASURED: Final = "not measured"
SIZE: Final = 320
"""The side of a diagram, in units of its drawing."""
HISTOGRAM: Final = 90
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
"""In the order of reports: name for machines, name for people, method of the interval."""


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


class SetReport(Struct, frozen=True, kw_only=True):
    """The figures of one set of labelled rows.

    `support` measures "supported" against everything else: by the verdict for yes or no figures, by
    the support (for a prior of one half) for figures of a probability. `contradiction` does the
    same for "contradicted", on the rows whose label tells whether the evidence contradicts.
    """

    name: str
    count: int
    not_measured: tuple[AffidavitError, ...]
    """The errors of rows that could not be read."""
    support: BinaryEvaluation
    contradiction: BinaryEvaluation
    confusion: tuple[tuple[str, tuple[int, ...]], ...]
    """For each label that occurs, how often it got each verdict."""


class FigureRow(Struct, frozen=True, kw_only=True):
    """One figure of a set in words, for its row in every rendering."""

    name: str
    supported: str
    supported_interval: str
    contradicted: str
    contradicted_interval: str
    method: str


def figure_rows(report: SetReport) -> Iterator[FigureRow]:
    """Yield each figure of support and of contradiction."""
    for name, title, method in FIGURES:
        first, second = (figure(each, name) for each in (report.support, report.contradiction))
        yield FigureRow(
            name=title,
            supported=format_estimate(first),
            supported_interval=format_interval(first),
            contradicted=format_estimate(second),
            contradicted_interval=format_interval(second),
            method=method,
        )


def format_estimate(estimate: Estimate) -> str:
    """Return the value of a figure."""
    return NOT_MEASURED if estimate.value is None else f"{estimate.value:.3f}"


def format_interval(estimate: Estimate) -> str:
    """Return the interval of a figure."""
    if estimate.interval is None:
        return "–"
    return f"{estimate.interval.low:.3f} to {estimate.interval.high:.3f}"


def evaluation_text(report: SetReport) -> Iterator[TextPart]:
    """Yield the figures of a set, and its verdicts by label."""
    unread = len(report.not_measured)
    yield f"{report.name}: {report.count} rows" + (
        f", {unread} of them could not be read" if unread else ""
    )
    yield text_table(
        ("Figure", "Supported", "95%", "Contradicted", "95%", "How the interval is made"),
        map(structs.astuple, figure_rows(report)),
    )
    yield text_table(
        ("Label", "Supported", "Weak", "Contradicted", "Not found"),
        ((name, *map(str, counts)) for name, counts in report.confusion),
    )


def evaluation_as_json(report: SetReport) -> dict[str, Any]:
    """Return the figures of a set for machines."""
    return {
        "name": report.name,
        "rows": report.count,
        "not_measured": [error.as_wire() for error in report.not_measured],
        "supported": _binary_as_json(report.support),
        "contradicted": _binary_as_json(report.contradiction),
        "confusion": {
            name: dict(zip((each.value for each in Verdict), counts, strict=True))
            for name, counts in report.confusion
        },
    }


def _binary_as_json(evaluation: BinaryEvaluation) -> dict[str, Any]:
    figures = {
        name: {**_estimate_as_json(figure(evaluation, name)), "interval_by": method}
        for name, _, method in FIGURES
    }
    return {
        "n": evaluation.count,
        "counts": msgspec.to_builtins(evaluation.counts),
        "figures": figures,
        "bins": msgspec.to_builtins(evaluation.bins),
        "bins_at_base_rate": msgspec.to_builtins(evaluation.bins_at_base_rate),
    }


def _estimate_as_json(estimate: Estimate) -> dict[str, float | None]:
    interval = estimate.interval
    return {
        "value": rounded(estimate.value),
        "low": None if interval is None else rounded(interval.low),
        "high": None if interval is None else rounded(interval.high),
    }


def evaluation_html(reports: Sequence[SetReport], judge: JudgeIdentity, version: str) -> str:
    """Return the page. All text from outside is escaped."""
    template = page_templates().get_template("reliability.html.j2")
    return template.render(
        sets=[_view(each) for each in reports],
        judge=judge,
        version=version,
        size=SIZE,
        histogram=HISTOGRAM,
    )


def _view(report: SetReport) -> dict[str, Any]:
    diagrams = (
        ("Support as given, for a prior of one half", report.support.bins),
        ("Support with the prior set to the base rate", report.support.bins_at_base_rate),
    )
    return {
        "name": report.name,
        "count": report.count,
        "not_measured": len(report.not_measured),
        "figures": list(figure_rows(report)),
        "diagrams": [diagram(title, bins) for title, bins in diagrams if _items(bins)],
        "confusion": _confusion(report.confusion),
    }


def _items(bins: Sequence[ReliabilityBin]) -> int:
    return sum(each.count for each in bins)


def diagram(title: str, bins: Sequence[ReliabilityBin]) -> dict[str, Any]:
    """Return the data of a reliability diagram and the histogram below it."""
    total, most = _items(bins), max(each.count for each in bins)
    points = [
        {
            "x": round(SIZE * each.mean_score, 1),
            "y": round(SIZE * (1 - each.share), 1),
            # The area of a point is its share of the items.
            "radius": round(3 + 9 * (each.count / most) ** 0.5, 1),
            "said": f"{each.count} claims scored {each.mean_score:.2f} on average;"
            f" {each.share:.0%} of them were supported",
        }
        for each in bins
        if each.mean_score is not None and each.share is not None
    ]
    bars = [
        {
            "x": round(SIZE * each.low, 1),
            "width": round(SIZE * (each.high - each.low), 1),
            "height": round(HISTOGRAM * each.count / most, 1),
            "said": f"{each.low:.1f} to {each.high:.1f}: {each.count} of {total} claims",
        }
        for each in bins
    ]
    rows = [
        {
            "range": f"{each.low:.1f} to {each.high:.1f}",
            "count": each.count,
            "promised": "–" if each.mean_score is None else f"{each.mean_score:.3f}",
            "found": "–" if each.share is None else f"{each.share:.3f}",
        }
        for each in bins
    ]
    path = " ".join(f"{point['x']},{point['y']}" for point in points)
    label = f"{title}. " + "; ".join(str(point["said"]) for point in points)
    return {
        "title": title,
        "points": points,
        "bars": bars,
        "rows": rows,
        "path": path,
        "label": label,
    }


def _confusion(rows: Sequence[tuple[str, tuple[int, ...]]]) -> list[dict[str, Any]]:
    """Return the verdicts by label. The share of a verdict in its label sets the shade."""
    shown = []
    for name, counts in rows:
        total = sum(counts)
        cells = [
            {"count": count, "share": f"{count / total:.0%}", "shade": round(count / total, 2)}
            for count in counts
        ]
        shown.append({"label": name, "total": total, "cells": cells})
    return shown
