"""`affidavit users`: who may sign in to the service; `affidavit audit`: what they changed."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from affidavit.base.exits import Exit
from affidavit.cli.command import command, existing_project_option, require_output_paths
from affidavit.cli.commands import Example
from affidavit.cli.db import data_option, store_option
from affidavit.cli.terminal import Terminal
from affidavit.reports.text_tables import Cell, Tone

if TYPE_CHECKING:
    from affidavit.app.accounts import Accounts
    from affidavit.app.ledger_store import LedgerStore

ROLES = ("viewer", "reviewer", "admin")
OPERATOR = "the operator"
MAX_LINE = 1024

workspace_option = click.option(
    "--workspace", default="default", show_default=True, help="The workspace."
)
name_argument = click.argument("name", help="The name with which the user signs in.")


def _store(project: Path, url: str | None, data: Path | None) -> "LedgerStore":
    from affidavit.app.ledger_store import LedgerStore, store_config
    from affidavit.store.schema import upgrade

    store = LedgerStore(store_config(project, url, data))
    upgrade(store.database)
    return store


def _accounts(store: "LedgerStore") -> "Accounts":
    from affidavit.app.accounts import Accounts
    from affidavit.app.keys import random_bytes

    return Accounts(store, random_bytes)


def _read_password() -> str:
    if sys.stdin is not None and sys.stdin.isatty():
        given: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
        return given
    return "" if sys.stdin is None else sys.stdin.readline(MAX_LINE).rstrip("\r\n")


@command(
    examples=(
        Example("affidavit users add ada --role admin", "asks for the password"),
        Example("affidavit users add rene --role reviewer", "reads the password from a pipe, too"),
    ),
    exits={Exit.YES: "added; the user can sign in from now on"},
)
@name_argument
@click.option("--role", required=True, type=click.Choice(ROLES), help="What the user may do.")
@workspace_option
@store_option
@data_option
@existing_project_option
def add(
    terminal: Terminal,
    name: str,
    role: str,
    workspace: str,
    url: str | None,
    data: Path | None,
    project: Path,
) -> Exit:
    """Add a user who signs in with a password.

    The password is asked for, or is the first line of standard input. It is stored as an Argon2id
    digest only.
    """
    from affidavit.app.accounts import Administrator, NewUserV1
    from affidavit.store.roles import MemberRole

    store = _store(project, url, data)
    request = NewUserV1(name=name, password=_read_password(), role=MemberRole(role))
    made = _accounts(store).add(Administrator(workspace, OPERATOR), request)
    if terminal.json:
        terminal.print_json(made)
    else:
        terminal.print(f"{made.name} is {made.role} of the workspace {workspace}")
    return Exit.YES


@command(
    examples=(Example("affidavit users list", "who may sign in"),),
    exits={Exit.YES: "listed, even if there is nobody"},
)
@workspace_option
@store_option
@data_option
@existing_project_option
def list_users(
    terminal: Terminal, workspace: str, url: str | None, data: Path | None, project: Path
) -> Exit:
    """List the users of a workspace."""
    found = _accounts(_store(project, url, data)).members(workspace)
    if terminal.json:
        terminal.print_json({"users": found})
        return Exit.YES
    if not found:
        terminal.note("nobody has a role yet; `affidavit users add NAME --role ROLE` adds a user")
        return Exit.YES
    rows = [
        (
            each.name,
            each.role.value,
            Cell("disabled", Tone.FAINT) if each.disabled else Cell("active", Tone.GOOD),
            "password" if each.is_local else "identity provider",
            each.created_at,
        )
        for each in found
    ]
    terminal.table(("name", "role", "status", "signs in with", "since"), rows)
    return Exit.YES


@command(
    examples=(
        Example("affidavit users disable rene", "ends every sign-in of rene"),
        Example("affidavit users disable rene --undo", "rene can sign in again"),
    ),
    exits={Exit.YES: "disabled, or enabled again"},
)
@name_argument
@click.option("--undo", is_flag=True, help="Let the user sign in again.")
@store_option
@data_option
@existing_project_option
def disable(
    terminal: Terminal, name: str, undo: bool, url: str | None, data: Path | None, project: Path
) -> Exit:
    """Disable a user in every workspace.

    Its sign-ins end at once. What it decided stays in the ledgers.
    """
    _accounts(_store(project, url, data)).disable(OPERATOR, name, disabled=not undo)
    if terminal.json:
        terminal.print_json({"name": name, "disabled": not undo})
    else:
        terminal.print(f"{name} is {'active again' if undo else 'disabled'}")
    return Exit.YES


@command(
    examples=(
        Example("affidavit users role rene admin", "in the workspace default"),
        Example("affidavit users role rene none --workspace acme", "takes the role away"),
    ),
    exits={Exit.YES: "the user has the role"},
)
@name_argument
@click.argument("role", type=click.Choice((*ROLES, "none")), help="The new role.")
@workspace_option
@store_option
@data_option
@existing_project_option
def role(
    terminal: Terminal,
    name: str,
    role: str,
    workspace: str,
    url: str | None,
    data: Path | None,
    project: Path,
) -> Exit:
    """Give a user another role in a workspace.

    Its sign-ins in that workspace end.
    """
    from affidavit.store.roles import MemberRole

    given = None if role == "none" else MemberRole(role)
    _accounts(_store(project, url, data)).give_role(OPERATOR, name, workspace, given)
    if terminal.json:
        terminal.print_json({"name": name, "workspace": workspace, "role": given})
    else:
        terminal.print(f"{name} has the role {role} in the workspace {workspace}")
    return Exit.YES


@command(
    examples=(
        Example("affidavit audit export audit.jsonl", "the changes of the workspace default"),
        Example("affidavit verify audit.jsonl --since last-month.jsonl", "is nothing missing?"),
    ),
    exits={Exit.YES: "written, even if nothing was changed yet"},
)
@click.argument("file", type=click.Path(path_type=Path), help="The new file.")
@workspace_option
@store_option
@data_option
@existing_project_option
def export(
    terminal: Terminal,
    file: Path,
    workspace: str,
    url: str | None,
    data: Path | None,
    project: Path,
) -> Exit:
    """Export the signed audit log of a workspace.

    Every change has an entry with who, when and what, and the digest of the entry before.
    `affidavit verify` verifies the file, and --since that it continues an earlier one.
    """
    from affidavit.app.account_admin import AccountAdmin
    from affidavit.app.project import Project
    from affidavit.base.files import write_atomically

    require_output_paths([file], [])
    content = AccountAdmin(_store(project, url, data), Project(project)).audit_log(workspace)
    write_atomically(file, content)
    entries = content.count(b"\n") - 2
    if terminal.json:
        terminal.print_json({"file": str(file), "workspace": workspace, "entries": entries})
    else:
        terminal.print(f"{file}: {entries} changes of the workspace {workspace}")
    return Exit.YES
