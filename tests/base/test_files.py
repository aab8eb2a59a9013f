"""Files stay whole after a crash, reading is bounded, and every failure has a coded error."""

import errno
import hashlib
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rights import as_nobody

from affidavit.base.errors import AffidavitError, Fault
from affidavit.base.faults.input import (
    FILE_IS_FOLDER,
    FILE_MISSING,
    FILE_NOT_REGULAR,
    FILE_TOO_LARGE,
    FILE_UNREADABLE,
    FILE_UNWRITABLE,
)
from affidavit.base.files import (
    FilePath,
    append_line_durably,
    append_lines,
    digest_file,
    is_folder,
    is_there,
    open_to_read,
    read_bounded,
    write_atomically,
)

BINARY = bytes(range(256)) * 3
LARGE = b"x" * 200_000  # More than is read at once.


def fault_of(action: Callable[[], object]) -> tuple[Fault, str | None, object]:
    """Return the fault, the file it names, and its reason."""
    with pytest.raises(AffidavitError) as caught:
        action()
    error = caught.value
    reason = error.values.get("reason") if "{reason}" in error.fault.message else None
    return error.fault, error.where.file, reason


def names_in(folder: Path | None = None) -> list[str]:
    """Return the names in a folder, or in the current one."""
    return sorted(path.name for path in (folder or Path()).iterdir())


def failing(number: int) -> Callable[..., None]:
    """Return a stand-in for a system call that raises this error."""

    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


# Reading


