"""A gate report as a pull request comment: the decision first, the details folded.

External text is escaped: it creates no markup, mention, issue reference or link.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from affidavit import __version__
from affidavit.decision.report import Report
from affidavit.reports import gate_tables as wording
from affidavit.reports.gate_tables import (
    ReportTable,
    detail_tables,
    gate_table,
    input_table,
    offender_table,
)

MAX_COMMENT_LENGTH: Final = 65_000
"""GitHub accepts 65,536 characters; the difference is room for additions of the caller."""
_SIGNS: Final = {"ship": "✅", "no_ship": "❌", "inconclusive": "❔"}
_RESULTS: Final = {"pass": "✅ ", "fail": "❌ ", "not_measured": "❔ "}
_CUT: Final = "\n\n_Cut here, for a comment has its limits. The JSON report has all._\n"
_ROOM_FOR_NOTES: Final = 1_000
_MAX_CELL: Final = 2_500
_MOST_REASONS: Final = 10
_MOST_ROWS: Final = 100
_FEWER_ROWS: Final = (10_000, 1_000, 300, 100, 30, 10)
"""How many offenders are tried, until the comment is short enough."""
_SPECIAL: Final = re.compile(r"[\\`*_\[\]|~$#]|^[-+=]|^\d+(?=[.)](?:\s|$))")
_ENTITIES: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
# A zero-width space prevents mentions, references and links, and is not visible.
_AUTOLINKS: Final = re.compile(r"@|#(?=\d)|\bGH(?=-\d)|:(?=//)|\bwww(?=\.)", re.IGNORECASE)
_ZERO_WIDTH_SPACE: Final = "\u200b"


@dataclass(frozen=True, slots=True)
class MarkdownSection:
    """A section of the comment; unless it is `needed`, it may be left out."""

    name: str
    text: str
    needed: bool = False


def escaped(text: str, longest: int = 400) -> str:
    """Return an external text on one line, shortened and escaped."""
    line = wording.shortened(wording.escape_controls(text), longest)
    line = _AUTOLINKS.sub(lambda found: found[0] + _ZERO_WIDTH_SPACE, line)
    return _SPECIAL.sub(_backslashed, line).translate(_ENTITIES)


def _backslashed(found: re.Match[str]) -> str:
    # A number at the start of a line would start a list, so its full stop is escaped.
    return f"{found[0]}\\" if found[0].isdigit() else f"\\{found[0]}"


def marker(kind: str) -> str:
    """Return the marker by which the next version of a comment finds and replaces it."""
    return f"<!-- affidavit:{re.sub('[^a-z0-9_]', '', kind.lower())[:40]} -->"


def gate_markdown(report: Report) -> str:
    """Return the report as Markdown, at most `MAX_COMMENT_LENGTH` characters."""
    for most in _FEWER_ROWS:
        text = "\n\n".join(block.text for block in _blocks(report, most))
        if len(text) < MAX_COMMENT_LENGTH - _ROOM_FOR_NOTES:
            break
    return _fitted(_blocks(report, most), f"<sub>Made by Affidavit {__version__}.</sub>")


def _blocks(report: Report, most: int) -> list[MarkdownSection]:
    """Return the sections; each has at most so many offenders."""
    blocks = [MarkdownSection("verdict", _verdict(report), needed=True)]
    if report.parts:
        blocks += [
            block
            for part in report.each_part
            for block in (MarkdownSection(part.kind, _verdict(part, "###")), *_folded(part, most))
        ]
    else:
        blocks += _folded(report, most)
    return blocks


def _fitted(blocks: list[MarkdownSection], foot: str) -> str:
    """Leave out the longest sections until the rest fits, and name them."""
    left_out: list[str] = []
    while True:
        notes = []
        if left_out:
            names = ", ".join(sorted(set(left_out)))
            notes = [f"_Left out, for a comment has its limits: {names}. The JSON report has all._"]
        text = "\n\n".join([*(block.text for block in blocks), *notes, foot]) + "\n"
        optional = [block for block in blocks if not block.needed]
        if len(text) <= MAX_COMMENT_LENGTH:
            return text
        if not optional:
            return f"{text[: MAX_COMMENT_LENGTH - len(_CUT)]}{_CUT}"
        longest = max(optional, key=lambda block: len(block.text))
        blocks = [block for block in blocks if block is not longest]
        left_out.append(longest.name)


def _verdict(report: Report, level: str = "##") -> str:
    sign, said = _SIGNS[report.decision], escaped(wording.headline(report))
    kind = escaped(wording.describe_kind(report), 80)
    if level == "##":
        lines = [marker(report.kind), f"{level} {sign} {said}", "", f"**{kind}**"]
    else:
        lines = [f"{level} {sign} {kind}: {said[:1].lower()}{said[1:]}"]
    if report.reasons:
        lines.append("")
    lines += [f"- {escaped(reason, 200)}" for reason in report.reasons[:_MOST_REASONS]]
    more = len(report.reasons) - _MOST_REASONS
    if more > 0:
        lines.append(f"- and {more} more reasons")
    if report.parts:
        return "\n".join([*lines, "", *_overview(report)])
    if report.gates or report.metrics:
        lines += ["", *_table(gate_table(report))]
    return "\n".join(lines)


def _overview(report: Report) -> Iterator[str]:
    yield "| Gate | Decision |"
    yield "|---|---|"
    for part in report.each_part:
        said = wording.DECISION_NAMES[part.decision]
        yield f"| {escaped(wording.describe_kind(part), 80)} | {_SIGNS[part.decision]} {said} |"


def _folded(report: Report, most: int) -> Iterator[MarkdownSection]:
    offenders = offender_table(report)
    if offenders is not None:
        yield MarkdownSection("offenders", _details(offenders, most))
    if report.next_steps:
        steps = [
            f"{number}. **{escaped(', '.join(advice.metrics), 80)}**: {escaped(advice.do)}"
            for number, advice in enumerate(report.next_steps, start=1)
        ]
        yield MarkdownSection("what to do next", "\n".join(["**What to do next**", "", *steps]))
    said = [*_comparison(report), *_listings(report)]
    said += [f"- {escaped(text)}" for text in report.warnings]
    if said:
        yield MarkdownSection("notes", "\n".join(said))
    for table in detail_tables(report):
        yield MarkdownSection(table.title, _details(table))
    if report.inputs:
        yield MarkdownSection("inputs", _details(input_table(report)))


def _details(table: ReportTable, most: int = _MOST_ROWS) -> str:
    note = ["", escaped(table.note)] if table.note else []
    summary = f"<details><summary>{escaped(table.title, 100)}</summary>"
    return "\n".join([summary, "", *_table(table, most), *note, "", "</details>"])


def _table(table: ReportTable, most: int = _MOST_ROWS) -> Iterator[str]:
    yield "| " + " | ".join(escaped(column, 60) for column in table.columns) + " |"
    aligned = ("---:" if n in table.numbers else "---" for n in range(len(table.columns)))
    yield "|" + "|".join(aligned) + "|"
    for row in table.rows[:most]:
        *others, last = (escaped(cell, _MAX_CELL) for cell in row.cells)
        result = _RESULTS.get(row.status or "", "")
        yield "| " + " | ".join([*others, result + last]) + " |"
    if len(table.rows) > most:
        cells = [f"and {len(table.rows) - most} more", *[""] * (len(table.columns) - 1)]
        yield "| " + " | ".join(cells) + " |"


def _comparison(report: Report) -> Iterator[str]:
    made = report.comparison
    if made is None:
        return
    change = escaped(made.change.replace("_", " "), 40)
    yield f"- Against the baseline: **{change}**; {escaped(made.why)}"
    for said, listing in made.listings:
        yield f"  - {said}: {escaped(wording.list_names(listing.first, 10, listing.total))}"


def _listings(report: Report) -> Iterator[str]:
    for name, listing in wording.listings_beyond_offenders(report):
        yield f"- {escaped(name, 60)}: {escaped(listing)}"
