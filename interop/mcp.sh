#!/usr/bin/env bash
# A tool of a real MCP server is asked with the official client, over stdio and streamable HTTP.
set -euo pipefail
cd "$(dirname "$0")/.."
home=.interop/mcp
test -x "$home/bin/python" || .venv/bin/python -m venv "$home"
if ! test -e "$home/.ready"; then
  nice "$home/bin/python" -m pip --disable-pip-version-check --quiet install \
    --require-hashes -r requirements/core.txt
  nice "$home/bin/python" -m pip --disable-pip-version-check --quiet install 'mcp>=2'
  touch "$home/.ready"
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
PYTHONPATH=src "$home/bin/python" interop/mcp_check.py "$folder"
