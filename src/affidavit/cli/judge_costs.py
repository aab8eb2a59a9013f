"""What a judge behind a server would cost and did cost, told beside the result."""

from collections.abc import Iterable

from affidavit.app.checking import AskedAnswer, Bench
from affidavit.cli.terminal import Terminal
from affidavit.wiring.benches import BenchPlan
from affidavit.wiring.judges import asks_a_server, judge_for


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
