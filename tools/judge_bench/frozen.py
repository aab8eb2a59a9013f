"""Our own labelled sets, through the product as a user runs it: documents, splitting, retrieval.

The sets in tests/spec were labelled before the judge was run on them. No rule, threshold or weight
comes from their rows.
"""

import json
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

import affidavit
from affidavit.decision.decision import Decision
from affidavit.ledger.model import Verdict
from affidavit.ledger.record import Ledger

SPEC: Final = Path(__file__).resolve().parents[2] / "tests" / "spec"
AT: Final = "2026-11-01T00:00:00Z"
TRUTH: Final = {
    "supported": Verdict.SUPPORTED,
    "partial": Verdict.WEAK,
    "refuted": Verdict.CONTRADICTED,
    "contradicted": Verdict.CONTRADICTED,
    "absent": Verdict.NOT_FOUND,
}
_WORST_FIRST: Final = (
    Verdict.CONTRADICTED,
    Verdict.NOT_FOUND,
    Verdict.WEAK,
    Verdict.SUPPORTED,
)
SETS: Final = ("real_claims", "table_cells", "short_rows")
Record = dict[str, Any]


class Outcome(Struct, frozen=True):
    """What the product said of a row."""

    id: str
    label: str
    kind: str
    verdict: str
    ships: bool


def records(path: Path) -> list[Record]:
    """Return the records of a JSON lines file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def run(name: str, judge: str, jobs: int) -> list[Outcome]:
    """Return the outcomes of one set: real_claims, table_cells or short_rows."""
    file = "rows.jsonl" if name == "short_rows" else "claims.jsonl"
    rows = records(SPEC / name / file)
    # Rows of one document stand together: a process reads and indexes it once.
    parts = [rows[at : at + 12] for at in range(0, len(rows), 12)]
    with ProcessPoolExecutor(jobs) as pool:
        return [each for part in pool.map(partial(_outcomes, name, judge), parts) for each in part]


def _outcomes(name: str, judge: str, rows: Sequence[Record]) -> list[Outcome]:
    return [_outcome(name, judge, row) for row in rows]


def _outcome(name: str, judge: str, row: Record) -> Outcome:
    evidence: Record
    if name == "short_rows":
        answer, evidence = row["answer"], {"contexts": list(row["contexts"])}
    else:
        named = row["document"] if isinstance(row["document"], list) else [row["document"]]
        folder = SPEC / name / "documents"
        answer, evidence = row["claim"], {"sources": [folder / each for each in named]}
    ledger = affidavit.check(answer, **evidence, judge=judge, query=row.get("question"), at=AT)
    ships = ledger.gates.decision is Decision.SHIP
    return Outcome(row["id"], row["label"], row["kind"], verdict_of(ledger), ships)


def verdict_of(ledger: Ledger) -> str:
    """Return the verdict on the whole answer: that of its worst claim."""
    found = {entry.verdict for entry in ledger.entries}
    return next((str(verdict) for verdict in _WORST_FIRST if verdict in found), "no claims")


def table(outcomes: Sequence[Outcome]) -> str:
    """Return the verdicts by label, as a table."""
    counts = Counter((each.label, each.verdict) for each in outcomes)
    lines = [f"{'truth':12}" + "".join(f"{v!s:>14}" for v in Verdict)]
    for label in dict.fromkeys(each.label for each in outcomes):
        cells = "".join(f"{counts[label, str(verdict)]:14d}" for verdict in Verdict)
        lines.append(f"{label:12}{cells}")
    return "\n".join(lines)


def sums(outcomes: Sequence[Outcome]) -> str:
    """Return the shares that the targets are about, one line each."""
    if any(each.label == "grounded" for each in outcomes):
        right = sum((each.label == "grounded") == each.ships for each in outcomes)
        by_label = Counter(each.label for each in outcomes if each.ships)
        return f"decided right: {right} of {len(outcomes)}; shipped: {dict(by_label)}"
    true = [each for each in outcomes if each.label == "supported"]
    false = [each for each in outcomes if each.label != "supported"]
    wrong = Counter(each.kind for each in false if each.verdict == Verdict.SUPPORTED)
    return "\n".join(
        (
            f"not true, called supported: {wrong.total()} of {len(false)} {dict(wrong)}",
            f"true, called supported: {_count(true, Verdict.SUPPORTED)} of {len(true)}",
            f"true, called contradicted: {_count(true, Verdict.CONTRADICTED)} of {len(true)}",
            f"right verdict of four: {_right(outcomes)} of {len(outcomes)}",
        )
    )


def _count(outcomes: Sequence[Outcome], verdict: Verdict) -> int:
    return sum(each.verdict == verdict for each in outcomes)


def _right(outcomes: Sequence[Outcome]) -> int:
    return sum(TRUTH[each.label] == each.verdict for each in outcomes)
