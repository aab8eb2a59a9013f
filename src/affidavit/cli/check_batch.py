"""`affidavit check answers.jsonl`: many answers, one line each."""

from contextlib import suppress
from pathlib import Path

import msgspec

from affidavit.app.check import (
    BatchChecker,
    BatchItem,
    BatchOutcomeV1,
    CheckPlan,
    batch_exit,
    read_batch_rows,
    run_batch,
)
from affidavit.base.digest import sha256_hex
from affidavit.base.exits import Exit
from affidavit.base.files import is_there
from affidavit.cli.judge_options import print_actual_cost, print_estimated_cost
from affidavit.cli.ledger_output import LEDGER_DECISION_TONES
from affidavit.cli.parameters import require_writable
from affidavit.cli.terminal import Terminal
from affidavit.engine.local import run_in_order
from affidavit.reports import ledger_wording as words
from affidavit.reports.text_tables import Cell


def check_batch(
    terminal: Terminal,
    file: Path,
    plan: CheckPlan,
    generated_at: str,
    output: Path | None,
    *,
    above_budget: bool = False,
) -> Exit:
    """Check every row of a file; a second run goes on where the first one stopped."""
    rows = read_batch_rows(file)
    results = output or plan.project.batch(sha256_hex(str(file.resolve()).encode())[:16])
    with suppress(OSError):  # What is next says why.
        results.parent.mkdir(parents=True, exist_ok=True)
    if not is_there(results):
        require_writable([results])
    work = BatchChecker(plan, file.parent, generated_at)
    print_estimated_cost(terminal, plan, work.readable(rows), above_budget=above_budget)
    works = (BatchItem(row, work.key(row)) for row in rows)
    outcomes = list(
        terminal.progress(
            run_batch(
                works,
                results,
                lambda fresh: run_in_order(work, fresh, plan.checking_jobs),
                work.holds,
            ),
            "Checking answers",
            len(rows),
        )
    )
    if terminal.json:
        terminal.print_json({"answers": [msgspec.to_builtins(each) for each in outcomes]})
    else:
        print_outcomes(terminal, outcomes)
    print_actual_cost(terminal, plan)
    terminal.note(f"results in {results}")
    return batch_exit(outcomes)


def print_outcomes(terminal: Terminal, outcomes: list[BatchOutcomeV1]) -> None:
    """Print a row per answer, and the errors of those that have no ledger."""
    terminal.table(
        ("Answer", "Decision", "Coverage", "Claims", "Supported", "Weak", "Contr.", "Not found"),
        (
            (
                outcome.id,
                Cell(
                    words.LEDGER_DECISION_NAMES[outcome.decision],
                    LEDGER_DECISION_TONES[outcome.decision],
                ),
                words.format_percent(outcome.evidence_coverage),
                *(
                    "–" if count is None else str(count)
                    for count in (
                        outcome.total_claims,
                        outcome.supported,
                        outcome.weak,
                        outcome.contradicted,
                        outcome.not_found,
                    )
                ),
            )
            for outcome in outcomes
        ),
    )
    for outcome in outcomes:
        if outcome.error is not None:
            terminal.print(f"{outcome.id}: {outcome.error}")
        for finding in outcome.findings:
            terminal.print(f"{outcome.id}: {finding}")
