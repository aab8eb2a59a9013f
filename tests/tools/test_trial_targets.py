"""Targets that misbehave cost one infra error each, and leave no process behind."""

import os
import signal
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from affidavit.base.errors import AffidavitError
from affidavit.soak.trial import InfraErrorKind
from affidavit.tools.trial_targets import (
    CommandTarget,
    HttpTarget,
    Target,
    TargetRun,
    TrialLimits,
    TrialRequest,
    is_function_name,
    target_from,
)

MEGABYTE = 1 << 20
PYTHON = f"{sys.executable} -c"
# Takes memory in small steps, as a program that reads too much does.
HOG = "kept = []\nwhile True: kept.append(b'x' * 4_000_000)"
TOGETHER = (
    "import os, time\n"
    "for _ in range(4):\n"
    "    if not os.fork(): kept = b'x' * 60_000_000; time.sleep(60); os._exit(0)\n"
    "os.wait()"
)
FORKS = "import os, time\nwhile os.fork(): pass\ntime.sleep(60)"
SHORT = TrialLimits(seconds=1.0)
SMALL = TrialLimits(output_bytes=2 * MEGABYTE)
NORMAL = TrialLimits()
LITTLE = TrialLimits(memory_bytes=160 * MEGABYTE)
FEW = TrialLimits(processes=20)


@pytest.fixture(scope="module")
def shell() -> Iterator[CommandTarget]:
    target = CommandTarget(("sh", "-c", 'eval "$SCRIPT"'))
    yield target
    target.close()


def request(folder: Path, limits: TrialLimits = NORMAL, **environment: str) -> TrialRequest:
    folder.mkdir(exist_ok=True)
    return TrialRequest(
        index=3, seed=77, case="c", folder=folder, limits=limits, environment=environment
    )


def left_behind(folder: Path) -> list[int]:
    """Return the processes that have the folder of a trial in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"={folder}/".encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


LINUX = pytest.mark.skipif(sys.platform != "linux", reason="/proc and subreapers are Linux's")
MISBEHAVIOUR = {
    "hangs": ("sleep 1000", SHORT, InfraErrorKind.TIME_BUDGET_EXCEEDED, "within 1 s"),
    "ignores SIGTERM": (
        "trap '' TERM; while :; do sleep 1000; done",
        SHORT,
        InfraErrorKind.TIME_BUDGET_EXCEEDED,
        "within 1 s",
    ),
    "forks children that outlive it": (
        "for i in 1 2 3; do sleep 1000 & done; exit 0",
        NORMAL,
        InfraErrorKind.SUBPROCESS_FAILED,
        "3 of its processes outlived it",
    ),
    "daemonises": (
        "setsid sh -c 'setsid sleep 1000 & exit 0' & wait; exit 0",
        NORMAL,
        InfraErrorKind.SUBPROCESS_FAILED,
        "1 of its processes outlived it",
    ),
    "fills the disk": (
        "i=0; while :; do head -c 500000 /dev/zero > $AFFIDAVIT_OUTPUT/$i; i=$((i+1)); done",
        SMALL,
        InfraErrorKind.LIMIT_EXCEEDED,
        "more than its limit",
    ),
    "fills the temporary folder": (
        "i=0; while :; do head -c 500000 /dev/zero > $TMPDIR/$i; i=$((i+1)); done",
        SMALL,
        InfraErrorKind.LIMIT_EXCEEDED,
        "more than its limit",
    ),
    "prints a gigabyte": (
        "head -c 1000000000 /dev/zero; exit 0",
        SMALL,
        InfraErrorKind.LIMIT_EXCEEDED,
        "more than its limit",
    ),
    "writes a gigabyte to one file": (
        "head -c 1000000000 /dev/zero > $AFFIDAVIT_OUTPUT/x; exit 1",
        SMALL,
        InfraErrorKind.LIMIT_EXCEEDED,
        "more than its limit",
    ),
    "writes a gigabyte elsewhere": (
        "dd if=/dev/zero of=$AFFIDAVIT_OUTPUT/../../big bs=1M count=1024; exit 0",
        SMALL,
        InfraErrorKind.LIMIT_EXCEEDED,
        "more than its limit",
    ),
    "writes elsewhere, has a handler for what it is refused, and ends with 1": (
        f"""{PYTHON} "
import signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try: open('$AFFIDAVIT_OUTPUT/../../big', 'wb').write(bytes(300 << 20))
except OSError: pass
sys.exit(1)" """,
        SMALL,
        InfraErrorKind.LIMIT_EXCEEDED,
        "more than its limit",
    ),
    "has a process write elsewhere that it does not wait for": (
        "setsid sh -c 'dd if=/dev/zero of=$AFFIDAVIT_OUTPUT/../../big bs=1M count=64' & sleep 1",
        SMALL,
        InfraErrorKind.LIMIT_EXCEEDED,
        "more than its limit",
    ),
    "needs too much memory": (
        f'{PYTHON} "{HOG}"',
        LITTLE,
        InfraErrorKind.LIMIT_EXCEEDED,
        "more than 167772160 bytes of memory",
    ),
    "asks for too much memory at once": (
        f'{PYTHON} "b = bytearray(1 << 30); b[::4096] = b[::4096]"',
        LITTLE,
        InfraErrorKind.LIMIT_EXCEEDED,
        "more than 167772160 bytes of memory",
    ),
    "needs too much memory in its children": (
        f'{PYTHON} "{TOGETHER}"',
        LITTLE,
        InfraErrorKind.LIMIT_EXCEEDED,
        "more than 167772160 bytes of memory",
    ),
    "forks without end": (
        f'{PYTHON} "{FORKS}"',
        FEW,
        InfraErrorKind.LIMIT_EXCEEDED,
        "more than 20 processes",
    ),
    "is ended by a signal": (
        "kill -SEGV $$",
        NORMAL,
        InfraErrorKind.SUBPROCESS_FAILED,
        f"signal {int(signal.SIGSEGV)}",
    ),
    "ends with another code": (
        "echo no such model >&2; exit 3",
        NORMAL,
        InfraErrorKind.SUBPROCESS_FAILED,
        "it ended with 3 (no such model)",
    ),
}


@LINUX
@pytest.mark.parametrize(
    ("script", "limits", "kind", "said"), MISBEHAVIOUR.values(), ids=MISBEHAVIOUR.keys()
)
def test_a_target_that(
    script: str,
    limits: TrialLimits,
    kind: InfraErrorKind,
    said: str,
    shell: CommandTarget,
    tmp_path: Path,
) -> None:
    run = shell.run(request(tmp_path / "trial", limits, SCRIPT=script))
    assert run.error is not None
    assert (run.error.kind, said in run.error.message) == (kind, True), run.error
    assert left_behind(tmp_path / "trial") == []


def test_what_a_target_is_told(shell: CommandTarget, tmp_path: Path) -> None:
    script = 'echo "$AFFIDAVIT_SEED $AFFIDAVIT_TRIAL $AFFIDAVIT_CASE"; ls -d "$AFFIDAVIT_OUTPUT"'
    asked = request(tmp_path / "trial", SCRIPT=script)
    assert shell.run(asked).code == 0
    assert asked.stdout.read_text().split() == ["77", "3", "c", str(asked.output)]


def test_slots_of_the_arguments(tmp_path: Path) -> None:
    target = CommandTarget(("sh", "-c", "echo {seed} {trial} {output} {case} {other}"))
    asked = request(tmp_path / "trial")
    assert target.run(asked).code == 0
    target.close()
    assert asked.stdout.read_text().split() == ["77", "3", str(asked.output), "c", "{other}"]


def test_one_is_a_failure(shell: CommandTarget, tmp_path: Path) -> None:
    run = shell.run(request(tmp_path / "trial", SCRIPT="exit 1"))
    assert (run.code, run.said) == (1, None)


def test_what_a_failing_command_said_last_is_kept(shell: CommandTarget, tmp_path: Path) -> None:
    script = "echo a >&2; echo No module named x >&2; exit 1"
    run = shell.run(request(tmp_path / "trial", SCRIPT=script))
    assert (run.code, run.said) == (1, "No module named x")
    passing = shell.run(request(tmp_path / "other", SCRIPT="echo a warning >&2"))
    assert (passing.code, passing.said) == (0, None)


def test_a_worker_that_is_killed_costs_its_trial_and_is_replaced(tmp_path: Path) -> None:
    target = CommandTarget(("sh", "-c", 'eval "$SCRIPT"'))
    run = target.run(request(tmp_path / "a", SCRIPT="kill -KILL $PPID; sleep 1000"))
    assert run.error is not None
    assert run.error.kind is InfraErrorKind.SUBPROCESS_FAILED
    assert target.run(request(tmp_path / "b", SCRIPT="exit 0")).code == 0
    target.close()
    assert left_behind(tmp_path / "a") == []


