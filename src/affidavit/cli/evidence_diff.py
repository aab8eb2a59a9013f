"""`affidavit evidence diff`."""

from pathlib import Path

import click

from affidavit.base.exits import Exit
from affidavit.cli.command import command
from affidavit.cli.evidence_options import bundle_path, limits_from, limits_option
from affidavit.cli.terminal import Terminal
from affidavit.cli.tree import Example


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

    Compared are events by content, types, models, tools, verdicts, policies and approvals, and
    how often each stands. When something happened, and in which run, is no difference.
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
    return Exit.NO if comparison.differences else Exit.YES
