"""`affidavit mcp`: the tools of Affidavit for agents."""

import sys
from importlib.util import find_spec
from pathlib import Path

import click

from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit
from affidavit.base.faults.service import MCP_MISSING
from affidavit.cli.command import command, existing_project_option, tools_option
from affidavit.cli.commands import Example
from affidavit.cli.terminal import Terminal


@command(
    examples=(
        Example("affidavit mcp --sources docs", "for an agent that starts it (stdio)"),
        Example("affidavit mcp --sources docs --http", "for agents of this machine, over HTTP"),
    ),
    exits={Exit.YES: "the agent closed the connection, or a signal stopped the server"},
)
@click.option(
    "--sources",
    "-s",
    multiple=True,
    type=click.Path(path_type=Path, exists=True),
    help="Documents or folders that answers are checked against. Repeatable.",
)
@click.option("--http", is_flag=True, help="Serve streamable HTTP on 127.0.0.1, not stdio.")
@click.option(
    "--port",
    default=8330,
    show_default=True,
    type=click.IntRange(1, 65535),
    help="The port, with --http.",
)
@tools_option
@existing_project_option
def mcp(
    terminal: Terminal,
    sources: tuple[Path, ...],
    http: bool,
    port: int,
    tools: Path | None,
    project: Path,
) -> Exit:
    """Serve checks and verification to agents over MCP.

    The tools are check_answer, judge_claim, resolve_citation, answer_checks and verify. An agent
    passes texts, and reaches no file but those of --sources and of the tools that the project
    declares. It needs `pip install 'affidavit[ledger,mcp]'`.
    """
    if find_spec("mcp") is None:
        raise AffidavitError(MCP_MISSING)
    from affidavit.app.agent_tools import AgentTools
    from affidavit.mcp.server import HTTP_PATH, serve_http, serve_stdio

    agent_tools = AgentTools(project, sources, tools)
    if not http:
        serve_stdio(agent_tools)
        return Exit.YES
    # Standard output is free here, and whoever starts the server needs the address.
    terminal.print(f"Serving at http://127.0.0.1:{port}{HTTP_PATH}")
    sys.stdout.flush()
    serve_http(agent_tools, port)
    return Exit.YES
