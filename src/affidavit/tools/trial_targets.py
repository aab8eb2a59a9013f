"""The targets of a soak that run: a command, a Python function, an HTTP endpoint.

Each trial gets a folder of its own. What a target writes there is its output; what it does to the
rest of the machine is not undone.
"""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, Timer
from time import monotonic
from typing import Any, Final, Protocol
from urllib.parse import SplitResult

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import soak as faults
from affidavit.base.http_address import UrlProblem, parse_url
from affidavit.base.http_client import Deadline, FailureKind, HttpFailure, post
from affidavit.base.text import excerpt
from affidavit.soak.trial import InfraError, InfraErrorKind

_TAIL_BYTES: Final = 2_000
_WORKER_SECONDS: Final = 15.0
"""How much longer than the trial a worker may take, which is more than ending it takes."""
_ENDINGS: Final[Mapping[str, tuple[InfraErrorKind, str]]] = {
    "timeout": (InfraErrorKind.TIME_BUDGET_EXCEEDED, "it did not end within {seconds:g} s"),
    "size": (InfraErrorKind.LIMIT_EXCEEDED, "it wrote more than its limit of {size} bytes"),
    "disk": (InfraErrorKind.IO_ERROR, "the disk of its folder is full"),
    "processes": (InfraErrorKind.LIMIT_EXCEEDED, "it had more than {processes} processes"),
    "memory": (InfraErrorKind.LIMIT_EXCEEDED, "it needed more than {memory} bytes of memory"),
    "cancelled": (InfraErrorKind.TIME_BUDGET_EXCEEDED, "it was stopped"),
}


@dataclass(frozen=True, slots=True)
class TrialLimits:
    """What one trial may use."""

    seconds: float = 60.0
    memory_bytes: int = 4 << 30
    output_bytes: int = 256 << 20
    processes: int = 256


@dataclass(frozen=True, slots=True)
class TrialRequest:
    """One trial to run. `folder` is empty and belongs to it."""

    index: int
    seed: int
    case: str | None
    folder: Path
    limits: TrialLimits
    environment: Mapping[str, str] = field(default_factory=dict)
    """Addresses of services, paths of files and commands of servers, by name."""

    @property
    def output(self) -> Path:
        """The folder that the target writes to."""
        return self.folder / "output"

    @property
    def stdout(self) -> Path:
        """What the target prints."""
        return self.folder / "stdout"

    @property
    def slots(self) -> dict[str, str]:
        """The values that arguments may contain."""
        return {
            "seed": str(self.seed),
            "trial": str(self.index),
            "output": str(self.output),
            "case": self.case or "",
        }


@dataclass(frozen=True, slots=True)
class TargetRun:
    """How a target ended: its code (0 success, 1 failure), or why it cannot be judged.

    `said` is the last line that a command printed as an error before it failed.
    """

    seconds: float
    code: int | None = None
    error: InfraError | None = None
    said: str | None = None


class Target(Protocol):
    """Runs trials. Several threads may use it at the same time."""

    def run(self, request: TrialRequest) -> TargetRun:
        """Run one trial."""
        ...

    def close(self) -> None:
        """End what is running."""
        ...


