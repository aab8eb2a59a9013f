"""Options that the judge commands share, and notes on the cost of a judge behind a server."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from affidavit.cli.parameters import jobs_option

if TYPE_CHECKING:
    from affidavit.app.judge_scoring import RowScorer
    from affidavit.base.statistics.classification import Estimate
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from affidavit.app.check import CheckContext, CheckPlan
from affidavit.app.judges import is_remote, judge_for
from affidavit.cli.terminal import Terminal
from affidavit.ledger.adjudication import CheckRequest

if TYPE_CHECKING:
    from affidavit.app.judge_scoring import RowScorer

# What `judge score`, `judge eval` and `judge calibrate` share: options, and figures in words.

NOT_MEASURED = "not measured"

rules_option = click.option(
    "--rules", type=click.Path(path_type=Path), help="A TOML file with thresholds, as for check."
)
judge_option = click.option(
    "--judge", "judge_name", help="Which judge reads: a name, or a .toml file with its settings."
)
yes_option = click.option(
    "--yes", is_flag=True, help="Start although the judge's budget may not suffice."
)
reading_jobs_option = jobs_option("How many processes read; the result is the same.")


def scorer_from_options(rules: Path | None, judge_name: str | None) -> "RowScorer":
    """Return the scorer that the options ask for."""
    from affidavit.app.check import ledger_rules_for
    from affidavit.app.judge_scoring import RowScorer
    from affidavit.app.judges import judge_named

    return RowScorer(ledger_rules_for(rules, ()), judge_named(judge_name))


def format_estimate(estimate: "Estimate") -> str:
    """Return a figure as a person reads it."""
    return NOT_MEASURED if estimate.value is None else f"{estimate.value:.3f}"


def format_interval(estimate: "Estimate") -> str:
    """Return the interval of a figure as a person reads it."""
    if estimate.interval is None:
        return "–"
    return f"{estimate.interval.low:.3f} to {estimate.interval.high:.3f}"


# What a judge behind a server would cost and did cost, told beside the result.


def print_estimated_cost(
    terminal: Terminal,
    plan: CheckPlan,
    answers: Iterable[tuple[CheckRequest, CheckContext]],
    *,
    above_budget: bool,
) -> None:
    """Say what the run will ask for; nothing is sent before this."""
    if is_remote(plan.judge):
        from affidavit.app import judge_costs

        judge = judge_for(plan.judge, plan.project)
        terminal.note(judge_costs.estimate_answers(answers, judge, above_budget=above_budget))


def print_actual_cost(terminal: Terminal, plan: CheckPlan) -> None:
    """Say what the run came to, also when it was stopped."""
    if is_remote(plan.judge):
        from affidavit.app import judge_costs

        terminal.note(judge_costs.cost_summary(judge_for(plan.judge, plan.project)))


@contextmanager
def printed_row_costs(
    terminal: Terminal, scorer: "RowScorer", files: Iterable[Path], *, above_budget: bool
) -> Iterator[None]:
    """Say what scoring some files will ask for, and afterwards what it came to."""
    if not is_remote(scorer.choice):
        yield
        return
    from affidavit.app import judge_costs

    terminal.note(judge_costs.estimate_rows(files, scorer, above_budget=above_budget))
    try:
        yield
    finally:
        terminal.note(judge_costs.cost_summary(judge_for(scorer.choice, scorer.project)))
