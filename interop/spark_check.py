"""Run the same command lines in one process and on Spark, and compare what they print."""

import json
import os
import shutil
import subprocess
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CLAIMS = ("X rejects null keys.", "It depends.", "not in context", "Not in context.", None)


def rows(count: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return gold items and twice as many traces of every kind, in mixed order."""
    gold = [
        {
            "qid": f"q{n}",
            "question": f"What of {n}?",
            "answerable": n % 5 != 0,
            "gold_claim_substr": ["rejects null keys"] if n % 5 else [],
            "gold_citations": ["p1#2"] if n % 5 else [],
            "constraints": ["X rejects null keys."] if n % 7 == 0 else [],
        }
        for n in range(count)
    ]
    traces = []
    for n in (zlib.crc32(b"%d" % n) for n in range(2 * count)):
        claim = CLAIMS[n // 9973 % 5]
        answer = None if claim is None else {"claim": claim, "citations": [f"p1#{n % 3}"]}
        ids = ["p1#1", "p1#2", "p2#1"]
        qid = f"q{n % (count + 5)}"
        traces.append({"qid": qid, "retrieved_ids": ids, "answer_json": answer})
    return gold, traces


def answers(count: int) -> list[dict[str, Any]]:
    """Return answers with their contexts: half of them say what the contexts do not."""
    return [
        {
            "question": f"When was line {n} opened?",
            "answer": f"Line {n} was opened in {1900 + n}. It has {n % 7} stops.",
            "contexts": [f"Line {n} was opened in {1900 + n}.", f"It has {n % 7 + n % 2} stops."],
        }
        for n in range(count)
    ]


def write(folder: Path) -> None:
    """Write the files that the command lines below name."""
    import pyarrow
    import pyarrow.parquet

    gold, traces = rows(4000)
    lines = {
        "gold.jsonl": [json.dumps(row) for row in gold],
        "trace.jsonl": [json.dumps(row) for row in traces],
        "part-1.jsonl": [json.dumps(row) for row in traces[:2500]],
        "part-2.jsonl": ["", *(json.dumps(row) for row in traces[2500:])],
    }
    lines["twice.jsonl"] = [*lines["gold.jsonl"], lines["gold.jsonl"][7], lines["gold.jsonl"][3]]
    lines["bad.jsonl"] = list(lines["trace.jsonl"])
    lines["bad.jsonl"][1234] = '{"qid": "q1", "answer_json": {"claim": 7}}'
    lines["bad.jsonl"][4321] = '{"qid": '
    lines["rows.jsonl"] = [json.dumps(row) for row in answers(60)]
    lines["odd.jsonl"] = [*lines["rows.jsonl"][:20], '{"question": ', *lines["rows.jsonl"][20:]]
    lines["own.jsonl"] = [
        json.dumps({**row, "contexts": ["X rejects null keys, and says so."]})
        for row in traces[:40]
    ]
    lines["claims.jsonl"] = [
        json.dumps({"id": row["question"], "claim": row["answer"], "evidence": row["contexts"]})
        for row in answers(60)
    ]
    lines["claims.jsonl"][31] = '{"id": "no claim"}'
    for name, texts in lines.items():
        (folder / name).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    table = pyarrow.Table.from_pylist(traces)
    pyarrow.parquet.write_table(table, folder / "trace.parquet")


CASES = {
    "one file": ("--gold", "gold.jsonl", "--trace", "trace.jsonl"),
    "several files": ("--gold", "gold.jsonl", "--trace", "part-*.jsonl", "--k", "1"),
    "no names": ("--gold", "gold.jsonl", "--trace", "trace.jsonl", "--no-items"),
    "bad lines, skipped": ("--gold", "gold.jsonl", "--trace", "bad.jsonl", "--skip-bad"),
    "bad lines, refused": ("--gold", "gold.jsonl", "--trace", "bad.jsonl"),
    "an item twice": ("--gold", "twice.jsonl", "--trace", "trace.jsonl"),
    "no such file": ("--gold", "gold.jsonl", "--trace", "none.jsonl"),
    "another gold set": (
        *("--gold", "gold.jsonl", "--trace", "trace.jsonl"),
        *("--expect-gold-digest", "sha256:" + "0" * 64),
    ),
    "Parquet": ("--gold", "gold.jsonl", "--trace", "trace.parquet"),
    "answers with contexts": ("rows.jsonl",),
    "a sample of them, and a bad line": ("odd.jsonl", "--skip-bad", "--sample", "9"),
    "our own traces with texts": ("--gold", "gold.jsonl", "--trace", "own.jsonl"),
    "a missing file of answers": ("none.jsonl",),
}
JUDGE = ("--judge", "lexical")
AT = ("--at", "2026-01-01")
OTHER_CASES = {
    "judge score": ("judge", "score", "claims.jsonl", *JUDGE, "--keep-going"),
    "judge score, refused": ("judge", "score", "claims.jsonl", *JUDGE),
    "check of rows": ("check", "rows.jsonl", *JUDGE, *AT, "--json"),
}
CLUSTER = "local-cluster[2,1,1024]"
"""Two executors as processes of their own."""
SOURCES = ROOT / "src"
START = (
    f"import sys; sys.path.insert(0, {str(SOURCES)!r}); from affidavit.cli.main import main; main()"
)
"""The workers of a cluster do not find our package, unless it was sent to them."""


class Comparison:
    """Runs command lines in one process and on Spark, and counts those that differ."""

    def __init__(self, spark_python: str, folder: Path) -> None:
        self._spark_python = spark_python
        self._folder = folder
        self.differing = 0

    def compare(
        self, name: str, line: Sequence[str], *, local: Sequence[str] = (), master: str = "local[2]"
    ) -> None:
        """Compare what a command line prints; `local` is its form without Spark, if it differs."""
        here = self._printed([sys.executable, "-m", "affidavit", *(local or line)])
        shutil.rmtree(self._folder / ".affidavit" / "batches", ignore_errors=True)
        start = ("-c", START) if master == CLUSTER else ("-m", "affidavit")
        there = self._printed(
            [self._spark_python, *start, *line, "--engine", "spark", "--master", master]
        )
        same = here == there and bool(here[1])
        self.differing += not same
        print(f"{name}: {'the same' if same else 'NOT the same'} (exit {here[0]}, {there[0]})")
        if not same:
            for which, (_, out) in {"here": here, "there": there}.items():
                (self._folder.parent / f"spark-{which}.json").write_bytes(out)

    def _printed(self, line: Sequence[str]) -> tuple[int, bytes]:
        """Return the exit code of a command line and its output; of errors, the first."""
        path = "" if START in line else str(SOURCES)
        done = subprocess.run(
            line,
            cwd=self._folder,
            env={**os.environ, "PYTHONPATH": path, "PYSPARK_PYTHON": self._spark_python},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        error = [each for each in done.stderr.splitlines() if each.startswith(b"AF")][:1]
        printed = done.stdout or b"".join(error)
        return done.returncode, printed.replace(f"{self._folder.as_uri()}/".encode(), b"")


def soaked(python: str, folder: Path, name: str, *arguments: str) -> object:
    """Return the second document of a soak without its times and names."""
    target = "sh -c 'test $(({seed} % 5)) -ne 0'"
    subprocess.run(
        [
            *(python, "-m", "affidavit", "sim", "soak", "-n", "6", "--max-failures", "2"),
            *("--target", target, "--report", f"{name}.json", *arguments),
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    found = json.loads((folder / f"{name}.details.json").read_text("utf-8"))
    for trial in found["trials"]:
        for key in ("duration_ms", "bundle", "bundle_digest"):
            trial.pop(key, None)
    return found


def main(spark_python: str, folder: Path) -> int:
    """Run every case on both; return how many differ."""
    write(folder)
    runs = Comparison(spark_python, folder)
    rag = ("gate", "rag", "--json", *JUDGE)
    for name, line in CASES.items():
        runs.compare(name, [*rag, *line])
    for name, line in OTHER_CASES.items():
        runs.compare(name, line)
    runs.compare("an address", [*rag, f"{folder.as_uri()}/rows.jsonl"], local=[*rag, "rows.jsonl"])
    runs.compare("a cluster, with readings", [*rag, "rows.jsonl"], master=CLUSTER)
    runs.compare("a cluster, without", [*rag, "rows.jsonl", "--no-cache"], master=CLUSTER)
    here = soaked(sys.executable, folder, "here")
    there = soaked(spark_python, folder, "there", "--engine", "spark", "--master", "local[2]")
    print(f"a soak: {'the same' if here == there else 'NOT the same'}")
    return runs.differing + (here != there)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
