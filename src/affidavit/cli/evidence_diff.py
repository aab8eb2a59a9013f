"""`affidavit evidence diff`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from affidavit.base.exits import Exit
from affidavit.cli.command import command
from affidavit.cli.evidence_options import bundle_path, limits_from, limits_option
from affidavit.cli.terminal import Terminal
from affidavit.cli.tree import Example

if TYPE_CHECKING:
    from affidavit.app.evidence.differing import Comparison


@command(
    examples=(Example("affidavit evidence diff monday.tar.gz tuesday.tar.gz", "what changed?"),),
    exits={
        Exit.YES: "the same events, whenever they happened",
        Exit.NO: "something differs",
        Exit.TAMPERED: "a bundle contradicts itself, so nothing is compared",
    },
)
@click.argument("left", type=bundle_path, help="A bundle.")
@click.argument("right", type=bundle_path, help="Another one.")
@limits_option
def diff(terminal: Terminal, left: Path, right: Path, limits: str | None) -> Exit:
    """Show what differs between two evidence bundles.

    Compared are events by content, types, models, tools, verdicts, policies and approvals, how
    often each stands, and their order. When something happened, and in which run, is no
    difference. Events that differ are listed by number, with the places where they do.
    """
    from affidavit.app.evidence.differing import compare_bundles

    comparison = compare_bundles(left, right, limits_from(limits))
    if terminal.json:
        terminal.print_json(comparison.as_wire())
    elif not comparison.differences:
        terminal.print("Nothing differs but times and runs")
    else:
        terminal.table(
            ("What", "Which", "Left", "Right"),
            (
                (each.section, each.what, str(each.left), str(each.right))
                for each in comparison.differences
            ),
        )
        if comparison.changed:
            _show_changed(terminal, comparison)
    return Exit.NO if comparison.differences else Exit.YES


def _show_changed(terminal: Terminal, comparison: "Comparison") -> None:
    terminal.table(
        ("Left", "Right", "Type", "Where"),
        (
            (
                "" if each.left is None else str(each.left),
                "" if each.right is None else str(each.right),
                each.type,
                ", ".join(each.paths) or "in one bundle only",
            )
            for each in comparison.changed
        ),
    )
    pairs = sum(
        max(each.left, each.right) for each in comparison.differences if each.section == "events"
    )
    if pairs > len(comparison.changed):
        terminal.note(f"{len(comparison.changed)} of {pairs} events that differ are listed")
