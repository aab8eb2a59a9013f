import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from tests.documents.making import write_all

from affidavit.base.files import digest_file
from affidavit.documents.model import (
    DocumentLimits,
    DocumentSettings,
    IngestedDocument,
    ReadingOutcome,
    RefusedDocument,
)
from affidavit.documents.reader_pool import read_in_processes
from affidavit.documents.reader_process import ReadingTask

# A worker that does to itself what a hostile document would do to a parser.
HOSTILE = textwrap.dedent("""
    import os, signal, sys, time
    from affidavit.documents import reader_process as worker
    ingest = worker.run_task
    outcomes = worker._redirect_stdout()
    def hostile(task, settings):
        os.write(1, b"a library that prints")
        if "crash" in task.filename: os.kill(os.getpid(), signal.SIGSEGV)
        if "leave" in task.filename: os._exit(7)
        if "hang" in task.filename:
            open(os.fsdecode(task.path) + f".{os.getpid()}", "w").close()
            time.sleep(3600)
        if "half" in task.filename:
            os.write(outcomes.fileno(), b"\\0\\0\\0\\0\\0\\0\\0\\x99abc")
            os._exit(0)
        return ingest(task, settings)
    worker.run_task = hostile
    worker.main(sys.stdin.buffer, outcomes)
""")
COMMAND = (sys.executable, "-c", HOSTILE)


def tasks_of(folder: Path, *names: str) -> list[ReadingTask]:
    write_all(folder, {name: f"Text of {name}.".encode() for name in names})
    return [
        ReadingTask(bytes(folder / name), name, False, digest_file(folder / name)) for name in names
    ]


def codes(outcomes: list[ReadingOutcome]) -> list[str]:
    return [item.finding.code if isinstance(item, RefusedDocument) else "read" for item in outcomes]


class HangTimer(threading.Thread):
    """A time limit that ends when the process has begun to hang, however slow the machine is."""

    folder: Path

    def __init__(
        self,
        seconds: float,
        function: Callable[..., None],
        args: tuple[subprocess.Popen[bytes], threading.Event],
    ) -> None:
        super().__init__(daemon=True)
        self.seconds, self.function, self.args = seconds, function, args
        self.cancelled = threading.Event()

    def run(self) -> None:
        process, _ = self.args
        while not self.cancelled.wait(0.01):
            if (self.folder / f"hang.txt.{process.pid}").exists():
                return self.function(*self.args)

    def cancel(self) -> None:
        self.cancelled.set()


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_process_that_dies_loses_only_its_document(
    tmp_path: Path, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HangTimer, "folder", tmp_path, raising=False)
    monkeypatch.setattr("affidavit.documents.reader_pool.threading.Timer", HangTimer)
    names = ("a.txt", "crash.txt", "b.txt", "hang.txt", "leave.txt", "c.txt", "half.txt", "d.txt")
    tasks = tasks_of(tmp_path, *names)
    outcomes = list(read_in_processes(tasks, DocumentSettings(), jobs, command=COMMAND))
    assert codes(outcomes) == ["read", "AF209", "read", "AF208", "AF209", "read", "AF209", "read"]
    assert outcomes[1].is_transient
    assert isinstance(outcomes[1], RefusedDocument)
    assert "signal 11" in outcomes[1].finding.message
    assert isinstance(outcomes[4], RefusedDocument)
    assert "exit 7" in outcomes[4].finding.message


def test_outcomes_come_in_order_and_from_many(tmp_path: Path) -> None:
    names = [f"{number:02}.txt" for number in range(40)]
    tasks = tasks_of(tmp_path, *names)
    outcomes = list(read_in_processes(tasks, DocumentSettings(), 2))
    assert [
        item.document.filename for item in outcomes if isinstance(item, IngestedDocument)
    ] == names


def test_a_closed_generator_leaves_no_process_behind(tmp_path: Path) -> None:
    tasks = tasks_of(tmp_path, *(f"{number}.txt" for number in range(20)))
    outcomes = read_in_processes(tasks, DocumentSettings(), 2)
    assert isinstance(next(outcomes), IngestedDocument)
    assert isinstance(outcomes, Generator)
    outcomes.close()


def test_a_file_that_changed_or_went_since_it_was_planned(tmp_path: Path) -> None:
    changed, gone, fine = tasks_of(tmp_path, "a.txt", "b.txt", "c.txt")
    (tmp_path / "a.txt").write_text("Something else.")
    (tmp_path / "b.txt").unlink()
    outcomes = list(read_in_processes([changed, gone, fine], DocumentSettings(), 1))
    assert codes(outcomes) == ["AF218", "AF010", "read"]
    assert outcomes[0].is_changed


def test_memory_is_limited(tmp_path: Path) -> None:
    # Far too little for the parser: the process may fail in any way, but the others are read.
    (tmp_path / "big.md").write_bytes(b"word " * 4_000_000)
    big = ReadingTask(bytes(tmp_path / "big.md"), "big.md", False, digest_file(tmp_path / "big.md"))
    small = tasks_of(tmp_path, "small.txt")
    settings = DocumentSettings(limits=DocumentLimits(max_memory_bytes=200 * 1024**2))
    outcomes = list(read_in_processes([big, *small], settings, 1))
    assert codes(outcomes)[0] in {"AF203", "AF209"}
    assert codes(outcomes)[1] == "read"
