#!/usr/bin/env bash
# Exports a run to arize-phoenix, started on loopback, and reads it back through its API.
set -euo pipefail
cd "$(dirname "$0")/.."
home=.interop/phoenix
if ! cmp -s requirements/phoenix.txt "$home/.ready"; then
  test -x "$home/bin/python" || .venv/bin/python -m venv "$home"
  nice "$home/bin/python" -m pip --disable-pip-version-check --quiet --quiet install \
    --require-hashes -r requirements/phoenix.txt
  cp requirements/phoenix.txt "$home/.ready"
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
.venv/bin/python interop/phoenix_check.py "$home/bin/phoenix" "$folder"
