#!/usr/bin/env bash
# Make the environment of the tools that benchmarks/gates.py is held against.
set -euo pipefail
cd "$(dirname "$0")/.."
home=.interop/peers
if ! cmp -s requirements/peers.txt "$home/.ready"; then
  test -x "$home/bin/python" || .venv/bin/python -m venv "$home"
  nice "$home/bin/python" -m pip --disable-pip-version-check --quiet install \
    --require-hashes -r requirements/peers.txt
  cp requirements/peers.txt "$home/.ready"
fi
