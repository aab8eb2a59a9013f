"""The commands `affidavit report` and `affidavit compare`, which read stored gate reports."""

from pathlib import Path

import click

from affidavit.base.exits import Exit
from affidavit.cli.command import command
from affidavit.cli.commands import Example
from affidavit.cli.gate_options import format_options, take_format_paths
from affidavit.cli.program import reject_options
from affidavit.cli.terminal import Terminal
from affidavit.reports.formats import render


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
    params=format_options(with_json=False),
)
@click.argument(
    "stored",
    metavar="REPORT",
    type=click.Path(path_type=Path),
    help="The JSON that a gate wrote with --report.",
)
@click.option(
    "--history",
    type=click.Path(path_type=Path),
    help="Also draw the runs of this file, such as eval/history.jsonl.",
)
def report(
    terminal: Terminal,
    /,
    stored: Path,
    history: Path | None,
    **formats: Path | None,
) -> Exit:
    """Show a stored gate report in any format.

    Nothing is measured again: every format is made from the JSON alone.
    """
    from affidavit.app.gate_reports import History, read_report
    from affidavit.base.files import write_atomically
    from affidavit.cli.command import require_output_paths
    from affidavit.cli.gate_options import load_history
    from affidavit.reports.gate_text import gate_text

    files = take_format_paths(formats)
    if "html" not in files:
        reject_options("is for --html, which draws it", "history")
    read = (stored,) if history is None else (stored, history)
    require_output_paths(files.values(), read)
    wire, report = read_report(stored)
    past = History() if history is None else load_history(terminal, history)
    # All files are rendered before the first is written.
    made = {path: render("gate", name, report, past.runs) for name, path in files.items()}
    for path, data in made.items():
        write_atomically(path, data)
        terminal.note(f"wrote {path}")
    if terminal.json:
        terminal.print_json(wire)
    else:
        terminal.show(gate_text(report, on_screen=terminal.on_screen))
    return Exit.YES


@command(
    examples=(
        Example("affidavit compare last.json now.json", "what became better, and what worse?"),
        Example("affidavit compare last.json now.json --json", "the same for machines"),
    ),
    exits={
        Exit.YES: "no regression: better, or nothing that was right became wrong",
        Exit.NO: "a regression: more became wrong than chance explains",
        Exit.UNKNOWN: "could not tell: too few items flipped, or too few were measured in both",
    },
)
@click.argument("before", type=click.Path(path_type=Path), help="The earlier report of a gate.")
@click.argument("now", type=click.Path(path_type=Path), help="The later report of the same gate.")
def compare(terminal: Terminal, before: Path, now: Path) -> Exit:
    """Show what changed between two reports of a gate.

    Items are compared with McNemar's exact test over those that both reports measured. Questions
    whose answers lost the support of their contexts are shown with the claims of both answers. The
    reports are those that a gate writes with --report.
    """
    from affidavit.app.gate_reports import compare_files
    from affidavit.reports.gate_text import comparison_text

    made = compare_files(before, now)
    if terminal.json:
        terminal.print_json(made.as_wire())
    else:
        terminal.show(comparison_text(made))
    return made.exit
