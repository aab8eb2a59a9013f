"""The commands `affidavit report` and `affidavit compare`, which read stored gate reports."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from affidavit.base.exits import Exit
from affidavit.cli.command import command
from affidavit.cli.command_classes import reject_options
from affidavit.cli.commands import Example
from affidavit.cli.gate_options import format_options, take_format_paths
from affidavit.cli.terminal import Terminal
from affidavit.reports.formats import render
from affidavit.reports.text_tables import Cell, Tone

if TYPE_CHECKING:
    from affidavit.decision.comparison import Comparison, MetricChange, ReportComparison
    from affidavit.decision.counts import Listing

# `affidavit report`.


@command(
    examples=(
        Example("affidavit report eval/report.json", "what a gate decided and why"),
        Example(
            "affidavit report eval/report.json --html report.html --history eval/history.jsonl",
            "a page with charts, and how the figures went from run to run",
        ),
        Example(
            "affidavit report eval/report.json --markdown comment.md",
            "for a comment of a pull request",
        ),
    ),
    exits={Exit.YES: "the report was shown, whatever it decided"},
    params=format_options(with_json=False),
)
@click.argument(
    "stored",
    metavar="REPORT",
    type=click.Path(path_type=Path),
    help="The JSON that a gate wrote with --report.",
)
@click.option(
    "--history",
    type=click.Path(path_type=Path),
    help="Also draw the runs of this file, such as eval/history.jsonl.",
)
def report(
    terminal: Terminal,
    /,
    stored: Path,
    history: Path | None,
    **formats: Path | None,
) -> Exit:
    """Show a stored gate report in any format.

    Nothing is measured again: every format is made from the JSON alone.
    """
    from affidavit.app.gate_reports import History, read_report
    from affidavit.base.files import write_atomically
    from affidavit.cli.gate_options import load_history
    from affidavit.cli.gate_text import print_gate_report
    from affidavit.cli.parameters import require_output_paths

    files = take_format_paths(formats)
    if "html" not in files:
        reject_options("is for --html, which draws it", "history")
    read = (stored,) if history is None else (stored, history)
    require_output_paths(files.values(), read)
    wire, report = read_report(stored)
    past = History() if history is None else load_history(terminal, history)
    # All files are rendered before the first is written.
    made = {path: render("gate", name, report, past.runs) for name, path in files.items()}
    for path, data in made.items():
        write_atomically(path, data)
        terminal.note(f"wrote {path}")
    if terminal.json:
        terminal.print_json(wire)
    else:
        print_gate_report(terminal, report)
    return Exit.YES


# `affidavit compare`.

_ABSENT: Final = "–"
_CHANGE_TONES: Final = {
    "improved": Tone.GOOD,
    "held": Tone.GOOD,
    "regressed": Tone.BAD,
    "cannot_tell": Tone.UNSURE,
}


@command(
    examples=(
        Example("affidavit compare last.json now.json", "what became better, and what worse?"),
        Example("affidavit compare last.json now.json --json", "the same for machines"),
    ),
    exits={
        Exit.YES: "no regression: better, or nothing that was right became wrong",
        Exit.NO: "a regression: more became wrong than chance explains",
        Exit.UNKNOWN: "could not tell: too few items flipped, or too few were measured in both",
    },
)
@click.argument("before", type=click.Path(path_type=Path), help="The earlier report of a gate.")
@click.argument("now", type=click.Path(path_type=Path), help="The later report of the same gate.")
def compare(terminal: Terminal, before: Path, now: Path) -> Exit:
    """Show what changed between two reports of a gate.

    Items are compared with McNemar's exact test over those that both reports measured. The reports
    are those that a gate writes with --report.
    """
    from affidavit.app.gate_reports import compare_files

    made = compare_files(before, now)
    if terminal.json:
        terminal.print_json(made.as_wire())
    elif made.parts:
        _print_head(terminal, made)
        for name, part in made.parts:
            terminal.print(f"\n== {name} ==")
            _print_comparison(terminal, part)
    else:
        _print_comparison(terminal, made)
    return made.exit


def _print_head(terminal: Terminal, made: "ReportComparison") -> None:
    was, is_now = (decision.value.replace("_", "-") for decision in made.decisions)
    terminal.print(f"{_without_underscores(made.change.value).capitalize()}: {made.why}")
    terminal.print(f"The decision was {was} and is {is_now}.")


def _print_comparison(terminal: Terminal, made: "ReportComparison") -> None:
    _print_head(terminal, made)
    if made.metrics:
        terminal.print("")
        terminal.table(("Metric", "Before", "Now", "Change"), map(_metric_row, made.metrics))
    if not made.checks:
        return
    terminal.print("")
    terminal.table(
        ("Check", "Compared", "Now right", "Now wrong", "P", "Result"),
        (_check_row(name, each) for name, each in made.checks.items()),
    )
    for line in _flipped_lines(made.checks["outcome"]):
        terminal.print(line)


def _metric_row(moved: "MetricChange") -> tuple[Cell | str, ...]:
    tone = {True: Tone.GOOD, False: Tone.BAD, None: Tone.PLAIN}[moved.is_better]
    difference = moved.difference
    shown = _ABSENT if difference is None else f"{difference:+g}" if difference else "0"
    return moved.name, _format_number(moved.before), _format_number(moved.now), Cell(shown, tone)


def _check_row(name: str, made: "Comparison") -> tuple[Cell | str, ...]:
    return (
        "item" if name == "outcome" else name,
        str(made.compared),
        str(made.mended.total),
        str(made.broken.total),
        _format_number(made.p_value),
        Cell(_without_underscores(made.change.value), _CHANGE_TONES[made.change.value]),
    )


def _flipped_lines(made: "Comparison") -> Iterator[str]:
    listed = {
        "Now wrong": made.broken,
        "Now right": made.mended,
        "Right before and not measured now": made.lost,
    }
    for title, names in listed.items():
        if names.total:
            yield f"{title} ({names.total}): {_listing_text(names)}"
    if made.only_now:
        yield f"Items that only the later report has: {made.only_now}"


def _listing_text(names: "Listing") -> str:
    left = names.total - len(names.first)
    return ", ".join(names.first) + (f" and {left} more" if left else "")


def _format_number(value: float | None) -> str:
    return _ABSENT if value is None else f"{round(value, 4):g}"


def _without_underscores(change: str) -> str:
    return change.replace("_", " ")
