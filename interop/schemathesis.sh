#!/usr/bin/env bash
# schemathesis compares the served OpenAPI document with the service, with and without keys. Then
# 10,000 valid and invalid requests are sent, none of which may end in a defect. All of it on SQLite
# and on a real PostgreSQL, which `tests.store.serve_postgresql` runs; STORES names one of them.
set -euo pipefail
cd "$(dirname "$0")/.."

home=.interop/schemathesis
if ! cmp -s requirements/schemathesis.txt "$home/.ready"; then
  test -x "$home/bin/python" || .venv/bin/python -m venv "$home"
  nice "$home/bin/python" -m pip --disable-pip-version-check --quiet --quiet install \
    --require-hashes -r requirements/schemathesis.txt
  cp requirements/schemathesis.txt "$home/.ready"
fi
examples=${SCHEMATHESIS_EXAMPLES:-60}
count=${MIXED_REQUESTS:-10000}
folder=$(mktemp -d)
server= database=
stop() {
  if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; wait "$server" || true; fi
  server=
}
stop_all() {
  stop
  if [ -n "$database" ]; then kill "$database" 2>/dev/null || true; wait "$database" || true; fi
  rm -rf "$folder"
}
trap stop_all EXIT
cp -r samples/answers/. "$folder"
.venv/bin/affidavit keys new --project "$folder"
key=$(.venv/bin/affidavit apikeys new schemathesis --project "$folder")

# serve OPTIONS...: start a service on a free port and set `url` when it answers.
serve() {
  .venv/bin/affidavit serve --project "$folder" --port 0 --json -q --store "$store" \
    --key-rate 0 --address-rate 0 "$@" >"$folder/out.json" 2>"$folder/log.jsonl" &
  server=$!
  for _ in $(seq 200); do
    url=$(.venv/bin/python -c 'import json, sys; print(json.load(open(sys.argv[1]))["url"])' \
      "$folder/out.json" 2>/dev/null) && .venv/bin/python -c \
      'import sys, urllib.request as u; u.urlopen(sys.argv[1] + "/readyz")' "$url" 2>/dev/null &&
      return 0
    sleep 0.2
  done
  cat "$folder/log.jsonl"
  return 1
}

run() {
  SCHEMATHESIS_HOOKS=interop.schemathesis_hooks PYTHONPATH=. "$home/bin/schemathesis" run \
    "$url/schema" --checks all --max-examples "$examples" --phases examples,coverage,fuzzing,stateful \
    --suppress-health-check all --no-color "$@"
}

# store_at KIND: set `store` to the address of an empty database.
store_at() {
  if [ "$1" = sqlite ]; then store="sqlite:///$folder/store.db"; return; fi
  .venv/bin/python -m tests.store.serve_postgresql >"$folder/address" &
  database=$!
  for _ in $(seq 300); do
    store=$(cat "$folder/address"); test -n "$store" && return 0
    sleep 0.2
  done
  return 1
}

for kind in ${STORES:-sqlite postgresql}; do
  store_at "$kind"
  echo "== $kind, with an API key, which is required"
  serve --require-key
  run -H "Authorization: Bearer $key"
  stop
  echo "== $kind, from this machine, without one"
  serve
  run
  echo "== $kind, $count requests, good and bad"
  .venv/bin/python -m tests.web.mixed_requests "$url" "$count"
  stop
done
