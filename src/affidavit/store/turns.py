"""Taking turns: those who change the same file at the same time do so one after the other."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults.input import FILE_UNWRITABLE


@contextmanager
def turn_at(lock: Path) -> Iterator[None]:
    """Hold a lock file alone, in a folder that is made if need be.

    The turn ends with the process, however that ends.
    """
    try:
        lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise AffidavitError(FILE_UNWRITABLE, Where(file=str(lock)), reason=reason) from error
    try:
        if hasattr(os, "lockf"):  # Not on Windows.
            os.lockf(handle, os.F_LOCK, 0)
        yield
    finally:
        os.close(handle)
