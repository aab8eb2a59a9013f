"""How well a judge's probabilities hold, as one HTML file that works offline.

A page shows, per set, the figures, a reliability diagram (what was promised against what was
found), a histogram of the scores and the verdicts by label. The drawings are inline SVG with text
for those who do not see them, and every number of a drawing stands in a table too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from affidavit.base.statistics.classification import ReliabilityBin
from affidavit.ledger.model import JudgeIdentity
from affidavit.reports.page_templates import page_templates

SIZE: Final = 320
"""The side of the square of a diagram, in units of its drawing."""
HISTOGRAM: Final = 90


@dataclass(frozen=True, slots=True)
class FigureRow:
    """A line of the table of figures, ready to be read."""

    name: str
    supported: str
    supported_interval: str
    contradicted: str
    contradicted_interval: str
    method: str


@dataclass(frozen=True, slots=True)
class ReliabilitySet:
    """What the page says of one set."""

    name: str
    count: int
    not_measured: int
    figures: tuple[FigureRow, ...]
    bins: tuple[ReliabilityBin, ...]
    bins_at_base_rate: tuple[ReliabilityBin, ...]
    confusion: tuple[tuple[Any, ...], ...]


def reliability_html(sets: Sequence[ReliabilitySet], judge: JudgeIdentity, version: str) -> str:
    """Return the page. Everything that came from outside is escaped."""
    template = page_templates().get_template("reliability.html.j2")
    return template.render(
        sets=[_view(each) for each in sets],
        judge=judge,
        version=version,
        size=SIZE,
        histogram=HISTOGRAM,
    )


def _view(measured: ReliabilitySet) -> dict[str, Any]:
    diagrams = (
        ("Support as given, for a prior of one half", measured.bins),
        ("Support with the prior set to the base rate", measured.bins_at_base_rate),
    )
    return {
        "name": measured.name,
        "count": measured.count,
        "not_measured": measured.not_measured,
        "figures": measured.figures,
        "diagrams": [diagram(title, bins) for title, bins in diagrams if _items(bins)],
        "confusion": _confusion(measured.confusion),
    }


def _items(bins: Sequence[ReliabilityBin]) -> int:
    return sum(each.count for each in bins)


def diagram(title: str, bins: Sequence[ReliabilityBin]) -> dict[str, Any]:
    """Return what a template needs to draw a reliability diagram and the histogram below it."""
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


def _confusion(rows: Sequence[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """Return the verdicts by label, each with its share of the label, which sets its shade."""
    shown = []
    for name, *counts in rows:
        total = sum(counts)
        cells = [
            {"count": count, "share": f"{count / total:.0%}", "shade": round(count / total, 2)}
            for count in counts
        ]
        shown.append({"label": name, "total": total, "cells": cells})
    return shown
