#!/usr/bin/env bash
# Kills the service, its processes and a real PostgreSQL at 20 random moments each while clients
# upload, check and decide. Everything that was accepted has to be there afterwards, done once.
set -euo pipefail
cd "$(dirname "$0")/.."

kills=${KILLS:-20}
for store in sqlite postgresql; do
  echo "== $store: $kills kills of each"
  .venv/bin/python -m tests.web.store_kills "$store" "$kills" "${SEED:-19}"
done
echo "Nothing that was accepted is lost, and nothing was done twice"
