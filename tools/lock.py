"""Pin every dependency, with hashes and without an index address.

There are four selections: the core, `affidavit[all]`, that plus the tools of `make test`, and what
runs in separate environments (the fuzzer and the scripts of interop/).
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCKS = {
    "core.txt": ("pyproject.toml",),
    # The exporters of OpenTelemetry ask for an exact version, so the larger one is resolved first.
    "dev.txt": ("pyproject.toml", "--extra", "all", "--group", "dev"),
    "all.txt": ("pyproject.toml", "--extra", "all", "--constraint", "requirements/dev.txt"),
    "fuzz.txt": ("requirements/fuzz.in",),
    "chat.txt": ("requirements/chat.in",),
    "attest.txt": ("requirements/attest.in",),
    "importers.txt": ("requirements/importers.in",),
    "importers-more.txt": ("requirements/importers-more.in",),
    "importers-no-deps.txt": ("requirements/importers-no-deps.in", "--no-deps"),
    "mcp.txt": ("pyproject.toml", "--extra", "ledger", "--extra", "mcp"),
    "frameworks.txt": ("requirements/frameworks.in",),
    "otel.txt": ("requirements/otel.in",),
    "peers.txt": ("requirements/peers.in",),
    "phoenix.txt": ("requirements/phoenix.in",),
    "schemathesis.txt": ("requirements/schemathesis.in",),
    "spark.txt": ("pyproject.toml", "--extra", "ledger", "--extra", "spark"),
}


def compile_lock(name: str, selection: tuple[str, ...]) -> None:
    """Resolve one selection for every platform and write it to `requirements/`."""
    command = [
        *(sys.executable, "-m", "uv", "pip", "compile", "--quiet"),
        *("--universal", "--python-version", "3.11", "--generate-hashes"),
        *("--no-header", "--no-annotate", "--no-emit-index-url", "--upgrade"),
        *("--output-file", f"requirements/{name}", *selection),
    ]
    subprocess.run(command, cwd=ROOT, check=True)


if __name__ == "__main__":
    for lock_name, extras in LOCKS.items():
        compile_lock(lock_name, extras)
        print(f"wrote requirements/{lock_name}")
