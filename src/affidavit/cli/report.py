"""`affidavit report`."""

from pathlib import Path

import click

from affidavit.base.exits import Exit
from affidavit.cli.command import command
from affidavit.cli.given import refuse_given
from affidavit.cli.terminal import Terminal
from affidavit.cli.tree import Example


@command(
    examples=(
        Example("affidavit report eval/report.json", "what a gate decided and why"),
        Example(
            "affidavit report eval/report.json --html report.html --history eval/history.jsonl",
            "a page with charts, and how the figures went from run to run",
        ),
        Example(
            "affidavit report eval/report.json --markdown comment.md",
            "for a comment of a pull request",
        ),
    ),
    exits={Exit.YES: "the report was shown, whatever it decided"},
)
@click.argument(
    "stored",
    metavar="REPORT",
    type=click.Path(path_type=Path),
    help="The JSON that a gate wrote with --report.",
)
@click.option("--html", type=click.Path(path_type=Path), help="Write it as one page, with charts.")
@click.option(
    "--markdown", type=click.Path(path_type=Path), help="Write it as Markdown, for a pull request."
)
@click.option("--junit", type=click.Path(path_type=Path), help="Write it as JUnit XML.")
@click.option("--sarif", type=click.Path(path_type=Path), help="Write the offenders as SARIF.")
@click.option(
    "--history",
    type=click.Path(path_type=Path),
    help="Draw the runs of this file too, such as eval/history.jsonl.",
)
def report(
    terminal: Terminal,
    stored: Path,
    html: Path | None,
    markdown: Path | None,
    junit: Path | None,
    sarif: Path | None,
    history: Path | None,
) -> Exit:
    """Show the stored report of a gate again or in another form.

    Nothing is measured again: every form is made from the JSON alone.
    """
    from affidavit.app.gating.history import History
    from affidavit.app.gating.report_files import in_form, read_report
    from affidavit.base.files import write_atomically
    from affidavit.cli.gate_places import known_history
    from affidavit.cli.gate_text import print_gate_report
    from affidavit.cli.places import require_places

    if html is None:
        refuse_given("is for --html, which draws it", "history")
    wanted = {"html": html, "markdown": markdown, "junit": junit, "sarif": sarif}
    files = {name: path for name, path in wanted.items() if path is not None}
    read = (stored,) if history is None else (stored, history)
    require_places(files.values(), read)
    wire = read_report(stored)
    past = History() if history is None else known_history(terminal, history)
    # All are made before the first is written: nothing is left half done.
    made = {path: in_form(name, wire, past) for name, path in files.items()}
    for path, data in made.items():
        write_atomically(path, data)
        terminal.note(f"wrote {path}")
    if terminal.json:
        terminal.print_json(wire)
    else:
        print_gate_report(terminal, wire)
    return Exit.YES
