"""Soaks: the overhead of a trial, stored bundles per CPU second, and runs until a decision."""

import os
import random
import resource
import subprocess
import tempfile
import time
from itertools import islice
from pathlib import Path

from affidavit.app.soak import SoakFiles, SoakOptions, run_soak
from affidavit.soak.sequential import SequentialTest, Side, rate_bound_from
from benchmarks.bundles import drafts, write
from benchmarks.figure import Figure

TRIALS, QUICK_TRIALS = 200, 40
BUNDLES, QUICK_BUNDLES = 10_000, 500
SOAKS, QUICK_SOAKS = 4000, 500
EVENTS = 10
PACKS = ("cicd-starter", "owasp-agentic")
# The smallest number of runs for which exact tests at 2.5% on each side decide "above 0.95" with
# 95% power if the true rate is 0.99; a fixed design is chosen before the true rate is known.
# For a true rate of 0.80 alone, 57 runs would do.
FIXED_RUNS = 230


def measure(quick: bool = False) -> list[Figure]:
    """Measure the three targets."""
    return [
        overhead(QUICK_TRIALS if quick else TRIALS),
        stored(QUICK_BUNDLES if quick else BUNDLES),
        sequential(QUICK_SOAKS if quick else SOAKS),
    ]


def cpu_seconds() -> float:
    """Return the CPU time of this process and of all that it has waited for."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def overhead(trials: int) -> Figure:
    """Compare trials of `true` with bare spawns of it; the worker process is counted in."""
    started = cpu_seconds()
    for _ in range(trials):
        subprocess.run(["true"], check=True)
    bare = (cpu_seconds() - started) / trials
    with tempfile.TemporaryDirectory() as folder:
        files = SoakFiles(report=Path(folder, "soak.json"))
        asked = SoakOptions(target="true", iterations=trials, seed=1, time_budget_secs=3600)
        started = cpu_seconds()
        run_soak(asked, files)
        soaked = (cpu_seconds() - started) / trials
    return Figure(
        "overhead of a trial over a bare spawn, ms of CPU",
        "at most 15 ms",
        (soaked - bare) * 1000,
        "lower",
        15,
        f"{soaked * 1000:.1f} ms against {bare * 1000:.1f} ms, over {trials} trials",
    )


def stored(bundles: int) -> Figure:
    """Judge stored bundles of ten events with two packs."""
    with tempfile.TemporaryDirectory() as folder:
        first = Path(folder, "runs", "000000.tar.gz")
        first.parent.mkdir()
        write(first, islice(drafts(EVENTS), EVENTS))
        for at in range(1, bundles):
            os.link(first, first.with_name(f"{at:06}.tar.gz"))
        asked = SoakOptions(
            target=str(first.parent),
            iterations=bundles,
            seed=1,
            time_budget_secs=3600,
            packs=PACKS,
        )
        started = time.process_time()
        outcome = run_soak(asked, SoakFiles(report=Path(folder, "soak.json")))
        seconds = time.process_time() - started
    assert outcome.details.counts.runs == bundles
    return Figure(
        f"{bundles} stored bundles with two packs, per CPU second",
        "at least 2,000",
        bundles / seconds,
        "higher",
        2000,
        f"{seconds:.2f} s, journal and both documents included",
    )


def sequential(soaks: int) -> Figure:
    """Simulate soaks with a true pass rate of 0.80 against a bound of 0.95."""
    chance, runs, wrong = random.Random(1), 0, 0
    for _ in range(soaks):
        test = SequentialTest(rate_bound_from("0.95@95"))
        while test.side is Side.UNDECIDED:
            runs += 1
            test.feed(chance.random() < 0.8)
        wrong += test.side is Side.ABOVE
    mean = runs / soaks
    return Figure(
        "runs until 0.80 is known to be below 0.95, of those of a fixed design",
        "at most 1/5",
        mean / FIXED_RUNS,
        "lower",
        0.2,
        f"{mean:.1f} runs on average, {wrong} of {soaks} wrong, against {FIXED_RUNS}",
    )
