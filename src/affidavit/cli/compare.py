"""`affidavit compare`."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from affidavit.base.exits import Exit
from affidavit.cli.command import command
from affidavit.cli.tables import Cell, Tone
from affidavit.cli.terminal import Terminal
from affidavit.cli.tree import Example

if TYPE_CHECKING:
    from affidavit.gates.comparison import Comparison
    from affidavit.gates.report_comparison import Moved, ReportComparison
    from affidavit.gates.tally import Listing

NOTHING: Final = "–"
TONES: Final = {
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

    Item by item, by McNemar's exact test over the items that both reports measured. The reports
    are those that a gate writes with --report.
    """
    from affidavit.app.gating.comparing import compare_files

    made = compare_files(before, now)
    if terminal.json:
        terminal.print_json(made.as_wire())
    elif made.parts:
        _print_head(terminal, made)
        for name, part in made.parts:
            terminal.print(f"\n== {name} ==")
            _print_one(terminal, part)
    else:
        _print_one(terminal, made)
    return made.exit


def _print_head(terminal: Terminal, made: "ReportComparison") -> None:
    was, is_now = (decision.value.replace("_", "-") for decision in made.decisions)
    terminal.print(f"{_words(made.change.value).capitalize()}: {made.why}")
    terminal.print(f"The decision was {was} and is {is_now}.")


def _print_one(terminal: Terminal, made: "ReportComparison") -> None:
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
    for line in _flipped(made.checks["outcome"]):
        terminal.print(line)


def _metric_row(moved: "Moved") -> tuple[Cell | str, ...]:
    tone = {True: Tone.GOOD, False: Tone.BAD, None: Tone.PLAIN}[moved.is_better]
    difference = moved.difference
    shown = NOTHING if difference is None else f"{difference:+g}" if difference else "0"
    return moved.name, _number(moved.before), _number(moved.now), Cell(shown, tone)


def _check_row(name: str, made: "Comparison") -> tuple[Cell | str, ...]:
    return (
        "item" if name == "outcome" else name,
        str(made.compared),
        str(made.mended.total),
        str(made.broken.total),
        _number(made.p_value),
        Cell(_words(made.change.value), TONES[made.change.value]),
    )


def _flipped(made: "Comparison") -> Iterator[str]:
    listed = {
        "Now wrong": made.broken,
        "Now right": made.mended,
        "Right before and not measured now": made.lost,
    }
    for title, names in listed.items():
        if names.total:
            yield f"{title} ({names.total}): {_listed(names)}"
    if made.only_now:
        yield f"Items that only the later report has: {made.only_now}"


def _listed(names: "Listing") -> str:
    left = names.total - len(names.first)
    return ", ".join(names.first) + (f" and {left} more" if left else "")


def _number(value: float | None) -> str:
    return NOTHING if value is None else f"{round(value, 4):g}"


def _words(change: str) -> str:
    return change.replace("_", " ")
