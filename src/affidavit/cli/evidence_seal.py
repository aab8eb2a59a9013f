"""`affidavit evidence seal`."""

from pathlib import Path

import click

from affidavit.base.exits import Exit
from affidavit.cli.command import command
from affidavit.cli.evidence_options import (
    applied_option,
    block_of,
    note_limits,
    output_option,
    show_sealed,
)
from affidavit.cli.places import require_places
from affidavit.cli.terminal import Terminal
from affidavit.cli.tree import Example


@command(
    examples=(
        Example("affidavit evidence seal run.jsonl -o run.tar.gz", "what `affidavit.record` wrote"),
        Example(
            "affidavit evidence seal run.jsonl -o run.tar.gz --pack eu-ai-act-baseline",
            "and which pack it is held to",
        ),
    ),
    exits={Exit.YES: "sealed; a run without its end says so"},
)
@click.argument("log", type=click.Path(path_type=Path), help="The log of a run.")
@output_option
@applied_option
def seal(terminal: Terminal, log: Path, output: Path, pack_names: tuple[str, ...]) -> Exit:
    """Seal the log of a run in an evidence bundle.

    A run that was cut off is sealed too, and says that it is unfinished. A torn last line, which a
    crash may leave, is left out and reported. The same log makes the same bytes.
    """
    from affidavit.app.evidence.sealing import seal_run

    require_places([output], [log])
    sealed = seal_run(log, output, block_of(pack_names))
    if sealed.torn_bytes:
        terminal.note(f"the last line of {log} is torn: its {sealed.torn_bytes} bytes are left out")
    if not sealed.finished:
        terminal.note("the run is unfinished: its last event is not affidavit.run.finished")
    note_limits(terminal, sealed.contents)
    if terminal.json:
        terminal.print_json({"bundle": str(output), **sealed.as_wire()})
        return Exit.YES
    show_sealed(terminal, output, sealed.contents)
    return Exit.YES
