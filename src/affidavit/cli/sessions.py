"""`affidavit sessions`: the stored ledgers of a project."""

import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from affidavit.base.exits import Exit
from affidavit.cli.command import command, existing_project_option
from affidavit.cli.commands import Example
from affidavit.cli.db import data_option, store_option
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
    from affidavit.app.stored_sessions import Sessions
    from affidavit.ledger.record import ClaimOrder

session_argument = click.argument(
    "session", help="The id, the start of it, or `last` for the newest."
)


@contextmanager
def _sessions(
    terminal: Terminal, project: Path, url: str | None, data: Path | None
) -> "Iterator[Sessions]":
    """Open the sessions of a project, and say what was imported into its store."""
    from affidavit.app.stored_sessions import open_sessions

    with open_sessions(project, url, data) as (sessions, imported):
        if imported:
            terminal.note(f"imported ledgers of this project into its store: {imported}")
        yield sessions


@command(
    examples=(Example("affidavit sessions list", "the checks of this project, the newest first"),),
    exits={
        Exit.YES: "listed, even if there is none",
        Exit.TAMPERED: "listed, but some were changed or damaged after they were made",
    },
)
@store_option
@data_option
@existing_project_option
def list_sessions(terminal: Terminal, url: str | None, data: Path | None, project: Path) -> Exit:
    """List the stored sessions.

    In a project that has a store, the ledgers of `affidavit check` are imported into it, each once.
    """
    from affidavit.reports.ledger_text import sessions_as_json, sessions_text

    with _sessions(terminal, project, url, data) as sessions:
        ledgers, damaged = sessions.ledgers()
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
@store_option
@data_option
@existing_project_option
def show(
    terminal: Terminal,
    session: str,
    format_name: str | None,
    output: Path | None,
    expand: tuple[int, ...],
    order: "ClaimOrder",
    url: str | None,
    data: Path | None,
    project: Path,
) -> Exit:
    """Show the ledger of a session."""
    reject_unused_options(terminal, format_name, output)
    with _sessions(terminal, project, url, data) as sessions:
        ledger = sessions.ledger(session)
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
@store_option
@data_option
@existing_project_option
def open_session(
    terminal: Terminal,
    session: str,
    no_browser: bool,
    url: str | None,
    data: Path | None,
    project: Path,
) -> Exit:
    """Open the report of a session in the browser."""
    from affidavit.app.project import Project

    with _sessions(terminal, project, url, data) as sessions:
        report = Project(project).write_report(sessions.ledger(session))
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
@store_option
@data_option
@existing_project_option
def delete(
    terminal: Terminal, session: str, url: str | None, data: Path | None, project: Path
) -> Exit:
    """Delete the ledger of a session."""
    with _sessions(terminal, project, url, data) as sessions:
        deleted = sessions.delete(session)
    if terminal.json:
        terminal.print_json({"deleted": deleted})
    else:
        terminal.note(f"deleted {deleted}")
    return Exit.YES