@dataclass(slots=True)
class CommandTarget:
    """Runs `argv` for each trial with its slots filled, without a shell, in the current folder.

    Trials are run by worker processes, one for each thread that asks; a worker that dies costs its
    trial and is replaced.
    """

    argv: tuple[str, ...]
    _idle: "list[subprocess.Popen[bytes]]" = field(default_factory=list)
    _all: "set[subprocess.Popen[bytes]]" = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)
    _is_closed: bool = False

    def run(self, request: TrialRequest) -> TargetRun:
        """Run the command once."""
        for name in ("output", "tmp"):
            (request.folder / name).mkdir(parents=True, exist_ok=True)
        worker = self._worker()
        started = monotonic()
        group: list[int] = []
        # A target can stop the worker that watches it.
        watchdog = Timer(request.limits.seconds + _WORKER_SECONDS, worker.kill)
        watchdog.daemon = True
        watchdog.start()
        try:
            reply = _ask(worker, self._message(request), group)
        except (OSError, ValueError):
            _end(worker)
            # Nobody else would end what it ran.
            for pid in group:
                with suppress(OSError):
                    os.killpg(pid, signal.SIGKILL)
            problem = "the process that ran it was killed"
            error = InfraError(InfraErrorKind.SUBPROCESS_FAILED, problem)
            return TargetRun(monotonic() - started, error=error)
        finally:
            watchdog.cancel()
        with self._lock:
            self._idle.append(worker)
        return _outcome(reply, request)

    def close(self) -> None:
        """End the running trials and the workers."""
        with self._lock:
            self._is_closed = True
            left, self._all = self._all, set()
        for worker in left:
            # The worker ends its trial and exits when its input is closed.
            if worker.stdin is not None:
                with suppress(OSError):
                    worker.stdin.close()
        for worker in left:
            with suppress(subprocess.TimeoutExpired):
                worker.wait(15)
            _end(worker)

    def _worker(self) -> "subprocess.Popen[bytes]":
        with self._lock:
            if self._is_closed:
                raise InterruptedError
            while self._idle:
                worker = self._idle.pop()
                if worker.poll() is None:
                    return worker
            worker = subprocess.Popen(
                # -P: a signal.py in the user's folder is not ours to import.
                [sys.executable, "-P", "-m", "affidavit.tools.trial_worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                # Ctrl-C at the terminal is for us; we end the workers.
                start_new_session=True,
            )
            self._all.add(worker)
            return worker

    def _message(self, request: TrialRequest) -> dict[str, Any]:
        slots, limits = request.slots, request.limits
        own = {
            "AFFIDAVIT_SEED": slots["seed"],
            "AFFIDAVIT_TRIAL": slots["trial"],
            "AFFIDAVIT_OUTPUT": slots["output"],
            "TMPDIR": str(request.folder / "tmp"),
        }
        if request.case is not None:
            own["AFFIDAVIT_CASE"] = request.case
        return {
            "argv": [fill_slots(word, slots) for word in self.argv],
            "environment": {**os.environ, **request.environment, **own},
            "folder": str(request.folder),
            "stdout": str(request.stdout),
            "stderr": str(request.folder / "stderr"),
            "timeout_seconds": limits.seconds,
            "max_bytes": limits.output_bytes,
            "max_memory_bytes": limits.memory_bytes,
            "max_processes": limits.processes,
        }


def fill_slots(word: str, slots: Mapping[str, str]) -> str:
    """Return a word of a command line with `{seed}`, `{trial}`, `{output}` and `{case}` filled."""
    for name, value in slots.items():
        word = word.replace(f"{{{name}}}", value)
    return word


def _ask(
    worker: "subprocess.Popen[bytes]", message: dict[str, Any], group: list[int]
) -> dict[str, Any]:
    """Have a worker run a trial; `group` gets its process group as soon as that is known."""
    if worker.stdin is None or worker.stdout is None:
        raise ValueError("a worker has pipes")
    worker.stdin.write(json.dumps(message).encode() + b"\n")
    worker.stdin.flush()
    group.append(int(worker.stdout.readline()))
    reply: dict[str, Any] = json.loads(worker.stdout.readline())
    return reply


def _end(worker: "subprocess.Popen[bytes]") -> None:
    worker.kill()
    worker.wait()
    for stream in (worker.stdin, worker.stdout):
        if stream is not None:
            with suppress(OSError):
                stream.close()


def _outcome(reply: Mapping[str, Any], request: TrialRequest) -> TargetRun:
    seconds, code, limits = reply["seconds"], reply["code"], request.limits
    if reply["ended"] is not None:
        kind, problem = _ENDINGS[reply["ended"]]
        message = problem.format(
            seconds=limits.seconds,
            size=limits.output_bytes,
            processes=limits.processes,
            memory=limits.memory_bytes,
        )
        return TargetRun(seconds, error=InfraError(kind, message))
    if reply["left"]:
        message = f"{reply['left']} of its processes outlived it and were ended"
    elif code < 0:
        message = f"it was ended by signal {-code}"
    elif code > 1:
        last = _last_line(request.folder / "stderr")
        message = f"it ended with {code}{f' ({last})' if last else ''}"
    else:
        said = _last_line(request.folder / "stderr") if code else None
        return TargetRun(seconds, code=code, said=said)
    return TargetRun(seconds, error=InfraError(InfraErrorKind.SUBPROCESS_FAILED, message))


def _last_line(path: Path) -> str | None:
    """Return the last line that a target printed as an error, if there is one."""
    with suppress(OSError), path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        lines = stream.read().decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return excerpt(last, 200) if last else None
    return None


@dataclass(frozen=True, slots=True)
class HttpTarget:
    """Posts seed, trial and case as JSON; the body of the answer is the output.

    A status from 200 to 299 is a success. Any other one could not be judged: it says nothing about
    what the endpoint would have answered.
    """

    address: SplitResult

    def run(self, request: TrialRequest) -> TargetRun:
        """Send one request."""
        body: dict[str, Any] = {"seed": request.seed, "trial": request.index}
        if request.case is not None:
            body["case"] = request.case
        started = monotonic()
        answer = post(
            self.address,
            {"Content-Type": "application/json", "Accept": "application/json"},
            json.dumps(body).encode(),
            Deadline(request.limits.seconds),
            max_bytes=request.limits.output_bytes,
            read=range(200, 300),
        )
        seconds = monotonic() - started
        if isinstance(answer, HttpFailure):
            return TargetRun(seconds, error=_http_error(answer, request.limits))
        if answer.status not in range(200, 300):
            error = InfraError(InfraErrorKind.IO_ERROR, f"HTTP {answer.status}")
            return TargetRun(seconds, error=error)
        request.output.mkdir(parents=True, exist_ok=True)
        request.stdout.write_bytes(answer.body)
        return TargetRun(seconds, code=0)

    def close(self) -> None:
        """Do nothing: every request ends at its deadline."""


def _http_error(failure: HttpFailure, limits: TrialLimits) -> InfraError:
    if failure.kind is FailureKind.LATE:
        message = f"no answer within {limits.seconds:g} s"
        return InfraError(InfraErrorKind.TIME_BUDGET_EXCEEDED, message)
    if failure.kind is FailureKind.TOO_LONG:
        message = f"the answer has more than {limits.output_bytes} bytes"
        return InfraError(InfraErrorKind.LIMIT_EXCEEDED, message)
    return InfraError(InfraErrorKind.IO_ERROR, f"no answer ({failure.message})")


def target_from(text: str) -> Target:
    """Return the target that a text names: an address, `module:function`, or a command line."""
    if text.startswith(("http://", "https://")):
        address = parse_url(text)
        if isinstance(address, UrlProblem):
            raise AffidavitError(faults.SOAK_TARGET, target=excerpt(text), problem=str(address))
        return HttpTarget(address)
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        problem = str(error).rstrip(".").lower()
        raise AffidavitError(faults.SOAK_TARGET, target=excerpt(text), problem=problem) from None
    if len(words) == 1 and is_function_name(words[0]) and shutil.which(words[0]) is None:
        program = (sys.executable, "-P", "-m", "affidavit.tools.trial_function")
        return CommandTarget((*program, words[0]))
    if not words or shutil.which(words[0]) is None:
        problem = f"there is no program {words[0]!r}" if words else "it is empty"
        raise AffidavitError(faults.SOAK_TARGET, target=excerpt(text), problem=problem)
    return CommandTarget(words)


def is_function_name(word: str) -> bool:
    """Say whether a word looks like `module:function`."""
    module, colon, name = word.partition(":")
    return bool(colon) and name.isidentifier() and all(p.isidentifier() for p in module.split("."))
