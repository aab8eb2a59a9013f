"""The commands `affidavit serve` and `affidavit apikeys new|list|revoke`."""

from contextlib import ExitStack
from pathlib import Path
from typing import Final

import click

from affidavit.base.exits import Exit
from affidavit.cli.command import (
    FiniteFloatRange,
    anchor_option,
    anchor_required_option,
    command,
    existing_project_option,
    issuer_option,
    require_authority_option,
    routes_option,
    tools_option,
    tsa_roots_option,
)
from affidavit.cli.commands import Example
from affidavit.cli.db import data_option, store_option
from affidavit.cli.terminal import Terminal
from affidavit.reports.text_tables import Cell, Tone


@command(
    examples=(
        Example("affidavit serve", "for this machine only, at http://127.0.0.1:8320"),
        Example("affidavit serve --tools tools.toml --workers 2", "other tools, two processes"),
        Example("affidavit serve --host 0.0.0.0", "for other machines, which need an API key"),
        Example("affidavit serve --otlp evidence", "also receives spans, and seals each trace"),
    ),
    exits={Exit.YES: "stopped by a signal, after the running requests"},
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    default=8320,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="The port; 0 means any free port.",
)
@tools_option
@routes_option
@issuer_option
@click.option(
    "--keys",
    "-k",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Keys to trust when verifying, in addition to this project's. Repeatable.",
)
@tsa_roots_option
@anchor_option
@anchor_required_option
@click.option(
    "--workers",
    default=1,
    show_default=True,
    type=click.IntRange(1, 64),
    help="The number of worker processes.",
)
@click.option(
    "--require-key", is_flag=True, help="Require an API key from callers on this machine, too."
)
@click.option(
    "--key-rate",
    default=100.0,
    show_default=True,
    type=FiniteFloatRange(0, 1e6),
    help="Requests per second for each API key and process; 0 means no limit.",
)
@click.option(
    "--address-rate",
    default=50.0,
    show_default=True,
    type=FiniteFloatRange(0, 1e6),
    help="Requests per second for each address without a key and process; 0 means no limit.",
)
@click.option(
    "--max-body",
    default=1_048_576,
    show_default=True,
    type=click.IntRange(1024, 16_777_216),
    help="The largest request body, in bytes.",
)
@click.option(
    "--max-deadline",
    default=60_000,
    show_default=True,
    type=click.IntRange(1, 60_000),
    help="The longest deadline that a request may ask for, in milliseconds.",
)
@click.option(
    "--idle-seconds",
    default=5,
    show_default=True,
    type=click.IntRange(1, 3600),
    help="How long a connection stays open without a request.",
)
@click.option(
    "--shutdown-seconds",
    default=30,
    show_default=True,
    type=click.IntRange(0, 600),
    help="How long running requests may take to finish at shutdown.",
)
@store_option
@data_option
@click.option(
    "--job-workers",
    default=1,
    show_default=True,
    type=click.IntRange(0, 64),
    help="The number of processes that read documents and check answers.",
)
@click.option(
    "--max-upload",
    default=67_108_864,
    show_default=True,
    type=click.IntRange(1024, 268_435_456),
    help="The largest document that can be uploaded, in bytes.",
)
@click.option(
    "--otlp",
    type=click.Path(path_type=Path),
    help="Receive OpenTelemetry spans, and seal each trace as a bundle in this folder.",
)
@click.option(
    "--otlp-grpc-port",
    default=4317,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="The port for OTLP over gRPC; 0 means any free port. HTTP has the port of the service.",
)
@click.option(
    "--otlp-quiet-seconds",
    default=5.0,
    show_default=True,
    type=FiniteFloatRange(0.1, 3600),
    help="Seal a trace so long after the last span, when its root span is there.",
)
@click.option(
    "--otlp-max-age",
    default=600.0,
    show_default=True,
    type=FiniteFloatRange(1, 86400),
    help="Seal a trace at this age, in seconds, also without its root span.",
)
@click.option(
    "--otlp-max-journal",
    default=268_435_456,
    show_default=True,
    type=click.IntRange(33_554_432, 1 << 40),
    help="The bytes of spans on the disk that are in no bundle yet; beyond it senders wait.",
)
@click.option(
    "--otlp-key-spans",
    default=0.0,
    show_default=True,
    type=FiniteFloatRange(0, 1e9),
    help="Spans per second for each sender and process; 0 means no limit.",
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
    anchor: str | None,
    anchor_required: bool,
    workers: int,
    require_key: bool,
    key_rate: float,
    address_rate: float,
    max_body: int,
    max_deadline: int,
    idle_seconds: int,
    shutdown_seconds: int,
    url: str | None,
    data: Path | None,
    job_workers: int,
    max_upload: int,
    otlp: Path | None,
    otlp_grpc_port: int,
    otlp_quiet_seconds: float,
    otlp_max_age: float,
    otlp_max_journal: int,
    otlp_key_spans: float,
    project: Path,
) -> Exit:
    """Serve ledgers and signed answers over HTTP.

    GET /docs describes the service, and GET /schema returns the OpenAPI document. The log goes to
    standard error as one JSON object per line; -q omits the lines about requests. Callers on other
    machines need an API key.

    Documents, sessions and ledgers are kept in the store. The ledgers of `affidavit check` in this
    project are imported into it, each once.

    With --otlp, exporters of OpenTelemetry send to this address and to the port for gRPC.
    """
    from affidavit.app.ledger_store import prepare_store, store_config
    from affidavit.app.ledger_workers import log_to_stderr, worker_processes
    from affidavit.app.service import AnswerService, ServiceConfig
    from affidavit.app.trace_receiving import ReceiverConfig
    from affidavit.web.server import (
        ApplicationFactory,
        ListenAddress,
        listen_at,
        receiver_processes,
        require_keys_for,
    )
    from affidavit.web.server import serve as serve_until_stopped
    from affidavit.web.settings import WebSettings, is_loopback

    require_authority_option(anchor, anchor_required)
    store = store_config(project, url, data)
    config = ServiceConfig(
        project=project,
        tools=tools,
        routes=routes,
        issuer=issuer,
        keys=keys,
        tsa_roots=tsa_roots,
        anchor=anchor,
        anchor_required=anchor_required,
        store=store,
    )
    require_keys_for(host, config)
    AnswerService(config).require_ready()  # Errors are reported now, not at the first request.
    settings = WebSettings(
        anonymous=is_loopback(host) and not require_key,
        max_body_bytes=max_body,
        key_rate=key_rate,
        address_rate=address_rate,
        max_deadline_ms=max_deadline,
        max_upload_bytes=max_upload,
    )
    imported, damaged = prepare_store(store, project)
    if imported:
        log_to_stderr("imported", sessions=imported)
    for problem in damaged:
        log_to_stderr("not_imported", said=problem)
    listening = listen_at(ListenAddress(host, port))
    address, bound_port = listening.getsockname()[:2]
    url = f"http://[{address}]:{bound_port}" if ":" in address else f"http://{address}:{bound_port}"
    receiver = None
    shown: dict[str, object] = {"url": url, "anonymous": settings.anonymous}
    with ExitStack() as stack:
        if otlp is not None:
            receiver = ReceiverConfig(
                folder=otlp,
                quiet_seconds=otlp_quiet_seconds,
                max_age_seconds=otlp_max_age,
                max_journal_bytes=otlp_max_journal,
                key_spans=otlp_key_spans,
            )
            grpc_port = stack.enter_context(
                receiver_processes(
                    receiver,
                    project,
                    ListenAddress(host, otlp_grpc_port),
                    settings,
                    is_quiet=terminal.quiet,
                )
            )
            shown["otlp_grpc_port"] = grpc_port
        if terminal.json:
            terminal.print_json(shown)
        else:
            terminal.print(f"Serving at {url} (described at {url}/docs)")
            if otlp is not None:
                terminal.print(f"Receiving OTLP at {url} and over gRPC at port {grpc_port}")
        factory = ApplicationFactory(
            config, settings, log_requests=not terminal.quiet, otlp=receiver
        )
        stack.enter_context(worker_processes(store, project, job_workers, log_to_stderr))
        serve_until_stopped(
            factory,
            listening,
            workers=workers,
            idle_seconds=idle_seconds,
            shutdown_seconds=shutdown_seconds,
        )
    return Exit.YES


