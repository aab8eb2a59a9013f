#!/usr/bin/env bash
# Records programs of LangChain, of LlamaIndex and of the OpenAI client behind `affidavit proxy`,
# against a stub of the provider's HTTP API on loopback.
set -euo pipefail
cd "$(dirname "$0")/.."
home=.interop/frameworks
if ! cat requirements/core.txt requirements/frameworks.txt | cmp -s - "$home/.ready"; then
  test -x "$home/bin/python" || .venv/bin/python -m venv "$home"
  nice "$home/bin/python" -m pip --disable-pip-version-check --quiet --quiet install \
    --require-hashes -r requirements/core.txt -r requirements/frameworks.txt
  cat requirements/core.txt requirements/frameworks.txt > "$home/.ready"
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for name in langchain llama-index proxy; do
  PYTHONPATH=src "$home/bin/python" interop/frameworks_check.py "$name" "$folder/$name"
done
