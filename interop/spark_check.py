"""Run the same command lines in one process and on Spark, and compare what they print."""

import json
import os
import subprocess
import sys
import zlib
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
}


def printed(python: str, folder: Path, *arguments: str) -> tuple[int, bytes]:
    """Return the exit code of a command line and its JSON output."""
    done = subprocess.run(
        [python, "-m", "affidavit", "gate", "rag", "--json", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return done.returncode, done.stdout


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
    differing = 0
    for name, line in CASES.items():
        here = printed(sys.executable, folder, *line)
        there = printed(spark_python, folder, *line, "--engine", "spark", "--master", "local[2]")
        same = here == there and bool(here[1])
        differing += not same
        print(f"{name}: {'the same' if same else 'NOT the same'} (exit {here[0]}, {there[0]})")
        if not same:
            for which, (_, out) in {"here": here, "there": there}.items():
                (folder.parent / f"spark-{which}.json").write_bytes(out)
    here = soaked(sys.executable, folder, "here")
    there = soaked(spark_python, folder, "there", "--engine", "spark", "--master", "local[2]")
    print(f"a soak: {'the same' if here == there else 'NOT the same'}")
    return differing + (here != there)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
