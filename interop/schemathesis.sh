#!/usr/bin/env bash
# schemathesis compares the served OpenAPI document with the service, with and without keys. Then
# 10,000 valid and invalid requests are sent, none of which may end in a defect.
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
server=
stop() {
  if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; wait "$server" || true; fi
  server=
}
trap 'stop; rm -rf "$folder"' EXIT
cp -r samples/answers/. "$folder"
.venv/bin/affidavit keys new --project "$folder"
key=$(.venv/bin/affidavit apikeys new schemathesis --project "$folder")

# serve OPTIONS...: start a service on a free port and set `url` when it answers.
serve() {
  .venv/bin/affidavit serve --project "$folder" --port 0 --json -q \
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

echo "== with an API key, which is required"
serve --require-key
run -H "Authorization: Bearer $key"
stop
echo "== from this machine, without one"
serve
run
echo "== $count requests, good and bad"
.venv/bin/python -m tests.web.mixed_requests "$url" "$count"
stop
