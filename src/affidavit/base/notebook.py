"""What a result shows in a notebook (`_repr_html_`): a small table, and a coloured text."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

MAX_ROWS: Final = 100
_GREEN, _RED, _AMBER = "#1a7f37", "#cf222e", "#9a6700"
_COLOURS: Final = {
    **dict.fromkeys(("supported", "ship", "pass", "passed", "valid"), _GREEN),
    **dict.fromkeys(("contradicted", "no_ship", "fail", "failed", "not valid"), _RED),
}


def result_table(
    title: str, status: str, columns: Sequence[str], rows: Iterable[Sequence[str]]
) -> str:
    """Return a heading and a table. The first cell of a row is its status, which gets a colour.

    Every text is escaped: claims and evidence come from documents that nobody has vetted.
    """
    all_rows = tuple(rows)
    heading = f"<p><strong>{escape(title)}:</strong> {_coloured(status)}</p>"
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(_row(*row) for row in all_rows[:MAX_ROWS])
    left_out = len(all_rows) - MAX_ROWS
    more = f"<p>{left_out} more rows</p>" if left_out > 0 else ""
    return f"{heading}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def coloured_text(text: str, marks: Iterable[tuple[int, int, str, str]]) -> str:
    """Return a text whose marked parts have the colour of their status, and a tooltip.

    A mark is start, end, status and tooltip. Parts that overlap an earlier one stay plain.
    """
    parts: list[str] = []
    at = 0
    for start, end, status, tooltip in sorted(marks):
        if start >= at:
            colour = _COLOURS.get(status, _AMBER)
            parts += [
                escape(text[at:start]),
                f'<span title="{escape(tooltip)}" style="border-bottom:2px solid {colour};'
                f'color:{colour}">{escape(text[start:end])}</span>',
            ]
            at = end
    return f'<p style="white-space:pre-wrap">{"".join(parts)}{escape(text[at:])}</p>'


def _row(status: str, *others: str) -> str:
    cells = "".join(f"<td>{escape(text)}</td>" for text in others)
    return f"<tr><td>{_coloured(status)}</td>{cells}</tr>"


def _coloured(status: str) -> str:
    colour = _COLOURS.get(status, _AMBER)
    return f'<span style="color:{colour}">{escape(status.replace("_", " "))}</span>'
