#!/usr/bin/env bash
# A real classifier, made small and on the spot, is loaded and asked by the judge of the extra `hf`.
set -euo pipefail
cd "$(dirname "$0")/.."
home=.interop/hf
if ! cmp -s requirements/hf.in "$home/.ready"; then
  test -x "$home/bin/python" || .venv/bin/python -m venv "$home"
  # torch for this machine's kind comes from wherever pip is set up to look, so no hashes are known.
  nice "$home/bin/python" -m pip --disable-pip-version-check --quiet install -r requirements/hf.in
  nice "$home/bin/python" -m pip --disable-pip-version-check --quiet install -e '.[ledger]'
  cp requirements/hf.in "$home/.ready"
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# The guard of the tests: a load that reached for the network would fail.
PYTHONPATH=tests/offline "$home/bin/python" interop/hf_check.py "$folder"
