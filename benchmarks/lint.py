"""Linting a bundle with two packs and closure, on top of verifying it."""

import resource
import subprocess
import sys
import tempfile
from itertools import cycle, islice
from pathlib import Path

from affidavit.app.lint import lint_bundle
from affidavit.app.pack_files import load_packs
from affidavit.packs.lint import PreparedPacks
from affidavit.packs.model import Pack
from benchmarks.bundles import (
    EVENTS,
    LIMITS,
    MEGABYTE,
    QUICK_EVENTS,
    drafts,
    inflated_and_hashed,
    verified,
    write,
)
from benchmarks.figure import Figure, best_cpu_seconds

PACKS = ("cicd-starter", "owasp-agentic")
SMALL_EVENTS = 10
SMALL_BUNDLES = 200
PEAK = "import sys; from benchmarks.lint import peak; print(peak(sys.argv[1]))"


def measure(quick: bool = False) -> list[Figure]:
    """Lint a bundle of model and tool calls, with rules that hold and rules that do not."""
    count = QUICK_EVENTS if quick else EVENTS
    packs = load_packs(PACKS, None)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "bundle.tar.gz")
        write(path, islice(cycle(list(drafts(1000))), count))
        linting, verifying, least = best_cpu_seconds(
            5 if quick else 2,
            lambda: linted(path, packs),
            lambda: verified(str(path)),
            lambda: inflated_and_hashed(path),
        )
        done = subprocess.run(
            [sys.executable, "-c", PEAK, str(path)], capture_output=True, text=True, check=True
        )
        write(path, islice(drafts(SMALL_EVENTS), SMALL_EVENTS))
        prepared = PreparedPacks(packs)
        (small,) = best_cpu_seconds(5, lambda: linted_often(path, prepared))
    on_top = linting - verifying
    megabytes = int(done.stdout) * 1024 / MEGABYTE
    shown = f"{on_top:.2f} s on top of {verifying:.2f} s, inflating and hashing {least:.2f} s"
    return [
        Figure(
            f"lint {count} events with two packs and closure",
            "at most 4x inflating and hashing, on top",
            on_top / least,
            "lower",
            4,
            shown,
        ),
        Figure(
            "memory of that lint, in MB",
            "under 200 MB",
            megabytes,
            "lower",
            200,
            f"peak of a process {megabytes:.0f}",
        ),
        Figure(
            f"lint bundles of {SMALL_EVENTS} events with two packs, per CPU-second",
            "at least 2,000",
            SMALL_BUNDLES / small,
            "higher",
            2000,
            f"{small / SMALL_BUNDLES * 1e6:.0f} us each",
        ),
    ]


def linted_often(path: Path, packs: PreparedPacks) -> None:
    """Lint a small bundle as often as a folder has bundles."""
    for _ in range(SMALL_BUNDLES):
        assert lint_bundle(path, packs, LIMITS, 500).result.rules


def linted(path: Path, packs: tuple[Pack, ...]) -> None:
    """Verify and lint a bundle."""
    done = lint_bundle(path, packs, LIMITS, 500)
    assert done.result.rules


def peak(path: str) -> int:
    """Return the most memory of this process after a lint, in KB."""
    linted(Path(path), load_packs(PACKS, None))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
