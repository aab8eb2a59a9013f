#!/usr/bin/env bash
# Calls a tool of a real MCP server with the official client, and our own server with it, both over
# stdio and streamable HTTP.
set -euo pipefail
cd "$(dirname "$0")/.."
home=.interop/mcp
if ! cmp -s requirements/mcp.txt "$home/.ready"; then
  test -x "$home/bin/python" || .venv/bin/python -m venv "$home"
  nice "$home/bin/python" -m pip --disable-pip-version-check --quiet --quiet install \
    --require-hashes -r requirements/mcp.txt
  cp requirements/mcp.txt "$home/.ready"
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
PYTHONPATH=src "$home/bin/python" interop/mcp_check.py "$folder"
PYTHONPATH=src "$home/bin/python" interop/mcp_agent.py "$folder"
