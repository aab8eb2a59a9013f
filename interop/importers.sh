#!/usr/bin/env bash
# The tools whose files we import write them again, each in its own environment and without a model.
# Then the tests read these files. `interop/importers.sh --keep` copies the files into the
# repository. promptfoo comes from npm; if npm cannot install it, the files of the repository are used.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
home=.interop/importers
kept=tests/importers/files

# Install locks into an environment of their own, if they have changed.
install() {
  local home=$1 lock
  shift
  if ! (cd requirements && cat "$@") | cmp -s - "$home/.ready"; then
    test -x "$home/bin/python" || .venv/bin/python -m venv "$home"
    for lock in "$@"; do
      nice "$home/bin/python" -m pip --disable-pip-version-check --quiet install \
        --no-deps --require-hashes -r "requirements/$lock"
    done
    (cd requirements && cat "$@") >"$home/.ready"
  fi
}
# The dependencies of RAGChecker are gigabytes; only its file format is used here.
install "$home" importers.txt importers-no-deps.txt
install "$home-more" importers-more.txt
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/files" "$folder/promptfoo"

# Have some tools of an environment write their files.
write() {
  local python=$root/$1/bin/python tool
  shift
  for tool in "$@"; do
    echo "$tool ..."
    (cd "$folder" && PYTHONWARNINGS=ignore HAYSTACK_TELEMETRY_ENABLED=False \
      "$python" "$root/interop/importers_write.py" "$tool" "$folder/files") \
      >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
  done
}
write "$home" ragas deepeval inspect openinference gen_ai langfuse ragchecker
write "$home-more" langsmith braintrust trulens mlflow haystack llamaindex huggingface

# Install promptfoo without its optional packages, of which only the database for this system is
# needed: the others are for other systems or hundreds of megabytes (browsers, model runtimes).
npm=$home/npm
install_promptfoo() {
  local native
  cmp -s requirements/importers-npm/package-lock.json "$npm/.ready" && return
  mkdir -p "$npm"
  cp requirements/importers-npm/package*.json "$npm"
  # Package scripts are not needed, so they are not run. `npm ci` would require packages for other
  # systems in the lock file, which not every registry has.
  (
    cd "$npm"
    set -- nice timeout 900 npm install --no-save --omit=optional --ignore-scripts --no-audit \
      --no-fund --silent
    "$@" &&
      native=$(node -p "const name = '@libsql/' + require('@neon-rs/load').currentTarget();
        const libsql = JSON.parse(fs.readFileSync('node_modules/libsql/package.json'));
        name + '@' + libsql.optionalDependencies[name]") &&
      "$@" "$native"
  ) && cp requirements/importers-npm/package-lock.json "$npm/.ready"
}
echo "promptfoo ..."
if ! command -v npm >/dev/null; then
  without="there is no npm here"
elif ! install_promptfoo; then
  without="npm did not install it within 15 minutes"
fi
if [ -z "${without:-}" ]; then
  "$home/bin/python" interop/importers_write.py promptfoo_config "$folder/promptfoo"
  # One assertion is meant to fail; promptfoo then exits with 100.
  (cd "$folder/promptfoo" && PROMPTFOO_DISABLE_TELEMETRY=1 PROMPTFOO_DISABLE_UPDATE=1 \
    PROMPTFOO_CONFIG_DIR="$folder/promptfoo/home" \
    node "$root/$npm/node_modules/promptfoo/dist/src/main.js" eval -c promptfooconfig.json \
    --no-cache --no-progress-bar --no-table -o promptfoo.json -o promptfoo.jsonl) \
    >"$folder/log" 2>&1 || test $? = 100 || { cat "$folder/log"; exit 1; }
  cp "$folder"/promptfoo/promptfoo.json "$folder"/promptfoo/promptfoo.jsonl "$folder/files"
  "$home/bin/python" interop/importers_write.py scrub "$folder/files"
else
  echo "promptfoo: $without, so its files are not written anew"
  cp "$kept"/promptfoo.* "$folder/files"
fi

AFFIDAVIT_IMPORT_FILES=$folder/files .venv/bin/python -m pytest -q -p no:cacheprovider \
  tests/importers/test_importing_real_files.py
if [ "${1:-}" = --keep ]; then
  rm -rf "$kept"
  cp -r "$folder/files" "$kept"
fi
