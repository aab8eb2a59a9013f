"""`affidavit db`: the store of the service."""

from pathlib import Path

import click

from affidavit.base.exits import Exit
from affidavit.cli.command import command, existing_project_option
from affidavit.cli.commands import Example
from affidavit.cli.terminal import Terminal

store_option = click.option(
    "--store",
    "url",
    help="The address of the store, sqlite:///FILE or postgresql://USER@HOST/DATABASE;"
    " by default an SQLite file in this project.",
)
data_option = click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="The folder of the documents and indexes; by default .affidavit/store in this project.",
)


@command(
    examples=(Example("affidavit db upgrade", "after a new version was installed"),),
    exits={Exit.YES: "the store is as this version needs it"},
)
@store_option
@data_option
@existing_project_option
def upgrade(terminal: Terminal, url: str | None, data: Path | None, project: Path) -> Exit:
    """Create the tables of the store or bring them up to date."""
    from affidavit.app.ledger_store import store_config
    from affidavit.app.store_admin import upgrade_store

    done = upgrade_store(store_config(project, url, data))
    if terminal.json:
        terminal.print_json(done)
    elif done.before == done.after:
        terminal.print(f"the store has the revision {done.after} already")
    else:
        terminal.print(f"upgraded from {done.before or 'nothing'} to {done.after}")
    return Exit.YES


@command(
    examples=(Example("affidavit db check", "are the ledgers and documents what they were?"),),
    exits={
        Exit.YES: "everything is as it has to be",
        Exit.TAMPERED: "a ledger, a document or a table is not",
    },
)
@store_option
@data_option
@existing_project_option
def check(terminal: Terminal, url: str | None, data: Path | None, project: Path) -> Exit:
    """Check tables and ledgers and digests again.

    The tables are compared with those that this version needs, every ledger is replayed, and every
    digest is computed again.
    """
    from affidavit.app.ledger_store import store_config
    from affidavit.app.store_admin import check_store

    found = check_store(store_config(project, url, data))
    if terminal.json:
        terminal.print_json(found)
    else:
        terminal.print(
            f"revision {found.revision}; workspaces: {found.workspaces}, documents:"
            f" {found.documents}, sessions: {found.sessions}, ledgers: {found.ledgers},"
            f" decisions: {found.decisions}"
        )
        for problem in found.problems:
            terminal.print(problem)
    return Exit.TAMPERED if found.problems else Exit.YES


@command(
    examples=(Example("affidavit db backup store.tar", "while the service runs"),),
    exits={Exit.YES: "written"},
)
@click.argument("file", type=click.Path(path_type=Path), help="The new archive.")
@store_option
@data_option
@existing_project_option
def backup(
    terminal: Terminal, file: Path, url: str | None, data: Path | None, project: Path
) -> Exit:
    """Write a store in SQLite and its documents into an archive.

    The service may run meanwhile. Of a store in PostgreSQL, back up the database with pg_dump, and
    the folder of --data after it.
    """
    from affidavit.app.ledger_store import store_config
    from affidavit.app.store_admin import back_up_store

    written = back_up_store(store_config(project, url, data), file)
    if terminal.json:
        terminal.print_json({"backup": str(written)})
    else:
        terminal.print(str(written))
    return Exit.YES


@command(
    examples=(Example("affidavit db restore store.tar --data new", "into an empty place"),),
    exits={
        Exit.YES: "restored and checked",
        Exit.TAMPERED: "restored, but a ledger, a document or a table is not what it was",
    },
)
@click.argument("file", type=click.Path(path_type=Path), help="An archive of `db backup`.")
@store_option
@data_option
@existing_project_option
def restore(
    terminal: Terminal, file: Path, url: str | None, data: Path | None, project: Path
) -> Exit:
    """Restore a backup into an empty place and check it."""
    from affidavit.app.ledger_store import store_config
    from affidavit.app.store_admin import restore_store

    found = restore_store(store_config(project, url, data), file)
    if terminal.json:
        terminal.print_json(found)
    else:
        terminal.print(f"restored sessions: {found.sessions}, documents: {found.documents}")
        for problem in found.problems:
            terminal.print(problem)
    return Exit.TAMPERED if found.problems else Exit.YES


@command(
    examples=(Example("affidavit db forget --keep-days 365", "sessions older than a year"),),
    exits={Exit.YES: "deleted, even if nothing was old enough"},
)
@click.option(
    "--keep-days",
    required=True,
    type=click.IntRange(1, 36_500),
    help="Sessions that were changed in these days are kept.",
)
@store_option
@data_option
@existing_project_option
def forget(
    terminal: Terminal, keep_days: int, url: str | None, data: Path | None, project: Path
) -> Exit:
    """Delete old sessions unless a legal hold keeps them.

    Expired exports and finished jobs go, too. What is under a legal hold is kept, whatever its age.
    """
    from affidavit.app.clock import now
    from affidavit.app.ledger_store import store_config
    from affidavit.app.store_admin import forget_old

    done = forget_old(store_config(project, url, data), keep_days, now())
    if terminal.json:
        terminal.print_json(done)
    else:
        terminal.print(
            f"deleted sessions: {done.sessions} (kept under a legal hold: {done.held}),"
            f" exports: {done.exports}, jobs: {done.jobs}"
        )
    return Exit.YES
