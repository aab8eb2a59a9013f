#!/usr/bin/env bash
# `gate rag`, `check` of rows and `judge score` on a real Spark, in local mode and with executors of
# their own, give the same bytes as one process. Spark has its own environment; Java 17 or newer must
# be installed.
set -euo pipefail
cd "$(dirname "$0")/.."
home=.interop/spark
if ! command -v java >/dev/null; then
  echo "There is no Java here, so Spark is not tried"
  exit 0
fi
if ! cmp -s requirements/spark.txt "$home/.ready"; then
  test -x "$home/bin/python" || .venv/bin/python -m venv "$home"
  nice "$home/bin/python" -m pip --disable-pip-version-check --quiet install \
    --require-hashes -r requirements/spark.txt
  cp requirements/spark.txt "$home/.ready"
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
.venv/bin/python interop/spark_check.py "$PWD/$home/bin/python" "$folder"
