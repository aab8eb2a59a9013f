#!/usr/bin/env bash
# `gate rag` judges 200,000 rows (or as many as the argument says), with one corrupt line, odd rows and
# a kill in the middle: it goes on where it stopped, and counts every row. It takes half an hour.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
.venv/bin/python interop/many_rows_check.py "$folder" "${1:-200000}"
