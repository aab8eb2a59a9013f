#!/usr/bin/env bash
# Checks the pages of the service with axe-core, which comes from npm: no page may have a serious fault
# of accessibility, light or dark, wide or narrow.
set -euo pipefail
cd "$(dirname "$0")/.."
home=.interop/pages
command -v npm >/dev/null || { echo "Pages: there is no npm here, so nothing was checked"; exit 1; }
if ! cmp -s requirements/pages-npm/package-lock.json "$home/.ready"; then
  mkdir -p "$home"
  cp requirements/pages-npm/package*.json "$home"
  (cd "$home" && nice npm ci --ignore-scripts --no-audit --no-fund --silent)
  cp requirements/pages-npm/package-lock.json "$home/.ready"
fi
.venv/bin/python -u -m interop.pages_check "$home/node_modules/axe-core/axe.min.js"
