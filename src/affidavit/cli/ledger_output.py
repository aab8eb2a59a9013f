"""Options for the format of a ledger, and the output in that format."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from affidavit.cli.program import reject_options
from affidavit.cli.terminal import Terminal
from affidavit.reports.formats import find_format, format_names, formats_of, render

if TYPE_CHECKING:
    from affidavit.ledger.record import ClaimOrder, Ledger

format_option = click.option(
    "--format",
    "format_name",
    type=click.Choice(("table", *format_names("ledger"))),
    help="The format of the ledger.",
)
output_option = click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    help="Write to this file; its extension sets the format.",
)
expand_option = click.option(
    "--expand", multiple=True, type=int, help="Show claim N with its evidence."
)
order_option = click.option(
    "--order",
    type=click.Choice(("review", "answer")),
    default="review",
    show_default=True,
    help="Claims to review first, or the order of the answer.",
)


def format_for(format_name: str | None, output: Path | None) -> str:
    """Return the format that was asked for, or the one that the output's extension implies."""
    if format_name is not None:
        return format_name
    if output is None:
        return "table"
    implied = find_format("ledger", output)
    if implied is None:
        endings = ", ".join(suffix for each in formats_of("ledger") for suffix in each.suffixes)
        raise click.UsageError(f"{output} has no ending of {endings}; choose a --format")
    return implied.name


def reject_unused_options(terminal: Terminal, format_name: str | None, output: Path | None) -> None:
    """Refuse options without effect, such as a format beside --json or --expand without a table."""
    if terminal.json and output is None and format_name != "json":
        reject_options("and --json both say what to print", "format_name")
    if terminal.json or (output is None and format_for(format_name, output) != "table"):
        reject_options("is for the table, which is not printed", "expand")
    written = "json" if output is None else format_for(format_name, output)
    printed = output is None and format_for(format_name, output) == "json"
    if written == "json" and (terminal.json or printed):
        reject_options("does not change JSON, which has the order of the answer", "order")


def export_ledger(
    terminal: Terminal,
    ledger: "Ledger",
    format_name: str | None,
    output: Path | None,
    *,
    expand: tuple[int, ...] = (),
    order: "ClaimOrder" = "review",
) -> None:
    """Print the ledger or write it to a file. With a file, the table is still printed."""
    from affidavit.base.files import write_atomically
    from affidavit.reports.ledger_text import ledger_text, require_claim_numbers

    require_claim_numbers(ledger, expand)
    chosen = format_for(format_name, output)
    if chosen == "table" and output is not None:
        raise click.UsageError("a table goes to the terminal; choose another --format for a file")
    if output is not None:
        write_atomically(output, render("ledger", chosen, ledger, order=order))
        terminal.note(f"wrote {output}")
    if terminal.json or (output is None and chosen != "table"):
        printed = "json" if terminal.json else chosen
        for piece in render("ledger", printed, ledger, order=order):
            click.echo(piece, nl=False)
    else:
        terminal.show(ledger_text(ledger, expand, order))
