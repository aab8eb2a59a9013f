#!/usr/bin/env bash
# Seals what real OpenTelemetry instrumentations of the OpenAI client say about an agent, unchanged,
# against a stub of the provider's HTTP API on loopback.
set -euo pipefail
cd "$(dirname "$0")/.."
home=.interop/otel
if ! cat requirements/core.txt requirements/otel.txt | cmp -s - "$home/.ready"; then
  test -x "$home/bin/python" || .venv/bin/python -m venv "$home"
  nice "$home/bin/python" -m pip --disable-pip-version-check --quiet --quiet install \
    --require-hashes -r requirements/core.txt -r requirements/otel.txt
  cat requirements/core.txt requirements/otel.txt > "$home/.ready"
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for name in openai-v2 openinference traceloop; do
  PYTHONPATH=src "$home/bin/python" interop/otel_check.py "$name" "$folder/$name"
done
