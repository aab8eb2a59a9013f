"""A few functions that write SVG; every value is escaped.

Horizontal positions are percentages and text has a fixed size, so that a chart fits narrow and wide
screens without scaling its letters.
"""

from dataclasses import dataclass
from html import escape
from itertools import pairwise

from affidavit.reports.gate_tables import ReportTable
from affidavit.reports.gate_wording import escape_controls


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart with its description, its legend and the table of its numbers.

    Without a table, its numbers are in another table of the page.
    """

    title: str
    says: str
    drawing: str
    table: ReportTable | None = None
    key: str = ""


def escape_svg(text: str) -> str:
    """Return a text, escaped."""
    return escape(escape_controls(text))


def tag(name: str, *inner: str, **attributes: object) -> str:
    """Return an element; `class_` is `class`, and an underscore within a name is a hyphen."""
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape_svg(str(value))}"'
        for key, value in attributes.items()
    )
    return f"<{name}{said}>{''.join(inner)}</{name}>" if inner else f"<{name}{said}/>"


def text_label(text: str, x: object, y: float, kind: str = "", anchor: str = "start") -> str:
    """Return a text element."""
    return tag("text", escape_svg(text), x=x, y=round(y, 1), text_anchor=anchor, class_=kind)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """Return a line; x in percent, y in units."""
    return tag(
        "line",
        x1=percent(x1),
        y1=round(y1, 1),
        x2=percent(x2),
        y2=round(y2, 1),
        class_=kind,
    )


def circle(x: float, y: float, kind: str, says: str, radius: float = 5) -> str:
    """Return a point with a tooltip."""
    title = tag("title", escape_svg(says))
    return tag("circle", title, cx=percent(x), cy=round(y, 1), r=radius, class_=kind)


def path(points: list[tuple[float, float]], kind: str) -> str:
    """Return lines from point to point, because a polyline does not accept percentages."""
    return "".join(line(*first, *second, kind) for first, second in pairwise(points))


def percent(share: float) -> str:
    """Return a horizontal position in percent: 0 is left, 1 is right."""
    return f"{round(share * 100, 2)}%"


def canvas(height: float, title: str, says: str, *inner: str) -> str:
    """Return the chart, with a title and description for screen readers."""
    return tag(
        "svg",
        tag("title", escape_svg(title)),
        tag("desc", escape_svg(says)),
        *inner,
        width="100%",
        height=round(height),
        role="img",
        aria_label=f"{title}. {says}",
    )


def place(value: float, low: float, high: float) -> float:
    """Return the position of a value between two others, clamped to 0 and 1."""
    return 0.5 if high <= low else min(1.0, max(0.0, (value - low) / (high - low)))


def round_steps(high: float, most: int = 5) -> list[float]:
    """Return some round numbers from 0 to a value, for the lines of a grid."""
    if high <= 0:
        return [0.0]
    rough = high / most
    scale = 10.0 ** len(str(int(rough))) / 10 if rough >= 1 else _small_scale(rough)
    step = next(scale * n for n in (1, 2, 5, 10) if scale * n >= rough)
    return [round(step * n, 10) for n in range(int(high / step) + 1)]


def _small_scale(rough: float) -> float:
    scale = 0.1
    while scale > rough:
        scale /= 10
    return scale
