"""What a 20-claim check costs against a thousand indexed pages, with the lexical judge.

In a process of its own, charged for everything but the start of Python and the imports: looking
whether the sources changed, opening the index, splitting, searching, judging, the ledger.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.figure import Figure
from benchmarks.manuals import unpack_manuals
from benchmarks.retrieval import QUESTIONS

_CHECK = """
import json, sys, time
from pathlib import Path
import nupunkt, tantivy
from affidavit.app.check import build_check_context, check_answer, check_plan
from affidavit.ledger.adjudication import CheckRequest
from affidavit.ledger.record import ledger_to_json
start = time.process_time()
project, sources = Path(sys.argv[2]), (Path(sys.argv[1]),)
plan = check_plan(project, sources, rules=None, gates=(), judge="lexical", top_k=8)
context = build_check_context(plan)
day = "2026-01-03"
request = CheckRequest(
    answer=Path(sys.argv[3]).read_text(),
    query=None,
    title="speed",
    answer_date=day,
    generated_at=day + "T00:00:00Z",
)
ledger = check_answer(request, context)
ledger_to_json(ledger)
print(json.dumps({
    "seconds": time.process_time() - start,
    "claims": len(ledger.entries),
    "pages": sum(document.page_count or 0 for document in ledger.documents),
}))
"""
_CLAIMS = 20
_COPIES = 6  # Of 193 pages: 1,158.


def measure(quick: bool = False) -> list[Figure]:
    """Return the CPU seconds of one check."""
    with tempfile.TemporaryDirectory() as place:
        scratch = Path(place)
        sources = scratch / "sources"
        sources.mkdir()
        manual = (unpack_manuals(scratch, "policy.pdf") / "policy.pdf").read_bytes()
        for number in range(_COPIES):
            # Bytes behind the end of a PDF are not read; they make each copy its own document.
            (sources / f"{number}.pdf").write_bytes(manual + b"\n%% copy %d\n" % number)
        answer = scratch / "answer.md"
        answer.write_text("\n".join(f"- {claim}" for claim in _claims()), encoding="utf-8")
        runs = [_run(sources, scratch, answer) for _ in range(4 if quick else 8)]
    # The first run builds the index.
    best = min(runs[1:], key=lambda run: run["seconds"])
    return [
        Figure(
            name="check: a 20-claim answer against 1,000 pages already indexed",
            target="under 0.5 s CPU",
            ratio=best["seconds"],
            better="lower",
            limit=0.5,
            detail=f"{best['claims']:g} claims, {best['pages']:g} pages",
        )
    ]


def _claims() -> list[str]:
    texts = (json.loads(line)["question"] for line in QUESTIONS.read_bytes().splitlines())
    return [text for text in texts if text.endswith(".")][:_CLAIMS]


def _run(sources: Path, project: Path, answer: Path) -> dict[str, float]:
    command = [sys.executable, "-c", _CHECK, str(sources), str(project), str(answer)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found
