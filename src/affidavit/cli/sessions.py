"""`affidavit sessions`: the ledgers that a project has kept."""

import webbrowser
from contextlib import suppress
from pathlib import Path

import click

from affidavit.app.project import Project
from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit
from affidavit.cli.command import command
from affidavit.cli.commands import Example
from affidavit.cli.ledger_output import (
    LEDGER_DECISION_TONES,
    expand_option,
    export_ledger,
    format_option,
    output_option,
    reject_unused_options,
)
from affidavit.cli.parameters import existing_project_option
from affidavit.cli.terminal import Terminal
from affidavit.ledger.record import Ledger
from affidavit.reports import ledger_wording as words
from affidavit.reports.text_tables import Cell

session_argument = click.argument(
    "session", help="The id, the start of it, or `last` for the newest."
)


@command(
    examples=(Example("affidavit sessions list", "what was checked here, the newest first"),),
    exits={
        Exit.YES: "listed, also if there is none",
        Exit.TAMPERED: "listed, but some were changed or damaged after they were made",
    },
)
@existing_project_option
def list_sessions(terminal: Terminal, project: Path) -> Exit:
    """List the sessions that are kept."""
    home = Project(project)
    ledgers: list[Ledger] = []
    damaged: list[str] = []
    for stored in home.sessions.all():
        try:
            ledgers.append(home.ledger(stored.id))
        except AffidavitError as error:
            damaged.append(str(error))
    if terminal.json:
        terminal.print_json(
            {"sessions": [_session_as_json(ledger) for ledger in ledgers], "damaged": damaged}
        )
        return Exit.TAMPERED if damaged else Exit.YES
    terminal.table(
        ("Session", "Generated", "Title", "Claims", "Coverage", "Decision"),
        (
            (
                ledger.session_id,
                ledger.generated_at,
                ledger.title,
                str(ledger.summary.total_claims),
                words.format_percent(ledger.summary.evidence_coverage),
                Cell(
                    words.LEDGER_DECISION_NAMES[ledger.gates.decision],
                    LEDGER_DECISION_TONES[ledger.gates.decision],
                ),
            )
            for ledger in ledgers
        ),
    )
    for problem in damaged:
        terminal.print(problem)
    return Exit.TAMPERED if damaged else Exit.YES


def _session_as_json(ledger: Ledger) -> dict[str, object]:
    return {
        "session_id": ledger.session_id,
        "ledger_id": ledger.ledger_id,
        "generated_at": ledger.generated_at,
        "title": ledger.title,
        "total_claims": ledger.summary.total_claims,
        "evidence_coverage": ledger.summary.evidence_coverage,
        "decision": ledger.gates.decision,
    }


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
@existing_project_option
def show(
    terminal: Terminal,
    session: str,
    chosen: str | None,
    output: Path | None,
    expand: tuple[int, ...],
    project: Path,
) -> Exit:
    """Show the ledger of a session."""
    reject_unused_options(terminal, chosen, output)
    export_ledger(terminal, Project(project).ledger(session), chosen, output, expand)
    return Exit.YES


@command(
    examples=(Example("affidavit sessions open last", "the newest report in your browser"),),
    exits={
        Exit.YES: "the report is written; the browser was asked to show it",
        Exit.TAMPERED: "the ledger was changed after it was made",
    },
)
@session_argument
@click.option("--no-browser", is_flag=True, help="Only write the report and say where it is.")
@existing_project_option
def open_session(terminal: Terminal, session: str, no_browser: bool, project: Path) -> Exit:
    """Open the report of a session in the browser."""
    from affidavit.base.files import write_atomically
    from affidavit.reports.formats import render

    ledger = Project(project).ledger(session)
    report = Project(project).folder / "reports" / f"{ledger.session_id}.html"
    with suppress(OSError):  # Writing fails next, and says why.
        report.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(report, render("ledger", "html", ledger))
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
    sessions = Project(project).sessions
    stored = sessions.find(session)
    sessions.delete(stored.id)
    if terminal.json:
        terminal.print_json({"deleted": stored.id})
    else:
        terminal.note(f"deleted {stored.id}")
    return Exit.YES
