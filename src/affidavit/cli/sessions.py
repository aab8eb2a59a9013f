"""`affidavit sessions`: the stored ledgers of a project."""

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import click

from affidavit.base.exits import Exit
from affidavit.cli.command import command, existing_project_option
from affidavit.cli.commands import Example
from affidavit.cli.ledger_output import (
    expand_option,
    export_ledger,
    format_option,
    order_option,
    output_option,
    reject_unused_options,
)
from affidavit.cli.terminal import Terminal

if TYPE_CHECKING:
    from affidavit.ledger.record import ClaimOrder

session_argument = click.argument(
    "session", help="The id, the start of it, or `last` for the newest."
)


@command(
    examples=(Example("affidavit sessions list", "the checks of this project, the newest first"),),
    exits={
        Exit.YES: "listed, even if there is none",
        Exit.TAMPERED: "listed, but some were changed or damaged after they were made",
    },
)
@existing_project_option
def list_sessions(terminal: Terminal, project: Path) -> Exit:
    """List the stored sessions."""
    from affidavit.app.project import Project
    from affidavit.reports.ledger_text import sessions_as_json, sessions_text

    ledgers, damaged = Project(project).ledgers()
    if terminal.json:
        terminal.print_json(sessions_as_json(ledgers, damaged))
    else:
        terminal.show(sessions_text(ledgers, damaged))
    return Exit.TAMPERED if damaged else Exit.YES


@command(
    examples=(
        Example("affidavit sessions show last", "the newest ledger again"),
        Example("affidavit sessions show ses_1f2e -o report.pdf", "as a PDF"),
    ),
    exits={
        Exit.YES: "shown, whatever its decision was",
        Exit.TAMPERED: "the ledger was changed after it was made",
    },
)
@session_argument
@format_option
@output_option
@expand_option
@order_option
@existing_project_option
def show(
    terminal: Terminal,
    session: str,
    format_name: str | None,
    output: Path | None,
    expand: tuple[int, ...],
    order: "ClaimOrder",
    project: Path,
) -> Exit:
    """Show the ledger of a session."""
    from affidavit.app.project import Project

    reject_unused_options(terminal, format_name, output)
    ledger = Project(project).ledger(session)
    export_ledger(terminal, ledger, format_name, output, expand=expand, order=order)
    return Exit.YES


@command(
    examples=(Example("affidavit sessions open last", "the newest report in your browser"),),
    exits={
        Exit.YES: "the report is written, and the browser was started",
        Exit.TAMPERED: "the ledger was changed after it was made",
    },
)
@session_argument
@click.option("--no-browser", is_flag=True, help="Only write the report and print its path.")
@existing_project_option
def open_session(terminal: Terminal, session: str, no_browser: bool, project: Path) -> Exit:
    """Open the report of a session in the browser."""
    from affidavit.app.project import Project

    home = Project(project)
    report = home.write_report(home.ledger(session))
    if terminal.json:
        terminal.print_json({"report": str(report)})
    else:
        terminal.print(str(report))
    if not no_browser:
        webbrowser.open(report.resolve().as_uri())
    return Exit.YES


@command(
    examples=(Example("affidavit sessions delete ses_1f2e", "forget one session"),),
    exits={Exit.YES: "deleted"},
)
@session_argument
@existing_project_option
def delete(terminal: Terminal, session: str, project: Path) -> Exit:
    """Delete the ledger of a session."""
    from affidavit.app.project import Project

    sessions = Project(project).sessions
    stored = sessions.find(session)
    sessions.delete(stored.id)
    if terminal.json:
        terminal.print_json({"deleted": stored.id})
    else:
        terminal.note(f"deleted {stored.id}")
    return Exit.YES