@LINUX
def test_a_worker_that_is_stopped_does_not_stop_the_soak(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("affidavit.tools.trial_targets._WORKER_SECONDS", 0.5)
    target = CommandTarget(("sh", "-c", 'eval "$SCRIPT"'))
    run = target.run(request(tmp_path / "a", SHORT, SCRIPT="kill -STOP $PPID; sleep 1000"))
    assert run.error is not None
    assert run.error.kind is InfraErrorKind.SUBPROCESS_FAILED
    assert target.run(request(tmp_path / "b", SCRIPT="exit 0")).code == 0
    target.close()
    assert left_behind(tmp_path / "a") == []


@LINUX
def test_closing_ends_what_runs(tmp_path: Path) -> None:
    target = CommandTarget(("sh", "-c", "echo on > $AFFIDAVIT_OUTPUT/on; sleep 1000 & sleep 1000"))
    runs: list[TargetRun] = []
    asked = request(tmp_path / "trial")
    thread = Thread(target=lambda: runs.append(target.run(asked)))
    thread.start()
    while not (asked.output / "on").exists():
        pass
    target.close()
    thread.join()
    assert runs[0].error is not None
    assert left_behind(tmp_path / "trial") == []
    with pytest.raises(InterruptedError):
        target.run(request(tmp_path / "late"))


# Functions and endpoints.

FUNCTIONS = """
def nothing(): return None
def wrong(): return False
def tells(seed, case): return {"seed": seed, "case": case}
def raises(): raise ValueError("no model")
"""
CALLS = {
    "returns nothing": ("nothing", 0, None),
    "returns False": ("wrong", 1, None),
    "returns a value": ("tells", 0, '{"seed": 77, "case": "c"}'),
    "raises": ("raises", None, None),
    "is not there": ("absent", None, None),
}


@pytest.mark.parametrize(("name", "code", "output"), CALLS.values(), ids=CALLS.keys())
def test_a_function(
    name: str, code: int | None, output: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "agent.py").write_text(FUNCTIONS)
    monkeypatch.chdir(tmp_path)
    target = target_from(f"agent:{name}")
    asked = request(tmp_path / "trial")
    run = target.run(asked)
    target.close()
    assert run.code == code
    if code is None:
        assert run.error is not None
        assert "it ended with 2" in run.error.message
    if output is not None:
        assert (asked.output / "output.json").read_text() == output


class Endpoint(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(int(self.path.strip("/")))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_an_endpoint_that_answers(endpoint: str, tmp_path: Path) -> None:
    asked = request(tmp_path / "trial")
    target = target_from(f"{endpoint}/200")
    assert isinstance(target, HttpTarget)
    assert target.run(asked).code == 0
    target.close()
    assert asked.stdout.read_text() == '{"seed": 77, "trial": 3, "case": "c"}'


def test_an_endpoint_that_fails_was_not_judged(endpoint: str, tmp_path: Path) -> None:
    run = target_from(f"{endpoint}/500").run(request(tmp_path / "trial"))
    assert run.error is not None
    assert (run.error.kind, run.error.message) == (InfraErrorKind.IO_ERROR, "HTTP 500")


ENDPOINT_FAILURES = {
    "nobody listens": (NORMAL, "http://127.0.0.1:9/200", InfraErrorKind.IO_ERROR),
    "no time": (TrialLimits(seconds=0.0), "{}/200", InfraErrorKind.TIME_BUDGET_EXCEEDED),
    "too long": (TrialLimits(output_bytes=3), "{}/200", InfraErrorKind.LIMIT_EXCEEDED),
}


@pytest.mark.parametrize(
    ("limits", "url", "kind"), ENDPOINT_FAILURES.values(), ids=ENDPOINT_FAILURES.keys()
)
def test_no_answer(
    limits: TrialLimits, url: str, kind: InfraErrorKind, endpoint: str, tmp_path: Path
) -> None:
    run = target_from(url.format(endpoint)).run(request(tmp_path / "trial", limits))
    assert run.error is not None
    assert run.error.kind is kind


WRONG_TARGETS = {
    "no such program": ("affidavit-no-such-program x", "there is no program"),
    "nothing": ("", "it is empty"),
    "an open quote": ("sh 'x", "no closing quotation"),
    "an address without a host": ("http://", "with a host"),
}


@pytest.mark.parametrize(("text", "said"), WRONG_TARGETS.values(), ids=WRONG_TARGETS.keys())
def test_a_target_that_cannot_be_run(text: str, said: str) -> None:
    with pytest.raises(AffidavitError, match="AF760") as raised:
        target_from(text)
    assert said in str(raised.value)


def test_what_looks_like_a_function() -> None:
    assert is_function_name("agents.leave:run")
    assert not is_function_name("agent.py")
    assert not is_function_name("C:x y")
    target: Target = target_from("sh")
    assert isinstance(target, CommandTarget)


def test_the_environment_of_this_process_is_passed_on(shell: CommandTarget, tmp_path: Path) -> None:
    asked = request(tmp_path / "trial", SCRIPT='echo "$PATH"')
    assert shell.run(asked).code == 0
    assert asked.stdout.read_text().strip() == os.environ["PATH"]
