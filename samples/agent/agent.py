"""A small agent with two tools, to be soaked: a search over HTTP and a tool of an MCP server.

    affidavit sim soak -n 20 --target 'python samples/agent/agent.py' --report soak.json

It answers how many days of parental leave there are, and records what it did. In one run of ten,
by its seed, it answers without having asked the tool, and is wrong. Without POLICY_URL it starts
the search itself; LEAVE_SERVER is the command of the MCP server.
"""

import json
import os
import random
import shlex
import subprocess
import sys
import urllib.parse
import urllib.request
from pathlib import Path
from threading import Thread
from typing import Any

import affidavit

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import policy_service  # noqa: E402 - beside this file

QUESTION = "How many days of parental leave do I get?"
SECONDS = 5


def search(base: str, query: str) -> list[dict[str, str]]:
    """Return the passages that the policy service finds."""
    url = f"{base}/search?{urllib.parse.urlencode({'q': query})}"
    with urllib.request.urlopen(url, timeout=SECONDS) as answer:  # noqa: S310 - our own service
        found: list[dict[str, str]] = json.load(answer)["results"]
        return found


def leave_days(kind: str) -> int:
    """Return what the MCP server says."""
    command = os.environ.get("LEAVE_SERVER") or shlex.join(
        [sys.executable, str(HERE / "tools_server.py")]
    )
    with subprocess.Popen(  # noqa: S603 - the server that the user names
        shlex.split(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:

        def ask(number: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
            request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            print(json.dumps(request), file=server.stdin, flush=True)
            reply: dict[str, Any] = json.loads(server.stdout.readline() if server.stdout else "")
            return reply["result"]

        ask(1, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}})
        result = ask(2, "tools/call", {"name": "leave_days", "arguments": {"kind": kind}})
        if result.get("isError"):
            raise ValueError(result["content"][0]["text"])
        days: int = json.loads(result["content"][0]["text"])["days"]
        return days


def main() -> int:
    """Answer the question, record the run, and say whether the answer holds."""
    seed = int(os.environ.get("AFFIDAVIT_SEED", "1"))
    output = Path(os.environ.get("AFFIDAVIT_OUTPUT", "."))
    is_careless = random.Random(seed).random() < 0.1  # noqa: S311 - a seeded fault, no secret
    base = os.environ.get("POLICY_URL", "")
    if not base:
        server = policy_service.start()
        Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_port}"
    with affidavit.record(output / "run.jsonl", run_id=f"agent-{seed}", input=QUESTION) as run:
        run.code_version("1.0.0")
        run.seed(seed, "random.Random")
        passages = search(base, "parental leave")
        run.retrieval("parental leave", passages)
        days = 30
        if not is_careless:
            days = leave_days("parental")
            run.tool_call("leave_days", input={"kind": "parental"}, output={"days": days})
        answer = f"You get {days} days of parental leave."
        run.model_call("rules-1", input=QUESTION, output=answer, parameters={"seed": seed})
        is_right = days == 12 and bool(passages) and passages[0]["id"] == "policy-12"
        run.verdict("ship" if is_right else "no-ship", reason="compared with the policy")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
