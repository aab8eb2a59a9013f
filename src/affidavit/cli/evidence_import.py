"""`affidavit evidence import`."""

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
        Example("affidavit evidence import receipt.json gate.json -o run.tar.gz", "two documents"),
        Example("affidavit evidence import events.jsonl -o run.tar.gz --run-id nightly", "events"),
    ),
    exits={Exit.YES: "sealed"},
)
@click.argument(
    "files",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path),
    help="Receipts, ledgers, gate reports, promptfoo results; or JSON lines of events.",
)
@output_option
@applied_option
@click.option("--run-id", help="The run's name, without a colon; by default that of the output.")
@click.option("--source", default="urn:affidavit:import", show_default=True, help="Who says so.")
@click.option("--at", help="The time of what says none of its own; by default now.")
def import_evidence(
    terminal: Terminal,
    files: tuple[Path, ...],
    output: Path,
    pack_names: tuple[str, ...],
    run_id: str | None,
    source: str,
    at: str | None,
) -> Exit:
    """Seal stored receipts or reports or events in a bundle.

    What a file is, is told from its content. A document becomes one event, a promptfoo result one
    for each test, and each line of a .jsonl file one that has a type and data.
    """
    from affidavit import __version__
    from affidavit.app.evidence.importing import import_files
    from affidavit.seal.bundle.drafting import Run
    from affidavit.wiring.clock import time_of

    require_places([output], files)
    name = run_id if run_id is not None else output.name.partition(".")[0]
    run = Run(name, source, "affidavit", __version__)
    contents = import_files(files, output, run, time_of(at), block_of(pack_names))
    note_limits(terminal, contents)
    if terminal.json:
        terminal.print_json(
            {
                "bundle": str(output),
                "bundle_id": contents.run_root,
                "run_id": contents.run_id,
                "event_count": contents.count,
            }
        )
        return Exit.YES
    show_sealed(terminal, output, contents)
    return Exit.YES
