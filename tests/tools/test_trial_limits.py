"""Limits of memory and processes, with the second version of control groups and without any."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.tools.test_trial_targets import HOG, LINUX, MEGABYTE, TOGETHER, left_behind

from affidavit.tools import trial_worker
from affidavit.tools.trial_worker import ControlGroup

NO_GROUPS = """
from affidavit.tools import trial_worker
trial_worker._hierarchies = list
trial_worker.main()
"""


@LINUX
@pytest.mark.parametrize("program", [HOG, TOGETHER], ids=["one process", "several together"])
def test_memory_is_limited_without_control_groups(program: str, tmp_path: Path) -> None:
    """A target that is refused memory would fail by itself, and that would be judged."""
    asked = {
        "argv": [sys.executable, "-c", program],
        "environment": {**os.environ, "HERE": f"{tmp_path}/"},
        **{name: str(tmp_path / name) for name in ("folder", "stdout", "stderr")},
        **{"timeout_seconds": 60, "max_bytes": 10**9},
        **{"max_memory_bytes": 160 * MEGABYTE, "max_processes": 50},
    }
    assert ask([sys.executable, "-c", NO_GROUPS], asked)["ended"] == "memory"
    assert left_behind(tmp_path) == []


def ask(command: list[str], asked: dict[str, Any]) -> dict[str, Any]:
    """Have a worker of its own run one trial."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        worker.stdin.write(json.dumps(asked).encode() + b"\n")
        worker.stdin.flush()
        worker.stdout.readline()
        reply: dict[str, Any] = json.loads(worker.stdout.readline())
        worker.stdin.close()
    return reply


NOT_COUNTED = """
from affidavit.tools import trial_worker
trial_worker._written = lambda process: None
trial_worker.main()
"""


def writing(folder: Path, program: str, most: int) -> dict[str, Any]:
    return {
        "argv": [sys.executable, "-c", program],
        "environment": {**os.environ},
        **{name: str(folder / name) for name in ("folder", "stdout", "stderr")},
        **{"timeout_seconds": 60, "max_bytes": most},
        **{"max_memory_bytes": 1 << 30, "max_processes": 50},
    }


@LINUX
def test_a_file_is_limited_where_writes_are_not_counted(tmp_path: Path) -> None:
    program = (
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n"
        f"open({str(tmp_path / 'x')!r}, 'wb').write(bytes({2 * MEGABYTE}))"
    )
    reply = ask([sys.executable, "-c", NOT_COUNTED], writing(tmp_path, program, MEGABYTE))
    assert (reply["code"], (tmp_path / "x").stat().st_size) == (-signal.SIGXFSZ, MEGABYTE)


MOUNTED = 'mount -t tmpfs -o size=8m none "$0" && exec "$@"'


@LINUX
@pytest.mark.parametrize(
    ("megabytes", "ended"), [(1, None), (99, "disk")], ids=["with room left", "when it is full"]
)
def test_a_run_on_a_disk(megabytes: int, ended: str | None, tmp_path: Path) -> None:
    """No limit is reached, but what a target does on a full disk says nothing about it."""
    own = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", MOUNTED, str(tmp_path)]
    if subprocess.run([*own, "true"], check=False, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    program = (
        f"f = open({str(tmp_path / 'x')!r}, 'wb', 0)\n"
        f"for _ in range({megabytes}): f.write(bytes({MEGABYTE}))"
    )
    asked = {**writing(tmp_path, program, 1 << 30), "folder": str(tmp_path)}
    worker = [sys.executable, "-m", "affidavit.tools.trial_worker"]
    assert ask([*own, *worker], asked)["ended"] == ended


FILES = ("memory.max", "pids.max", "cgroup.procs", "memory.events", "pids.events")


@pytest.fixture
def unified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree as the second version of control groups shows it, which not every machine has.

    A folder gets files of limits only below a group that has no processes of its own.
    """
    made, removed = Path.mkdir, Path.rmdir

    def mkdir(self: Path, *arguments: Any, **named: Any) -> None:
        made(self, *arguments, **named)
        is_limited = self.parent.name != "session.scope"
        for name in FILES if is_limited else FILES[2:3]:
            (self / name).write_text("")

    def rmdir(self: Path) -> None:
        for name in FILES:
            (self / name).unlink(missing_ok=True)
        removed(self)

    (tmp_path / "app.slice" / "session.scope").mkdir(parents=True)
    monkeypatch.setattr(Path, "mkdir", mkdir)
    monkeypatch.setattr(Path, "rmdir", rmdir)
    monkeypatch.setattr(trial_worker, "_CGROUP_ROOT", tmp_path)
    monkeypatch.setattr(trial_worker, "_hierarchies", lambda: [("", "/app.slice/session.scope")])
    return tmp_path / "app.slice"


def test_a_group_beside_the_one_that_has_processes(unified: Path) -> None:
    group = ControlGroup(5_000, 7)
    (folder,) = unified.glob("affidavit-*")
    assert group.limits_memory
    assert (folder / "memory.max").read_text() == "5000"
    assert (folder / "pids.max").read_text() == "7"
    group.join()
    assert (folder / "cgroup.procs").read_text() == "0"
    assert (group.kills(), group.refused_forks()) == (0, 0)
    (folder / "memory.events").write_text("low 0\noom 2\noom_kill 1\n")
    (folder / "pids.events").write_text("max 3\n")
    assert (group.kills(), group.refused_forks()) == (1, 3)
    group.remove()
    assert list(unified.glob("**/affidavit-*")) == []


def test_no_group_where_none_may_be_made(unified: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial_worker, "_hierarchies", lambda: [("", "/gone/scope")])
    group = ControlGroup(5_000, 7)
    group.join()
    assert not group.limits_memory
    assert list(unified.glob("**/affidavit-*")) == []
