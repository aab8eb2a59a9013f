"""Measure the targets, print them, and append the figures to results.jsonl.

    python -m benchmarks.run [NAME...] [--quick]

Ends with 0 if every target is met and with 1 if one is missed.
"""

import argparse
import importlib
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from pathlib import Path

from affidavit.base.files import append_line_durably
from affidavit.base.statistics import rounded
from benchmarks.figure import Figure

# Each is a module of this package with `measure(quick: bool = False) -> list[Figure]`.
BENCHMARKS = (
    "startup",
    "json_speed",
    "receipts",
    "service",
    "ingest",
    "check_speed",
    "retrieval",
    "gates",
    "groundedness",
    "imports",
    "bundles",
    "lint",
    "attest",
    "soak",
    "telemetry",
    "store",
)
LIBRARIES = (
    "affidavit",
    "click",
    "cryptography",
    "msgspec",
    "orjson",
    "rfc8785",
    "nupunkt",
    "pyarrow",
    "pypdfium2",
    "tantivy",
)

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results.jsonl"


def main(arguments: Sequence[str], results: Path = RESULTS) -> int:
    """Run what is named, or everything; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, rougher figures")
    chosen = parser.parse_args(arguments)
    if unknown := [name for name in chosen.names if name not in BENCHMARKS]:
        parser.error(f"no benchmark is named {', '.join(unknown)}; there are {BENCHMARKS}")
    names = tuple(chosen.names) or BENCHMARKS
    # What users run was compiled when they first ran it, or installed it, as the peers were.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    figures = tuple(figure for name in names for figure in measured(name, quick=chosen.quick))
    print("\n".join(table(figures)))
    line = json.dumps(record(names, figures, quick=chosen.quick), ensure_ascii=False)
    append_line_durably(results, line.encode())
    return 0 if all(figure.met for figure in figures) else 1


def measured(name: str, *, quick: bool) -> list[Figure]:
    """Run one benchmark, in a process of its own.

    A child inherits the peak of its parent's memory, so that a large benchmark would be seen in
    the memory of every later one; and what one has loaded must not slow the next one down.
    """
    print(f"measuring {name} ...", file=sys.stderr)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
        return alone.submit(figures_of, name, quick).result()


def figures_of(name: str, quick: bool) -> list[Figure]:
    """Return what a benchmark measures."""
    figures: list[Figure] = importlib.import_module(f"benchmarks.{name}").measure(quick=quick)
    return figures


def table(figures: Sequence[Figure]) -> list[str]:
    """Return the lines of a table that shows figure, target and whether it is met."""
    rows = [("what", "measured", "target", "", "detail")]
    for figure in figures:
        verdict = "met" if figure.met else "MISSED"
        rows.append((figure.name, f"{figure.ratio:.3f}", figure.target, verdict, figure.detail))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def record(names: Sequence[str], figures: Sequence[Figure], *, quick: bool) -> dict[str, object]:
    """Return what a line of the results holds: enough to tell whether two lines compare."""
    changes = git("status", "--porcelain", "--", ".", ":!benchmarks/results.jsonl")
    return {
        "measured_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "commit": git("rev-parse", "HEAD"),
        "dirty": None if changes is None else changes != "",
        "machine": {
            "cpu": cpu_model(),
            "cores": os.cpu_count(),
            "platform": platform.platform(),
            "python": f"{platform.python_implementation()} {platform.python_version()}",
        },
        "libraries": {name: installed_version(name) for name in LIBRARIES},
        "benchmarks": list(names),
        "quick": quick,
        "figures": [
            asdict(figure) | {"ratio": rounded(figure.ratio, 4), "met": figure.met}
            for figure in figures
        ],
    }


def git(*arguments: str) -> str | None:
    """Return what git answers about this checkout, or None where there is none."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.decode().strip()


def cpu_model() -> str:
    """Return the processor's name as Linux tells it, else what Python knows."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def installed_version(library: str) -> str | None:
    """Return a library's version, or None if it is not installed."""
    try:
        return version(library)
    except PackageNotFoundError:
        return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
