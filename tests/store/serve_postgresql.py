"""Runs a real PostgreSQL until SIGTERM, and prints the address of an empty database.

python -m tests.store.serve_postgresql
"""

import signal
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event

from tests.store.databases import empty_postgresql, postgresql_server


def main() -> None:
    """Run the server."""
    stopped = Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    with TemporaryDirectory(prefix="pg-") as name:
        Path(name).chmod(0o755)
        with postgresql_server(Path(name)) as address:
            sys.stdout.write(empty_postgresql(address) + "\n")
            sys.stdout.flush()
            stopped.wait()


if __name__ == "__main__":
    main()
