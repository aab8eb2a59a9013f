"""Options that the judge commands share, and notes on the cost of a judge behind a server."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from affidavit.cli.command import jobs_option
from affidavit.cli.terminal import Terminal

if TYPE_CHECKING:
    from affidavit.app.check import CheckContext, CheckPlan
    from affidavit.app.judge_scoring import RowScorer
    from affidavit.ledger.adjudication import CheckRequest

rules_option = click.option(
    "--rules", type=click.Path(path_type=Path), help="A TOML file with thresholds, as for check."
)
judge_option = click.option(
    "--judge", "judge_name", help="The judge: a name, or a .toml file with its settings."
)
yes_option = click.option(
    "--yes", is_flag=True, help="Run even if the estimated cost exceeds the budget."
)
reading_jobs_option = jobs_option("How many processes read; the result is the same.")


def scorer_from_options(rules: Path | None, judge_name: str | None) -> "RowScorer":
    """Return the scorer that the options ask for."""
    from affidavit.app.check import ledger_rules_for
    from affidavit.app.judge_scoring import RowScorer
    from affidavit.app.judges import judge_named

    return RowScorer(ledger_rules_for(rules, ()), judge_named(judge_name))


@contextmanager
def printed_check_costs(
    terminal: Terminal,
    plan: "CheckPlan",
    answers: "Iterable[tuple[CheckRequest, CheckContext]]",
    *,
    above_budget: bool,
) -> Iterator[None]:
    """Print the estimated cost of checking answers, then the actual one, even after an error."""
    from affidavit.app.judges import is_counted, judge_for

    if not is_counted(plan.judge):
        yield
        return
    from affidavit.app import judge_costs

    judge = judge_for(plan.judge, plan.project)
    terminal.note(judge_costs.estimate_answers(answers, judge, above_budget=above_budget))
    try:
        yield
    finally:
        terminal.note(judge_costs.cost_summary(judge))


@contextmanager
def printed_row_costs(
    terminal: Terminal, scorer: "RowScorer", files: Iterable[Path], *, above_budget: bool
) -> Iterator[None]:
    """Print the estimated cost of scoring files, then the actual one, even after an error."""
    from affidavit.app.judges import is_counted, judge_for

    if not is_counted(scorer.choice):
        yield
        return
    from affidavit.app import judge_costs

    terminal.note(judge_costs.estimate_rows(files, scorer, above_budget=above_budget))
    try:
        yield
    finally:
        terminal.note(judge_costs.cost_summary(judge_for(scorer.choice, scorer.project)))
