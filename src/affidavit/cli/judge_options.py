"""What the commands share that read rows and judge: columns, engines, judges, costs, progress."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from affidavit.app.engines import ENGINES
from affidavit.cli.command import jobs_option
from affidavit.cli.program import reject_options
from affidavit.cli.terminal import Terminal

if TYPE_CHECKING:
    from affidavit.app.check import CheckContext, CheckPlan
    from affidavit.app.judge_scoring import RowScorer
    from affidavit.ledger.adjudication import CheckRequest


# Options that the judge commands share, and notes on the cost of a judge behind a server.

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
    from affidavit.app.judge_scoring import cost_summary, estimate_answers

    judge = judge_for(plan.judge, plan.project)
    terminal.note(estimate_answers(answers, judge, above_budget=above_budget))
    try:
        yield
    finally:
        terminal.note(cost_summary(judge))


@contextmanager
def printed_row_costs(
    terminal: Terminal, scorer: "RowScorer", files: Iterable[Path], *, above_budget: bool
) -> Iterator[None]:
    """Print the estimated cost of scoring files, then the actual one, even after an error."""
    from affidavit.app.judges import is_counted, judge_for

    if not is_counted(scorer.choice):
        yield
        return
    from affidavit.app.judge_scoring import cost_summary, estimate_rows

    terminal.note(estimate_rows(files, scorer, above_budget=above_budget))
    try:
        yield
    finally:
        terminal.note(cost_summary(judge_for(scorer.choice, scorer.project)))


Function = TypeVar("Function", bound=Callable[..., Any])
_JUDGING: Final = (
    click.option(
        "--groundedness/--no-groundedness",
        default=True,
        help="Whether answers are judged: against their contexts, and against locked constraints.",
    ),
    click.option("--judge", help="The judge of the claims, as for check."),
    click.option(
        "--rules",
        type=click.Path(path_type=Path),
        help="A TOML file with thresholds, as for check.",
    ),
    click.option(
        "--top-k",
        default=8,
        show_default=True,
        type=click.IntRange(1, 100),
        help="How many passages the judge reads for a claim.",
    ),
    click.option(
        "--sample",
        type=click.IntRange(1),
        help="Judge so many rows only; the intervals say what that costs.",
    ),
    click.option(
        "--seed", default=0, show_default=True, type=click.IntRange(0), help="Chooses the sample."
    ),
    click.option(
        "--cache/--no-cache",
        default=True,
        help="Whether readings are kept in .affidavit, so that nothing is judged twice.",
    ),
    yes_option,
)


JUDGING_NAMES: Final = ("judge", "rules", "top_k", "sample", "seed", "cache", "yes")
"""The variables of the options about how answers are judged."""


def judging_options(function: Function) -> Function:
    """Give a command the options about judging answers against their contexts."""
    for option in reversed(_JUDGING):
        function = option(function)
    return function


def engine_options(function: Function) -> Function:
    """Give a command the options about where it runs."""
    engine = click.option(
        "--engine",
        default="local",
        show_default=True,
        type=click.Choice(ENGINES),
        help="Where it runs: on this machine, or on Spark.",
    )
    master = click.option(
        "--master", default="local[*]", show_default=True, help="The address of Spark."
    )
    return engine(master(function))


def require_engine(engine: str) -> None:
    """Refuse the options of the other engine."""
    if engine == "spark":
        reject_options("is for --engine local: Spark has its own", "jobs")
    else:
        reject_options("is for --engine spark", "master")


def mapped_columns(given: tuple[str, ...]) -> dict[str, str]:
    """Return the file's columns by our names."""
    pairs = [text.partition("=") for text in given]
    if not all(ours and theirs for ours, _, theirs in pairs):
        raise click.UsageError("--map needs two names, such as answer=output")
    if len({ours for ours, *_ in pairs}) < len(pairs):
        raise click.UsageError("--map names a column twice")
    return {ours: theirs for ours, _, theirs in pairs}


@contextmanager
def watch_rows(
    terminal: Terminal, label: str, files: Iterable[str]
) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that is called with the numbers of rows done and of readings so far.

    On a terminal it shows progress; the rows are estimated by the lines of the files. At the end it
    notes how much had to be read: what was judged before is not judged again.
    """
    done = read = 0
    with terminal.watch(label) as update:
        total = 0 if update is None else _count_lines(files)

        def progress(rows: int, readings: int) -> None:
            nonlocal done, read
            done, read = rows, readings
            if update is not None:
                update(rows, max(rows, total), f"{rows} of about {max(rows, total)}")

        yield progress
    if done:
        terminal.detail(f"{done} rows were judged; {read} claims had to be read")


def _count_lines(files: Iterable[str]) -> int:
    total = 0
    for name in files:
        with suppress(OSError), Path(name).open("rb") as stream:
            while block := stream.read(1 << 20):
                total += block.count(b"\n")
    return total
