"""Calls the server of mcp_server.py through the config file, and checks every answer."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from affidavit.app.clock import now
from affidavit.app.tool_config import load_tool_config, load_toolbox
from affidavit.app.tool_queries import gather_evidence
from affidavit.checks.check import checks_from_wire
from affidavit.checks.facts import Evidence

SERVER = Path(__file__).with_name("mcp_server.py")


def config(port: int) -> str:
    """Return tools that call the server in every supported way."""
    asked = "tool: leave_days, arguments: {country: '{country}'}"
    command = f"['{sys.executable}', '{SERVER}']"
    http = f"{{kind: mcp, url: 'http://localhost:{port}/mcp', {asked}}}"
    return f"""
tools:
  by_stdio:
    required_args: [country]
    value_path: days
    sources: [{{kind: mcp, command: {command}, {asked}, env: {{LEAVE_KEY: {{env: LEAVE_KEY}}}}}}]
  by_http:
    required_args: [country]
    value_path: days
    allow_hosts: ['localhost:{port}']
    sources: [{http}]
  no_command:
    sources: [{{kind: mcp, command: ['/no/such/program'], tool: x}}]
  no_tool:
    sources: [{{kind: mcp, command: {command}, tool: nothing}}]
"""


def said(box: object, tool: str, country: str, deadline_ms: int = 30_000) -> object:
    """Return the value of a tool, or the reason why it has none."""
    checks = checks_from_wire([{"id": "c", "tool": tool, "args": {"country": country}}])
    found = gather_evidence(checks, box, now=now, signed=True, deadline_ms=deadline_ms).by_check[
        "c"
    ]
    return found.fact.raw if isinstance(found, Evidence) else found.reason


def main(folder: Path) -> None:
    """Start the server, call it, and stop it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (folder / "tools.yaml").write_text(config(port), "utf-8")
    box = load_toolbox(
        load_tool_config(folder / "tools.yaml"), {**os.environ, "LEAVE_KEY": "key-123456"}
    )
    log = (folder / "server.log").open("w")
    server = subprocess.Popen([sys.executable, str(SERVER), str(port)], stdout=log, stderr=log)
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        whole = {"country": "de", "days": 20}
        check("stdio", said(box, "by_stdio", "de"), whole)
        check("streamable HTTP", said(box, "by_http", "de"), whole)
        check("a tool that fails", said(box, "by_stdio", "xx"), "mcp: refused: ")
        check("the same over HTTP", said(box, "by_http", "xx"), "mcp: refused: ")
        check("a secret that comes back", said(box, "by_stdio", "secret"), "mcp: secret: ")
        check("no such program", said(box, "no_command", "de"), "mcp: unreachable: ")
        check("no such tool", said(box, "no_tool", "de"), "mcp: refused: ")
        for tool in ("by_stdio", "by_http"):
            start = time.monotonic()
            check("late", said(box, tool, "slow", 2_000), "mcp: late: no answer within 2000 ms")
            check("and by the deadline", time.monotonic() - start < 3, True)
    finally:
        server.kill()
        server.wait()
    check("nobody listens", said(box, "by_http", "de"), "mcp: unreachable: ")


def check(what: str, found: object, wanted: object) -> None:
    """Print the result; exit if it is not the expected one."""
    holds = found.startswith(wanted) if isinstance(found, str) else found == wanted
    print(f"{'ok' if holds else 'NOT OK'}: {what}: {found}")
    if not holds:
        sys.exit(1)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