API_KEY_SCOPES: Final = ("answer", "verify", "read", "ledgers", "edit", "review", "spans")


@command(
    examples=(
        Example("affidavit apikeys new 'billing bot'", "a key with every scope, shown once"),
        Example("affidavit apikeys new auditor --scope verify", "a key that can only verify"),
        Example(
            "affidavit apikeys new editor --workspace acme --expires 2027-01-31",
            "a key for the documents and ledgers of one workspace, for a while",
        ),
    ),
    exits={Exit.YES: "created; the service accepts it from now on"},
)
@click.argument("name", help="The name of the key, for lists and for revoking it.")
@click.option(
    "--scope",
    multiple=True,
    type=click.Choice(API_KEY_SCOPES),
    help="A scope of the key; repeatable, by default all.",
)
@click.option(
    "--workspace",
    default="default",
    show_default=True,
    help="The workspace whose documents and ledgers the key reaches.",
)
@click.option("--expires", help="The day or time (UTC) from which the key is refused.")
@existing_project_option
def new_service_key(
    terminal: Terminal,
    name: str,
    scope: tuple[str, ...],
    workspace: str,
    expires: str | None,
    project: Path,
) -> Exit:
    """Create an API key for the service and show it once.

    Only a salted digest is stored, so a lost key cannot be recovered; create a new one.
    """
    from affidavit.app.clock import now, time_of
    from affidavit.app.keys import random_bytes
    from affidavit.app.service import api_key_file, create_api_key

    created = create_api_key(
        api_key_file(project),
        name,
        scope or API_KEY_SCOPES,
        random_bytes=random_bytes,
        at=now(),
        workspace=workspace,
        expires_at=None if expires is None else time_of(expires),
    )
    if terminal.json:
        terminal.print_json(created)
        return Exit.YES
    terminal.print(created.key)
    scopes = ", ".join(created.scopes)
    terminal.note(
        f"{created.id} has the scopes {scopes} in the workspace {workspace}; it is not shown again"
    )
    return Exit.YES


