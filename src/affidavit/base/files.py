"""Files, so that a crash leaves whole ones and a hostile one cannot exhaust memory.

Paths in messages stand as the user gave them.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
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

# A pipe without a writer would block the open, and a terminal would become ours; these flags
# prevent that. Windows does not know them, and needs O_BINARY, which others do not know.
_FLAGS: Final = (
    getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)

# The system's own texts differ between systems; these are the ones that users meet.
_REASONS: Final = {
    errno.EACCES: "permission denied",
    errno.ELOOP: "its links lead in a circle",
    errno.ENAMETOOLONG: "its name is too long",
    errno.ENOENT: "its folder does not exist",
    errno.ENOSPC: "no space left",
    errno.ENOTDIR: "a part of its path is not a folder",
    errno.EPERM: "not permitted",
    errno.EROFS: "the file system is read-only",
}

_CLOSER_FAULTS: Final = {errno.EISDIR: FILE_IS_FOLDER, errno.ENXIO: FILE_NOT_REGULAR}
_MISSING: Final = {errno.ENOENT: FILE_MISSING, errno.ENOTDIR: FILE_MISSING}

# What a file system answers that cannot sync a folder, or a folder that may not be listed.
_CANNOT_SYNC: Final = frozenset({errno.EACCES, errno.EINVAL, errno.ENOTSUP})


def read_bounded(path: FilePath, limit: int) -> bytes:
    """Return the bytes of a regular file of at most `limit` bytes.

    The limit holds also for a file that grows while it is read, and for those that say they are
    empty and are not (under /proc).
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
    """Open a regular file of any size, to be read piece by piece; the caller closes it."""
    with _os_errors_as(path, FILE_UNREADABLE, _MISSING):
        handle = os.open(path, os.O_RDONLY | _FLAGS)
        try:
            _refuse_irregular(os.fstat(handle).st_mode, path)
        except BaseException:
            os.close(handle)
            raise
        return os.fdopen(handle, "rb")


def is_folder(path: FilePath) -> bool:
    """Say whether there is a folder; where one may not look there is none."""
    try:
        return stat.S_ISDIR(Path(path).stat().st_mode)
    except (OSError, ValueError):
        return False


def is_there(path: FilePath) -> bool:
    """Say whether there is anything; where one may not look, or no name can be, is nothing."""
    try:
        Path(path).stat()
    except (OSError, ValueError):
        return False
    return True


def write_atomically(
    path: FilePath, data: bytes | Iterable[bytes], *, private: bool = False
) -> None:
    """Put the data at the path, so that at every moment the old or the new content is there.

    Data that comes in pieces is written as it comes; what making a piece raises is a failure.

    A temporary file in the same folder is written and synced, renamed over the path, and the
    folder synced. A file that is replaced keeps its permissions, a link keeps leading to its
    target, and a new file gets what the user's umask says. A `private` one is the owner's alone
    from its first byte. A killed process may leave `.affidavit-<16 hex>.tmp` behind, which can be
    deleted; a failure leaves nothing.
    """
    with _os_errors_as(path, FILE_UNWRITABLE, {}):
        replaced_mode = _mode_of(path)
        mode = 0o600 if private else replaced_mode
        target = Path(os.path.realpath(path))
        temporary = target.with_name(f".affidavit-{os.urandom(8).hex()}.tmp")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS
        # Only what anybody may get is readable while it is written.
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
    """Add one line and its newline to a log, and return when it is on the disk.

    Processes that append at the same time wait for one another; threads of one process have to take
    turns by themselves. A line for which there is no room is taken back. A killed process may leave
    a torn last line, without its newline: the next append ends it there, so nothing is glued to it,
    and readers report it by its number. A line that holds a JSON object never parses when torn.
    """
    if b"\n" in line:
        raise ValueError("a line of a log holds no newline")
    with _os_errors_as(path, FILE_UNWRITABLE, {}):
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | _FLAGS, 0o666)
        try:
            _refuse_irregular(os.fstat(handle).st_mode, path)
            if hasattr(os, "lockf"):  # Not on Windows. Closing the file ends the lock.
                os.lockf(handle, os.F_LOCK, 0)
            size = os.fstat(handle).st_size
            data = line + b"\n"
            if size and not _ends_with_newline(handle):
                data = b"\n" + data
            if os.write(handle, data) != len(data):
                os.ftruncate(handle, size)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(handle)
        finally:
            os.close(handle)
        if not size:
            _sync_folder(Path(os.path.realpath(path)).parent)


@contextmanager
def _opened_to_read(path: FilePath) -> Iterator[tuple[int, int]]:
    """Open a regular file; give its handle and its size at this moment."""
    with _os_errors_as(path, FILE_UNREADABLE, _MISSING):
        handle = os.open(path, os.O_RDONLY | _FLAGS)
        try:
            status = os.fstat(handle)
            _refuse_irregular(status.st_mode, path)
            yield handle, status.st_size
        finally:
            os.close(handle)


def _mode_of(path: FilePath) -> int | None:
    """Return the permissions of the file that will be replaced, if there is one."""
    if os.fspath(path).endswith(os.sep):
        raise AffidavitError(FILE_IS_FOLDER, _place(path))
    try:
        mode = Path(path).stat().st_mode
    except FileNotFoundError:
        return None
    # A rename would put a file in the place of a device: /dev/null would be gone.
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
    """Make a rename or a new name last. Only whether it lasts is at stake, never the content."""
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
    """Turn what the system says into a fault of ours: `fault`, or what the error's number says."""
    try:
        yield
    except OSError as error:
        number = error.errno or 0
        closer = others.get(number) or _CLOSER_FAULTS.get(number) or fault
        reason = _REASONS.get(number, error.strerror or str(error))
        raise AffidavitError(closer, _place(path), reason=reason) from error
    except ValueError as error:  # A null character, or a letter the system cannot encode.
        raise AffidavitError(fault, _place(path), reason="no file can have this name") from error


def _place(path: FilePath) -> Where:
    return Where(file=os.fspath(path))
