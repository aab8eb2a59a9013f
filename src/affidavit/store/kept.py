"""What was made from a file, kept until the file changes.

So a service sees a new, retired or revoked key at its next request, and reads nothing twice.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

Made = TypeVar("Made")


class KeptFrom(Generic[Made]):
    """A value that is made anew whenever its file is another one, or is not there."""

    def __init__(self, path: Path, make: Callable[[], Made]) -> None:
        self._path = path
        self._make = make
        self._kept: tuple[tuple[int, ...], Made] | None = None

    def get(self) -> Made:
        """Return the value. Threads may ask at the same time: at worst it is made twice."""
        stamp = _stamp_of(self._path)
        kept = self._kept
        if stamp is not None and kept is not None and kept[0] == stamp:
            return kept[1]
        made = self._make()
        # The stamp is older than what was read: a change in between is seen the next time.
        self._kept = None if stamp is None else (stamp, made)
        return made


def _stamp_of(path: Path) -> tuple[int, ...] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_mode
