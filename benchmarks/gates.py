"""What `gate rag` costs: beside other tools on the same rows, and on a million of them.

The peers run in an environment of their own (benchmarks/peers.sh), with four checks that ask no
model. Ours are eight figures of the same rows, read from files, digested and reported. All run in
turns, and the best of several rounds counts for each. promptfoo is the one that
interop/importers.sh installs; without it, it is left out.
"""

import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figure import Figure
from benchmarks.gate_rows import Files, write_rows

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / ".interop" / "peers" / "bin" / "python"
PEERS_SCRIPT = ROOT / "benchmarks" / "gates_peers.py"
PROMPTFOO = ROOT / ".interop" / "importers" / "npm" / "node_modules/promptfoo/dist/src/main.js"
QUIET = {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1"}
_SCORE = """
import json, sys, time
from affidavit.app.gate_rag import RagPlan, gate_rag
start = time.process_time()
gate_rag(RagPlan(gold=tuple(sys.argv[2:]), trace=(sys.argv[1],), groundedness=False))
print(json.dumps({"seconds": time.process_time() - start}))
"""
_PARSE = """
import json, sys, time
import msgspec
decode = msgspec.json.Decoder().decode
start = time.process_time()
for name in sys.argv[1:]:
    with open(name, "rb") as lines:
        for line in lines:
            decode(line)
print(json.dumps({"seconds": time.process_time() - start}))
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a process took: seconds of CPU, seconds on the clock, and memory."""

    cpu: float
    wall: float
    megabytes: float
    seconds: float = 0.0
    """What it says of itself: the CPU of the work alone."""


def measure(quick: bool = False) -> list[Figure]:
    """Measure both sizes."""
    subprocess.run([ROOT / "benchmarks" / "peers.sh"], check=True)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        few = write_rows(folder, "few", 1_000 if quick else 10_000, 1_000 if quick else 10_000)
        many = write_rows(folder, "many", 100_000 if quick else 1_000_000, 10_000)
        return [*_beside_peers(few, folder, 3 if quick else 5), *_many(many, folder, quick)]


def _beside_peers(files: Files, folder: Path, rounds: int) -> list[Figure]:
    native = _peer_figures(files.peers, (files.trace, files.gold), folder, rounds, "rows")
    return native + _peer_figures(
        files.texts, (files.texts,), folder, rounds, "rows with context text"
    )


def _peer_figures(
    rows: str, ours: tuple[str, ...], folder: Path, rounds: int, kind: str
) -> list[Figure]:
    """Return our cost beside that of each peer; `ours` are the traces, and the gold set if any."""
    program = str(Path(sysconfig.get_path("scripts"), "affidavit"))
    names = ("--trace", ours[0], *(("--gold", ours[1]) if ours[1:] else ()))
    lines: dict[str, tuple[str, ...]] = {
        "score": (sys.executable, "-c", _SCORE, *ours),
        "command": (program, "gate", "rag", "-q", "--no-groundedness", *names),
        **{tool: (str(PEERS), str(PEERS_SCRIPT), tool, rows) for tool in ("ragas", "deepeval")},
        **_promptfoo_line(rows, folder),
    }
    # In turns, so that whatever else this machine does meets all alike. Every decision will do:
    # without recorded citations ours cannot tell, and promptfoo fails with 100.
    turns = [
        {tool: _run(*line, at=folder, may_end_with=(0, 1, 3, 100)) for tool, line in lines.items()}
        for _ in range(rounds)
    ]
    best = {tool: min(turn[tool].cpu for turn in turns) for tool in lines}
    work = {tool: min(turn[tool].seconds for turn in turns) for tool in lines}
    count = Path(rows).read_bytes().count(b"\n")
    peers = [tool for tool in lines if tool not in ("score", "command")]
    quickest = min(best[tool] for tool in peers)
    return [
        *(
            Figure(
                name=f"gate rag: {count:,} {kind} scored, beside {tool} evaluate()",
                target=f"at most 1/{share} of its CPU",
                ratio=work["score"] / work[tool],
                better="lower",
                limit=1 / share,
                detail=f"{work['score']:.3f} s, {tool} {work[tool]:.2f} s"
                f" ({work[tool] / work['score']:.0f}x)",
            )
            for tool, share in (("ragas", 100), ("deepeval", 200))
        ),
        Figure(
            name=f"gate rag: the whole command on {count:,} {kind}, beside the quickest peer",
            target="at most 1/10 of its CPU",
            ratio=best["command"] / quickest,
            better="lower",
            limit=0.1,
            detail=f"{best['command']:.2f} s, peers "
            + ", ".join(f"{tool} {best[tool]:.1f} s" for tool in peers),
        ),
    ]


def _promptfoo_line(rows: str, folder: Path) -> dict[str, tuple[str, ...]]:
    """Return the command line of promptfoo by its name; nothing if it is not installed."""
    if not PROMPTFOO.exists():
        return {}
    config = folder / f"{Path(rows).stem}-promptfoo.json"
    with config.open("wb") as out:
        subprocess.run([sys.executable, PEERS_SCRIPT, "promptfoo", rows], stdout=out, check=True)
    options = ("--no-cache", "--no-write", "--no-table", "--no-progress-bar")
    return {"promptfoo": ("node", str(PROMPTFOO), "eval", "-c", str(config), *options)}


def _many(files: Files, folder: Path, quick: bool) -> list[Figure]:
    rounds = 2 if quick else 3
    page = folder / "page.html"
    with_page = _command(files, "--html", str(page))
    # In turns, so that whatever else this machine does meets both alike.
    turns = [(_command(files), _command(files, "-j", "2")) for _ in range(rounds)]
    ones, twos = zip(*turns, strict=True)
    work = [(_parsed(files), _scored(files)) for _ in range(rounds)]
    parsed, scored = map(min, zip(*work, strict=True))
    rows = 100_000 if quick else 1_000_000
    cpu = min(cost.cpu for cost in ones)
    wall, wall_two = (min(cost.wall for cost in costs) for costs in (ones, twos))
    memory = max(cost.megabytes for cost in (with_page, *ones, *twos))
    return [
        Figure(
            name=f"gate rag: {rows:,} rows, thousands per CPU second, start-up included",
            target="at least 150",
            ratio=rows / cpu / 1000,
            better="higher",
            limit=150,
            detail=f"{cpu:.2f} s CPU for traces of 10,000 questions",
        ),
        Figure(
            name=f"gate rag: memory for {rows:,} rows",
            target="under 150 MB",
            ratio=memory,
            better="lower",
            limit=150,
            detail="of the largest process, with 1 job and with 2, and with a page",
        ),
        Figure(
            name=f"gate rag: {rows:,} rows with -j 2",
            target="at least 1.8x as fast on the clock",
            ratio=wall / wall_two,
            better="higher",
            limit=1.8,
            detail=f"{wall:.2f} s and {wall_two:.2f} s; load {os.getloadavg()[0]:.1f}",
        ),
        Figure(
            name="gate rag: cost over parsing alone",
            target="at most 3x msgspec over the same lines",
            ratio=scored / parsed,
            better="lower",
            limit=3,
            detail=f"{scored:.2f} s, parsing {parsed:.2f} s",
        ),
        Figure(
            name=f"gate rag: the page of {rows:,} rows",
            target="under 2 MB",
            ratio=page.stat().st_size / 1e6,
            better="lower",
            limit=2,
            detail="HTML, one file",
        ),
    ]


def _scored(files: Files) -> float:
    return _run(sys.executable, "-c", _SCORE, files.trace, files.gold).seconds


def _parsed(files: Files) -> float:
    return _run(sys.executable, "-c", _PARSE, files.trace).seconds


def _command(files: Files, *more: str) -> Cost:
    program = str(Path(sysconfig.get_path("scripts"), "affidavit"))
    return _run(
        *(program, "gate", "rag", "-q", "--gold", files.gold, "--trace", files.trace, *more),
        may_end_with=(0, 1),
    )


def _run(*line: str, at: Path | None = None, may_end_with: tuple[int, ...] = (0,)) -> Cost:
    """Run a process and return what it and its children took."""
    with tempfile.TemporaryFile() as out:
        start = time.perf_counter()
        child = subprocess.Popen(
            line, stdout=out, stderr=subprocess.DEVNULL, cwd=at, env={**os.environ, **QUIET}
        )
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        assert child.returncode in may_end_with, f"{line} ended with {child.returncode}"
        out.seek(0)
        said = next(_last_of(out.read().splitlines()), {})
    return Cost(
        usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024, said.get("seconds", 0.0)
    )


def _last_of(lines: list[bytes]) -> Iterator[dict[str, float]]:
    for line in reversed(lines):
        if line.startswith(b"{"):
            yield json.loads(line)
            return