@pytest.mark.parametrize(
    "data", [b"", b"one", BINARY, LARGE], ids=["empty", "one", "binary", "large"]
)
def test_a_written_value_is_read_back(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "data"
    write_atomically(path, data)
    assert read_bounded(path, len(data)) == data
    assert read_bounded(str(path), 10**9) == data
    assert digest_file(path) == f"sha256:{hashlib.sha256(data).hexdigest()}"


@given(st.binary(max_size=40), st.integers(0, 40))
def test_the_limit_is_exact(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, limit: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "limited"
    path.write_bytes(data)
    if len(data) <= limit:
        assert read_bounded(path, limit) == data
    else:
        fault, _, _ = fault_of(lambda: read_bounded(path, limit))
        assert fault is FILE_TOO_LARGE


def test_a_file_with_reported_size_zero_is_bounded() -> None:
    path = Path("/proc/self/status")
    if not path.exists():
        pytest.skip("only where there is /proc")
    assert path.stat().st_size == 0
    assert b"Name:" in read_bounded(path, 10**6)
    assert fault_of(lambda: read_bounded(path, 10))[0] is FILE_TOO_LARGE


def test_a_file_that_grows_while_it_is_read_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "growing"
    path.write_bytes(b"x" * 10)
    read = os.read

    def growing(handle: int, count: int) -> bytes:
        with path.open("ab") as stream:
            stream.write(LARGE)
        return read(handle, count)

    monkeypatch.setattr(os, "read", growing)
    assert fault_of(lambda: read_bounded(path, 500_000))[0] is FILE_TOO_LARGE
    assert path.stat().st_size < 10**7


def make_folder(path: Path) -> None:
    path.mkdir()


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def make_link_to_itself(path: Path) -> None:
    path.symlink_to(path)


def make_nothing(path: Path) -> None:
    """There is no such file."""


def make_link_to_a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


READERS = {
    "read_bounded": lambda path: read_bounded(path, 100),
    "digest_file": digest_file,
    "open_to_read": open_to_read,
}
UNREADABLE = {
    "missing": (make_nothing, FILE_MISSING, None),
    "a folder": (make_folder, FILE_IS_FOLDER, None),
    "a pipe without a writer": (make_pipe, FILE_NOT_REGULAR, None),
    "a socket": (make_socket, FILE_NOT_REGULAR, None),
    "a device without an end": (make_link_to_a_device, FILE_NOT_REGULAR, None),
    "a link to itself": (make_link_to_itself, FILE_UNREADABLE, "its links form a loop"),
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS.keys())
@pytest.mark.parametrize(("make", "fault", "reason"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_unreadable_files_are_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    reader: Callable[[object], object],
    make: Callable[[Path], None],
    fault: Fault,
    reason: str | None,
) -> None:
    monkeypatch.chdir(tmp_path)  # A socket's path has to be short.
    make(Path("thing"))
    assert fault_of(lambda: reader("./thing")) == (fault, "./thing", reason)


ODD_PATHS = {
    "through a file": ("file/inside", FILE_MISSING, None),
    "no name": ("", FILE_MISSING, None),
    "a null character": ("a\0b", FILE_UNREADABLE, "no file can have this name"),
    "half of a pair": ("a\ud800b", FILE_UNREADABLE, "no file can have this name"),
    "too long": ("x" * 300, FILE_UNREADABLE, "its name is too long"),
}


@pytest.mark.parametrize(("path", "fault", "reason"), ODD_PATHS.values(), ids=ODD_PATHS.keys())
def test_odd_paths_to_read(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    fault: Fault,
    reason: str | None,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    assert fault_of(lambda: read_bounded(path, 10)) == (fault, path, reason)


def test_is_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert is_folder(tmp_path)
    names: list[str | Path] = [tmp_path / "file", tmp_path / "no", "a\0b", "x" * 300]
    assert not any(map(is_folder, names))


def test_is_there(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    assert all(map(is_there, (tmp_path, tmp_path / "file")))
    names: list[str | Path] = [tmp_path / "loop", tmp_path / "no", "a\0b", "x" * 300]
    assert not any(map(is_there, names))


def test_without_permission_nothing_is_read_or_written(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    path = folder / "secret"
    path.write_bytes(b"old")
    folder.chmod(0o500)
    path.chmod(0o000)
    with as_nobody():
        read = fault_of(lambda: read_bounded(path, 10))
        written = fault_of(lambda: write_atomically(path, b"new"))
        appended = fault_of(lambda: append_line_durably(path, b"new"))
    folder.chmod(0o700)
    assert read == (FILE_UNREADABLE, str(path), "permission denied")
    assert written == appended == (FILE_UNWRITABLE, str(path), "permission denied")
    path.chmod(0o600)
    assert path.read_bytes() == b"old"


def test_a_disk_error_is_reported_with_the_message_of_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.touch()
    monkeypatch.setattr(os, "read", failing(errno.EIO))
    fault, _, reason = fault_of(lambda: read_bounded(path, 1))
    assert (fault, reason) == (FILE_UNREADABLE, os.strerror(errno.EIO))


def test_a_large_file_is_read_piece_by_piece(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(LARGE)
    with open_to_read(tmp_path / "large") as stream:
        assert stream.read(3) == b"xxx"
        assert len(stream.read()) == len(LARGE) - 3


# Writing


def test_pieces_are_written_as_they_come_and_a_failing_one_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "pieces"
    write_atomically(path, (bytes([65 + number]) for number in range(3)))
    assert path.read_bytes() == b"ABC"

    def failing_pieces() -> Iterator[bytes]:
        yield b"new"
        raise AffidavitError(FILE_MISSING)

    assert fault_of(lambda: write_atomically(path, failing_pieces()))[0] is FILE_MISSING
    assert path.read_bytes() == b"ABC"
    assert names_in(tmp_path) == ["pieces"]


def test_a_new_file_has_the_permissions_of_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "new", b"1")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o400], ids=oct)
def test_a_replaced_file_keeps_its_permissions(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "old"
    path.write_bytes(b"old")
    path.chmod(mode)
    write_atomically(path, b"new")
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", mode)


def test_a_private_file_is_never_readable_by_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "key"
    path.write_bytes(b"was public")
    path.chmod(0o644)
    seen = []
    sync = os.fsync

    def watching(handle: int) -> None:
        seen.append(stat.S_IMODE(os.fstat(handle).st_mode))
        sync(handle)

    monkeypatch.setattr(os, "fsync", watching)
    write_atomically(path, b"secret", private=True)
    assert seen[0] == stat.S_IMODE(path.stat().st_mode) == 0o600


def test_writing_through_a_link_keeps_the_link(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link = tmp_path / "link"
    link.symlink_to("there/target")
    write_atomically(link, b"1")
    write_atomically(link, b"2")
    assert link.is_symlink()
    assert (tmp_path / "there" / "target").read_bytes() == b"2"


def test_a_bare_file_name_is_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_atomically("here", b"1")
    append_line_durably("log", b"1")
    assert names_in() == ["here", "log"]


def write(path: FilePath) -> None:
    write_atomically(path, b"data")


def write_private(path: FilePath) -> None:
    write_atomically(path, b"data", private=True)


def append(path: FilePath) -> None:
    append_line_durably(path, b"data")


WRITERS = {"write": write, "write private": write_private, "append": append}
NO_PLACE = {
    "a folder": ("folder", FILE_IS_FOLDER, None),
    "a folder, and said so": ("folder/", FILE_IS_FOLDER, None),
    "a folder that is not there": ("missing/file", FILE_UNWRITABLE, "its folder does not exist"),
    "through a file": ("file/x", FILE_UNWRITABLE, "a part of its path is not a folder"),
    "a pipe": ("pipe", FILE_NOT_REGULAR, None),
    "a device": ("device", FILE_NOT_REGULAR, None),
    "a null character": ("a\0b", FILE_UNWRITABLE, "no file can have this name"),
    "too long": ("x" * 300, FILE_UNWRITABLE, "its name is too long"),
    "a link to itself": ("circle", FILE_UNWRITABLE, "its links form a loop"),
}


@pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS.keys())
@pytest.mark.parametrize(("path", "fault", "reason"), NO_PLACE.values(), ids=NO_PLACE.keys())
def test_an_unwritable_path_changes_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    writer: Callable[[FilePath], None],
    path: str,
    fault: Fault,
    reason: str | None,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("file").write_bytes(b"old")
    os.mkfifo("pipe")
    Path("device").symlink_to("/dev/null")
    Path("circle").symlink_to("circle")
    before = names_in()
    assert fault_of(lambda: writer(path)) == (fault, path, reason)
    assert names_in() == before
    assert Path("file").read_bytes() == b"old"
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_path_with_a_trailing_slash_is_not_created_as_a_file(tmp_path: Path) -> None:
    assert fault_of(lambda: write(f"{tmp_path}/new/"))[0] is FILE_IS_FOLDER
    assert names_in(tmp_path) == []


FAILURES = {
    "the disk is full": ("fsync", errno.ENOSPC, "no space left"),
    "the disk fails": ("fsync", errno.EIO, os.strerror(errno.EIO)),
    "no permission": ("open", errno.EACCES, "permission denied"),
    "read-only": ("open", errno.EROFS, "the file system is read-only"),
    "the rename is refused": ("replace", errno.EPERM, "not permitted"),
}


@pytest.mark.parametrize(("call", "number", "reason"), FAILURES.values(), ids=FAILURES.keys())
def test_a_failure_keeps_the_old_content_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int, reason: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with monkeypatch.context() as patched:
        patched.setattr(os, call, failing(number))
        assert fault_of(lambda: write(path)) == (FILE_UNWRITABLE, str(path), reason)
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == ["file"]


def test_an_interrupt_leaves_nothing_and_is_not_swallowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "file")
    assert names_in(tmp_path) == []


FOLDER_SYNC = {
    "the file system cannot sync a folder": (errno.EINVAL, None),
    "the folder may not be listed": (errno.EACCES, None),
    "the disk fails": (errno.EIO, FILE_UNWRITABLE),
}


@pytest.mark.parametrize(("number", "fault"), FOLDER_SYNC.values(), ids=FOLDER_SYNC.keys())
def test_a_failed_sync_of_the_folder_loses_no_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, fault: Fault | None
) -> None:
    sync = os.fsync

    def sync_files_only(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(number, os.strerror(number))
        sync(handle)

    monkeypatch.setattr(os, "fsync", sync_files_only)
    path = tmp_path / "file"
    if fault is None:
        write(path)
    else:
        assert fault_of(lambda: write(path))[0] is fault
    assert path.read_bytes() == b"data"


def test_files_are_written_without_the_calls_that_windows_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "O_DIRECTORY")
    monkeypatch.delattr(os, "lockf")
    write(tmp_path / "file")
    append(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"data\ndata\n"


# Appending


def test_lines_are_appended(tmp_path: Path) -> None:
    path = tmp_path / "log"
    for line in (b'{"a":1}', b"", b'{"b":2}'):
        append_line_durably(path, line)
    assert path.read_bytes() == b'{"a":1}\n\n{"b":2}\n'


def test_a_torn_line_is_terminated_before_the_next_is_appended(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b'{"a":1}\n{"to')
    append_line_durably(path, b'{"b":2}')
    append_line_durably(path, b'{"c":3}')
    assert path.read_bytes() == b'{"a":1}\n{"to\n{"b":2}\n{"c":3}\n'


def test_a_line_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must not contain a newline"):
        append_line_durably(tmp_path / "log", b"one\ntwo")
    assert names_in(tmp_path) == []


def test_a_partly_written_line_is_reported_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log"
    write_some = os.write
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", lambda handle, data: write_some(handle, data[:3]))
        assert fault_of(lambda: append(path)) == (FILE_UNWRITABLE, str(path), "no space left")
    append_line_durably(path, b"next")
    assert path.read_bytes() == b"next\n"


# A killed process. Each writes whole files or lines, all of one letter, until it is killed.

REWRITE = """
import itertools, sys
from affidavit.base.files import write_atomically
for letter in itertools.cycle(b"abc"):
    write_atomically(sys.argv[1], bytes([letter]) * 300_000)
"""
APPEND = """
import itertools, sys
from affidavit.base.files import append_line_durably
for letter in itertools.cycle(b"abc"):
    append_line_durably(sys.argv[1], bytes([letter]) * 300_000)
"""


def kill_soon(program: str, path: Path, pause_seconds: float, processes: int = 1) -> None:
    """Run the program, and kill it after it has started and a pause has passed."""
    running = [
        subprocess.Popen([sys.executable, "-c", program, str(path)]) for _ in range(processes)
    ]
    try:
        deadline = time.monotonic() + 30
        while not path.exists() and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(pause_seconds)
    finally:
        for process in running:
            process.send_signal(signal.SIGKILL)
            process.wait()


@pytest.mark.parametrize("moment", range(6))
def test_a_killed_process_leaves_the_old_or_the_new_file(tmp_path: Path, moment: int) -> None:
    path = tmp_path / "file"
    kill_soon(REWRITE, path, moment * 0.009)
    assert path.read_bytes() in {letter * 300_000 for letter in (b"a", b"b", b"c")}
    left = [name for name in names_in(tmp_path) if name != "file"]
    assert len(left) <= 1
    assert all(name.startswith(".affidavit-") and name.endswith(".tmp") for name in left)


def test_processes_that_append_and_are_killed_do_not_mix_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "log"
    kill_soon(APPEND, path, 0.2, processes=2)
    append_line_durably(path, b"end")
    *lines, last = path.read_bytes().splitlines()
    assert last == b"end"
    assert all(len(set(line)) == 1 for line in lines)
    assert sum(len(line) == 300_000 for line in lines) >= len(lines) - 2
    assert read_bounded(path, 10**9).endswith(b"\nend\n")


def test_lines_are_appended_as_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    append_lines(tmp_path / "log", (b"1", b"2"), is_synced=False)
    assert ((tmp_path / "log").read_bytes(), synced) == (b"1\n2\n", [])
    append_lines(tmp_path / "log", (b"3",), is_synced=True)
    assert ((tmp_path / "log").read_bytes(), len(synced)) == (b"1\n2\n3\n", 1)
    with pytest.raises(ValueError, match="newline"):
        append_lines(tmp_path / "log", (b"4", b"a\nb"), is_synced=True)
