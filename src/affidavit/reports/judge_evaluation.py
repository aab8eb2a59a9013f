"""The evaluation of a judge as text, JSON, and one HTML file that works offline.

The page shows, per set, the figures, a reliability diagram (predicted against observed support), a
histogram of the scores and the verdicts by label. The drawings are inline SVG with a text
alternative, and every number of a drawing is in a table too.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct, structs

from affidavit.base.errors import AffidavitError
from affidavit.base.label_statistics import BinaryEvaluation, Estimate, ReliabilityBin, estimated
from affidavit.base.statistics import rounded
from affidavit.ledger.model import JudgeIdentity, Verdict
from affidavit.reports.page_templates import page_templates
from affidavit.reports.text_tables import TextPart, text_table

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
