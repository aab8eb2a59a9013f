"""A small MCP server: `mcp_server.py` speaks stdio, `mcp_server.py PORT` streamable HTTP."""

import os
import sys
import time

from mcp.server import MCPServer

server = MCPServer("leave")


@server.tool()
def leave_days(country: str) -> dict[str, object]:
    """Return the days of leave of a country."""
    if country == "xx":
        raise ValueError("the password is hunter2")
    if country == "slow":
        time.sleep(60)
    if country == "secret":
        return {"echo": os.environ.get("LEAVE_KEY", "none")}
    return {"country": country, "days": 20}


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run(transport="streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run(transport="stdio")
