"""Standard input as the bytes of one document."""

import sys
from pathlib import Path
from typing import Final

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults.input import FILE_TOO_LARGE
from affidavit.base.files import read_bounded

PIPE: Final = Path("-")
PIPE_NAME: Final = "standard input"


def name_of_input(path: Path) -> str:
    """Return how people call what a path names."""
    return PIPE_NAME if path == PIPE else str(path)


def bytes_of(path: Path, max_bytes: int) -> bytes:
    """Return what a file holds, or standard input for a dash; more than the limit is refused."""
    if path != PIPE:
        return read_bounded(path, max_bytes)
    # A closed standard input is None: nothing was given.
    raw = sys.stdin.buffer.read(max_bytes + 1) if sys.stdin else b""
    if len(raw) > max_bytes:
        raise AffidavitError(FILE_TOO_LARGE, Where(file=PIPE_NAME), limit=max_bytes)
    return raw
