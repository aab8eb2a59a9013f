"""What a judge behind a server would cost and did cost, told beside the result."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from affidavit.app.checking import AskedAnswer, Bench
from affidavit.cli.terminal import Terminal
from affidavit.wiring.benches import BenchPlan
from affidavit.wiring.judges import asks_a_server, judge_for

if TYPE_CHECKING:
    from affidavit.wiring.judging import Scorer


def foretell(
    terminal: Terminal,
    plan: BenchPlan,
    answers: Iterable[tuple[AskedAnswer, Bench]],
    *,
    above_budget: bool,
) -> None:
    """Say what the run will ask for; nothing is sent before this."""
    if asks_a_server(plan.judge):
        from affidavit.wiring import judge_costs

        judge = judge_for(plan.judge, plan.project)
        terminal.note(judge_costs.foretell_answers(answers, judge, above_budget=above_budget))


def account(terminal: Terminal, plan: BenchPlan) -> None:
    """Say what the run came to, also when it was stopped."""
    if asks_a_server(plan.judge):
        from affidavit.wiring import judge_costs

        terminal.note(judge_costs.account(judge_for(plan.judge, plan.project)))


@contextmanager
def costs_of_rows(
    terminal: Terminal, scorer: "Scorer", files: Iterable[Path], *, above_budget: bool
) -> Iterator[None]:
    """Say what scoring some files will ask for, and afterwards what it came to."""
    if not asks_a_server(scorer.choice):
        yield
        return
    from affidavit.wiring import judge_costs

    terminal.note(judge_costs.foretell_rows(files, scorer, above_budget=above_budget))
    try:
        yield
    finally:
        terminal.note(judge_costs.account(judge_for(scorer.choice, scorer.project)))
