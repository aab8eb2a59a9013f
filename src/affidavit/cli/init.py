"""`affidavit init`."""

import shlex
from pathlib import Path

import click

from affidavit.base.exits import Exit
from affidavit.cli.command import command
from affidavit.cli.terminal import Terminal
from affidavit.cli.tree import Example


@command(
    examples=(
        Example("affidavit init", "a config, a tiny gold set with answers, and a workflow, here"),
        Example("affidavit init my-project", "the same in another folder"),
    ),
    exits={Exit.YES: "the files are there"},
)
@click.argument(
    "folder",
    default=Path(),
    required=False,
    type=click.Path(path_type=Path),
    help="Where; by default here.",
)
@click.option("--force", is_flag=True, help="Write over files that are there.")
def init(terminal: Terminal, folder: Path, force: bool) -> Exit:
    """Write the first files of a project with gates.

    They give a decision at once: run what is printed last, then put your own questions and answers
    in their place. Files that are there are left alone.
    """
    from affidavit.app.starting import start

    started = start(folder, force=force)
    config = str(folder / "affidavit.toml")
    following = f"affidavit gate all -c {shlex.quote(config)}"
    if terminal.json:
        terminal.print_json({"written": started.written, "kept": started.kept, "next": following})
        return Exit.YES
    for name in started.written:
        terminal.print(f"wrote {folder / name}")
    for name in started.kept:
        terminal.print(f"kept  {folder / name} (it was there; --force writes over it)")
    terminal.print(f"\nNext: {following}")
    return Exit.YES
