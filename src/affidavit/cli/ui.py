"""The command `affidavit ui`: the pages on this machine, without a key or a sign-in."""

from pathlib import Path

import click

from affidavit.base.exits import Exit
from affidavit.cli.command import command, existing_project_option
from affidavit.cli.commands import Example
from affidavit.cli.terminal import Terminal

_LOOPBACK = "127.0.0.1"


@command(
    examples=(
        Example("affidavit ui", "opens the browser; Ctrl-C ends it"),
        Example("affidavit ui --no-browser --port 8330", "prints the address only"),
    ),
    exits={Exit.YES: "stopped by a signal"},
)
@click.option(
    "--port",
    default=0,
    type=click.IntRange(0, 65535),
    help="The port; by default any free one.",
)
@click.option("--no-browser", is_flag=True, help="Print the address, and open no browser.")
@existing_project_option
def ui(terminal: Terminal, port: int, no_browser: bool, project: Path) -> Exit:
    """Review ledgers in the browser.

    Documents and ledgers are kept in .affidavit/store of the project, as `affidavit serve` does.
    Only programs of this machine can connect; for other people, run `affidavit serve`.
    """
    import webbrowser

    from affidavit.app.ledger_store import prepare_store, store_config
    from affidavit.app.ledger_workers import log_to_stderr, worker_processes
    from affidavit.app.service import ServiceConfig
    from affidavit.web.server import ApplicationFactory, ListenAddress, listen_at, serve
    from affidavit.web.settings import WebSettings

    store = store_config(project)
    _, damaged = prepare_store(store, project)
    for problem in damaged:
        log_to_stderr("not_imported", said=problem)
    listening = listen_at(ListenAddress(_LOOPBACK, port))
    url = f"http://{_LOOPBACK}:{listening.getsockname()[1]}/"
    if terminal.json:
        terminal.print_json({"url": url})
    else:
        terminal.print(f"Open {url} in a browser; Ctrl-C ends it")
    if not no_browser:
        webbrowser.open(url)
    factory = ApplicationFactory(
        ServiceConfig(project=project, store=store), WebSettings(address_rate=0), log_requests=False
    )
    with worker_processes(store, project, 1, log_to_stderr):
        serve(factory, listening, workers=1, idle_seconds=5, shutdown_seconds=2)
    return Exit.YES
