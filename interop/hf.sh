#!/usr/bin/env bash
# The judge of the extra `hf` loads and runs real models, which are built small on the spot: a
# classifier, and one of the architecture of each preset.
set -euo pipefail
cd "$(dirname "$0")/.."
home=.interop/hf
if ! cmp -s requirements/hf.in "$home/.ready"; then
  test -x "$home/bin/python" || .venv/bin/python -m venv "$home"
  # torch for this platform comes from the configured index of pip, so no hashes are known.
  nice "$home/bin/python" -m pip --disable-pip-version-check --quiet install -r requirements/hf.in
  nice "$home/bin/python" -m pip --disable-pip-version-check --quiet install -e '.[ledger]'
  cp requirements/hf.in "$home/.ready"
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# The network guard of the tests: a load that uses the network fails.
PYTHONPATH=tests/offline "$home/bin/python" interop/hf_check.py "$folder"
PYTHONPATH=tests/offline "$home/bin/python" interop/hf_presets.py "$folder"
