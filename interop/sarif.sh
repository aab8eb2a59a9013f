#!/usr/bin/env bash
# Checks that our SARIF is a `Log` of SARIF 2.1.0. The types generated from its schema, which come from
# npm, refuse a member that is missing, unknown or of another type.
set -euo pipefail
cd "$(dirname "$0")/.."
home=.interop/sarif
command -v npm >/dev/null || { echo "SARIF: there is no npm here, so nothing was checked"; exit 1; }
if ! cmp -s requirements/sarif-npm/package-lock.json "$home/.ready"; then
  mkdir -p "$home"
  cp requirements/sarif-npm/package*.json "$home"
  (cd "$home" && nice npm install --no-save --ignore-scripts --no-audit --no-fund --silent)
  cp requirements/sarif-npm/package-lock.json "$home/.ready"
fi
folder=$(mktemp -d "$home/logs.XXXXXX")
trap 'rm -rf "$folder"' EXIT
affidavit=.venv/bin/affidavit

# Findings of lint, offenders of a gate, and both with nothing found.
$affidavit -q evidence seal samples/runs/support.jsonl -o "$folder/run.tar.gz"
for pack in cicd-starter eu-ai-act-baseline rag-quality; do
  $affidavit -q evidence lint "$folder/run.tar.gz" --pack $pack --format sarif \
    --fail-on none >"$folder/lint-$pack.sarif"
done
$affidavit -q gate rag samples/gates/ragas.csv --sarif "$folder/offenders.sarif" >"$folder/said" || test $? = 1
$affidavit -q gate rag --gold samples/gates/gold.jsonl --trace samples/gates/trace.jsonl \
  --sarif "$folder/none.sarif" >"$folder/said"

for log in "$folder"/*.sarif; do
  { echo 'import type { Log } from "sarif";'; echo -n 'export const log: Log = '; cat "$log"; } \
    >"${log%.sarif}.ts"
done
"$home/node_modules/.bin/tsc" --noEmit --strict --types sarif --typeRoots "$home/node_modules/@types" "$folder"/*.ts

# The check must be able to fail: the same log with an invented member is refused.
sed -i 's/"version": "2.1.0"/"version": "2.1.0", "invented": 1/' "$folder/none.ts"
if "$home/node_modules/.bin/tsc" --noEmit --strict --types sarif --typeRoots "$home/node_modules/@types" \
  "$folder/none.ts" >"$folder/said"; then
  echo "an unknown member was accepted"; exit 1
fi
echo "SARIF: $(ls "$folder"/*.sarif | wc -l) logs are SARIF 2.1.0"
