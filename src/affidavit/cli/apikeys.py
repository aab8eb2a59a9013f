"""`affidavit apikeys`: who may use the service, and for what."""

from pathlib import Path
from typing import Final

import click

from affidavit.base.exits import Exit
from affidavit.cli.command import command
from affidavit.cli.shared_options import existing_project_option
from affidavit.cli.tables import Cell, Tone
from affidavit.cli.terminal import Terminal
from affidavit.cli.tree import Example

SCOPES: Final = ("answer", "verify", "read")


@command(
    examples=(
        Example("affidavit apikeys new 'billing bot'", "a key for everything, shown once"),
        Example("affidavit apikeys new auditor --scope verify", "one that only verifies"),
    ),
    exits={Exit.YES: "made; it opens the service from now on"},
)
@click.argument("name", help="Who will hold it; it stands in the log of the service.")
@click.option(
    "--scope",
    multiple=True,
    type=click.Choice(SCOPES),
    help="What it opens; repeatable, by default everything.",
)
@existing_project_option
def new(terminal: Terminal, name: str, scope: tuple[str, ...], project: Path) -> Exit:
    """Make an API key for the service and show it once.

    Only a salted digest of it is kept, so nobody can read it from the file; who loses it gets a new
    one.
    """
    from affidavit.app.api_keys import create_api_key
    from affidavit.store.api_keys import Scope
    from affidavit.wiring.clock import now
    from affidavit.wiring.keys import chance
    from affidavit.wiring.service import api_key_file

    scopes = tuple(map(Scope, scope or SCOPES))
    made = create_api_key(api_key_file(project), name, scopes, chance, now())
    if terminal.json:
        terminal.print_json(made)
        return Exit.YES
    terminal.print(made.key)
    terminal.note(f"{made.id} opens {', '.join(made.scopes)}; it is not shown again")
    return Exit.YES


@command(
    examples=(Example("affidavit apikeys list", "who may use the service"),),
    exits={Exit.YES: "listed, also if there is none"},
)
@existing_project_option
def list_keys(terminal: Terminal, project: Path) -> Exit:
    """List the API keys of the service."""
    from affidavit.app.api_keys import list_api_keys
    from affidavit.wiring.service import api_key_file

    keys = list_api_keys(api_key_file(project))
    if terminal.json:
        terminal.print_json({"keys": keys})
        return Exit.YES
    if not keys:
        terminal.note("there is no API key yet; `affidavit apikeys new NAME` makes one")
        return Exit.YES
    rows = [
        (
            key.id,
            key.name,
            ", ".join(key.scopes),
            Cell(key.status, Tone.GOOD if key.status == "active" else Tone.FAINT),
            key.revoked_at or key.created_at,
        )
        for key in keys
    ]
    terminal.table(("id", "name", "opens", "status", "since"), rows)
    return Exit.YES


@command(
    examples=(Example("affidavit apikeys revoke 'billing bot'", "it opens nothing any more"),),
    exits={Exit.YES: "revoked"},
)
@click.argument("key", help="Its name, its id, or the start of its id.")
@existing_project_option
def revoke(terminal: Terminal, key: str, project: Path) -> Exit:
    """Revoke an API key of the service.

    A service that runs refuses it from its next request on.
    """
    from affidavit.app.api_keys import revoke_api_key
    from affidavit.wiring.clock import now
    from affidavit.wiring.service import api_key_file

    revoked = revoke_api_key(api_key_file(project), key, now())
    if terminal.json:
        terminal.print_json(revoked)
    else:
        terminal.print(f"{revoked.id} ({revoked.name}) is revoked")
    return Exit.YES
