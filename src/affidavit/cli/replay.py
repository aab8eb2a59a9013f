"""`affidavit replay`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from affidavit.base.exits import Exit
from affidavit.cli.command import command
from affidavit.cli.tables import Cell, Tone
from affidavit.cli.terminal import Terminal
from affidavit.cli.tree import Example

if TYPE_CHECKING:
    from affidavit.app.replaying import ReplayedReceipt, ReplayedRow, Told


@command(
    examples=(
        Example("affidavit replay receipt.json", "what is signed beside what follows"),
        Example("affidavit replay receipt.json --routes routes.yaml", "from the question on"),
    ),
    exits={
        Exit.YES: "what is signed follows from the evidence, to the last letter",
        Exit.UNKNOWN: "the question was routed by another table than the one named",
        Exit.TAMPERED: "something does not follow; every difference is named",
    },
)
@click.argument(
    "receipt",
    type=click.Path(path_type=Path, allow_dash=True),
    help="The receipt; - for standard input.",
)
@click.option(
    "--routes",
    type=click.Path(path_type=Path),
    help="The route table, to replay also how the question became checks.",
)
def replay(terminal: Terminal, receipt: Path, routes: Path | None) -> Exit:
    """Recompute a receipt from its own evidence.

    Operators over the evidence, then the composite over the verdicts. No key is needed, and none
    is checked: `affidavit verify` does both.
    """
    from affidavit.app.replaying import replay_receipt
    from affidavit.app.verifying import receipt_of
    from affidavit.cli.verify import subject_named
    from affidavit.wiring.routes import load_routes

    table = None if routes is None else load_routes(routes)
    read = receipt_of(subject_named(receipt))
    if table is not None and "question" not in read.value:
        terminal.note("this receipt answers no question, so --routes had nothing to compile again")
    done = replay_receipt(read, table)
    if terminal.json:
        terminal.print_json({"exit": int(done.exit), "holds": not done.differences, "replay": done})
    else:
        show(terminal, done)
    return done.exit


def show(terminal: Terminal, done: "ReplayedReceipt") -> None:
    """Print both tables side by side, then every difference."""
    terminal.print(done.receipt_id)
    if done.rows:
        columns = ("Check", "Signed", "Recomputed", *(("Why",) if terminal.verbose else ()))
        terminal.table(columns, (_row(row)[: len(columns)] for row in done.rows))
    for difference in done.differences:
        terminal.print(f"AF328 {difference}")
    if done.differences:
        terminal.print("Does not replay: what it says does not follow from its own evidence")
    else:
        terminal.print("Replays: what it says follows from its own evidence, to the last letter")
    terminal.note("the signature is not checked here; `affidavit verify` does that too")


def _row(row: "ReplayedRow") -> tuple[Cell | str, ...]:
    tone = Tone.GOOD if row.is_same else Tone.BAD
    recomputed = Cell(_told_text(row.recomputed), tone)
    return (row.name, _told_text(row.signed), recomputed, row.explain)


def _told_text(told: "Told") -> str:
    confidence = "" if told.confidence is None else f", {told.confidence}"
    return f"{told.verdict}".replace("_", " ") + confidence
