"""An MCP server over stdio with one tool, `leave_days`, in fifty lines and without a library.

    python samples/agent/tools_server.py

It speaks as much of the Model Context Protocol as a client needs: initialize, tools/list and
tools/call, one JSON-RPC message per line.
"""

import json
import sys
from typing import Any

DAYS = {"parental": 12, "annual": 25, "study": 5}
TOOL = {
    "name": "leave_days",
    "description": "How many days of leave of a kind there are",
    "inputSchema": {"type": "object", "properties": {"kind": {"type": "string"}}},
}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a request."""
    if method == "initialize":
        return {
            "protocolVersion": params.get("protocolVersion", "2025-06-18"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "leave", "version": "1.0.0"},
        }
    if method == "tools/list":
        return {"tools": [TOOL]}
    days = DAYS.get(params.get("arguments", {}).get("kind", ""))
    if days is None:
        return {"content": [{"type": "text", "text": "unknown kind"}], "isError": True}
    return {"content": [{"type": "text", "text": json.dumps({"days": days})}]}


def main() -> None:
    """Answer requests until standard input ends; notifications get no answer."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            result = answer(message["method"], message.get("params", {}))
            reply = {"jsonrpc": "2.0", "id": message["id"], "result": result}
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
