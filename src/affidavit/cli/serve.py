"""`affidavit serve`."""

from pathlib import Path

import click

from affidavit.base.exits import Exit
from affidavit.cli.command import command
from affidavit.cli.shared_options import (
    Finite,
    existing_project_option,
    issuer_option,
    routes_option,
    tools_option,
    tsa_roots_option,
)
from affidavit.cli.terminal import Terminal
from affidavit.cli.tree import Example


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
    type=Finite(0, 1e6),
    help="Requests a second for each API key and process; 0 is no limit.",
)
@click.option(
    "--address-rate",
    default=50.0,
    show_default=True,
    type=Finite(0, 1e6),
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
    from affidavit.wiring.loopback import is_loopback
    from affidavit.wiring.service import ProjectCounter, ServicePlan
    from affidavit.wiring.serving import (
        Address,
        ServedApplication,
        listen_at,
        require_keys_for,
    )
    from affidavit.wiring.serving import serve as serve_until_ended
    from affidavit.wiring.web_settings import WebSettings

    plan = ServicePlan(project, tools, routes, issuer, keys, tsa_roots)
    require_keys_for(host, plan)
    ProjectCounter(plan).require_ready()  # Whatever is wrong is said now, not at the first request.
    settings = WebSettings(
        anonymous=is_loopback(host) and not require_key,
        max_body_bytes=max_body,
        key_rate=key_rate,
        address_rate=address_rate,
    )
    listening = listen_at(Address(host, port))
    at = listening.getsockname()
    shown = f"[{at[0]}]" if ":" in at[0] else at[0]
    if terminal.json:
        terminal.print_json({"url": f"http://{shown}:{at[1]}", "anonymous": settings.anonymous})
    else:
        terminal.print(f"Serving at http://{shown}:{at[1]} (what it does: /schema)")
    made = ServedApplication(plan, settings, log_requests=not terminal.quiet)
    serve_until_ended(made, listening, workers=workers, shutdown_seconds=shutdown_seconds)
    return Exit.YES
