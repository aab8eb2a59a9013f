"""`affidavit gate all`."""

from dataclasses import replace
from pathlib import Path

import click

from affidavit.base.exits import Exit
from affidavit.cli.gate_frame import EXITS, Frame, conclude, gate_command
from affidavit.cli.printable import on_one_line
from affidavit.cli.terminal import Terminal
from affidavit.cli.tree import Example


@gate_command(
    examples=(
        Example("affidavit gate all", "what affidavit.toml configures in its tables [gates.*]"),
        Example(
            "affidavit gate all -c ci/affidavit.toml --report report.json --junit report.xml",
            "another file, with reports for machines",
        ),
    ),
    exits={
        **EXITS,
        Exit.INPUT: "the config is wrong, or a gate could not be tried and none says no",
        Exit.TAMPERED: "a gold set is not the one that was expected",
    },
    without=("gates", "skip_bad", "allow_missing", "baseline"),
)
@click.option(
    "--config",
    "-c",
    default=Path("affidavit.toml"),
    show_default=True,
    type=click.Path(path_type=Path),
    help="The file with the tables [gates.*]; its paths are relative to it.",
)
def every(terminal: Terminal, frame: Frame, config: Path) -> Exit:
    """Decide over all gates that a project configures.

    The worst of them decides. A gate whose files are missing was not tried, so the whole cannot be
    to ship.
    """
    from affidavit.app.gating.everything import decide_all
    from affidavit.wiring.gate_config import load_gate_config

    loaded = load_gate_config(config)
    remembered = replace(frame, history=frame.history or loaded.history)
    remembered.refuse_to_replace((config, *loaded.inputs))
    found = decide_all(terminal.progress(loaded.runs(), "Deciding", len(loaded.gates)))
    for part in found.parts:
        if part.error is not None:
            click.echo(on_one_line(f"{part.error}"), err=True)
    return conclude(terminal, remembered, found.as_wire(), found.exit)
