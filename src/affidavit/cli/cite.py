"""`affidavit cite`."""

from pathlib import Path

import click

from affidavit.base.exits import Exit
from affidavit.cli.command import command, existing_project_option
from affidavit.cli.commands import Example
from affidavit.cli.terminal import Terminal


@command(
    examples=(
        Example("affidavit cite 00f66349", "the passage that [cite:00f66349] names"),
        Example(
            "affidavit cite 00f66349 --sources docs",
            "in these documents, which are read if necessary",
        ),
    ),
    exits={
        Exit.YES: "resolved",
        Exit.NO: "no passage of the sources has this hash",
        Exit.UNKNOWN: "several passages with different text have it",
    },
)
@click.argument("hash", metavar="HASH", help="Eight hexadecimal digits, or more of the digest.")
@click.option(
    "--sources",
    "-s",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Documents or folders; by default everything that this project has indexed.",
)
@existing_project_option
def cite(terminal: Terminal, hash: str, sources: tuple[Path, ...], project: Path) -> Exit:
    """Show the passage that a citation names."""
    from affidavit.app.project import Project
    from affidavit.app.project import cite as resolve
    from affidavit.reports.ledger_text import citation_text

    with terminal.watch("Reading sources") as progress:
        resolution = resolve(hash, Project(project), sources, progress)
    if terminal.json:
        terminal.print_json(resolution)
    else:
        terminal.show(citation_text(resolution))
    if resolution.resolved:
        return Exit.YES
    return Exit.UNKNOWN if resolution.ambiguous else Exit.NO
