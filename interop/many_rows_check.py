"""Judge very many rows, kill the run in the middle, and count what the next one reports."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

DISTINCT = 2_000
"""Claims that differ; of very many rows, most repeat one."""
LONG = "Nobody asked about the weather. " * 65_000
ODD: tuple[dict[str, Any], ...] = (
    {"answer": "Staff get 25 days of leave.", "contexts": [""]},
    {"answer": "Staff get 25 days of leave.", "contexts": []},
    {"answer": "Unused leave can be carried forward.", "contexts": [LONG]},
    {
        "answer": "Die Angestellten haben Anspruch auf dreißig Tage Urlaub im Jahr.",
        "contexts": ["Angestellte haben Anspruch auf dreißig Tage Urlaub."],
    },
    {"answer": "休暇は五日です。", "contexts": ["休暇は年に五日です。"]},
    {"answer": None, "contexts": ["Staff get 25 days of leave."]},
)
NOT_IN_ENGLISH = 2


def lines(count: int) -> Iterator[str]:
    """Yield rows of one claim each; every tenth says more days than its context."""
    for number in range(count - len(ODD)):
        if number == count // 2:
            yield '{"question": "half'
            for odd in ODD:
                yield json.dumps({"question": f"What of {odd['answer']}?", **odd})
        branch = number % DISTINCT
        days = 25 + (branch % 10 == 0)
        yield json.dumps(
            {
                "question": f"What of row {number}?",
                "answer": f"Branch {branch} gives {days} days of leave.",
                "contexts": [f"Branch {branch} gives 25 days of leave.", "Requests need notice."],
            }
        )


def stored(store: Path) -> int:
    """Return how many readings are stored so far."""
    try:
        with closing(sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True)) as opened:
            return int(opened.execute("SELECT count(*) FROM readings").fetchone()[0])
    except sqlite3.Error:  # The file or its table is not there yet.
        return 0


def main(folder: Path, count: int) -> None:
    """Run, kill, run again; raise if anything was lost or counted twice."""
    with (folder / "rows.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines(count))
    line = [sys.executable, "-m", "affidavit", "-v", "gate", "rag", "rows.jsonl", "--skip-bad"]
    line += ["--judge", "lexical", "-j", "2", "--no-items", "--json"]
    store = folder / ".affidavit" / "judge" / "readings.sqlite"
    killed = subprocess.Popen(
        line,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    while killed.poll() is None and stored(store) < min(DISTINCT, count) // 2:
        time.sleep(0.2)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    before = stored(store)
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 1:
        raise SystemExit(f"exit {done.returncode}: {done.stderr}")
    judged, read = map(int, re.findall(r"(\d+) rows were judged; (\d+) claims", done.stderr)[0])
    report = json.loads(done.stdout)
    counts, claims = report["counts"], count - 1
    found = {
        "readings before and after the kill": (before + read, stored(store)),
        "rows judged": (judged, count),
        "rows counted": (counts["traces"], count),
        "claims": (counts["claims"] + counts["claims_not_judged"], claims),
        "claims in other languages": (counts["claims_not_judged"], NOT_IN_ENGLISH),
        "lines skipped": (report["inputs"]["trace"]["skipped"], 1),
    }
    wrong = {name: each for name, each in found.items() if each[0] != each[1]}
    print(f"{count:,} rows; {before} readings stored at the kill, {read} read after it")
    if wrong or not 0 < before < stored(store):
        raise SystemExit(f"wrong: {wrong or 'the kill came too late'}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
