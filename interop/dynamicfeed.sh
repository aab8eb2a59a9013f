#!/bin/bash
# The public verifier `dynamicfeed-verify` accepts receipts that we sign, and refuses changed ones.
# It has an environment of its own; without this script the test is skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

VENV=.interop/dynamicfeed
if [ ! -e "$VENV/.ready" ]; then
  .venv/bin/python -m venv "$VENV"
  "$VENV/bin/python" -m pip --disable-pip-version-check --quiet --quiet install \
    dynamicfeed-verify==1.0.2
  touch "$VENV/.ready"
fi
AFFIDAVIT_INTEROP=1 .venv/bin/python -m pytest -q tests/conformance/test_receipt_public_verifier.py
