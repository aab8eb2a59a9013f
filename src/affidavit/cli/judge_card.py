"""`affidavit judge card`."""

import click

from affidavit.base.exits import Exit
from affidavit.cli.command import command
from affidavit.cli.command_classes import reject_options
from affidavit.cli.commands import Example
from affidavit.cli.terminal import Terminal


@command(
    examples=(
        Example("affidavit judge card", "what the judge is, and what was measured"),
        Example("affidavit judge card --markdown > card.md", "the whole page, as in the docs"),
    ),
    exits={Exit.YES: "printed"},
)
@click.option("--markdown", is_flag=True, help="Print the whole page in Markdown.")
def card(terminal: Terminal, markdown: bool) -> Exit:
    """Print the model card of the judge.

    Its data and licences, its figures with intervals, its known weaknesses, its speed and size.
    """
    from affidavit.reports import judge_card as cards

    found = cards.load_card()
    if terminal.json:
        reject_options("and --json both say what to print", "markdown")
        terminal.print_json(cards.card_as_wire(found))
        return Exit.YES
    if markdown:
        click.echo(cards.card_markdown(found).encode(), nl=False)
        return Exit.YES
    for name, text in cards.card_pieces(found):
        if name == "figures" and found.measured.figures:
            terminal.table(cards.FIGURE_COLUMNS, map(cards.figure_row, found.measured.figures))
        else:
            terminal.print(text.strip("\n") + "\n")
    return Exit.YES