@command(
    examples=(Example("affidavit apikeys list", "the keys of the service"),),
    exits={Exit.YES: "listed, even if there are none"},
)
@existing_project_option
def list_service_keys(terminal: Terminal, project: Path) -> Exit:
    """List the API keys of the service."""
    from affidavit.app.clock import now
    from affidavit.app.service import api_key_file, list_api_keys

    keys = list_api_keys(api_key_file(project), now())
    if terminal.json:
        terminal.print_json({"keys": keys})
        return Exit.YES
    if not keys:
        terminal.note("there is no API key yet; `affidavit apikeys new NAME` creates one")
        return Exit.YES
    rows = [
        (
            key.id,
            key.name,
            ", ".join(key.scopes),
            Cell(key.status, Tone.GOOD if key.status == "active" else Tone.FAINT),
            key.workspace,
            key.revoked_at or key.created_at,
            key.expires_at or "never",
        )
        for key in keys
    ]
    terminal.table(("id", "name", "scopes", "status", "workspace", "since", "expires"), rows)
    return Exit.YES


@command(
    examples=(Example("affidavit apikeys revoke 'billing bot'", "the service refuses it now"),),
    exits={Exit.YES: "revoked"},
)
@click.argument("key", help="The name, the id, or the start of the id.")
@existing_project_option
def revoke_service_key(terminal: Terminal, key: str, project: Path) -> Exit:
    """Revoke an API key of the service.

    A running service refuses it from the next request on.
    """
    from affidavit.app.clock import now
    from affidavit.app.service import api_key_file, revoke_api_key

    revoked = revoke_api_key(api_key_file(project), key, now())
    if terminal.json:
        terminal.print_json(revoked)
    else:
        terminal.print(f"{revoked.id} ({revoked.name}) is revoked")
    return Exit.YES
