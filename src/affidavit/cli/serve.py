"""The commands `affidavit serve` and `affidavit apikeys new|list|revoke`."""

from pathlib import Path
from typing import Final

import click

from affidavit.base.exits import Exit
from affidavit.cli.command import command
from affidavit.cli.commands import Example
from affidavit.cli.parameters import (
    FiniteFloatRange,
    existing_project_option,
    issuer_option,
    routes_option,
    tools_option,
    tsa_roots_option,
)
from affidavit.cli.terminal import Terminal
from affidavit.reports.text_tables import Cell, Tone

# `affidavit serve`.


@command(
    examples=(
        Example("affidavit serve", "for this machine alone, at http://127.0.0.1:8320"),
        Example("affidavit serve --tools tools.toml --workers 2", "other tools, two processes"),
        Example("affidavit serve --host 0.0.0.0", "for others; they need an API key"),
    ),
    exits={Exit.YES: "ended by a signal, after the requests that were running"},
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option(
    "--port",
    default=8320,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="The port; 0 is one that is free.",
)
@tools_option
@routes_option
@issuer_option
@click.option(
    "--keys",
    "-k",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Keys to trust when verifying, besides this project's. Repeatable.",
)
@tsa_roots_option
@click.option(
    "--workers",
    default=1,
    show_default=True,
    type=click.IntRange(1, 64),
    help="How many processes serve.",
)
@click.option(
    "--require-key", is_flag=True, help="Ask callers from this machine for an API key, too."
)
@click.option(
    "--key-rate",
    default=100.0,
    show_default=True,
    type=FiniteFloatRange(0, 1e6),
    help="Requests a second for each API key and process; 0 is no limit.",
)
@click.option(
    "--address-rate",
    default=50.0,
    show_default=True,
    type=FiniteFloatRange(0, 1e6),
    help="The same for each address without a key.",
)
@click.option(
    "--max-body",
    default=1_048_576,
    show_default=True,
    type=click.IntRange(1024, 16_777_216),
    help="The largest body, in bytes.",
)
@click.option(
    "--shutdown-seconds",
    default=30,
    show_default=True,
    type=click.IntRange(0, 600),
    help="How long running requests may take to finish at the end.",
)
@existing_project_option
def serve(
    terminal: Terminal,
    host: str,
    port: int,
    tools: Path | None,
    routes: Path | None,
    issuer: str | None,
    keys: tuple[Path, ...],
    tsa_roots: tuple[Path, ...],
    workers: int,
    require_key: bool,
    key_rate: float,
    address_rate: float,
    max_body: int,
    shutdown_seconds: int,
    project: Path,
) -> Exit:
    """Serve answers and verification over HTTP.

    GET /schema tells all that it does. The log goes to standard error, a JSON object a line; -q
    leaves out the lines about requests. Others than this machine need an API key.
    """
    from affidavit.app.service import AnswerService, ServiceConfig
    from affidavit.web.server import ApplicationFactory, ListenAddress, listen_at, require_keys_for
    from affidavit.web.server import serve as serve_until_ended
    from affidavit.web.settings import WebSettings, is_loopback

    plan = ServiceConfig(project, tools, routes, issuer, keys, tsa_roots)
    require_keys_for(host, plan)
    AnswerService(plan).require_ready()  # Whatever is wrong is said now, not at the first request.
    settings = WebSettings(
        anonymous=is_loopback(host) and not require_key,
        max_body_bytes=max_body,
        key_rate=key_rate,
        address_rate=address_rate,
    )
    listening = listen_at(ListenAddress(host, port))
    at = listening.getsockname()
    shown = f"[{at[0]}]" if ":" in at[0] else at[0]
    if terminal.json:
        terminal.print_json({"url": f"http://{shown}:{at[1]}", "anonymous": settings.anonymous})
    else:
        terminal.print(f"Serving at http://{shown}:{at[1]} (what it does: /schema)")
    made = ApplicationFactory(plan, settings, log_requests=not terminal.quiet)
    serve_until_ended(made, listening, workers=workers, shutdown_seconds=shutdown_seconds)
    return Exit.YES


# `affidavit apikeys`: who may use the service, and for what.

API_KEY_SCOPES: Final = ("answer", "verify", "read")


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
    type=click.Choice(API_KEY_SCOPES),
    help="What it opens; repeatable, by default everything.",
)
@existing_project_option
def new_service_key(terminal: Terminal, name: str, scope: tuple[str, ...], project: Path) -> Exit:
    """Make an API key for the service and show it once.

    Only a salted digest of it is kept, so nobody can read it from the file; who loses it gets a new
    one.
    """
    from affidavit.app.clock import now
    from affidavit.app.keys import random_bytes
    from affidavit.app.service import api_key_file, create_api_key
    from affidavit.store.api_keys import ApiKeyScope

    scopes = tuple(map(ApiKeyScope, scope or API_KEY_SCOPES))
    made = create_api_key(api_key_file(project), name, scopes, random_bytes, now())
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
def list_service_keys(terminal: Terminal, project: Path) -> Exit:
    """List the API keys of the service."""
    from affidavit.app.service import api_key_file, list_api_keys

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
def revoke_service_key(terminal: Terminal, key: str, project: Path) -> Exit:
    """Revoke an API key of the service.

    A service that runs refuses it from its next request on.
    """
    from affidavit.app.clock import now
    from affidavit.app.service import api_key_file, revoke_api_key

    revoked = revoke_api_key(api_key_file(project), key, now())
    if terminal.json:
        terminal.print_json(revoked)
    else:
        terminal.print(f"{revoked.id} ({revoked.name}) is revoked")
    return Exit.YES
