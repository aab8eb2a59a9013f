"""A process that runs the trials of a soak one after the other, each within its limits.

Run as `python -m affidavit.tools.trial_worker`. It reads one JSON request per line from standard
input and writes two lines for each: the process group of the trial, and how the trial came out.
Everything that a trial starts is a descendant of this process, also what detaches itself
(PR_SET_CHILD_SUBREAPER), so it can end all of it when the trial is over. When standard input is
closed it ends the running trial and exits.

It imports little, because every trial is a fork of it.
"""

import contextlib
import ctypes
import errno
import json
import os
import select
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

_SET_PDEATHSIG: Final = 1
_SET_CHILD_SUBREAPER: Final = 36
_POLL_SECONDS: Final = 0.1
_TERM_SECONDS: Final = 1.0
"""How long a target has to end after SIGTERM, and its children after the target."""
_KILL_SECONDS: Final = 10.0
_MAX_ENTRIES: Final = 100_000
_NOT_STARTED: Final = 127
_DATA_FACTOR: Final = 8
"""Data that one process may have beyond the limit, before it is seen to need too much memory."""
_FULL_BYTES: Final = 1 << 20
_CGROUP_ROOT: Final = Path("/sys/fs/cgroup")


def _prctl(option: int, value: int) -> None:
    """Call prctl; other systems than Linux do without."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


class ControlGroup:
    """The control groups of this worker, where the system lets it make some: memory, processes."""

    def __init__(self, memory_bytes: int, processes: int) -> None:
        self._folders: list[Path] = []
        self.limits_memory = False
        wanted = {
            "": {"memory.max": memory_bytes, "pids.max": processes},
            "memory": {"memory.limit_in_bytes": memory_bytes},
            "pids": {"pids.max": processes},
        }
        for controllers, place in _hierarchies():
            for name in controllers.split(","):
                parent = _CGROUP_ROOT / name / place.lstrip("/")
                # The second version allows groups only in one without processes, so beside ours.
                for folder in (parent, parent.parent) if not name else (parent,):
                    if name in wanted and self._make(folder, wanted[name]):
                        self.limits_memory |= name in ("", "memory")
                        break

    def _make(self, parent: Path, settings: dict[str, int]) -> bool:
        folder = parent / f"affidavit-{os.getpid()}"
        try:
            folder.mkdir()
        except OSError:
            return False
        try:
            for name, value in settings.items():
                _write(folder / name, value)
        except OSError:
            folder.rmdir()
            return False
        self._folders.append(folder)
        return True

    def join(self) -> None:
        """Move this process into the groups."""
        for folder in self._folders:
            with contextlib.suppress(OSError):
                _write(folder / "cgroup.procs", 0)

    def kills(self) -> int:
        """Return how many processes were killed because of their memory."""
        return self._count(("memory.events", "memory.oom_control"), "oom_kill ")

    def refused_forks(self) -> int:
        """Return how often a process could not be started because there were too many."""
        return self._count(("pids.events",), "max ")

    def _count(self, names: tuple[str, ...], key: str) -> int:
        found = 0
        for folder in self._folders:
            for name in names:
                with contextlib.suppress(OSError):
                    lines = (folder / name).read_text().splitlines()
                    found += sum(int(x.split()[1]) for x in lines if x.startswith(key))
        return found

    def remove(self) -> None:
        """Remove the groups, which are empty."""
        for folder in self._folders:
            with contextlib.suppress(OSError):
                folder.rmdir()


def _hierarchies() -> list[tuple[str, str]]:
    """Return the controllers and the place of each hierarchy that this process is in."""
    with contextlib.suppress(OSError):
        lines = Path("/proc/self/cgroup").read_text().splitlines()
        return [(line.split(":", 2)[1], line.split(":", 2)[2]) for line in lines]
    return []


def _write(path: Path, value: int) -> None:
    # Not with `write_text`, which would create a file that is not there.
    handle = os.open(path, os.O_WRONLY)
    try:
        os.write(handle, str(value).encode())
    finally:
        os.close(handle)


class RunningTrial:
    """One target and everything that it started."""

    def __init__(self, request: dict[str, Any], group: ControlGroup) -> None:
        self._request = request
        self._group = group
        self._killed_before, self._refused_before = group.kills(), group.refused_forks()
        # What has been collected counts as this process's own, so this is the sum up to now.
        self._written_before = _written("self")
        self._started = time.monotonic()
        self.pid = self._start()
        self.code: int | None = None

    def _start(self) -> int:
        request = self._request
        pid = os.fork()
        if pid:
            return pid
        try:
            os.setsid()
            _prctl(_SET_PDEATHSIG, signal.SIGKILL)
            self._group.join()
            self._limit()
            streams = (
                (os.devnull, os.O_RDONLY),
                (request["stdout"], os.O_WRONLY | os.O_CREAT | os.O_APPEND),
                (request["stderr"], os.O_WRONLY | os.O_CREAT | os.O_APPEND),
            )
            for number, (path, flags) in enumerate(streams):
                handle = os.open(path, flags, 0o600)
                os.dup2(handle, number)
            # Python ignores these, and a child would inherit that.
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            os.execvpe(request["argv"][0], request["argv"], request["environment"])  # noqa: S606 - the user's own command, without a shell
        except OSError as error:
            with contextlib.suppress(OSError):
                os.write(2, f"{error.strerror}\n".encode())
        finally:
            os._exit(_NOT_STARTED)

    def run(self) -> dict[str, Any]:
        """Wait for the end of the trial, end everything it started, and return how it came out."""
        ended = self._wait()
        seconds = time.monotonic() - self._started
        if ended is not None:
            self._terminate()
        left = self._left_behind() if ended is None else 0
        _kill_descendants()
        if self._group.kills() > self._killed_before:
            ended = "memory"
        elif ended is None and self._group.refused_forks() > self._refused_before:
            ended = "processes"
        elif ended is None and self._is_over_size():
            ended = "size"
        elif ended is None and _is_full(self._request["folder"]):
            ended = "disk"
        return {"code": self.code, "seconds": seconds, "ended": ended, "left": left}

    def _wait(self) -> str | None:
        """Return why the target has to be ended; None if it ended by itself."""
        deadline = self._started + self._request["timeout_seconds"]
        poll = select.poll()
        poll.register(sys.stdin.fileno(), select.POLLHUP)
        with _watched(self.pid) as watch:
            if watch is not None:
                poll.register(watch, select.POLLIN)
            pause = _POLL_SECONDS if watch is not None else 0.01
            while True:
                left = deadline - time.monotonic()
                happened = poll.poll(max(0.0, min(pause, left)) * 1000)
                if self._reap():
                    return None
                if any(handle == sys.stdin.fileno() for handle, _ in happened):
                    return "cancelled"
                if left <= 0:
                    return "timeout"
                if (beyond := self._beyond_limits()) is not None:
                    return beyond

    def _beyond_limits(self) -> str | None:
        running = _descendants()
        if self._is_over_size(running):
            return "size"
        if len(running) > self._request["max_processes"]:
            return "processes"
        return "memory" if _is_over_memory(running, self._request["max_memory_bytes"]) else None

    def _reap(self) -> bool:
        """Collect what has ended, and say whether the target has."""
        while self.code is None:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if not pid:
                break
            if pid == self.pid:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code is not None

    def _terminate(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGTERM)
        until = time.monotonic() + _TERM_SECONDS
        while not self._reap() and time.monotonic() < until:
            time.sleep(0.01)

    def _left_behind(self) -> int:
        """Return how many processes outlive the target; helpers get a moment to end."""
        until = time.monotonic() + _TERM_SECONDS
        while (left := _descendants()) and time.monotonic() < until:
            _collect()
            time.sleep(0.01)
        return len(left)

    def _is_over_size(self, running: Sequence[int] = ()) -> bool:
        most, before = self._request["max_bytes"], self._written_before
        if before is not None:
            written = sum(_written(str(pid)) or 0 for pid in ("self", *running))
            if written - before > most:
                return True
        return _is_larger(self._request["folder"], most)

    def _limit(self) -> None:
        """Set resource limits for what cannot be measured.

        A target that is refused memory or a write fails by itself, and that would be judged.
        """
        import resource

        request, limits = self._request, {resource.RLIMIT_CORE: 0}
        if self._written_before is None:
            limits[resource.RLIMIT_FSIZE] = request["max_bytes"]
        if not self._group.limits_memory:
            # Not RLIMIT_AS: V8 and the JVM reserve far more addresses than memory.
            limits[resource.RLIMIT_DATA] = request["max_memory_bytes"] * _DATA_FACTOR
        for name, most in limits.items():
            hard = resource.getrlimit(name)[1]
            value = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(name, (value, value))


def _written(process: str) -> int | None:
    """Return how much a process and the ended children that it waited for wrote to disks.

    None where the system does not count it. Pipes, sockets and files in memory are not counted, and
    a part of a file that is written again before it has reached the disk counts once.
    """
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process}/io").read_text().splitlines():
            if line.startswith("write_bytes:"):
                return int(line.split()[1])
    return None


def _is_full(folder: str) -> bool:
    """Say whether the disk of a folder has no room left: what a target then did says nothing."""
    with contextlib.suppress(OSError):
        disk = os.statvfs(folder)
        free = (disk.f_bavail if os.geteuid() else disk.f_bfree) * disk.f_frsize
        # A system that does not count its blocks or files says that it has none.
        return (disk.f_blocks > 0 and free < _FULL_BYTES) or (disk.f_files > 0 and not disk.f_ffree)
    return False


def _is_over_memory(processes: list[int], most: int) -> bool:
    """Say whether processes hold more memory than a limit; a page that several share counts once.

    What they share is looked up only if they would be over the limit without it.
    """
    return _resident(processes) > most and _proportional(processes) > most


def _resident(processes: list[int]) -> int:
    page, total = os.sysconf("SC_PAGE_SIZE"), 0
    for pid in processes:
        with contextlib.suppress(OSError):
            total += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * page
    return total


def _proportional(processes: list[int]) -> int:
    total = 0
    for pid in processes:
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            total += sum(int(x.split()[1]) * 1024 for x in lines if x.startswith("Pss:"))
    return total


@contextlib.contextmanager
def _watched(pid: int) -> Iterator[int | None]:
    """Yield a handle that can be read when a process has ended; None on other systems."""
    try:
        handle = os.pidfd_open(pid)
    except (AttributeError, OSError):
        yield None
        return
    try:
        yield handle
    finally:
        os.close(handle)


def _is_larger(folder: str, most: int) -> bool:
    """Say whether the files below a folder have reached a limit, or are far too many."""
    total = entries = 0
    folders = [folder]
    while folders:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as found:
            for entry in found:
                entries += 1
                with contextlib.suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                        continue
                    state = entry.stat(follow_symlinks=False)
                    # Blocks, so that a sparse file costs what it takes on the disk.
                    total += state.st_blocks * 512
        if total >= most or entries > _MAX_ENTRIES:
            return True
    return False


def _descendants() -> list[int]:
    """Return the living descendants of this process."""
    found, todo = [], [os.getpid()]
    while todo:
        pid = todo.pop()
        with contextlib.suppress(OSError):
            listed = Path(f"/proc/{pid}/task/{pid}/children").read_text()
            children = [int(word) for word in listed.split()]
            found += children
            todo += children
    return found


def _collect() -> None:
    """Collect every child that has ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _kill_descendants() -> None:
    """Kill until nothing is left: orphans become children of this process."""
    until = time.monotonic() + _KILL_SECONDS
    while time.monotonic() < until:
        left = _descendants()
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.001)


def main() -> None:
    """Serve until standard input ends."""
    replies = os.dup(1)
    os.dup2(2, 1)
    _prctl(_SET_CHILD_SUBREAPER, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    group: ControlGroup | None = None
    try:
        while line := _next_line():
            request = json.loads(line)
            if group is None:
                group = ControlGroup(request["max_memory_bytes"], request["max_processes"])
            trial = RunningTrial(request, group)
            os.write(replies, b"%d\n" % trial.pid)
            reply = trial.run()
            os.write(replies, json.dumps(reply).encode() + b"\n")
            if reply["ended"] == "cancelled":
                return
    except OSError as error:
        if error.errno != errno.EPIPE:
            raise
    finally:
        if group is not None:
            group.remove()


_held = b""


def _next_line() -> bytes:
    """Return the next line of standard input, read without a buffer, so that poll sees its end."""
    global _held
    while b"\n" not in _held:
        piece = os.read(0, 1 << 16)
        if not piece:
            return b""
        _held += piece
    line, _, _held = _held.partition(b"\n")
    return line


if __name__ == "__main__":
    main()
