"""What judging answers against their contexts costs: 1,000 rows of 3 claims and 5 contexts.

Each run is `affidavit gate rag ROWS --no-cache` in a process of its own, start-up included. Beside
it stands what tools that ask a model would send for the same rows, counted from the texts alone.
Spark is the one that interop/spark.sh installs; its JVM counts. Without it, its figure is left out.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from affidavit.app.judges import DEFAULT_JUDGE, BuiltIn
from benchmarks.figure import Figure

ROWS: Final = 1_000
_QUICK_ROWS: Final = 40
_CONTEXTS: Final = 5
_WORDS: Final = 150
_NAMES: Final = ("Alder", "Birch", "Cedar", "Elm", "Fir", "Hazel", "Larch", "Maple", "Oak", "Pine")
_PLACES: Final = ("Arden", "Brook", "Corby", "Dunley", "Esker", "Frome", "Garth", "Holm")
_FACTS: Final = (
    "The {name} {place} station was opened in {year} and has {count} platforms.",
    "A day ticket for {place} costs {price} euros and is valid in zone {name}.",
    "The {name} line carries {count} thousand passengers through {place} on a weekday.",
    "Repairs on the {place} bridge took {count} weeks and were paid for by {name} county.",
    "The timetable of {place} lists {price} trains a day on the {name} branch.",
    "Guards of the {name} depot in {place} work shifts of {price} hours.",
)
_MICRO_DOLLARS_IN: Final = 0.15
_MICRO_DOLLARS_OUT: Final = 0.60
"""Dollars per million tokens, the list price of a small hosted model in 2026."""
_TOKENS_PER_WORD: Final = 4 / 3
# How often the answer and the contexts of a row are sent. Ragas: once to split the answer, once to
# judge the statements. DeepEval: contexts and answer apart, then the verdicts, then the reason.
_PEERS: Final = {"ragas": (2, 2, 1), "DeepEval": (4, 2, 1)}

_ROOT: Final = Path(__file__).resolve().parent.parent
_SPARK: Final = _ROOT / ".interop" / "spark" / "bin" / "python"
# Adopts the processes that the command leaves behind, as those of Spark, so that all are counted.
_RUN: Final = """
import ctypes, os, resource, subprocess, sys
PR_SET_CHILD_SUBREAPER = 36
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
code = subprocess.run(sys.argv[1:]).returncode
try:
    while True:
        os.wait()
except ChildProcessError:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
sys.stderr.write("CPU %f\\n" % (used.ru_utime + used.ru_stime))
sys.exit(code)
"""


def measure(quick: bool = False) -> list[Figure]:
    """Return the CPU seconds of 1,000 rows with the fast and with the default judge."""
    count = _QUICK_ROWS if quick else ROWS
    fast = next((name for name in BuiltIn if name == "fast"), BuiltIn.LEXICAL)
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "rows.jsonl"
        rows = [*make_rows(count)]
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
        seconds = {judge: _run(file, judge)[0] for judge in (fast, DEFAULT_JUDGE)}
        on_spark = _spark_figures(file, fast, count)
    scale = ROWS / count
    peers = "; ".join(_peer_cost(name, rows, scale) for name in _PEERS)
    return [
        Figure(
            name=f"groundedness: 1,000 rows, judge {judge}",
            target=f"at most {limit} s CPU",
            ratio=seconds[judge] * scale,
            better="lower",
            limit=limit,
            detail=f"{seconds[judge]:.1f} s for {count} rows; {peers}",
        )
        for judge, limit in ((fast, 25), (DEFAULT_JUDGE, 300))
    ] + on_spark


def _spark_figures(file: Path, judge: str, count: int) -> list[Figure]:
    if not _SPARK.exists():
        return []
    here, wanted = _run(file, judge, "-j", "2")
    there, made = _run(file, judge, "--engine", "spark", "--master", "local[2]", python=_SPARK)
    if made != wanted:
        raise RuntimeError("the report of Spark differs from that of two processes")
    return [
        Figure(
            name=f"groundedness: {count:,} rows on Spark local[2], judge {judge}",
            target="at most 1.3x the CPU of -j 2, same bytes",
            ratio=there / here,
            better="lower",
            limit=1.3,
            detail=f"{there:.1f} s, -j 2 {here:.1f} s; the same bytes",
        )
    ]


def make_rows(count: int) -> Iterator[dict[str, Any]]:
    """Yield rows whose first two claims are in their contexts, and whose third is changed."""
    for number in range(count):
        contexts = [[*_sentences(number, part)] for part in range(_CONTEXTS)]
        first, second, third = (contexts[part][2] for part in range(3))
        yield {
            "question": f"What is known about case {number}?",
            "answer": f"{first} {second} {third.replace('1', '7')}",
            "contexts": [" ".join(sentences) for sentences in contexts],
        }


def _sentences(number: int, part: int) -> Iterator[str]:
    words, at = 0, 0
    while words < _WORDS:
        seed = number * 7919 + part * 104_729 + at * 31
        text = _FACTS[seed % len(_FACTS)].format(
            name=_NAMES[seed // 7 % len(_NAMES)],
            place=_PLACES[seed // 11 % len(_PLACES)],
            year=1850 + seed % 150,
            count=2 + seed % 17,
            price=3 + seed % 29,
        )
        words += len(text.split())
        at += 1
        yield text


def _run(
    file: Path, judge: str, *options: str, python: str | Path = sys.executable
) -> tuple[float, str]:
    """Return the CPU seconds of a run, and its report."""
    line = (python, "-m", "affidavit", "gate", "rag", file, "--no-cache", "--judge", judge)
    done = subprocess.run(
        [sys.executable, "-c", _RUN, *line, "--json", *options],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(_ROOT / "src")},
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("CPU ")]
    if done.returncode not in (0, 1) or not lines:
        raise RuntimeError(done.stderr)
    return float(lines[-1].split()[1]), done.stdout


def _peer_cost(name: str, rows: list[dict[str, Any]], scale: float) -> str:
    """Return calls, tokens and price for the same rows, without the prompts of the tool."""
    calls, answers, contexts = _PEERS[name]
    answer = sum(len(row["answer"].split()) for row in rows) * _TOKENS_PER_WORD * scale
    context = sum(len(" ".join(row["contexts"]).split()) for row in rows) * _TOKENS_PER_WORD * scale
    sent = answers * answer + contexts * context
    # Every tool has the claims written out again, and a verdict on each.
    received = 2 * answer
    price = (sent * _MICRO_DOLLARS_IN + received * _MICRO_DOLLARS_OUT) / 1_000_000
    return (
        f"{name} would send {calls * len(rows) * scale:,.0f} calls with at least"
        f" {sent:,.0f} tokens and get {received:,.0f}, {price:.2f} dollars at"
        f" {_MICRO_DOLLARS_IN} and {_MICRO_DOLLARS_OUT} per million"
    )
