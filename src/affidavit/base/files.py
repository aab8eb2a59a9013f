"""Bounded reading and atomic writing of files.

A crash leaves complete files, and a hostile file cannot exhaust memory. Error messages show paths
as the user gave them.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import Final

from affidavit.base.errors import AffidavitError, Fault, Where
from affidavit.base.faults.input import (
    FILE_IS_FOLDER,
    FILE_MISSING,
    FILE_NOT_REGULAR,
    FILE_TOO_LARGE,
    FILE_UNREADABLE,
    FILE_UNWRITABLE,
)

FilePath = str | os.PathLike[str]

_CHUNK_BYTES: Final = 1 << 16

# Without these flags, opening a pipe without a writer would block, and a terminal would become our
# controlling terminal. Windows lacks them and needs O_BINARY, which other systems lack.
_FLAGS: Final = (
    getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)

# The messages of operating systems differ; these are the common cases.
_REASONS: Final = {
    errno.EACCES: "permission denied",
    errno.ELOOP: "its links form a loop",
    errno.ENAMETOOLONG: "its name is too long",
    errno.ENOENT: "its folder does not exist",
    errno.ENOSPC: "no space left",
    errno.ENOTDIR: "a part of its path is not a folder",
    errno.EPERM: "not permitted",
    errno.EROFS: "the file system is read-only",
}

_CLOSER_FAULTS: Final = {errno.EISDIR: FILE_IS_FOLDER, errno.ENXIO: FILE_NOT_REGULAR}
_MISSING: Final = {errno.ENOENT: FILE_MISSING, errno.ENOTDIR: FILE_MISSING}

# Errors of a file system that cannot sync a folder, or of a folder that cannot be listed.
_CANNOT_SYNC: Final = frozenset({errno.EACCES, errno.EINVAL, errno.ENOTSUP})


def read_bounded(path: FilePath, limit: int) -> bytes:
    """Return the bytes of a regular file of at most `limit` bytes.

    The limit also holds for a file that grows while it is read, and for files that report a size
    of 0 but are not empty (under /proc).
    """
    with _opened_to_read(path) as (handle, size):
        too_large = AffidavitError(FILE_TOO_LARGE, _place(path), limit=limit)
        if size > limit:
            raise too_large
        pieces = []
        left, wanted = limit + 1, max(size + 1, _CHUNK_BYTES)
        while left and (piece := os.read(handle, min(left, wanted))):
            pieces.append(piece)
            left, wanted = left - len(piece), _CHUNK_BYTES
        if not left:
            raise too_large
        return b"".join(pieces)


def digest_file(path: FilePath) -> str:
    """Return `sha256:` and the hexadecimal digest of a regular file of any size."""
    digest = hashlib.sha256()
    with _opened_to_read(path) as (handle, _):
        while piece := os.read(handle, _CHUNK_BYTES):
            digest.update(piece)
    return f"sha256:{digest.hexdigest()}"


def open_to_read(path: FilePath) -> BufferedReader:
    """Open a regular file of any size for reading in pieces; the caller closes it."""
    with _os_errors_as(path, FILE_UNREADABLE, _MISSING):
        handle = os.open(path, os.O_RDONLY | _FLAGS)
        try:
            _refuse_irregular(os.fstat(handle).st_mode, path)
        except BaseException:
            os.close(handle)
            raise
        return os.fdopen(handle, "rb")


def is_folder(path: FilePath) -> bool:
    """Say whether the path is a folder; False if it cannot be accessed."""
    try:
        return stat.S_ISDIR(Path(path).stat().st_mode)
    except (OSError, ValueError):
        return False


def is_there(path: FilePath) -> bool:
    """Say whether the path exists; False if it cannot be accessed or is not a valid name."""
    try:
        Path(path).stat()
    except (OSError, ValueError):
        return False
    return True


def write_atomically(
    path: FilePath, data: bytes | Iterable[bytes], *, private: bool = False
) -> None:
    """Write the data so that the path always has either the old or the new content.

    A temporary file in the same folder is written, synced and renamed over the path; then the
    folder is synced. Pieces of data are written as they come; an exception while making one is a
    failure. A replaced file keeps its permissions, a link keeps its target, and a new file gets the
    permissions of the user's umask. A `private` file is readable by its owner only, from its first
    byte. A failure leaves nothing behind; a killed process may leave `.affidavit-<16 hex>.tmp`,
    which can be deleted.
    """
    with _os_errors_as(path, FILE_UNWRITABLE, {}):
        replaced_mode = _mode_of(path)
        mode = 0o600 if private else replaced_mode
        target = Path(os.path.realpath(path))
        temporary = target.with_name(f".affidavit-{os.urandom(8).hex()}.tmp")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS
        # A file with restricted permissions must not be readable while it is being written.
        handle = os.open(temporary, flags, 0o666 if mode is None else 0o600)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.writelines((data,) if isinstance(data, bytes) else data)
                stream.flush()
                if mode is not None:
                    temporary.chmod(mode)
                os.fsync(handle)
            temporary.replace(target)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
        _sync_folder(target.parent)


def append_line_durably(path: FilePath, line: bytes) -> None:
    """Append a line to a log, and return when it is on the disk.

    Processes that append at the same time wait for each other; threads of one process need a lock
    of their own. A line that does not fit on the disk is removed again. A killed process may leave
    a partial last line without a newline: the next append ends it, and readers report it by its
    number. A partial JSON object never parses.
    """
    append_lines(path, (line,), is_synced=True)


def append_lines(path: FilePath, lines: Sequence[bytes], *, is_synced: bool) -> None:
    """Append lines to a log as one write, as `append_line_durably` does; sync it only if asked."""
    if any(b"\n" in line for line in lines):
        raise ValueError("a line of a log must not contain a newline")
    with _os_errors_as(path, FILE_UNWRITABLE, {}):
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | _FLAGS, 0o666)
        try:
            _refuse_irregular(os.fstat(handle).st_mode, path)
            if hasattr(os, "lockf"):  # Not on Windows. Closing the file releases the lock.
                os.lockf(handle, os.F_LOCK, 0)
            size = os.fstat(handle).st_size
            data = b"\n".join(lines) + b"\n"
            if size and not _ends_with_newline(handle):
                data = b"\n" + data
            if os.write(handle, data) != len(data):
                os.ftruncate(handle, size)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if is_synced:
                os.fsync(handle)
        finally:
            os.close(handle)
        if not size and is_synced:
            _sync_folder(Path(os.path.realpath(path)).parent)


@contextmanager
def _opened_to_read(path: FilePath) -> Iterator[tuple[int, int]]:
    """Open a regular file; yield its handle and its current size."""
    with _os_errors_as(path, FILE_UNREADABLE, _MISSING):
        handle = os.open(path, os.O_RDONLY | _FLAGS)
        try:
            status = os.fstat(handle)
            _refuse_irregular(status.st_mode, path)
            yield handle, status.st_size
        finally:
            os.close(handle)


def _mode_of(path: FilePath) -> int | None:
    """Return the permissions of the file to replace, if it exists."""
    if os.fspath(path).endswith(os.sep):
        raise AffidavitError(FILE_IS_FOLDER, _place(path))
    try:
        mode = Path(path).stat().st_mode
    except FileNotFoundError:
        return None
    # A rename would replace a device by a file: /dev/null would be gone.
    _refuse_irregular(mode, path)
    return stat.S_IMODE(mode)


def _refuse_irregular(mode: int, path: FilePath) -> None:
    if stat.S_ISDIR(mode):
        raise AffidavitError(FILE_IS_FOLDER, _place(path))
    if not stat.S_ISREG(mode):
        raise AffidavitError(FILE_NOT_REGULAR, _place(path))


def _ends_with_newline(handle: int) -> bool:
    os.lseek(handle, -1, os.SEEK_END)
    return os.read(handle, 1) == b"\n"


def _sync_folder(folder: Path) -> None:
    """Make a rename or a new name durable; the content is safe already."""
    if not hasattr(os, "O_DIRECTORY"):  # Windows: a folder cannot be opened.
        return
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | _FLAGS)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            raise


@contextmanager
def _os_errors_as(path: FilePath, fault: Fault, others: Mapping[int, Fault]) -> Iterator[None]:
    """Raise an OSError as a fault: the one for its number, else `fault`."""
    try:
        yield
    except OSError as error:
        number = error.errno or 0
        closer = others.get(number) or _CLOSER_FAULTS.get(number) or fault
        reason = _REASONS.get(number, error.strerror or str(error))
        raise AffidavitError(closer, _place(path), reason=reason) from error
    except ValueError as error:  # A null character, or a letter that the system cannot encode.
        raise AffidavitError(fault, _place(path), reason="no file can have this name") from error


def _place(path: FilePath) -> Where:
    return Where(file=os.fspath(path))
