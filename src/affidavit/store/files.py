"""Stored files: existence, an exclusive lock, and values cached until their file changes."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults.input import FILE_UNWRITABLE


def may_exist(path: Path) -> bool:
    """Return False only if the file certainly does not exist.

    Without permission to look it returns True: reading the file then raises the error.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


@contextmanager
def exclusive_lock(lock: Path) -> Iterator[None]:
    """Hold a lock file exclusively; its folder is created if necessary.

    The system releases the lock when the process ends, however it ends.
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


Value = TypeVar("Value")


class FileBackedValue(Generic[Value]):
    """A value that is computed again when its file has changed or is missing.

    A service sees a new or revoked key at its next request, and does not read a file twice.
    """

    def __init__(self, path: Path, compute: Callable[[], Value]) -> None:
        self._path = path
        self._compute = compute
        self._cached: tuple[tuple[int, ...], Value] | None = None

    def get(self) -> Value:
        """Return the value. Concurrent threads may compute it twice."""
        state = _file_state(self._path)
        cached = self._cached
        if state is not None and cached is not None and cached[0] == state:
            return cached[1]
        value = self._compute()
        # The state was taken before reading: a change in between is noticed next time.
        self._cached = None if state is None else (state, value)
        return value


def _file_state(path: Path) -> tuple[int, ...] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_mode
