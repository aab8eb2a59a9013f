"""Calls the tools of `affidavit mcp` with the official client, over stdio and streamable HTTP."""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

ROOT = Path(__file__).resolve().parent.parent
LEAVE = ROOT / "samples" / "leave"
AFFIDAVIT = (sys.executable, "-m", "affidavit")
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
TOOLS = {"check_answer", "judge_claim", "resolve_citation", "answer_checks", "verify"}


def check(what: str, found: object, wanted: object) -> None:
    """Print the result; exit if it is not the expected one."""
    holds = found == wanted
    print(f"{'ok' if holds else 'NOT OK'}: {what}: {str(found)[:100]}", flush=True)
    if not holds:
        sys.exit(1)


def content(result: Any) -> Any:
    """Return what a tool answered."""
    check(result.content[0].text if result.is_error else "no error", result.is_error, False)
    return result.structured_content or json.loads(result.content[0].text)


async def use(session: ClientSession, name: str) -> None:
    """Call every tool, and make every mistake that an agent makes."""
    found = await session.initialize()
    check(f"{name}: the server", found.server_info.name, "affidavit")
    listed = await session.list_tools()
    check("its tools", {tool.name for tool in listed.tools}, TOOLS)
    check("each is described", all(tool.description for tool in listed.tools), True)

    answer = (LEAVE / "answer.md").read_text("utf-8")
    ledger = content(
        await session.call_tool("check_answer", {"answer": answer, "judge": "lexical"})
    )
    check("check_answer", (ledger["decision"], len(ledger["claims"])), ("no_ship", 4))
    cited = content(
        await session.call_tool("resolve_citation", {"citation": ledger["claims"][0]["cite"][0]})
    )
    check("resolve_citation", cited["resolved"], True)
    texts = {
        "answer": "Leave is 25 days.",
        "contexts": ["Leave is 25 days. The office grants it."],
        "judge": "lexical",
    }
    own = content(await session.call_tool("check_answer", texts))
    check("check_answer with texts", own["claims"][0]["verdict"], "supported")
    claim = {"claim": "Leave is 30 days.", "evidence": ["Leave is 25 days."], "judge": "lexical"}
    score = content(await session.call_tool("judge_claim", claim))
    check("judge_claim", score["verdict"], "contradicted")
    checks = json.loads((ROOT / "samples" / "answers" / "checks.json").read_bytes())["checks"]
    receipt = content(await session.call_tool("answer_checks", {"checks": checks}))
    check("answer_checks", receipt["schema"], "answer/v1")
    verified = content(await session.call_tool("verify", {"receipt": receipt}))
    check("verify", verified["valid"], True)
    changed = content(await session.call_tool("verify", {"receipt": {**receipt, "confidence": 1}}))
    check("verify a changed receipt", changed["valid"], False)

    for tool, values, code in (
        ("check_answer", {"answer": " "}, "AF"),
        ("resolve_citation", {"citation": "/etc/passwd"}, "AF"),
        ("answer_checks", {"checks": []}, "AF"),
    ):
        refused = await session.call_tool(tool, values)
        said = refused.content[0].text
        check(f"{tool} refuses", (refused.is_error, code in said, "Next:" in said), (True,) * 3)


async def by_stdio(project: Path, arguments: list[str]) -> None:
    """Start the server as an agent does."""
    server = StdioServerParameters(
        command=AFFIDAVIT[0], args=[*AFFIDAVIT[1:], *arguments], env=ENVIRONMENT, cwd=str(project)
    )
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await use(session, "stdio")


async def by_http(port: int) -> None:
    """Call a server that runs."""
    address = f"http://127.0.0.1:{port}/mcp"
    async with (
        streamable_http_client(address) as (read, write, *_),
        ClientSession(read, write) as session,
    ):
        await use(session, "streamable HTTP")


def refused_status(port: int, **headers: str) -> int:
    """Return the status of a request of a web page."""
    from http.client import HTTPConnection

    connection = HTTPConnection("127.0.0.1", port)
    named = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    connection.request("POST", "/mcp", b"{}", {**named, **headers})
    return connection.getresponse().status


def main(folder: Path) -> None:
    """Make a project, and use it over both transports."""
    project = folder / "project"
    shutil.copytree(ROOT / "samples" / "answers", project)
    subprocess.run([*AFFIDAVIT, "keys", "new"], cwd=project, env=ENVIRONMENT, check=True)
    arguments = ["mcp", "--sources", str(LEAVE / "sources")]
    asyncio.run(by_stdio(project, arguments))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [*AFFIDAVIT, *arguments, "--http", "--port", str(port)]
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(command, cwd=project, env=ENVIRONMENT, stdout=log, stderr=log)
    try:
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        asyncio.run(by_http(port))
        check("another Host", refused_status(port, Host="evil.example"), 421)
        check("another Origin", refused_status(port, Origin="https://evil.example"), 403)
    finally:
        server.terminate()
        server.wait(30)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
