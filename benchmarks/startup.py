"""What `affidavit --help` costs before it does anything: CPU time over that of bare Python."""

import resource
import subprocess
import sys
import sysconfig
from pathlib import Path

from benchmarks.figure import Figure

LIMIT_SECONDS = 0.10


def measure(quick: bool = False) -> list[Figure]:
    """Start both in turns and compare the quickest of each."""
    command = str(Path(sysconfig.get_path("scripts"), "affidavit"))
    ours, bare = best_child_cpu_seconds(
        5 if quick else 25, (command, "--help"), (sys.executable, "-c", "pass")
    )
    return [
        Figure(
            name="affidavit --help",
            target="at most 0.10 s of CPU over bare Python",
            ratio=ours - bare,
            better="lower",
            limit=LIMIT_SECONDS,
            detail=f"{ours * 1000:.1f} ms, bare Python {bare * 1000:.1f} ms",
        )
    ]


def best_child_cpu_seconds(rounds: int, *commands: tuple[str, ...]) -> tuple[float, ...]:
    """Return the least CPU time, user and system, that each command took as a child process."""
    for command in commands:  # Once unmeasured: compiles what is not compiled yet.
        _child_cpu_seconds(command)
    turns = [[_child_cpu_seconds(command) for command in commands] for _ in range(rounds)]
    return tuple(min(times) for times in zip(*turns, strict=True))


def _child_cpu_seconds(command: tuple[str, ...]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
