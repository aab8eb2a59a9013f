"""Access to stored files: existence, an exclusive lock, and values cached until their file
changes.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults.input import FILE_UNWRITABLE

# Whether a file is there, for those that need not be.


def may_exist(path: Path) -> bool:
    """Say False only if nothing is there for sure.

    Where one may not look it says True: whoever reads the file then says why that fails.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


# Taking turns: those who change the same file at the same time do so one after the other.


@contextmanager
def exclusive_lock(lock: Path) -> Iterator[None]:
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


# What was made from a file, kept until the file changes.
#
# So a service sees a new, retired or revoked key at its next request, and reads nothing twice.

Value = TypeVar("Value")


class FileBackedValue(Generic[Value]):
    """A value that is made anew whenever its file is another one, or is not there."""

    def __init__(self, path: Path, make: Callable[[], Value]) -> None:
        self._path = path
        self._make = make
        self._kept: tuple[tuple[int, ...], Value] | None = None

    def get(self) -> Value:
        """Return the value. Threads may ask at the same time: at worst it is made twice."""
        stamp = _file_state(self._path)
        kept = self._kept
        if stamp is not None and kept is not None and kept[0] == stamp:
            return kept[1]
        made = self._make()
        # The stamp is older than what was read: a change in between is seen the next time.
        self._kept = None if stamp is None else (stamp, made)
        return made


def _file_state(path: Path) -> tuple[int, ...] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_mode
