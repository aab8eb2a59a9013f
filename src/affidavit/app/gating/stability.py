"""`gate stability`: recorded runs against the gold set, question by question."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from affidavit.app.gating.baselines import outcomes_before
from affidavit.app.gating.files import BadLines, Lines
from affidavit.gates.comparison import Comparison, compare
from affidavit.gates.operational import stability_report
from affidavit.gates.rag_rows import GoldV1, gold_by_qid, gold_from_chunk, hold_to_digest
from affidavit.gates.rag_scoring import REFUSAL
from affidavit.gates.report import Report
from affidavit.gates.rows import last_by
from affidavit.gates.stability import ROWS, RunV1, StabilityCounts, stability_counts
from affidavit.gates.stability_figures import Stability
from affidavit.gates.tally import listing_of

KIND = "stability"


@dataclass(frozen=True, slots=True)
class StabilityGate:
    """What is asked of recorded runs."""

    gold: str
    runs: tuple[str, ...]
    gates: tuple[str, ...] = ()
    refusal: str = REFUSAL
    skip_bad: bool = False
    allow_missing: bool = False
    baseline: Path | None = None
    expect_gold_digest: str | None = None


def gate_stability(asked: StabilityGate) -> Report:
    """Return the report of recorded runs; the last run of a question, seed and jitter counts."""
    before = outcomes_before(asked.baseline, KIND)
    lines = Lines("gold", [asked.gold], BadLines(asked.skip_bad))
    gold = gold_by_qid(lines.rows(gold_from_chunk), asked.gold)
    given = lines.as_input()
    hold_to_digest(given.digest or "", asked.expect_gold_digest, asked.gold)
    recorded = Lines("runs", asked.runs, BadLines(asked.skip_bad))
    rows = (row for _, row in recorded.rows(ROWS.from_chunk))
    last, duplicates = last_by(rows, lambda run: (str(run.qid), run.seed, run.jitter))
    by_qid: dict[str, list[RunV1]] = {}
    for (qid, _, _), run in sorted(last.items(), key=lambda each: each[0]):
        by_qid.setdefault(qid, []).append(run)
    figures, counts = _scored(gold, by_qid, asked.refusal.strip())
    return stability_report(
        counts,
        figures,
        (given, recorded.as_input()),
        overrides=asked.gates,
        strays=listing_of(by_qid.keys() - gold.keys()),
        duplicates=duplicates,
        allow_missing=asked.allow_missing,
        comparison=_compared(before, figures),
    )


def _scored(
    gold: Mapping[str, GoldV1], runs: Mapping[str, list[RunV1]], refusal: str
) -> tuple[list[Stability], StabilityCounts]:
    figures, counts = [], StabilityCounts()
    for qid, item in gold.items():
        made, counted = stability_counts(item, runs.get(qid, ()), refusal)
        figures.append(made)
        counts += counted
    return figures, counts


def _compared(
    before: Mapping[str, bool | None] | None, figures: list[Stability]
) -> Comparison | None:
    return None if before is None else compare(before, {made.qid: made.outcome for made in figures})
